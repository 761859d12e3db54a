"""One training run: what every seed gives is what it gives alone, and what it costs is what it is judged by."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from models.scheduling.arena import Arena, Windows
from models.scheduling.learning.recipes import learn
from models.scheduling.learning.training_run import JudgedPolicy, Split, TrainingRun, best_by_validation
from models.scheduling.options import EvolutionOptions, Recipe
from models.scheduling.trajectory_filter import filter_trajectories
from models.side_by_side import work_side_by_side

RECIPE = Recipe(
    method="evolution",
    cautious=False,
    evolution=EvolutionOptions(generations=2, pairs=1, windows=4, spread=0.2, rate=0.3, validate_every=1),
)
SPLIT = Split(
    Windows(np.arange(0, 400, 20), 48), Windows(np.array([450, 500]), 64), None, Windows(np.array([560, 640]), 80), 550
)


@pytest.fixture(scope="module")
def run(arena: Arena) -> tuple[list[JudgedPolicy], list[tuple[int, int]]]:
    """The policies of two seeds, and seed and epoch of every report."""
    reports: list[tuple[int, int]] = []
    training = TrainingRun(arena, SPLIT.lessons(arena), SPLIT.judge, RECIPE)
    policies = training.train_seeds([4, 9], lambda seed, report: reports.append((seed, report.epoch)))
    return list(policies), reports


def test_each_seed_gives_what_it_gives_alone(
    arena: Arena, run: tuple[list[JudgedPolicy], list[tuple[int, int]]]
) -> None:
    policies, reports = run
    assert [policy.seed for policy in policies] == [4, 9]
    assert reports == [(4, 1), (4, 2), (9, 1), (9, 2)]
    alone = learn(arena, SPLIT.lessons(arena), RECIPE, 9)
    assert all(np.array_equal(a, b) for a, b in zip(policies[1].trained.weights, alone.weights, strict=True))
    assert policies[1].trained.curve == alone.curve != policies[0].trained.curve


def test_policies_are_judged_on_windows_of_their_own(
    arena: Arena, run: tuple[list[JudgedPolicy], list[tuple[int, int]]]
) -> None:
    for policy in run[0]:
        assert np.array_equal(policy.costs, arena.costs(policy.trained.weights, SPLIT.judge))
    best = best_by_validation(run[0])
    assert best.trained.validation_cost == min(policy.trained.validation_cost for policy in run[0])


def test_lessons_begin_with_what_the_filter_keeps(arena: Arena) -> None:
    lessons = SPLIT.lessons(arena)
    assert np.array_equal(lessons.filtered.first, filter_trajectories(arena, SPLIT.learn).kept_windows.first)
    assert lessons.windows is SPLIT.learn and lessons.validation is SPLIT.choose


def test_side_by_side_is_one_after_the_other(
    arena: Arena, run: tuple[list[JudgedPolicy], list[tuple[int, int]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Byte for byte, with every epoch reported here. The first seed says whether the others are worth processes."""
    started: list[list[int]] = []

    def spied(work: Any, seeds: Any, *others: Any) -> Any:
        started.append(list(seeds))
        return work_side_by_side(work, seeds, *others)

    monkeypatch.setattr("models.scheduling.learning.training_run.work_side_by_side", spied)
    monkeypatch.setattr("models.side_by_side.cores", lambda: 2)
    monkeypatch.setattr("models.scheduling.learning.training_run.cores", lambda: 2)
    monkeypatch.setattr("models.scheduling.learning.training_run.WORTH_PROCESSES_S", 0.0)
    reports: list[tuple[int, int]] = []
    training = TrainingRun(arena, SPLIT.lessons(arena), SPLIT.judge, RECIPE)
    policies = list(training.train_seeds([2, 4, 9], lambda seed, report: reports.append((seed, report.epoch)), True))
    assert started == [[4, 9]]
    for ours, theirs in zip(policies[1:], run[0], strict=True):
        assert (ours.seed, ours.trained.curve, ours.costs.tolist()) == (
            theirs.seed,
            theirs.trained.curve,
            theirs.costs.tolist(),
        )
        assert all(np.array_equal(a, b) for a, b in zip(ours.trained.weights, theirs.trained.weights, strict=True))
    assert sorted(reports) == [(2, 1), (2, 2), *run[1]]


def test_a_short_training_starts_no_processes(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("models.scheduling.learning.training_run.cores", lambda: 2)
    monkeypatch.setattr("models.scheduling.learning.training_run.WORTH_PROCESSES_S", 1e9)
    monkeypatch.setattr("models.scheduling.learning.training_run.work_side_by_side", None)
    training = TrainingRun(arena, SPLIT.lessons(arena), SPLIT.judge, RECIPE.shortest())
    assert len(list(training.train_seeds([2, 4, 9], side_by_side=True))) == 3
