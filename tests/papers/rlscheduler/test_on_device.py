"""Gradients by torch on a device, here the processor, against the compiled learner."""

from __future__ import annotations

import numpy as np
import pytest

from models.scheduling.arena import Arena, Windows
from models.scheduling.learning.ppo import Learner, train_by_ppo
from models.scheduling.learning.training import Lessons
from models.scheduling.options import PAPER_PPO, PPOOptions
from papers.rlscheduler import on_device
from papers.rlscheduler.on_device import DeviceLearner
from tests.models.scheduling.conftest import arena, jobs  # noqa: F401

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
