"""Tests of simulator/slurm/rows, and of rules that a setting of slurm.conf switches on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from simulator.cluster.arrays import cluster_arrays
from simulator.cluster.requests import Request
from simulator.slurm.backfill import NEITHER, PLANNED, STARTED, backfill_cycle
from simulator.slurm.limits import limits_of, unmodelled_limits
from simulator.slurm.loop import run_replay
from simulator.slurm.main_pass import main_pass
from simulator.slurm.nodes.selection import choose_nodes
from simulator.slurm.replaying import Phases, new_replay
from simulator.slurm.rows import HAS_NO_PLAN, LETS_ALL_PASS
from simulator.slurm.settings import jobs_within, slurm_settings
from simulator.slurm.starting import begin_job
from tests.simulator.busy import SITE, columns_of, engine_of, no_decisions, queue_of
from traces.cluster.accounts import Limit
from traces.cluster.description import ClusterDescription, SchedulerSettings

SMALL = Request(0, limit_s=600, tasks=1)
WHOLE = {"min_nodes": 4, "max_nodes": 4, "exclusive": True}
Value = str | int | bool


def site_with(**values: Value) -> ClusterDescription:
    return replace(SITE, scheduler=replace(SITE.scheduler, values={**SITE.scheduler.values, **values}))


# Backfill cycles.


def kinds(asked: list[Request], rows: list[tuple[int, int]], reserves: dict[int, int], **values: Value) -> list[int]:
    """What becomes of rows, in a cycle at second 30. reserves: of rows where it is not the usual."""
    engine = engine_of(asked, site_with(**values))
    engine.scratch.allowed[:] = True
    if asked[0].min_nodes:  # it runs already
        begin_job(engine, 0, 0, choose_nodes(engine, engine.free, 0, 0), 0)
    decisions, queue = no_decisions(engine), queue_of(engine, *rows)
    for row, kind in reserves.items():
        queue.reserves[row] = kind
    backfill_cycle(engine, queue, decisions, 30)
    return decisions.kind[: decisions.length[0]].tolist()


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, [STARTED] * 3),
        ({"bf_max_job_start": 2}, [STARTED] * 2),
        ({"bf_max_job_assoc": 1}, [STARTED]),
        ({"bf_max_job_user_part": 1}, [STARTED] * 2),
    ],
)
def test_a_cycle_looks_at_so_many_jobs(values: dict[str, Value], expected: list[int]) -> None:
    assert kinds([SMALL] * 3, [(0, 0), (1, 0), (2, 1)], {}, **values) == expected


@pytest.mark.parametrize(
    ("values", "reserves", "expected"),
    [
        ({}, {}, [PLANNED, PLANNED, PLANNED, STARTED]),
        ({"bf_job_part_count_reserve": 1}, {}, [PLANNED, NEITHER, NEITHER, STARTED]),
        ({}, {0: HAS_NO_PLAN}, [NEITHER, PLANNED, PLANNED, STARTED]),
        ({}, {0: HAS_NO_PLAN, 1: LETS_ALL_PASS}, [NEITHER, NEITHER, STARTED, STARTED]),
    ],
)
def test_some_jobs_have_no_plan(values: dict[str, Value], reserves: dict[int, int], expected: list[int]) -> None:
    asked = [
        Request(0, limit_s=600, min_nodes=3, max_nodes=3, exclusive=True),
        *[Request(0, limit_s=600, **WHOLE)] * 2,
        Request(0, limit_s=900, tasks=1),
        Request(0, limit_s=300, tasks=1),
    ]
    assert kinds(asked, [(job, 0) for job in (1, 2, 3, 4)], reserves, **values) == expected


@pytest.mark.parametrize(("values", "second"), [({}, PLANNED), ({"bf_one_resv_per_job": True}, NEITHER)])
def test_a_job_of_two_partitions_has_one_plan_where_that_is_set(values: dict[str, Value], second: int) -> None:
    asked = [
        Request(0, limit_s=600, min_nodes=3, max_nodes=3, exclusive=True),
        Request(0, limit_s=600, partitions=("all", "whole"), **WHOLE),
    ]
    assert kinds(asked, [(1, 0), (1, 2)], {}, **values) == [PLANNED, second]


# The main scheduler.


def started(rows: list[tuple[int, int]], reserves: int, **values: Value) -> list[int]:
    """Which jobs start, of which the first asks for more than there is. reserves: of its row."""
    asked = [Request(0, limit_s=600, min_nodes=4, max_nodes=4, tasks=16, exclusive=True), *[SMALL] * 3]
    engine = engine_of(asked, site_with(**values))
    engine.scratch.allowed[:] = True
    begin_job(engine, 3, 0, choose_nodes(engine, engine.free, 3, 0), 0)
    queue = queue_of(engine, *rows)
    queue.reserves[0] = reserves
    main_pass(engine, queue, 100, 0)
    return [job for job in range(3) if engine.running.start[job] >= 0]


def test_a_pass_looks_at_so_many_jobs_of_a_partition_and_starts_so_many() -> None:
    rows = [(1, 0), (0, 0), (2, 1)]
    assert started([(1, 1), (2, 1)], HAS_NO_PLAN) == [1, 2]
    assert started(rows, HAS_NO_PLAN, partition_job_depth=1) == [1, 2]
    assert started([(1, 1), (2, 1)], HAS_NO_PLAN, sched_max_job_start=1) == [1]


def test_a_job_that_reserves_nothing_blocks_nobody() -> None:
    rows = [(0, 0), (1, 0), (2, 0)]
    assert started(rows, HAS_NO_PLAN) == [] and started(rows, LETS_ALL_PASS) == [1, 2]


# Replays.


def starts(asked: list[Request], runtime: list[int], site: ClusterDescription, phases: Phases) -> list[int]:
    replay = new_replay(site, cluster_arrays(site), columns_of(asked, site), np.array(runtime), phases)
    run_replay(replay)
    return replay.engine.running.start.tolist()


@pytest.mark.parametrize(
    ("values", "flags", "expected"),
    [
        ({}, (), 450),  # behind the job that has all nodes
        ({"bf_min_age_reserve": 300}, (), 20),
        ({"bf_min_prio_reserve": 1 << 40}, (), 20),
        ({}, ("noreserve",), 40),  # it blocks the main scheduler, and has no plan
    ],
)
def test_who_is_kept_back_by_a_job_that_waits(values: dict[str, Value], flags: tuple[str, ...], expected: int) -> None:
    site = site_with(**values)
    site = replace(site, qualities=(replace(SITE.qualities[0], flags=flags), SITE.qualities[1]))
    asked = [
        Request(0, limit_s=600, min_nodes=3, max_nodes=3, exclusive=True),
        Request(10, limit_s=600, qos="normal", **WHOLE),
        Request(20, limit_s=600, tasks=1),
    ]
    assert starts(asked, [400, 50, 20], site, Phases(10, 59))[2] == expected


def test_a_cycle_without_continue_ends_once_something_has_changed() -> None:
    """Each test takes a second. Locks are let go of after two, and then a job has come."""
    asked = [
        Request(0, limit_s=600, min_nodes=3, max_nodes=3, exclusive=True),
        *[Request(1, limit_s=600, **WHOLE)] * 3,
        Request(2, limit_s=60, tasks=1),
        *[Request(second, limit_s=600, **WHOLE) for second in range(11, 60, 2)],
    ]
    runtime = [300, *[50] * 3, 20, *[50] * 25]
    phases = Phases(10, 59, test_us=1_000_000)
    kept, broken = (starts(asked, runtime, site_with(**values), phases)[4] for values in ({"bf_continue": True}, {}))
    assert kept == 10 and broken > 60


def test_time_asleep_counts_for_the_longest_cycle() -> None:
    settings = slurm_settings(SchedulerSettings("slurm", "", {"bf_max_time": 10}))
    # 2 s awake of each 2.5 s
    assert jobs_within(settings, 1000) == 8000
    assert jobs_within(settings._replace(most_seconds=4), 1000) == 3500


@pytest.mark.parametrize(("flags", "first"), [("", 2), ("accrue_always", 1)])
def test_age_before_a_job_may_start_counts_where_that_is_set(flags: str, first: int) -> None:
    values = {"priorityweightage": 1_000_000, "prioritycalcperiod": 10, "prioritytype": "priority/multifactor"}
    asked = [
        Request(0, limit_s=1200, **WHOLE),
        Request(1, limit_s=600, begin_s=1000, **WHOLE),
        Request(500, limit_s=600, **WHOLE),
    ]
    got = starts(asked, [1100, 50, 50], site_with(**values, priorityflags=flags), Phases(10, 59))
    assert min((1, 2), key=lambda job: got[job]) == first


@pytest.mark.parametrize(("flags", "first"), [("", 2), ("incr_only", 1)])
def test_priorities_do_not_fall_where_that_is_set(flags: str, first: int) -> None:
    """Job 1 is of the user whose job runs."""
    values = {"priorityweightfairshare": 1000, "prioritycalcperiod": 10, "prioritytype": "priority/multifactor"}
    asked = [
        Request(0, limit_s=1200, user="v", account="y", tasks=4),
        Request(1, limit_s=600, user="v", account="y", min_nodes=4, max_nodes=4),
        Request(2, limit_s=600, user="u", account="x", **WHOLE),
    ]
    site = replace(site_with(**values, priorityflags=flags), limits=())
    got = starts(asked, [1100, 50, 50], site, Phases(10, 59))
    assert min((1, 2), key=lambda job: got[job]) == first


@pytest.mark.parametrize(
    ("version", "parameters", "at_once"),
    [
        ("22.05", "", 4),
        ("22.05", "cr_core", 5),
        ("20.11", "", 5),
        ("20.11", "cr_core_memory", 4),
        ("22.05", "cr_lln", 4),
    ],
)
def test_memory_holds_jobs_back_where_they_consume_it(version: str, parameters: str, at_once: int) -> None:
    values = {"selecttypeparameters": parameters} if parameters else {}
    site = replace(SITE, scheduler=replace(site_with(**values).scheduler, version=version))
    asked = [Request(0, limit_s=600, tasks=1, memory_mib=600) for _ in range(5)]
    assert starts(asked, [50] * 5, site, Phases(10, 59)).count(0) == at_once


@pytest.mark.parametrize(("words", "holds"), [("associations,qos", False), ("safe", True), ("all", True)])
def test_limits_hold_where_they_are_enforced(words: str, holds: bool) -> None:
    site = replace(
        site_with(accountingstorageenforce=words), limits=(*SITE.limits, Limit("qos", "few", "node", "job", "cpu", 1))
    )
    assert (len(limits_of(site, columns_of([SMALL]), ("",)).bound) > 0) == holds
    assert (len(unmodelled_limits(site, ("",))) > 0) == holds
    assert slurm_settings(site.scheduler).safe == int(holds)


def test_schedulers_that_are_switched_off() -> None:
    never = slurm_settings(SchedulerSettings("slurm", "", {"bf_interval": -1, "sched_interval": -1, "minjobage": 0}))
    assert never.backfills == 0 and min(never.full_interval, never.min_age) > 1 << 30
