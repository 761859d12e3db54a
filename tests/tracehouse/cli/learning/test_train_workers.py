"""`tracehouse train --workers`: the policy of one process, on many; and what cannot be asked of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.pipelines.command_line import fail, succeed
from tracehouse.learning.many_workers import training_by_ppo
from tracehouse.learning.settings import TrainingSettings

SHORT = ("--epochs", "2", "--seeds", "1", "--window-jobs", "48", "--trajectories", "64")


def test_a_training_on_two_workers_that_can_be_repeated(home: Path) -> None:
    """With a stop rule the machine decides which windows are left out. The policy says which, and they can be left out again."""
    first = home / "first.json"
    succeed("train", "mine", "-o", first, "--workers", "2", "--sync-fraction", "0.4", *SHORT)
    card = json.loads(first.read_text())["card"]
    assert card["parameters"]["workers"] == {"workers": 2, "sync_fraction": 0.4, "backlog_policy": None}
    by_ppo = training_by_ppo(TrainingSettings(workers=2, repeat=first))
    assert by_ppo.repeated == card["parameters"]["families_done"]  # type: ignore[attr-defined]
    assert not list(home.glob(".first.json.checkpoint*"))
    assert "trained on 2 workers" in fail(
        "train", "mine", "-o", home / "other.json", "--workers", "3", "--repeat", first, *SHORT
    )


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("--workers", "2", "--method", "evolution"), "--workers is about ppo"),
        (("--sync-fraction", "0.5"), "give --workers, too"),
        (("--workers", "2", "--interval", "3"), "give --population, too"),
        (("--workers", "2", "--launcher", "ray", "--torchrun", "srun torchrun"), "leave one of them out"),
        (("--workers", "0"), "0 is not in the range"),
        (("--population", "1"), "1 is not in the range"),
        (("--workers", "2", "--trajectories", "10"), "a multiple of 4"),
        (
            ("--method", "evolution", "--trajectories", "16"),
            "--trajectories is about ppo: leave --method evolution out",
        ),
        (("--method", "imitation", "--minibatch", "64"), "--minibatch is about ppo: leave --method imitation out"),
        (("--population", "2", "--minibatch", "512"), "--population tunes the size of minibatches"),
        (("--workers", "9", "--trajectories", "32"), "at least 36 trajectories"),
        (("--workers", "2", "--backlogs", "NONSENSE"), "NONSENSE"),
    ],
)
def test_what_is_wrong_is_said(asked: tuple[str, ...], said: str, home: Path) -> None:
    assert said in fail("train", "mine", "-o", home / "none.json", "--window-jobs", "48", *asked)


def test_workers_that_end_are_said_in_a_line(home: Path) -> None:
    said = fail("train", "mine", "-o", home / "none.json", "--workers", "2", "--torchrun", "false", *SHORT)
    assert "(false ended with 1)" in said and "the same command goes on" in said


def test_a_policy_of_one_process_has_nothing_to_repeat(home: Path) -> None:
    policy = home / "alone.json"
    succeed("train", "mine", "-o", policy, "--epochs", "1", "--seeds", "1", "--window-jobs", "48")
    assert "nothing to repeat" in fail("train", "mine", "-o", home / "none.json", "--workers", "2", "--repeat", policy)
