"""Limits on running jobs and on single jobs."""

from __future__ import annotations

from dataclasses import replace

from simulator.cluster.requests import Request
from simulator.slurm.limits import (
    count_elapsed,
    count_submitted,
    lacks_licences,
    may_be_submitted,
    over_limit,
    too_many_jobs,
)
from simulator.slurm.nodes.selection import choose_nodes
from simulator.slurm.starting import begin_job, end_job
from tests.simulator.slurm_site import SITE, engine_of
from traces.cluster.accounts import Limit


def test_jobs_over_a_limit() -> None:
    of_y = {"limit_s": 60, "user": "v", "account": "y"}
    engine = engine_of(
        [
            Request(0, tasks=4, **of_y),
            Request(0, tasks=3, **of_y),
            Request(0, tasks=2, **of_y),
            Request(0, limit_s=60, tasks=17),
            Request(0, limit_s=60, tasks=1, qos="few"),
            Request(0, limit_s=60, tasks=1, qos="few"),
        ]
    )
    engine.scratch.allowed[:] = True
    assert not over_limit(engine, 0, 0) and over_limit(engine, 3, 0)
    for job in (0, 4):
        begin_job(engine, job, 0, choose_nodes(engine, engine.free, job, 0), 0)
    assert over_limit(engine, 1, choose_nodes(engine, engine.free, 1, 0))
    assert not over_limit(engine, 2, choose_nodes(engine, engine.free, 2, 0))
    assert too_many_jobs(engine, 5) and not too_many_jobs(engine, 1)
    end_job(engine, 4, 0)
    assert not too_many_jobs(engine, 5)


def test_time_that_running_jobs_may_still_use() -> None:
    site = replace(SITE, limits=(Limit("account", "y", "outstanding", "all", "cpu", 1000),))
    asked = [Request(0, limit_s=limit, tasks=2, user="v", account="y") for limit in (300, 200, 600)]
    engine = engine_of(asked, site)
    engine.scratch.allowed[:] = True
    begin_job(engine, 0, 0, choose_nodes(engine, engine.free, 0, 0), 100)
    assert not over_limit(engine, 1, 0)
    begin_job(engine, 1, 0, choose_nodes(engine, engine.free, 1, 0), 100)
    assert over_limit(engine, 2, 0)
    count_elapsed(engine, 250)  # 2 * (150 + 50) are left
    assert engine.limits.used[0] - engine.limits.elapsed[0] == 400
    end_job(engine, 0, 0)
    end_job(engine, 1, 0)
    assert over_limit(engine, 2, 0) and engine.limits.used.tolist() == engine.limits.elapsed.tolist() == [0]


def test_submitted_jobs() -> None:
    site = replace(SITE, limits=(Limit("user", "y/v", "submitted", "user", "jobs", 1),))
    engine = engine_of([Request(0, limit_s=60, user="v", account="y") for _ in range(2)], site)
    count_submitted(engine, 0, 1)
    assert not may_be_submitted(engine, 1)
    count_submitted(engine, 0, -1)
    assert may_be_submitted(engine, 1)


def test_licences_in_use_keep_a_job_from_starting() -> None:
    site = replace(SITE, licences={"fluent": 3})
    engine = engine_of([Request(0, limit_s=60, licences={"fluent": count}) for count in (2, 2, 1)], site)
    engine.scratch.allowed[:] = True
    begin_job(engine, 0, 0, choose_nodes(engine, engine.free, 0, 0), 0)
    assert [bool(lacks_licences(engine, job)) for job in (1, 2)] == [True, False]
    end_job(engine, 0, 0)
    assert not lacks_licences(engine, 1)
