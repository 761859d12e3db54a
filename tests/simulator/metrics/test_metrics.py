"""Every metric: by hand on small cases, and against a plain evaluation of its definition on random schedules."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from statistics import fmean

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sql
from simulator.jobs.cluster import FOREVER, Cluster, Outages, RunningJobs
from simulator.jobs.jobs import NEVER, Jobs
from simulator.jobs.schedule import CANCELLED, Schedule
from simulator.metrics.metrics import (
    METRICS,
    RUNTIME_CLASSES,
    SIZE_CLASSES,
    bounded_slowdown,
    measured_jobs,
    metrics,
    metrics_by_class,
)
from warehouse.schema import column_comments, create_schema, table_columns

JobRow = tuple[int, int | None, int, int, int]
"""A job as (submit, start, run time, processors, user), seconds; no start: cancelled while it waited."""
Span = tuple[int, int, int]
"""Processors that something holds: (start, end, processors)."""


def replayed(rows: list[JobRow], backfilled: list[bool] | None = None) -> tuple[Jobs, Schedule]:
    """The rows as a replay and its outcome."""
    submit, start, runtime, procs, user = zip(*rows, strict=True)
    length = np.array(runtime, dtype=np.int64)
    cancel = np.array([s + 1 if begin is None else NEVER for s, begin in zip(submit, start, strict=True)])
    estimate = np.maximum(length, 1)
    jobs = Jobs(np.array(submit), length, np.array(procs), estimate, estimate, user=np.array(user), cancel=cancel)
    begins = np.array([CANCELLED if begin is None else begin for begin in start], dtype=np.int64)
    return jobs, Schedule(begins, np.array(backfilled or [False] * len(rows), dtype=np.bool_))


def cluster_of(procs: int, running: list[Span] = [], outages: list[Span] = []) -> Cluster:  # noqa: B006
    """A cluster with jobs that run already and outages, both as spans."""
    start, end, size = (np.array([row[k] for row in running], dtype=np.int64) for k in range(3))
    running_jobs = RunningJobs(start, end - start, size, end - start, end - start, 0 * start)
    start, end, size = (np.array([row[k] for row in outages], dtype=np.int64) for k in range(3))
    return Cluster(procs, running_jobs, Outages(start, end, size, start))


# By hand. 4 processors: J0 of user 0: s 0, r 20, p 2, start 0. J1 of user 0: s 5, r 5, p 2, start 15. J2 of user 1:
# s 10, r 100, p 4, start 20. Waits 0, 10, 10; turnarounds 20, 15, 110; in use 2 until 15, 4 from then on.
THREE: list[JobRow] = [(0, 0, 20, 2, 0), (5, 15, 5, 2, 0), (10, 20, 100, 4, 1)]


def test_three_jobs_by_hand() -> None:
    found = metrics(*replayed(THREE, [False, True, False]), 4)
    assert tuple(found) == METRICS
    assert found["average_wait_s"] == pytest.approx(20 / 3)
    assert [found[f"{name}_wait_s"] for name in ("median", "p90", "p95", "p99", "max")] == [10, 10, 10, 10, 10]
    assert found["average_turnaround_s"] == pytest.approx(145 / 3)
    assert found["median_turnaround_s"] == 20
    assert found["p90_turnaround_s"] == pytest.approx(20 + 0.8 * 90)  # rank 0.9 * 2 = 1.8
    assert found["average_slowdown"] == pytest.approx(5.1 / 3)  # 1, 3, 1.1
    assert found["max_slowdown"] == 3
    assert found["average_bounded_slowdown"] == pytest.approx(3.6 / 3)  # 1, 15 / 10, 1.1
    assert found["p95_bounded_slowdown"] == pytest.approx(1.1 + 0.9 * 0.4)
    # per processor: 20 / 40, 15 / 20 and 110 / 400, all raised to 1
    assert found["max_per_processor_bounded_slowdown"] == 1
    # areas 40, 10, 400
    assert found["area_weighted_wait_s"] == pytest.approx((10 * 10 + 400 * 10) / 450)
    assert found["area_weighted_turnaround_s"] == pytest.approx((40 * 20 + 10 * 15 + 400 * 110) / 450)
    assert found["utilisation"] == pytest.approx(450 / 480)
    assert found["makespan_s"] == 120
    assert found["throughput_jobs_per_hour"] == pytest.approx(3 * 3600 / 120)
    assert found["average_queue_length"] == pytest.approx(20 / 120)
    assert found["average_job_load_proc_s"] == pytest.approx((10 * 10 + 10 * 400) / 120)
    # 2 free in 5..15, and waiting jobs ask for 2 in 5..10 and for 6 in 10..15; from 15 to 20 J1 has them: none is free
    assert found["loss_of_capacity"] == pytest.approx(20 / 480)
    assert found["backfilled_share"] == pytest.approx(1 / 3)
    assert found["waits_over_24_h_share"] == 0
    # user 0: waits 0 and 10, bounded slowdowns 1 and 1.5; user 1: 10 and 1.1
    assert found["average_user_wait_s"] == pytest.approx(7.5)
    assert found["max_user_wait_s"] == 10
    assert found["average_user_bounded_slowdown"] == pytest.approx((1.25 + 1.1) / 2)
    assert found["max_user_bounded_slowdown"] == pytest.approx(1.25)
    assert found["jain_index_user_bounded_slowdown"] == pytest.approx(2.35**2 / (2 * (1.25**2 + 1.1**2)))
    assert found["jobs_cancelled"] == 0


def test_no_more_is_lost_than_waiting_jobs_ask_for() -> None:
    # 8 processors, 1 used by nobody but asked for in 0..10; then the job runs alone for 10 s.
    found = metrics(*replayed([(0, 10, 10, 1, 0)]), 8)
    assert found["loss_of_capacity"] == pytest.approx(10 / 160)
    assert found["utilisation"] == pytest.approx(10 / 160)


def test_a_long_wait_is_longer_than_24_hours() -> None:
    day = 24 * 3600
    found = metrics(*replayed([(0, 0, 1, 1, 0), (0, day, 1, 1, 0), (0, day + 1, 1, 1, 0), (0, 9 * day, 1, 1, 0)]), 4)
    assert found["waits_over_24_h_share"] == 0.5


def test_per_processor_slowdown_and_the_choice_of_tau() -> None:
    replay = replayed([(0, 38, 2, 2, 0)])  # turnaround 40
    assert metrics(*replay, 2)["average_bounded_slowdown"] == 4
    assert metrics(*replay, 2)["average_per_processor_bounded_slowdown"] == 2
    assert metrics(*replay, 2, tau_s=1)["average_bounded_slowdown"] == 20
    assert metrics(*replay, 2, tau_s=1)["max_per_processor_bounded_slowdown"] == 10
    assert metrics(*replay, 2, tau_s=60)["average_bounded_slowdown"] == 1
    assert bounded_slowdown(np.array([38]), np.array([2])).tolist() == [4.0]


def test_jobs_without_run_time() -> None:
    # Slowdown counts at least 1 s of run time: (5 + 1) / 1 and, without a wait, 1.
    found = metrics(*replayed([(0, 5, 0, 1, 0), (5, 5, 0, 3, 0)]), 4)
    assert found["average_slowdown"] == 3.5
    assert found["average_bounded_slowdown"] == 1
    assert found["utilisation"] == 0
    assert found["area_weighted_wait_s"] == 2.5  # without any area all jobs weigh the same
    assert found["makespan_s"] == 5
    assert found["loss_of_capacity"] == pytest.approx(5 / 20)


def test_a_replay_that_is_over_at_once() -> None:
    found = metrics(*replayed([(7, 7, 0, 1, 0)]), 4)
    assert all(math.isfinite(value) for value in found.values())
    assert found["utilisation"] == found["makespan_s"] == found["average_queue_length"] == 0
    assert found["throughput_jobs_per_hour"] == 3600  # of one second


def test_outages_take_capacity_away_once_jobs_have_ended() -> None:
    # 4 processors in 0..20. J0 holds 3 in 0..10; an outage of 2 in 5..20 takes the free one at 5 and another at 10.
    # J1 waits from 0 and holds 1 in 12..20. There: 4 * 5 + 3 * 5 + 2 * 10 = 55, held 38. Lost: 1 in 0..5 and in 10..12.
    rows: list[JobRow] = [(0, 0, 10, 3, 0), (0, 12, 8, 1, 0)]
    found = metrics(*replayed(rows), cluster_of(4, outages=[(5, FOREVER, 2), (-9, -3, 1), (20, 30, 4)]))
    assert found["utilisation"] == pytest.approx(38 / 55)
    assert found["loss_of_capacity"] == pytest.approx((5 + 2) / 55)
    assert metrics(*replayed(rows), 4)["utilisation"] == pytest.approx(38 / 80)


def test_jobs_of_a_warm_start_count_in_the_use_of_the_cluster_only() -> None:
    # Two of them hold 2 and 1 of 4 processors from long ago until 10, and until long after the last completion at 30.
    rows: list[JobRow] = [(0, 10, 20, 3, 0)]
    cold, warm = metrics(*replayed(rows), 4), metrics(*replayed(rows), cluster_of(4, [(-50, 10, 2), (-5, 500, 1)]))
    assert warm["utilisation"] == pytest.approx((2 * 10 + 1 * 30 + 60) / 120)
    assert warm["loss_of_capacity"] == pytest.approx(1 * 10 / 120)
    same = set(METRICS) - {"utilisation", "loss_of_capacity"}
    assert {name: cold[name] for name in same} == {name: warm[name] for name in same}


def test_jobs_that_wait_when_the_replay_begins_count_for_the_machine_only() -> None:
    # THREE behind a queue of two, submitted at -70 and -60 in a clock that is 100 later: they run on 4 processors from 120 to 130
    # and on 2 from 400 on. The third leaves at 99.
    queue: list[JobRow] = [(10, None, 9, 4, 5), (30, 220, 10, 4, 5), (40, 400, 9, 2, 6)]
    later: list[JobRow] = [
        (submit + 100, None if start is None else start + 100, *rest) for submit, start, *rest in THREE
    ]
    jobs, schedule = replayed([*queue, *later])
    warm, cold = metrics(jobs, schedule, Cluster(4, waiting=3)), metrics(*replayed(later), 4)
    machine = {
        "utilisation": (2 * 15 + 4 * 105) / (4 * 120),  # what starts at 220 and 400 is past the last completion
        "loss_of_capacity": 2 * 15 / (4 * 120),
        "average_queue_length": (120 + 120 + 10 + 10) / 120,
        "average_job_load_proc_s": (120 * 40 + 120 * 18 + 10 * 10 + 10 * 400) / 120,
    }
    assert warm == pytest.approx(cold | machine)
    middle = np.array([True, True, True, False, True, True])
    trimmed = metrics(jobs, schedule, Cluster(4, waiting=3), middle)
    assert trimmed["average_wait_s"] == 10 and trimmed["utilisation"] == 0.5  # from 105 to 110


def test_cancelled_jobs_count_only_as_cancelled() -> None:
    cancelled: list[JobRow] = [(0, None, 500, 4, 7), (5, None, 1, 1, 0), (119, None, 9, 4, 1)]
    rows = sorted([*THREE, *cancelled], key=lambda row: row[0])
    found = metrics(*replayed(rows), 4)
    assert found["jobs_cancelled"] == 3
    assert found == metrics(*replayed(THREE), 4) | {"jobs_cancelled": 3}
    # But the first submission is the first one, whatever becomes of it.
    early = metrics(*replayed([(0, None, 1, 1, 0), (10, 10, 10, 4, 0)]), 4)
    assert early["makespan_s"] == 20
    assert early["utilisation"] == 0.5


def test_users_fare_alike_or_not() -> None:
    alike = metrics(*replayed([(0, 0, 10, 1, 3), (0, 0, 10, 1, 10**12)]), 2)
    assert alike["jain_index_user_bounded_slowdown"] == 1
    # means 1 and 9, whatever the number of jobs of either
    rows: list[JobRow] = [(0, 0, 10, 1, 3)] * 5 + [(0, 80, 10, 1, 4)]
    unlike = metrics(*replayed(rows), 9)
    assert unlike["average_user_bounded_slowdown"] == 5
    assert unlike["jain_index_user_bounded_slowdown"] == pytest.approx(100 / (2 * 82))


# Warm-up and cool-down.


def test_measured_jobs_lie_in_the_middle_of_the_submissions() -> None:
    jobs, _ = replayed([(s, s, 1, 1, 0) for s in (100, 109, 110, 150, 190, 191, 200)])
    assert measured_jobs(jobs, 0).all()
    assert measured_jobs(jobs, 0.1).tolist() == [False, False, True, True, True, False, False]
    assert measured_jobs(jobs, 0.4).tolist() == [False, False, False, True, False, False, False]
    assert len(measured_jobs(jobs.window(0, 0), 0.1)) == 0
    for share in (-0.1, 0.5, math.nan):
        with pytest.raises(ValueError, match="trim_share"):
            measured_jobs(jobs, share)


def test_trimmed_metrics_by_hand() -> None:
    # 2 processors. Measured are J1 and J2: jobs by their own, the machine in 10..20, the time of their submissions.
    rows: list[JobRow] = [(0, 0, 12, 2, 0), (10, 12, 4, 1, 1), (20, 20, 3, 1, 2), (30, 35, 10, 2, 3)]
    jobs, schedule = replayed(rows, [True, True, False, True])
    measured = measured_jobs(jobs, 0.3)
    assert measured.tolist() == [False, True, True, False]
    found = metrics(jobs, schedule, 2, measured)
    assert found["average_wait_s"] == 1
    assert found["max_wait_s"] == 2
    assert found["backfilled_share"] == 0.5
    assert found["max_user_wait_s"] == 2
    assert found["makespan_s"] == 23 - 10
    assert found["utilisation"] == pytest.approx((2 * 2 + 4) / 20)  # J0 in 10..12 and J1
    assert found["average_queue_length"] == pytest.approx(2 / 10)
    assert found["throughput_jobs_per_hour"] == pytest.approx(2 * 360)  # J0 and J1 end in 10..20
    assert metrics(jobs, schedule, 2, np.ones(4, dtype=np.bool_)) == metrics(jobs, schedule, 2)


# Classes.


def test_classes_by_hand() -> None:
    rows: list[JobRow] = [(0, 0, 599, 1, 0), (0, 30, 599, 1, 0), (0, 7, 600, 2, 0), (0, None, 9, 9, 0), (0, 1, 0, 9, 0)]
    found = metrics_by_class(*replayed(rows), 32)
    assert [(row["size_class"], row["runtime_class"], row["jobs"]) for row in found] == [
        ("serial", "under 10 min", 2),
        ("small", "10 min to 1 h", 1),
        ("large", "under 10 min", 1),
    ]
    serial = found[0]
    assert (serial["average_wait_s"], serial["median_wait_s"], serial["p95_wait_s"]) == (15, 15, pytest.approx(28.5))
    assert serial["average_bounded_slowdown"] == pytest.approx((1 + 629 / 599) / 2)


@pytest.mark.parametrize("cluster_procs", [1, 8, 30, 256])
def test_classes_are_those_of_the_warehouse(cluster_procs: int) -> None:
    edges = sorted({1, 2, *(cluster_procs // 16 + k for k in (-1, 0, 1)), *(cluster_procs // 4 + k for k in (0, 1))})
    rows: list[JobRow] = [
        (0, 0, runtime, procs, 0)
        for procs in edges
        if 1 <= procs <= cluster_procs
        for runtime in (0, 599, 600, 3599, 3600, 28799, 28800, 90000)
    ]
    with duckdb.connect() as connection:
        create_schema(connection)
        connection.execute(
            "INSERT INTO core.sources BY NAME SELECT 'x' AS source, 'swf' AS format, ? AS cluster_procs, 'header' AS "
            "cluster_procs_from, 'UTC' AS time_zone, TIMESTAMP '2026-01-01' AS clock_zero, 0 AS origin_s",
            [cluster_procs],
        )
        connection.executemany(
            "INSERT INTO core.jobs BY NAME SELECT 'x' AS source, ? AS job_index, ? AS procs, ? AS runtime_s, 'j' AS job_id, "
            "TIMESTAMP '2026-01-01' AS submit_time, 0 AS requeued_s, 'f' AS file, 1 AS line",
            [(k, row[3], row[2]) for k, row in enumerate(rows)],
        )
        expected = connection.execute(
            "SELECT size_class, runtime_class, count(*) FROM marts.job_facts GROUP BY ALL"
        ).fetchall()
    found = metrics_by_class(*replayed(rows), cluster_procs)
    assert {(row["size_class"], row["runtime_class"], row["jobs"]) for row in found} == set(expected)
    assert {row[0] for row in expected} <= set(SIZE_CLASSES)
    assert {row[1] for row in expected} == set(RUNTIME_CLASSES)


# Against a plain evaluation.


def percentile(values: list[float], percent: int) -> float:
    ordered = sorted(values)
    rank = Fraction(percent, 100) * (len(ordered) - 1)
    below = math.floor(rank)
    return ordered[below] + float(rank - below) * (ordered[math.ceil(rank)] - ordered[below])


def plain_metrics(
    rows: list[JobRow], backfilled: list[bool], cluster_procs: int, running: list[Span], outages: list[Span],
    measured: list[bool], tau_s: float,
) -> dict[str, float]:  # fmt: skip
    """The metrics of docs/reference/semantics.md, one job and one stretch of time after the other."""
    started = [(s, b, r, p, user) for s, b, r, p, user in rows if b is not None]
    mine = [k for k, row in enumerate(rows) if measured[k] and row[1] is not None]
    jobs = [(rows[k][0], rows[k][1] or 0, rows[k][2], rows[k][3], rows[k][4]) for k in mine]
    wait = [float(b - s) for s, b, _, _, _ in jobs]
    turnaround = [float(b + r - s) for s, b, r, _, _ in jobs]
    values = {
        "wait_s": wait,
        "turnaround_s": turnaround,
        "slowdown": [(b - s + max(r, 1)) / max(r, 1) for s, b, r, _, _ in jobs],
        "bounded_slowdown": [max(1, (b + r - s) / max(r, tau_s)) for s, b, r, _, _ in jobs],
        "per_processor_bounded_slowdown": [max(1, (b + r - s) / (p * max(r, tau_s))) for s, b, r, p, _ in jobs],
    }
    result = {}
    for name, column in values.items():
        result |= {f"average_{name}": fmean(column), f"max_{name}": max(column)}
        result |= {f"median_{name}": percentile(column, 50)}
        result |= {f"p{percent}_{name}": percentile(column, percent) for percent in (90, 95, 99)}
    weight = [r * p for _, _, r, p, _ in jobs]
    weight = weight if any(weight) else [1] * len(jobs)
    result["area_weighted_wait_s"] = sum(a * w for a, w in zip(weight, wait, strict=True)) / sum(weight)
    result["area_weighted_turnaround_s"] = sum(a * t for a, t in zip(weight, turnaround, strict=True)) / sum(weight)

    submits = [row[0] for row, counts in zip(rows, measured, strict=True) if counts]
    ends = [b + r for _, b, r, _, _ in jobs]
    first, last = min(submits), max(ends) if all(measured) else max(submits)
    moments = {first, last} | {t for s, b, r, _, _ in started for t in (s, b, b + r)}
    moments |= {t for begin, end, _ in running + outages for t in (begin, end)}
    times = sorted(t for t in moments if first <= t <= last)
    held = there = lost = queue = load = 0
    for t, until in pairwise(times):
        in_use = sum(p for _, b, r, p, _ in started if b <= t < b + r)
        in_use += sum(p for begin, end, p in running if begin <= t < end)
        capacity = max(in_use, cluster_procs - sum(p for begin, end, p in outages if begin <= t < end))
        waiting = [(r, p) for s, b, r, p, _ in started if s <= t < b]
        held += in_use * (until - t)
        there += capacity * (until - t)
        lost += min(capacity - in_use, sum(p for _, p in waiting)) * (until - t)
        queue += len(waiting) * (until - t)
        load += sum(r * p for r, p in waiting) * (until - t)
    seconds = max(last - first, 1)
    result |= {
        "utilisation": held / there if there else 0,
        "loss_of_capacity": lost / there if there else 0,
        "average_queue_length": queue / seconds,
        "average_job_load_proc_s": load / seconds,
        "throughput_jobs_per_hour": sum(first <= b + r <= last for _, b, r, _, _ in started) * 3600 / seconds,
        "makespan_s": max(ends) - min(submits),
        "backfilled_share": fmean(backfilled[k] for k in mine),
        "waits_over_24_h_share": fmean(w > 86400 for w in wait),
    }

    users = {user for *_, user in jobs}
    for name, column in (("wait_s", wait), ("bounded_slowdown", values["bounded_slowdown"])):
        means = [fmean(x for x, job in zip(column, jobs, strict=True) if job[4] == user) for user in users]
        result |= {f"average_user_{name}": fmean(means), f"max_user_{name}": max(means)}
    result["jain_index_user_bounded_slowdown"] = sum(means) ** 2 / (len(means) * sum(x * x for x in means))
    return result | {"jobs_cancelled": len(submits) - len(jobs)}


@settings(deadline=None, max_examples=200)
@given(data=st.data())
def test_metrics_equal_the_plain_ones(data: st.DataObject) -> None:
    scale = data.draw(st.sampled_from([1, 1, 10_000]))
    time = st.integers(0, 30 * scale)
    wait = st.one_of(st.none(), st.just(0), st.integers(0, 20 * scale))
    job = st.tuples(time, wait, st.one_of(st.just(0), st.integers(0, 9 * scale)), st.integers(1, 5), st.integers(0, 3))
    drawn = sorted(data.draw(st.lists(job, min_size=1, max_size=12)), key=lambda row: row[0])
    rows: list[JobRow] = [(s, None if w is None else s + w, r, p, user) for s, w, r, p, user in drawn]
    span = st.tuples(st.integers(-20 * scale, 40 * scale), st.integers(1, 30 * scale), st.integers(1, 4))
    running = [(begin, begin + length, p) for begin, length, p in data.draw(st.lists(span, max_size=2))]
    outages = [(begin, begin + length, p) for begin, length, p in data.draw(st.lists(span, max_size=3))]
    backfilled = data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))
    measured = data.draw(st.sampled_from([[True] * len(rows), None, None]))
    if measured is None:
        measured = data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))

    # A cluster just large enough for these starts, or a little larger.
    spans = [(b, b + r, p) for _, b, r, p, _ in rows if b is not None] + running
    most = max((sum(p for a, z, p in spans if a <= t < z) for t, _, _ in spans), default=0)
    most = max(most, sum(p for *_, p in running), *(p for _, _, p in outages), 1) if outages else max(most, 8)
    procs = most + data.draw(st.integers(0, 3))
    jobs, schedule = replayed(rows, backfilled)
    cluster = cluster_of(procs, running, outages)
    if not any(counts and row[1] is not None for counts, row in zip(measured, rows, strict=True)):
        with pytest.raises(ValueError, match="no job to measure"):
            metrics(jobs, schedule, cluster, np.array(measured))
        return
    tau_s = data.draw(st.sampled_from([10, 1, 60]))
    found = metrics(jobs, schedule, cluster, np.array(measured), tau_s)
    expected = plain_metrics(rows, backfilled, procs, running, outages, measured, tau_s)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert all(type(value) is float for value in found.values())
    assert found["utilisation"] + found["loss_of_capacity"] <= 1 + 1e-12
    if all(measured):
        assert metrics(jobs, schedule, cluster, tau_s=tau_s) == found


# Where they are kept.


@pytest.mark.parametrize("table", ["replay.period_scores", "replay.runs"])
def test_the_warehouse_keeps_every_metric_and_says_what_it_is(table: str) -> None:
    """SQL has no way to say the columns once; so that the three lists stay one, they must be the same to the word."""
    statement = sql.load(table)
    columns = dict(table_columns(statement))
    assert tuple(name for name in columns if name in METRICS) == METRICS
    assert {columns[name] for name in METRICS} == {"DOUBLE"}
    said = column_comments(statement)
    elsewhere = column_comments(sql.load("replay.period_scores"))
    assert {name: said[name] for name in METRICS} == {name: elsewhere[name] for name in METRICS}


def test_what_cannot_be_measured_is_an_error() -> None:
    jobs, schedule = replayed([(0, None, 1, 1, 0)])
    with pytest.raises(ValueError, match="no job to measure"):
        metrics(jobs, schedule, 4)
    with pytest.raises(ValueError, match="no job to measure"):
        metrics(jobs.window(0, 0), Schedule(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.bool_)), 4)
    with pytest.raises(ValueError, match="tau_s"):
        metrics(*replayed(THREE), 4, tau_s=0)
