"""Tests of models/scheduling/learning/held_out."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from models.scheduling.arena import Arena, Windows
from models.scheduling.learning.held_out import HeldOutCurves
from models.scheduling.learning.ppo import train_by_ppo
from models.scheduling.learning.recipes import smallest_area_first
from models.scheduling.learning.training import EpochReport, Lessons
from models.scheduling.options import PPOOptions
from simulator.policies.network import KernelWeights
from simulator.policies.observation import layout_named

OPTIONS = PPOOptions(epochs=4, filtered_epochs=2, trajectories=16)


def later(lessons: Lessons) -> Windows:
    return Windows(lessons.windows.first[-6:], lessons.windows.jobs)


def same(a: KernelWeights, b: KernelWeights) -> bool:
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


def test_a_watched_training_gives_the_same_policy_and_what_would_be_kept_after_each_epoch(
    arena: Arena, lessons: Lessons
) -> None:
    curves = HeldOutCurves(later(lessons))
    trained = curves(arena, lessons, OPTIONS, 3)
    assert same(trained.weights, train_by_ppo(arena, lessons, OPTIONS, 3).weights)
    means = curves.means(3)
    assert len(means) == 1 + OPTIONS.epochs and curves.means(4) == []
    assert means[-1] == means[trained.best_epoch] == arena.costs(trained.weights, curves.held_out).mean()
    for report, (before, after) in zip(trained.curve, pairwise(means), strict=True):
        earlier = [each.validation_cost for each in trained.curve[: report.epoch - 1]]
        assert report.validation_cost is not None
        assert before == after or report.validation_cost < min(filter(None, earlier), default=np.inf)


def test_where_a_training_begins_with_weights_they_are_epoch_0(arena: Arena, lessons: Lessons) -> None:
    start = smallest_area_first(layout_named("plain"), 40.0, 1)
    curves = HeldOutCurves(later(lessons))
    curves(arena, lessons, OPTIONS.model_copy(update={"epochs": 1}), 3, start=start)
    assert len(curves.means(3)) == 2 and curves.means(3)[0] == arena.costs(start, curves.held_out).mean()


def test_an_interrupted_training_has_the_same_curve(arena: Arena, lessons: Lessons, tmp_path: Path) -> None:
    def stop(report: EpochReport) -> None:
        if report.epoch == 2:
            raise KeyboardInterrupt

    whole, parted, file = HeldOutCurves(later(lessons)), HeldOutCurves(later(lessons)), tmp_path / "checkpoint"
    whole(arena, lessons, OPTIONS, 3)
    with pytest.raises(KeyboardInterrupt):
        parted(arena, lessons, OPTIONS, 3, stop, file)
    parted(arena, lessons, OPTIONS, 3, checkpoint=file)
    assert parted.means(3) == whole.means(3)
