"""Tests of simulator/slurm: changes, clockwork, priority, limits, preemption, queue, settings, starting, state."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from simulator.cluster.arrays import cluster_arrays
from simulator.cluster.requests import Request
from simulator.slurm.changes import edges_of
from simulator.slurm.clockwork import BEGIN, KEPT, NEVER_STOPS, NEXT_SUBMIT, STOPS
from simulator.slurm.limits import (
    count_elapsed,
    count_submitted,
    lacks_licences,
    limits_of,
    may_be_submitted,
    over_limit,
    too_many_jobs,
    unmodelled_limits,
)
from simulator.slurm.loop import run_replay
from simulator.slurm.nodes.selection import choose_nodes
from simulator.slurm.preemption import unmodelled_preemption
from simulator.slurm.priority import (
    add_usage,
    billed,
    classic_factors,
    count_usage,
    decay_of,
    fair_shares,
    fair_tree_factors,
    has_classic_shares,
    job_priority,
    priority_rules,
    static_factors,
)
from simulator.slurm.queue import enqueue, sort_queue
from simulator.slurm.replaying import Phases, new_replay
from simulator.slurm.settings import slurm_settings
from simulator.slurm.starting import begin_job, end_job
from simulator.slurm.state import slurm_site_of
from tests.simulator.busy import SITE, columns_of, engine_of, with_reservation
from traces.cluster.accounts import Limit, ServiceQuality
from traces.cluster.description import Absence, ClusterDescription, SchedulerSettings

# clockwork: The state of a replay.


def test_a_clock_has_a_place_for_everything() -> None:
    replay = new_replay(SITE, cluster_arrays(SITE), columns_of([Request(7)]), np.array([60]), Phases())
    assert len(replay.clock) == KEPT + 1
    assert (replay.clock[BEGIN], replay.clock[NEXT_SUBMIT], replay.clock[STOPS]) == (7, 0, NEVER_STOPS)


# fair_tree: Fair share as a tree.


def test_users_are_ranked_by_the_tree_and_equal_ones_share_a_rank() -> None:
    # accounts 0 and 1, users 2 and 3 of account 0, user 4 of account 1, user 5 at the top
    parent = np.array([-1, -1, 0, 0, 1, -1])
    shares = np.array([3, 1, 1, 1, 1, 1])
    usage = np.zeros(6)
    assert fair_tree_factors(parent, shares, usage, 2).tolist() == [1.0, 1.0, 1.0, 1.0]
    add_usage(usage, parent, 2, 100.0)
    add_usage(usage, parent, 4, 10.0)
    assert usage.tolist() == [100.0, 10.0, 100.0, 0.0, 10.0, 0.0]
    assert fair_tree_factors(parent, shares, usage, 2).tolist() == [0.25, 0.5, 0.75, 1.0]


def test_usage_decays() -> None:
    assert decay_of(3600, 3600) == pytest.approx(0.5, abs=1e-3)
    assert decay_of(3600, 0) == 1.0


def test_classic_fair_share_takes_usage_of_the_account_in_part() -> None:
    # one account of two with two users each, as on the documentation's page: half of the shares, all of the usage
    parent, shares = np.array([-1, -1, 0, 0, 1]), np.array([1, 1, 1, 1, 1])
    usage = np.array([100.0, 0.0, 100.0, 0.0, 0.0])
    factors = classic_factors(parent, shares, usage, 2, 1)
    # effective usage 1 and 0.5, shares 0.25 each
    assert factors.tolist() == [2.0**-4, 2.0**-2, 1.0]
    assert classic_factors(parent, shares, usage, 2, 2).tolist() == [0.25, 0.5, 1.0]


# limit_slots: Which limits hold for which job.


def test_a_limit_of_the_qos_hides_that_of_the_account_which_still_counts_the_job() -> None:
    limits = (*SITE.limits, Limit("qos", "few", "running", "all", "cpu", 9))
    site = replace(SITE, limits=limits)
    jobs = columns_of([Request(0, limit_s=60, user="v", account="y", qos=qos) for qos in ("normal", "few")], site)
    slots = limits_of(site, jobs, ("",))
    normal, few = (slice(slots.first[job], slots.first[job + 1]) for job in range(2))
    assert slots.bound[slots.slot[normal]].tolist() == [6] and slots.checked[normal].tolist() == [1]
    assert slots.bound[slots.slot[few]].tolist() == [1, 9, 6] and slots.checked[few].tolist() == [1, 1, 0]


def test_limits_that_are_not_modelled_are_named() -> None:
    others = (Limit("account", "x", "submitted", "all", "cpu", 5), Limit("account", "x", "node", "job", "cpu", 5))
    assert unmodelled_limits(replace(SITE, limits=(*SITE.limits, *others)), ("",)) == others


# limits: Limits on running jobs and on single jobs.


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


# preemption: Jobs that make room for others.


def site(mode: str, **more: int) -> ClusterDescription:
    """QOS few preempts normal, and partition gpu has a higher tier than the others."""
    qualities = (ServiceQuality("normal", **more), ServiceQuality("few", 10, preempts=("normal",)))  # type: ignore[arg-type]
    kind = "preempt/partition_prio" if mode == "partition" else "preempt/qos"
    mode = "requeue" if mode == "partition" else mode
    values = {**SITE.scheduler.values, "preempttype": kind, "preemptmode": mode}
    return replace(SITE, qualities=qualities, scheduler=SchedulerSettings("slurm", "22.05", values))


LONG = Request(0, limit_s=900, min_nodes=2, max_nodes=2, exclusive=True)
WHOLE = {"limit_s": 300, "min_nodes": 2, "max_nodes": 2, "exclusive": True}
CASES = {
    # the first of the long jobs goes, and starts again in the first pass after the delay
    "requeue": (site("requeue"), Request(100, qos="few", **WHOLE), [239, 0, 100], [1, 0, 0]),
    "cancel": (site("cancel", grace_s=30), Request(100, qos="few", **WHOLE), [0, 0, 130], [1, 0, 0]),
    "by partition": (site("partition"), Request(100, partitions=("gpu",), **WHOLE), [0, 239, 100], [0, 1, 0]),
    "nobody": (SITE, Request(100, qos="few", **WHOLE), [0, 0, 200], [0, 0, 0]),
}


@pytest.mark.parametrize("case", CASES)
def test_starts_of_the_preempted_and_of_the_job(case: str) -> None:
    cluster, new, starts, preempted = CASES[case]
    columns = columns_of([LONG, LONG, new], cluster)
    replay = new_replay(cluster, cluster_arrays(cluster), columns, np.array([200, 200, 50]), Phases(25, 59))
    run_replay(replay)
    assert replay.engine.running.start.tolist() == starts
    assert replay.preempted.tolist() == preempted


def test_suspension_by_qos_is_named() -> None:
    values = {"preemptmode": "suspend,gang", "preempttype": "preempt/qos"}
    assert unmodelled_preemption(SchedulerSettings("slurm", "", values)) == "suspend,gang"
    assert unmodelled_preemption(SITE.scheduler) == ""


# priority: Priorities of waiting jobs.

VALUES = {
    "priorityweightage": 1000,
    "priorityweightfairshare": 100,
    "priorityweightjobsize": 80,
    "priorityweightqos": 7,
    "prioritymaxage": 3600,
    "prioritydecayhalflife": 0,
}


def test_the_sum_of_factors() -> None:
    engine = engine_of([Request(0, limit_s=60, tasks=4), Request(0, limit_s=60, tasks=4, qos="few", nice=3)])
    settings = SchedulerSettings("slurm", "", VALUES)
    rules = priority_rules(settings)
    fair = fair_shares(cluster_arrays(SITE), engine.jobs)
    statics = static_factors(cluster_arrays(SITE), settings)
    # age 0.5, no usage, (1/4 + 4/16) / 2 of the size
    assert job_priority(engine, rules, statics, fair, (0, 0), 1800) == 500 + 100 + 20
    assert job_priority(engine, rules, statics, fair, (1, 0), 7200) == 1000 + 100 + 20 + 7 - 3
    engine.scratch.allowed[:] = True
    begin_job(engine, 0, 0, choose_nodes(engine, engine.free, 0, 0), 0)
    count_usage(engine, rules, fair, 0, 100)
    assert fair.usage.tolist() == [400.0, 0.0, 400.0, 0.0] and fair.factor.tolist() == [0.5, 1.0]


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        # of 16 CPUs, 4,000 MiB, 4 nodes and 4 GPUs of the partition
        ("", 1600 * 4 / 16 + 40 * 600 / 4000 + 8 * 1 / 4 + 100 * 2 / 4 + 30 * 5 / 5),
        ("no_normal_tres", 1600 * 4 + 40 * 600 + 8 + 100 * 2 + 30 * 5 / 5),
        ("no_normal_all", 1600 * 4 + 40 * 600 + 8 + 100 * 2 + 30 * 5),
    ],
)
def test_resources_and_associations_have_weights(flags: str, expected: float) -> None:
    site = replace(SITE, members=tuple(replace(member, priority=5) for member in SITE.members))
    engine = engine_of([Request(0, limit_s=60, min_nodes=1, tasks=4, memory_mib=600, gpus={"": 2})], site)
    values = {"priorityweighttres": "cpu=1600,Mem=40,node=8,GRES/gpu=100", "priorityflags": flags}
    settings = SchedulerSettings("slurm", "", {**values, "priorityweightassoc": 30})
    arrays = cluster_arrays(site)
    statics, fair = static_factors(arrays, settings), fair_shares(arrays, engine.jobs)
    assert job_priority(engine, priority_rules(settings), statics, fair, (0, 0), 0) == int(expected)


def test_usage_is_billed_by_the_weights_of_the_partition() -> None:
    billing = {"cpu": 1.0, "mem": 0.01, "gpu": 5.0}
    site = replace(SITE, partitions=(replace(SITE.partitions[0], billing=billing), *SITE.partitions[1:]))
    engine = engine_of([Request(0, limit_s=60, min_nodes=1, max_nodes=1, tasks=2, memory_mib=300, gpus={"": 2})], site)
    engine.scratch.allowed[:] = True
    begin_job(engine, 0, 0, choose_nodes(engine, engine.free, 0, 0), 0)
    fair = fair_shares(cluster_arrays(site), engine.jobs)
    sums = {"": 2 + 3 + 10, "max_tres": 10}
    for flags, billed_a_second in sums.items():
        rules = priority_rules(SchedulerSettings("slurm", "", {"priorityflags": flags}))
        assert billed(engine, rules, fair, 0) == billed_a_second


@pytest.mark.parametrize(
    ("version", "flags", "classic"),
    [
        ("17.11.5", "", True),
        ("17.11", "fair_tree", False),
        ("19.05.0", "", False),
        ("22.05", "no_fair_tree", True),
        ("", "", False),
    ],
)
def test_which_fair_share_a_version_has(version: str, flags: str, classic: bool) -> None:
    assert has_classic_shares(SchedulerSettings("slurm", version, {"priorityflags": flags})) is classic


# queue: The order of the queue.


def test_jobs_join_and_are_sorted_by_priority_then_time_then_number() -> None:
    random = np.random.default_rng(5)
    engine = engine_of([Request(int(submit_s), limit_s=60) for submit_s in random.integers(0, 9, 200)])
    priority = random.integers(0, 12, 200)
    joined, room = np.zeros((200, 3), dtype=np.int64), np.zeros((200, 3), dtype=np.int64)
    for job in range(200):
        enqueue(engine, joined, job, job, 0, priority[job])
    expected = sorted(range(200), key=lambda job: (-priority[job], engine.jobs.submit[job], job))
    assert joined[:, 0].tolist() == expected and joined[:, 2].tolist() == priority[expected].tolist()
    priority = np.where(random.random(200) < 0.3, priority + 5, priority)
    joined[:, 2] = priority[joined[:, 0]]
    sort_queue(engine, joined, 200, room)
    assert joined[:, 0].tolist() == sorted(range(200), key=lambda job: (-priority[job], engine.jobs.submit[job], job))


# settings: Settings of Slurm as numbers.


def test_defaults_and_values_from_parameters() -> None:
    defaults = slurm_settings(SchedulerSettings("slurm"))
    assert (defaults.interval, defaults.window, defaults.job_tests, defaults.table_rows) == (30, 86_400, 500, 500)
    values = {"schedulerparameters": "bf_interval=300,assoc_limit_stop", "schedulertype": "sched/builtin"}
    own = slurm_settings(SchedulerSettings("slurm", "", values | {"prioritytype": "priority/multifactor"}))
    assert (own.interval, own.stops_at_limit, own.backfills, own.basic) == (300, 1, 0, 0)


def test_defaults_by_version() -> None:
    old, new = (slurm_settings(SchedulerSettings("slurm", version)) for version in ("23.02.7", "23.11"))
    assert (old.basic, old.whole_nodes) == (1, 1) and (new.basic, new.whole_nodes) == (0, 0)
    older, newer = (slurm_settings(SchedulerSettings("slurm", version)) for version in ("20.11.9", "21.08"))
    assert (older.job_tests, newer.job_tests) == (100, 500)


def test_a_value_that_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="bf_window=long: expected a number"):
        slurm_settings(SchedulerSettings("slurm", "", {"bf_window": "long"}))


# starting: What jobs hold and give back.


def test_a_job_holds_its_nodes_until_it_ends_and_running_jobs_are_by_end() -> None:
    engine = engine_of(
        [
            Request(0, limit_s=120, min_nodes=1, max_nodes=1, tasks=2, memory_mib=300, gpus={"": 1}),
            Request(0, limit_s=60, min_nodes=1, max_nodes=1, exclusive=True),
            Request(0, limit_s=120, tasks=1),
        ]
    )
    engine.scratch.allowed[:] = True
    for job in (2, 1, 0):
        begin_job(engine, job, 0, choose_nodes(engine, engine.free, job, 0), 10)
    running = engine.running
    assert running.job[: running.length[0]].tolist() == [1, 0, 2]
    assert engine.free.cpus.tolist() == [3, 0, 2, 4] and engine.free.gpus.tolist() == [[0], [0], [1], [2]]
    assert engine.free.whole.tolist() == [0, 1, 0, 0] and engine.free.memory.tolist() == [1000, 1000, 700, 1000]
    end_job(engine, 0, 33)
    assert engine.free.cpus.tolist() == [3, 0, 4, 4] and engine.scratch.completing.tolist() == [0, 0, 33, 0]
    assert running.job[: running.length[0]].tolist() == [1, 2]


# state: The state of an idle controller.


def test_an_idle_engine_has_everything_free_and_room_for_every_job() -> None:
    engine = engine_of([Request(1, limit_s=60, min_nodes=3, max_nodes=3), Request(2, limit_s=60, tasks=2)])
    assert engine.free.cpus.tolist() == [4, 4, 4, 4] and engine.free.gpus.tolist() == [[0], [0], [2], [2]]
    assert engine.running.first.tolist() == [0, 3, 5] and engine.running.start.tolist() == [-1, -1]


# changes: Changes that make the backfill scheduler run.


def test_reservations_begin_and_end_and_nodes_come_back() -> None:
    """A node that never comes back is no change."""
    site = with_reservation("a")
    nodes = (replace(site.nodes[0], absences=(Absence(0, 300), Absence(900, None))), *site.nodes[1:])
    site = replace(site, nodes=nodes)
    edges = edges_of(slurm_site_of(cluster_arrays(site), slurm_settings(site.scheduler)))
    assert edges.tolist() == [[300, 0], [600, 1], [1200, 0]]
