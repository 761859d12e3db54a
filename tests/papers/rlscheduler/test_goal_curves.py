"""The curves of each goal, on a log small enough for a test."""

from __future__ import annotations

import pytest

import tracehouse
from papers.rlscheduler.goal_curves import FIGURES, goal_curve, shown_cost
from tests.shared import shared_file


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
