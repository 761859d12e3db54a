"""Backfilling without a reservation."""

from __future__ import annotations

import pytest

from simulator.engine.replay import replay
from tests.simulator.busy import busy_jobs


@pytest.mark.parametrize("policy", ["FCFS", "SJF", "WFP3"])
def test_it_is_selective_backfilling_in_which_nobody_gets_a_reservation(policy: str) -> None:
    for seed in range(5):
        jobs = busy_jobs(400, load=1.1, seed=seed)
        ours, theirs = replay(jobs, 32, policy, "any"), replay(jobs, 32, policy, "selective:threshold=1e18")
        assert ours.start.tolist() == theirs.start.tolist()
        assert ours.backfilled.tolist() == theirs.backfilled.tolist()
        assert ours.start.tolist() != replay(jobs, 32, policy, "easy").start.tolist()
