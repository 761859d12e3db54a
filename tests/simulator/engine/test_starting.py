"""A pass: the front of the order starts, then what does not delay the blocked head."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.engine.replay import replay
from simulator.jobs.jobs import Jobs

n = np.array


@pytest.mark.parametrize(
    ("backfill", "expected"),
    [("none", [0, 100, 150, 150, 150]), ("easy", [0, 100, 2, 150, 150]), ("easy-sjbf", [0, 100, 150, 2, 22])],
)
@pytest.mark.parametrize("policy", ["FCFS", "formula:0 - submit"])
def test_backfilling_by_hand(policy: str, backfill: str, expected: list[int]) -> None:
    """One processor is free until the head can start at 100: easy takes the third job, easy-sjbf the shortest ones."""
    estimate = n([100, 50, 90, 20, 70])
    jobs = Jobs(n([0, 1, 2, 2, 2]), estimate, n([3, 4, 1, 1, 1]), estimate, estimate)
    schedule = replay(jobs, 4, policy, backfill)
    assert schedule.start.tolist() == expected
    assert schedule.backfilled.tolist() == [False, False, *(start < 100 for start in expected[2:])]
