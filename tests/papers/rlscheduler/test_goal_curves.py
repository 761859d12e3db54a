"""Tests of papers/rlscheduler: goal_curves, ten_windows, windows."""

from __future__ import annotations

import numpy as np
import pytest

import tracehouse
from papers.rlscheduler.goal_curves import FIGURES, goal_curve, shown_cost
from papers.rlscheduler.rules import replay_rlscheduler, rlscheduler_inputs
from papers.rlscheduler.ten_windows import PUBLISHED_LENGTH, PUBLISHED_WINDOWS, published_split
from papers.rlscheduler.windows import replay_range
from simulator.policies.sampling import no_recorder
from tests.shared import shared_file
from tests.simulator.busy import PROCS, busy_jobs

# goal_curves: The curves of each goal, on a log small enough for a test.


def test_costs_are_shown_as_their_metric() -> None:
    assert [
        shown_cost(goal, cost) for goal, cost in (("bsld", 12.34), ("wait", 1234.5), ("utilisation_as_coded", -0.5))
    ] == [
        "12.3",
        "1,234",
        "0.500",
    ]


@pytest.mark.parametrize("goal", ["bsld", "utilisation_as_coded"])
def test_there_is_a_cost_for_every_epoch(goal: str) -> None:
    assert goal in FIGURES
    trace = tracehouse.load_log(shared_file("traces", "swf", "lublin_256.swf.gz"), procs=256).trace()
    curve, shortest_first = goal_curve(trace, goal, epochs=2, trajectories=2)
    assert sorted(curve) == [1, 2]
    assert (shortest_first < 0) == all(cost < 0 for cost in curve.values()) == goal.startswith("utilisation")


# ten_windows: The ten published windows judge alone.


def test_published_windows_are_kept_apart() -> None:
    for jobs in (10_000, 12_000):
        split = published_split(jobs, 256)
        taken = {k for start in PUBLISHED_WINDOWS for k in range(start, start + PUBLISHED_LENGTH)}
        learned = {k for first in split.learn.first for k in range(first, first + 256)}
        chosen = {k for first in split.choose.first for k in range(first, first + 256)}
        assert learned and chosen and not learned & taken and not chosen & taken and not learned & chosen
        assert max(learned | chosen) < jobs


def test_all_of_the_published_jobs_may_be_seen_as_in_the_paper() -> None:
    split = published_split(12_000, 256, seen=True)
    assert split.learn.first.max() == 10_000 - 256 and len(split.learn) == 10_000 - 255


# windows: Windows of the RLScheduler rules replayed together give what each gives alone.


@pytest.mark.parametrize("backfill", [False, True])
def test_each_window_starts_as_if_it_were_alone(backfill: bool) -> None:
    jobs, first, length = busy_jobs(120), np.array([0, 17, 60]), 50
    inputs = rlscheduler_inputs(jobs, PROCS, "SJF", backfill)
    start = np.zeros((len(first), length), dtype=np.int64)
    backfilled = np.ones((len(first), length), dtype=np.bool_)
    replay_range(*inputs, no_recorder(), first, start, backfilled)
    for k, position in enumerate(first.tolist()):
        alone = replay_rlscheduler(jobs.window(position, length), PROCS, "SJF", backfill)
        assert start[k].tolist() == alone.start.tolist()
        assert backfilled[k].tolist() == alone.backfilled.tolist()
    assert backfilled.any() == backfill
