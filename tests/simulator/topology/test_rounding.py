"""Periods and whole nodes are replays of rounded jobs: checked against a loop over periods."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from simulator.engine.replay import replay
from simulator.jobs.cluster import FOREVER, Cluster, Outages, RunningJobs
from simulator.jobs.jobs import NEVER
from simulator.topology.rounding import in_periods, in_whole_nodes
from tests.simulator.busy import PROCS, busy_jobs
from tests.simulator.oracle_periods import BACKFILLS_WITH_PERIODS, POLICIES_WITH_PERIODS, oracle_periods
from tests.simulator.oracle_placing_cases import random_placing_case


def test_a_loop_over_periods_starts_the_same() -> None:
    compared = 0
    for seed in range(600):
        case = random_placing_case(Random(seed))
        exact = [
            job._replace(cancel=None, admit=None, estimate=max(job.estimate, job.runtime)) for job in case.workload.jobs
        ]
        workload = case.workload._replace(running=[], outages=[], jobs=exact)
        policy = POLICIES_WITH_PERIODS[seed % len(POLICIES_WITH_PERIODS)]
        backfill = BACKFILLS_WITH_PERIODS[seed // 7 % len(BACKFILLS_WITH_PERIODS)]
        schedule = replay(*in_periods(workload.as_jobs(), workload.as_cluster(), case.period), policy, backfill)
        assert schedule.start.tolist() == oracle_periods(workload, case.period, policy, backfill), f"case {seed}"
        compared += 1
    assert compared == 600


def test_times_are_rounded_and_the_rest_is_kept() -> None:
    jobs = busy_jobs(300, cancelled_share=0.2)
    outages = Outages(np.array([61]), np.array([FOREVER]), np.array([3]), np.array([59]))
    rounded, cluster = in_periods(jobs, Cluster(PROCS, outages=outages), 60)
    for name in ("submit", "runtime", "estimate", "limit", "hold", "admit"):
        before, after = getattr(jobs, name), getattr(rounded, name)
        assert (after % 60 == 0).all() and (after >= before).all() and (after < before + 60).all()
    assert ((rounded.cancel == NEVER) == (jobs.cancel == NEVER)).all() and (rounded.procs == jobs.procs).all()
    assert (cluster.outages.start[0], cluster.outages.end[0], cluster.outages.announced[0]) == (60, FOREVER, 0)


def test_what_has_no_periods() -> None:
    with pytest.raises(ValueError, match="at least 1 s"):
        in_periods(busy_jobs(3), PROCS, 0)
    running = RunningJobs(*(np.array([n]) for n in (0, 9000, 1, 9000, 9000, 0)))
    with pytest.raises(ValueError, match="warm start"):
        in_periods(busy_jobs(3), Cluster(PROCS, running), 60)


def test_whole_nodes() -> None:
    jobs = busy_jobs(50)
    rounded, cluster = in_whole_nodes(jobs, PROCS, 4)
    assert (rounded.procs % 4 == 0).all() and (rounded.procs - jobs.procs < 4).all() and cluster.procs == PROCS
    assert replace(rounded, procs=jobs.procs).submit.tolist() == jobs.submit.tolist()
    with pytest.raises(ValueError, match="whole nodes of 5"):
        in_whole_nodes(jobs, PROCS, 5)
