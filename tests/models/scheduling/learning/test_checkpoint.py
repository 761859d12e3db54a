"""A training that is interrupted ends as one that is not."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.scheduling.arena import Arena
from models.scheduling.learning.checkpoint import load_checkpoint, save_checkpoint
from models.scheduling.learning.evolution import evolve
from models.scheduling.learning.ppo import train_by_ppo
from models.scheduling.learning.training import EpochReport, Lessons, TrainedPolicy
from models.scheduling.options import (
    PAPER_PPO,
    EvolutionOptions,
    PPOOptions,
)
from simulator.policies.network import KernelWeights
from tests.kills import killed_at

QUICK = PPOOptions(epochs=4, filtered_epochs=2, trajectories=16)


CRITIC = PAPER_PPO.model_copy(update={"epochs": 3, "trajectories": 8, "passes": 3, "layout": "plain"})


def same(a: KernelWeights, b: KernelWeights) -> bool:
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


def stop_after(epochs: int):
    """Whoever is told of an epoch after that many dies, as a killed process would."""

    def tell(report: EpochReport) -> None:
        if report.epoch == epochs:
            raise KeyboardInterrupt

    return tell


@pytest.mark.parametrize("method", ["siblings", "critic", "evolution"])
def test_an_interrupted_training_goes_on_as_if_nothing_had_been(
    method: str, arena: Arena, lessons: Lessons, tmp_path: Path
) -> None:
    def run(tell=lambda report: None, path: Path | None = None, seed: int = 5) -> TrainedPolicy:
        if method == "evolution":
            start = train_by_ppo(arena, lessons, PPOOptions(epochs=1, trajectories=4), 1).weights
            options = EvolutionOptions(generations=5, pairs=3, windows=4, validate_every=2)
            return evolve(arena, lessons, start, options, seed, tell, path)
        return train_by_ppo(arena, lessons, CRITIC if method == "critic" else QUICK, seed, tell, path)

    undisturbed = run()
    path = tmp_path / "policy.checkpoint"
    for epochs in (1, 2):
        with pytest.raises(KeyboardInterrupt):
            run(stop_after(epochs), path)
    told: list[int] = []
    resumed = run(lambda report: told.append(report.epoch), path)
    assert same(undisturbed.weights, resumed.weights)
    assert [r.epoch for r in resumed.curve] == told == [r.epoch for r in undisturbed.curve]
    assert [r.validation_cost for r in resumed.curve] == [r.validation_cost for r in undisturbed.curve]
    # a checkpoint of another training is not gone on from
    assert run(path=path, seed=6).curve == run(seed=6).curve
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ValueError, match=r"policy\.checkpoint: not a checkpoint"):
        run(path=path)


class Harmful:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.folder),)


def test_a_checkpoint_runs_no_code(tmp_path: Path) -> None:
    import torch

    torch.save({"training": "t", "state": Harmful(tmp_path / "made")}, tmp_path / "checkpoint")
    with pytest.raises(ValueError, match="not a checkpoint that training can continue from"):
        load_checkpoint(tmp_path / "checkpoint", "t")
    assert not (tmp_path / "made").exists()


def test_a_file_is_unfinished_by_its_name_and_nobody_removes_it_while_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, names = tmp_path / "policy.checkpoint", []
    replace = Path.replace

    def replace_while_another_run_reads(unfinished: Path, target: Path) -> Path:
        names.append(unfinished.name)
        assert load_checkpoint(path, "t") is None
        return replace(unfinished, target)

    monkeypatch.setattr(Path, "replace", replace_while_another_run_reads)
    save_checkpoint(path, "t", {"epoch": 1})
    (name,) = names
    assert name.startswith(f"policy.checkpoint.{os.getpid()}-") and name.endswith(".part")
    assert load_checkpoint(path, "t") == {"epoch": 1} and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("reads", [True, False])
def test_what_killed_processes_left_is_removed(reads: bool, tmp_path: Path) -> None:
    path = tmp_path / "policy[1].checkpoint"
    save_checkpoint(path, "t", {"epoch": 1})
    left, being_written, of_another = (
        path.with_name(f"{name}.part") for name in (f"{path.name}.1-a", f"{path.name}.2-b", "policy1.checkpoint.3-c")
    )
    for part in (left, being_written, of_another):
        part.write_bytes(b"half of one")
    with being_written.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # as its process does
        if reads:
            assert load_checkpoint(path, "t") == {"epoch": 1}
        else:
            save_checkpoint(path, "t", {"epoch": 2})
        assert set(tmp_path.iterdir()) == {path, being_written, of_another}


def test_a_process_that_is_killed_at_any_moment_leaves_the_old_checkpoint_or_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "policy.checkpoint"
    seen, left = [], 0
    save_checkpoint(path, "t", {"epoch": 1})
    while killed_at(lambda: save_checkpoint(path, "t", {"epoch": 2}), len(seen)):
        left += len(list(tmp_path.iterdir())) - 1
        state = load_checkpoint(path, "t")
        assert state is not None and list(tmp_path.iterdir()) == [path]
        seen.append(state["epoch"])
        save_checkpoint(path, "t", {"epoch": 1})
    assert seen == sorted(seen) and seen[0] == 1 and left > 0


def test_a_disk_that_is_full_leaves_no_unfinished_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match=r"No space left on device: '.*policy\.checkpoint'$"):
        save_checkpoint(tmp_path / "policy.checkpoint", "t", {"epoch": 1})
    assert list(tmp_path.iterdir()) == []
