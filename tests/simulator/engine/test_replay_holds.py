"""Replays in which reservations believe other times than the estimates, such as the requests: two engines, one schedule."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from simulator.engine import replay as replay_module
from simulator.engine.replay import replay, rules_of
from simulator.engine.running import CORRECTIONS
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs
from simulator.jobs.schedule import Schedule
from simulator.jobs.tasks import tasks_of
from simulator.policies.registry import parse_policy
from tests.models.runtime.live_oracle import BACKFILLS, POLICIES, PROCS, assert_same, random_log
from tests.simulator.busy import busy_jobs


def general(jobs: Jobs, cluster_procs: int, policy: str, backfill: str, correction: str) -> Schedule:
    """The replay by the general engine, whatever engine `replay` would choose."""
    tasks = tasks_of(jobs, Cluster(cluster_procs))
    rules = rules_of(backfill, correction, cluster_procs)
    engine = replay_module._GeneralEngine(jobs, tasks, rules, parse_policy(policy))
    engine.run()
    return Schedule(engine.episode.start, engine.episode.backfilled)


@pytest.mark.parametrize("correction", CORRECTIONS)
@pytest.mark.parametrize("backfill", ["none", *BACKFILLS])
@pytest.mark.parametrize("policy", ["FCFS", "SJF", "SAF", "LCFS", "random:seed=2"])
def test_both_engines_believe_the_requests_alike(policy: str, backfill: str, correction: str) -> None:
    different = 0
    for seed in range(20):
        jobs = random_log(seed, jobs=70).jobs("requested")
        found = replay(jobs, PROCS, policy, backfill, correction=correction)
        assert_same(found, general(jobs, PROCS, policy, backfill, correction))
        plain = replay(replace(jobs, hold=jobs.estimate), PROCS, policy, backfill, correction=correction)
        different += not np.array_equal(plain.start, found.start)
    assert different > 5 or backfill == "none"


@pytest.mark.parametrize("backfill", BACKFILLS)
@pytest.mark.parametrize("policy", POLICIES)
def test_both_engines_believe_any_hold_alike(policy: str, backfill: str) -> None:
    """Also below the estimate, with queues deep enough for the tree, run times of zero and cancelled jobs."""
    for seed, correction in enumerate(CORRECTIONS):
        jobs = busy_jobs(500, load=(0.9, 1.5, 6.0)[seed], seed=seed, cancelled_share=0.1 * seed)
        rng = np.random.default_rng(seed)
        runtime = np.where(rng.random(500) < 0.1, 0, jobs.runtime)
        hold = np.where(rng.random(500) < 0.3, jobs.estimate, rng.integers(1, jobs.limit + 1))
        jobs = replace(jobs, runtime=runtime, hold=hold)
        assert_same(
            replay(jobs, 32, policy, backfill, correction=correction), general(jobs, 32, policy, backfill, correction)
        )


def test_rules_with_a_plan_refuse_other_holds() -> None:
    jobs = random_log(1).jobs("requested")
    for backfill in ("conservative", "selective"):
        with pytest.raises(ValueError, match="reserve_by='estimate'"):
            replay(jobs, PROCS, "FCFS", backfill)
