"""Rules that an expert would name can be replayed, and nobody starves under those with a threshold."""

from __future__ import annotations

import numpy as np
import pytest

from assets.evaluation.rivals import EXPERT_RIVALS, with_threshold
from assets.policies.verdicts import JudgedRule
from simulator.engine.replay import replay
from tests.simulator.busy import PROCS, busy_jobs


@pytest.mark.parametrize("rule", EXPERT_RIVALS, ids=lambda rule: rule.name)
def test_each_orders_a_busy_queue_in_its_own_way(rule: JudgedRule) -> None:
    jobs = busy_jobs(300)
    assert not np.array_equal(
        replay(jobs, PROCS, rule.policy, rule.backfill).start, replay(jobs, PROCS, "FCFS", "easy").start
    )


def test_whoever_has_waited_for_the_threshold_goes_first() -> None:
    jobs = busy_jobs(300)
    all_over, none_over = (replay(jobs, PROCS, with_threshold("SJF", "estimate", hours).policy) for hours in (0, 10**6))
    assert np.array_equal(none_over.start, replay(jobs, PROCS, "SJF").start)
    waits = [replay(jobs, PROCS, policy).start - jobs.submit for policy in ("FCFS", "SJF")]
    assert waits[1].max() > 6 * 3600, "so that the threshold matters here"
    assert (all_over.start - jobs.submit).max() < waits[1].max()
