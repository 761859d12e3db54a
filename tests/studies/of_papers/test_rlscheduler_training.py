"""Tests of studies/of_papers: on_device, rlscheduler_training.

Gradients by torch on a device, here the processor, against the compiled learner.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from models.scheduling.arena import Arena, Windows
from models.scheduling.learning.ppo import Learner, train_by_ppo
from models.scheduling.learning.training import Lessons
from models.scheduling.options import PAPER_PPO, PPOOptions
from models.scheduling.policy_file import policy_from_bytes
from papers.kept_files import members_of
from papers.rlscheduler.as_published import CURVE_FILE, KEPT_TRAININGS, NETWORK_FILE, PUBLISHED_TRAININGS
from studies.of_papers import on_device, rlscheduler_training
from studies.of_papers.kept import write_members
from studies.of_papers.on_device import DeviceLearner
from studies.of_papers.rlscheduler_training import keep_trainings, published_card, train_as_published
from tests.models.scheduling.conftest import arena, jobs  # noqa: F401
from tests.shared import shared_file

FEW = PAPER_PPO.model_copy(update={"epochs": 2, "trajectories": 4, "passes": 3, "kl_limit": 1.0, "layout": "plain"})


def test_both_learners_learn_the_same(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    """But for the last digits. In parts and at once."""
    windows = Windows(np.arange(0, 100, 10, dtype=np.int64), 40)
    lessons = Lessons(windows, windows, windows)
    compiled = train_by_ppo(arena, lessons, FEW, 1, learner=Learner(arena, FEW, 1, None))
    for most in (on_device.ROWS_OF_A_PASS, 200):
        monkeypatch.setattr(on_device, "ROWS_OF_A_PASS", most)
        learner = DeviceLearner(arena, FEW, 1, "cpu")
        assert learner.kind == "kernel, torch on cpu"
        ours = train_by_ppo(arena, lessons, FEW, 1, learner=learner)
        for report, other in zip(ours.curve, compiled.curve, strict=True):
            assert report.approx_kl == pytest.approx(other.approx_kl, rel=1e-2, abs=1e-6)
            assert report.entropy == pytest.approx(other.entropy, rel=1e-3)
            assert report.updates == other.updates == 3
        for array, expected in zip(ours.weights[2:], compiled.weights[2:], strict=True):
            np.testing.assert_allclose(array, expected, rtol=1e-2, atol=1e-4)


def test_only_the_papers_way_is_taken(arena: Arena) -> None:  # noqa: F811
    with pytest.raises(ValueError, match="RLScheduler's own options"):
        DeviceLearner(arena, PPOOptions(), 1, "cpu")


def test_every_training_is_kept_whole_with_its_policies() -> None:
    members = members_of(KEPT_TRAININGS)
    curves = [line.split(",") for line in members[CURVE_FILE].decode().splitlines()]
    kept = {CURVE_FILE, NETWORK_FILE}
    assert {line[0] for line in curves} == {each.name for each in PUBLISHED_TRAININGS}
    for training in PUBLISHED_TRAININGS:
        lines = [line for line in curves if line[0] == training.name]
        assert [int(line[1]) for line in lines] == list(range(1, PAPER_PPO.epochs + 1))
        best = 1 + int(np.argmin([float(line[3]) for line in lines]))
        for which in ("last", "best"):
            kept.add(f"{training.name}-{which}.json")
            weights, card = policy_from_bytes(members[f"{training.name}-{which}.json"])
            epoch = PAPER_PPO.epochs if which == "last" else best
            assert card == published_card(training, epoch) and len(weights.facts) + len(weights.signals) == 8
    assert members.keys() == kept


def test_a_training_stops_and_goes_on_as_if_it_had_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared_file("traces", "swf", "lublin_256.swf.gz")
    small = PAPER_PPO.model_copy(update={"epochs": 3, "trajectories": 2, "passes": 2})
    monkeypatch.setattr(rlscheduler_training, "PAPER_PPO", small)
    (training,) = [each for each in PUBLISHED_TRAININGS if (each.log, each.goal) == ("Lublin-1", "wait")]
    whole, stopped, kept = tmp_path / "whole", tmp_path / "stopped", tmp_path / "kept.tar.xz"
    write_members(kept, {CURVE_FILE: b"a,1,2,3\r\n"})
    for folder, epochs in ((whole, 3), (stopped, 1), (stopped, 3)):
        folder.mkdir(exist_ok=True)
        train_as_published(training, folder, "cpu", epochs)
        keep_trainings(folder, kept)
        lines = members_of(kept)[CURVE_FILE].decode().splitlines()
        assert lines[0] == "a,1,2,3" and [line.split(",")[1] for line in lines[1:]] == [
            str(k + 1) for k in range(epochs)
        ]
    for name in ("last.json", "best.json"):
        file = f"{training.name}-{name}"
        assert (whole / file).read_bytes() == (stopped / file).read_bytes() == members_of(kept)[file]
