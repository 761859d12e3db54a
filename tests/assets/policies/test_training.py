"""Splits, tasks that cannot be, and cards."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from assets.common.trace import Trace, load_trace
from assets.policies.training import PolicyTask, TrainingSetup, arena_of_task, split_of
from models.scheduling.options import EvolutionOptions, Recipe
from tests.tiny import busy_log, warehouse_of


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    return load_trace(warehouse_of(tmp_path_factory.mktemp("training"), busy_log(900)), "mine")


def test_parts_follow_each_other_and_share_no_job(trace: Trace) -> None:
    split = split_of(trace, 48)
    assert split.confirm is not None
    parts = [split.learn.scored, split.choose.scored, split.confirm.scored, split.judge.scored]
    assert [part.stop for part in parts] == [270, 360, 450, 900] and split.trained_jobs == 450
    assert [part.start for part in parts] == [0, 280, 370, 452], "blocks are of equal length"
    assert [each.continuous for each in (split.learn, split.choose, split.confirm, split.judge)] == [
        False,
        True,
        True,
        True,
    ]
    assert (split.learn.jobs, split.after, split.choose.jobs, split.judge.jobs) == (48, 48, 5, 28)
    assert split_of(trace, 256).learn.jobs == 135
    earlier = split_of(dataclasses.replace(trace, test_position=400), 48)
    assert earlier.trained_jobs == 400 and earlier.learn.scored.stop == 240
    assert split_of(dataclasses.replace(trace, test_position=540), 48).trained_jobs == 450


def test_a_short_trace_is_refused(trace: Trace) -> None:
    short = dataclasses.replace(trace, rows=trace.rows[:299])
    with pytest.raises(ValueError, match="mine: 299 jobs are too few to train on, at least 300 are needed"):
        split_of(short, 48)


@pytest.mark.parametrize(
    ("task", "message"),
    [
        (PolicyTask(estimates="live"), "cannot follow live ones"),
        (PolicyTask(estimates="actual", rules="rlscheduler"), "know requested times only"),
        (PolicyTask(backfill="easy-sjbf", rules="rlscheduler"), "backfilling none or easy"),
        (PolicyTask(goal="speed"), "goal 'speed'"),
        (PolicyTask(estimates="predicted"), "no predicted run times yet"),
    ],
)
def test_tasks_that_cannot_be(task: PolicyTask, message: str, trace: Trace) -> None:
    with pytest.raises(ValueError, match=message):
        arena_of_task(trace, task)


def test_rlscheduler_rules_take_what_was_requested(trace: Trace) -> None:
    more = np.where(np.arange(900) % 2, trace.rows["procs"] + 1, -1)
    asked = dataclasses.replace(trace, rows=trace.rows.with_columns(requested_procs=more))
    jobs = arena_of_task(asked, PolicyTask(rules="rlscheduler")).jobs
    assert np.array_equal(jobs.procs, np.maximum(trace.rows["procs"], more))


def test_cards_hold_the_facts_that_are_asked_for(trace: Trace) -> None:
    setup = TrainingSetup.on_split(trace, PolicyTask(window_jobs=48), split_of(trace, 48))
    recipe = Recipe(method="evolution", evolution=EvolutionOptions(generations=1, pairs=1, windows=1))
    (policy,) = setup.train(recipe, [5])
    card = setup.card(policy, ("seed", "trace_sha256", "note", "window_jobs", "method", "epochs"), note="mine")
    assert list(card) == ["seed", "trace_sha256", "note", "window_jobs", "method", "epochs"]
    assert len(card.pop("trace_sha256")) == 64
    assert list(card.values()) == [5, "mine", 48, "evolution", 1]
