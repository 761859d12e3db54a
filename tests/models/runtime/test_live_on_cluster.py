"""Tests of models/runtime: live_on_cluster.

Slurm, PBS and orders under limits plan by jobs that have ended.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from models.runtime.live import LiveSettings, replay_live
from models.runtime.live_on_cluster import LiveOnCluster, LiveUnderLimits
from simulator.cluster.arrays import cluster_arrays
from simulator.cluster.requests import Request
from simulator.engine.replay import OrderReplayer, replay
from simulator.jobs.cluster import Cluster
from simulator.jobs.followers import NO_JOB
from simulator.jobs.jobs import Jobs
from simulator.limits.replaying import LimitedReplayer
from simulator.limits.rules import RUNNING_JOBS, JobLimit
from simulator.pbs.replaying import new_pbs_replay
from simulator.pbs.settings import PbsPhases
from simulator.pbs.state import PbsReplay
from simulator.policies.registry import parse_policy
from simulator.slurm.replaying import Phases, SlurmReplayer
from tests.models.runtime.live_oracle import BACKFILLS, POLICIES, PROCS, Log, random_log
from tests.simulator.busy import SITE, asking, busy_jobs, columns_of, pbs_site


def test_a_waiting_job_is_planned_by_the_jobs_of_its_user_that_have_ended() -> None:
    asked = [Request(second, limit_s=3600, min_nodes=4, max_nodes=4, exclusive=True) for second in (0, 10, 20)]
    hour, users = np.full(3, 3600), [1, 1, 2]
    jobs = Jobs(np.array([0, 10, 20]), np.array([100, 700, 50]), np.full(3, 16), hour, hour)
    rows = pl.DataFrame(
        {"user_name": users, "executable": [None] * 3, "requested_walltime_s": hour, "requested_procs": [16] * 3}
    )
    replayer = SlurmReplayer(SITE, cluster_arrays(SITE), columns_of(asked), Phases.drawn(1))
    replay, _ = replayer.begun(jobs, Cluster(16))

    LiveOnCluster(rows.cast({"user_name": pl.Utf8, "executable": pl.Utf8}), "mean")(replay)

    planned, start = replay.engine.jobs.planned, replay.engine.running.start
    assert planned[0] == planned[2] > 800, "nothing had ended of their users"
    assert 100 <= planned[1] < 150
    assert (np.diff(start) >= [100, 700]).all()
    assert (replay.engine.jobs.limit == 3600).all(), "no estimate changes what a job may run for"
    assert replay.engine.running.end[1] == start[1] + 3600, "it has outlived its estimate"


def test_estimates_of_jobs_that_follow_others_are_those_of_an_open_replay_at_their_submissions() -> None:
    jobs = busy_jobs(80, load=1.6, seed=3)
    after = np.array([k - 4 if k >= 4 and k % 3 else NO_JOB for k in range(80)])
    closed_jobs = replace(jobs, after=after, think=np.where(after == NO_JOB, 0, 30))
    tasks = np.minimum(jobs.procs, 16)
    asked = [Request(0, limit_s=int(s), tasks=int(n)) for n, s in zip(tasks, jobs.limit, strict=True)]
    rows = pl.DataFrame(
        {
            "user_name": jobs.user.astype(str),
            "executable": ["x"] * 80,
            "requested_walltime_s": jobs.limit,
            "requested_procs": tasks,
        }
    )
    site = replace(SITE, limits=())
    plain = SlurmReplayer(site, cluster_arrays(site), columns_of(asked, site), Phases(1, 2))
    replayer = replace(plain, drive=LiveOnCluster(rows, "mean"))

    closed = replayer.replay(closed_jobs, Cluster(16))

    assert closed.submit is not None and (closed.submit != jobs.submit).sum() > 40
    as_it_came = closed_jobs.without_followers().submitted_at(closed.submit)
    assert (replayer.replay(as_it_came, Cluster(16)).schedule.start == closed.schedule.start).all()
    assert (plain.replay(as_it_came, Cluster(16)).schedule.start != closed.schedule.start).any()


def test_pbs_plans_a_waiting_job_by_those_of_its_user_that_have_ended() -> None:
    users = [1, 1, 2, 1, 2]
    asked = [asking(second, 4, 3600, user=str(user)) for second, user in zip(range(0, 50, 10), users, strict=True)]
    rows = pl.DataFrame(
        {"user_name": users, "executable": [None] * 5, "requested_walltime_s": [3600] * 5, "requested_procs": [16] * 5}
    )
    runtime = np.array([100, 90, 50, 700, 50])
    replay = new_pbs_replay(pbs_site(), asked, (np.arange(0, 50, 10), runtime), PbsPhases())

    LiveOnCluster(rows.cast({"user_name": pl.Utf8, "executable": pl.Utf8}), "mean")(replay)

    wall = replay.engine.jobs.wall
    assert wall[0] == wall[2] > 800, "nothing had ended of their users"
    assert 90 <= wall[1] < 150 and 50 <= wall[4] < 150
    assert wall[3] == 3600, "it has outlived its estimate while another job waited"
    assert replay.first_start.tolist() == [0, 100, 190, 240, 940]


def test_pbs_learns_where_jobs_follow_others() -> None:
    """The open replay of the closed one's submissions learns the same."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        submit = np.sort(rng.integers(0, 4_000, 40))
        runtime, users = rng.integers(20, 900, 40), rng.integers(0, 3, 40)
        after = np.where(
            rng.random(40) < 0.6, np.arange(40) - 1 - np.minimum(rng.geometric(0.4, 40), np.arange(40)), -1
        )

        def driven(order: NDArray[np.int64], when: NDArray[np.int64], after: NDArray[np.int64]) -> PbsReplay:
            asked = [asking(int(when[k]), 2, 3600, user=str(user)) for k, user in enumerate(users[order])]  # noqa: B023
            rows = pl.DataFrame({"user_name": [one.user for one in asked], "requested_walltime_s": [3600] * 40})
            rows = rows.with_columns(executable=pl.lit(None, dtype=pl.Utf8), requested_procs=pl.lit(16))
            times, think = (when, runtime[order]), np.where(after >= 0, 7, 0)  # noqa: B023
            replay = new_pbs_replay(
                pbs_site(job_sort_key="ncpus HIGH"), asked, times, PbsPhases(), (after, think, np.full(len(after), -1))
            )
            LiveOnCluster(rows, "mean")(replay)
            return replay

        closed = driven(np.arange(40), submit, after)
        came = closed.engine.jobs.submit
        order = np.argsort(came, kind="stable")
        opened = driven(order, came[order], np.full(40, -1))
        assert (came > submit).any() and (closed.engine.jobs.wall < 3600).any()
        assert closed.first_start[order].tolist() == opened.first_start.tolist()
        assert closed.engine.jobs.wall[order].tolist() == opened.engine.jobs.wall.tolist()


