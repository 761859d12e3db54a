"""Replays in which jobs are let past a blocked head by other times than their estimates: the oracle's schedule, in both engines."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from simulator.engine.replay import replay
from simulator.jobs.cluster import Cluster, Outages
from simulator.jobs.jobs import Jobs, jobs_from_log
from tests.random_size import size
from tests.simulator.busy import busy_jobs
from tests.simulator.engine.test_engine_against_oracle import assert_equal_schedules, equal, fast
from tests.simulator.engine.test_replay_holds import general
from tests.simulator.oracle import oracle_run
from tests.simulator.oracle_policies import POLICIES
from tests.simulator.oracle_types import CORRECTIONS, Workload
from tests.simulator.oracle_workloads import workloads


@pytest.mark.parametrize("backfill", ["none", "easy", "easy-sjbf"])
def test_schedules_equal_the_oracles(backfill: str) -> None:
    others = 0

    @settings(deadline=None, max_examples=size(200, 3000))
    @given(workloads(), st.sampled_from(POLICIES), st.sampled_from(CORRECTIONS), st.randoms(use_true_random=False))
    def compare(workload: Workload, policy: str, correction: str, draw: random.Random) -> None:
        nonlocal others
        jobs = [job._replace(admit=draw.choice((job.limit, draw.randint(1, job.limit)))) for job in workload.jobs]
        expected = oracle_run(workload._replace(jobs=jobs), policy, backfill, correction)
        schedule = fast(workload._replace(jobs=jobs), policy, backfill, correction)
        if expected.ambiguous_order and not equal(schedule, expected):
            reject()
        assert_equal_schedules(schedule, expected)
        others += not equal(fast(workload, policy, backfill, correction), expected)

    compare()
    assert others > 5 or backfill == "none"


@pytest.mark.parametrize("backfill", ["easy", "easy-sjbf"])
@pytest.mark.parametrize("policy", ["FCFS", "SJF", "SAF"])
def test_both_engines_admit_alike(policy: str, backfill: str) -> None:
    """With queues deep enough for the tree, reservations by yet another time, and cancelled jobs."""
    for seed, correction in enumerate(CORRECTIONS):
        jobs = busy_jobs(500, load=(0.9, 1.5, 6.0)[seed], seed=seed, cancelled_share=0.1 * seed)
        rng = np.random.default_rng(seed)
        hold, admit = (rng.integers(1, jobs.limit + 1) for _ in range(2))
        jobs = replace(jobs, hold=hold, admit=admit)
        found, expected = (f(jobs, 32, policy, backfill, correction=correction) for f in (replay, general))
        assert found.start.tolist() == expected.start.tolist()
        assert found.backfilled.tolist() == expected.backfilled.tolist()


def test_a_log_tells_by_what_jobs_are_admitted() -> None:
    """By request where there is one, else by the estimate."""
    columns = [np.array(column) for column in ([0, 0], [50, 60], [1, 1], [100, -1])]
    predicted = np.array([20.0, 30.0])
    by = {
        word: jobs_from_log(*columns, "predicted", predicted, admit_by=word).admit.tolist()
        for word in ("estimate", "requested")
    }
    assert by == {"estimate": [20, 30], "requested": [100, 30]}
    with pytest.raises(
        ValueError, match=r"unknown admit_by 'request'; did you mean 'requested'\? Expected one of estimate, requested"
    ):
        jobs_from_log(*columns, admit_by="request")


def test_rules_with_a_plan_refuse_other_times() -> None:
    jobs = busy_jobs(20, load=1.0, seed=1)
    for backfill in ("conservative", "selective"):
        with pytest.raises(ValueError, match="admit_by='estimate'"):
            replay(replace(jobs, admit=jobs.limit + 0 * jobs.estimate, limit=jobs.limit), 32, "FCFS", backfill)


@pytest.mark.parametrize("announced", [None, 1000])
def test_an_outage_that_is_announced_later_changes_nothing_before(announced: int | None) -> None:
    """A holds 2 of 4 processors, B needs 3 and waits until 10. C goes first, since it asks for 5 s. D goes first on the processor that
    B leaves free, whatever C is believed to hold once it runs."""
    n = np.array
    outages = Outages() if announced is None else Outages(n([2000]), n([3000]), n([1]), n([announced]))
    jobs = Jobs(n([0, 0, 0, 0]), n([10, 5, 5, 20]), n([2, 3, 1, 1]), n([10, 5, 5, 20]), n([20] * 4))
    jobs = replace(jobs, hold=n([10, 5, 20, 20]), admit=n([10, 5, 5, 20]))
    for backfill in ("easy", "easy-sjbf"):
        assert replay(jobs, Cluster(4, outages=outages), "FCFS", backfill).start.tolist() == [0, 10, 0, 0]