UNDER_LIMITS = (*POLICIES, "bounded-key", "formula:-(estimate * procs + submit)", "smallest")


def under_limits(log: Log, policy: str, backfill: str, settings: LiveSettings, **others: object) -> list[int]:
    jobs, rows = log.jobs(settings.reserve_by), log.rows()
    drive = LiveUnderLimits(rows, settings, parse_policy(policy), jobs.origin)
    replayer = LimitedReplayer(OrderReplayer(policy, backfill), drive=drive, **others)  # type: ignore[arg-type]
    return replayer.replay(jobs, Cluster(PROCS)).schedule.start.tolist()


@pytest.mark.parametrize("backfill", ["none", "any", *BACKFILLS])
def test_without_a_limit_an_order_under_limits_starts_the_same_jobs(backfill: str) -> None:
    differs = 0
    for seed, policy in enumerate(UNDER_LIMITS * 2):
        log, settings = random_log(seed + 300), LiveSettings(reserve_by=("estimate", "requested")[seed % 2])
        jobs = log.jobs(settings.reserve_by)
        expected = replay_live(jobs, log.rows(), PROCS, policy, backfill, settings=settings).schedule.start.tolist()
        assert under_limits(log, policy, backfill, settings) == expected, (seed, policy)
        differs += expected != replay(log.jobs("estimate"), PROCS, policy, backfill).start.tolist()
    assert differs > 6


def test_a_limit_holds_with_live_estimates() -> None:
    log = random_log(300)
    limit = JobLimit(RUNNING_JOBS, 1, log.user.astype(np.int64))
    start = np.array(under_limits(log, "SAF", "easy", LiveSettings(), limits=[limit]))
    for user in range(4):
        of_user = np.argsort(start[log.user == user], kind="stable")
        begin, end = start[log.user == user][of_user], (start + log.runtime)[log.user == user][of_user]
        assert (begin[1:] >= end[:-1]).all()
    assert under_limits(log, "FCFS", "easy", LiveSettings(), limits=[limit]) != start.tolist()
    with pytest.raises(ValueError, match="write it as formula:TEXT"):
        under_limits(log, "F1", "easy", LiveSettings())
