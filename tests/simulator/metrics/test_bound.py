"""The hindsight bound: never above the best schedule there is, found by trying all, and close to it where it can be."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.engine.replay import replay
from simulator.jobs.cluster import Cluster, Outages, RunningJobs
from simulator.jobs.jobs import NEVER, Jobs
from simulator.jobs.schedule import Schedule
from simulator.metrics import bound
from simulator.metrics.bound import _least_costs, hindsight_bound
from simulator.metrics.metrics import metrics
from tests.shared import shared_file
from traces.swf.reader import read_swf

Row = tuple[int, int, int]
"""A job as (submit time in s, run time in s, processors)."""


def jobs_of(rows: Sequence[Row], may_be_cancelled: Sequence[bool] = ()) -> Jobs:
    """The rows, sorted by submit time, with exact estimates; those marked may be cancelled a second after submission."""
    submit, runtime, procs = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
    estimate = np.maximum(runtime, 1)
    cancel = np.where(may_be_cancelled, submit + 1, NEVER) if len(may_be_cancelled) else np.full(len(rows), NEVER)
    return Jobs(submit, runtime, procs, estimate, estimate, cancel=cancel)


def least_total_wait(rows: Sequence[Row], cluster_procs: int) -> int:
    """The least sum of waits (s) of all schedules: every order of the jobs, each placed at its earliest fitting time.

    Some order gives an optimal schedule. Take an optimal one, with starts S*, and the order of its starts. By induction
    every job j starts at S_j <= S*_j: a job i placed before j that runs at some t >= S*_j in the new schedule has
    S*_i <= S*_j <= t < S_i + r_i <= S*_i + r_i, so that it runs at t in the optimal one too. From S*_j on no more
    processors are taken than there, and j still fits at S*_j.
    """
    best = None
    for order in itertools.permutations(rows):
        placed: list[Row] = []  # (start, end, procs)
        total = 0
        for submit, runtime, procs in order:
            for start in sorted({submit} | {end for _, end, _ in placed if end > submit}):
                moments = [start] + [begin for begin, _, _ in placed if start < begin < start + runtime]
                if all(sum(p for a, b, p in placed if a <= t < b) + procs <= cluster_procs for t in moments):
                    break
            placed.append((start, start + runtime, procs))
            total += start - submit
        best = total if best is None else min(best, total)
    assert best is not None
    return best


@st.composite
def few_jobs(draw: st.DrawFn, most: int) -> tuple[list[Row], int]:
    """1 to `most` jobs on 1 to 8 processors, often submitted together, some of no length; many ties."""
    cluster_procs = draw(st.integers(1, 8))
    scale = draw(st.sampled_from([1, 1, 10, 1000]))
    clock = st.one_of(st.just(0), st.integers(0, 4 * scale))
    job = st.tuples(clock, st.integers(0, 6 * scale), st.integers(1, cluster_procs))
    return sorted(draw(st.lists(job, min_size=1, max_size=most))), cluster_procs


@settings(deadline=None, max_examples=60)
@given(few_jobs(most=6))
def test_no_schedule_is_below_the_bound(case: tuple[list[Row], int]) -> None:
    rows, cluster_procs = case
    bound = hindsight_bound(jobs_of(rows), cluster_procs)
    least = least_total_wait(rows, cluster_procs) / len(rows)
    assert 0 <= bound["least_average_wait_s"] <= least + 1e-12 * least
    mean_runtime = sum(runtime for _, runtime, _ in rows) / len(rows)
    assert bound["least_average_turnaround_s"] == pytest.approx(bound["least_average_wait_s"] + mean_runtime)


@settings(deadline=None, max_examples=60)
@given(case=few_jobs(most=5), marks=st.lists(st.booleans(), min_size=5, max_size=5))
def test_jobs_that_may_be_cancelled_are_started_as_it_suits_the_average(
    case: tuple[list[Row], int], marks: list[bool]
) -> None:
    rows, cluster_procs = case
    marks = marks[: len(rows)]
    bound = hindsight_bound(jobs_of(rows, marks), cluster_procs)
    for chosen in itertools.product((True, False), repeat=len(rows)):
        started = [row for row, mark, taken in zip(rows, marks, chosen, strict=True) if taken or not mark]
        if started:
            wait = least_total_wait(started, cluster_procs) / len(started)
            turnaround = wait + sum(runtime for _, runtime, _ in started) / len(started)
            assert bound["least_average_wait_s"] <= wait + 1e-12 * wait
            assert bound["least_average_turnaround_s"] <= turnaround + 1e-12 * turnaround


@pytest.mark.parametrize(
    ("rows", "cluster_procs", "least"),
    [
        ([(0, 10, 1)] * 3, 1, 10),  # waits 0, 10, 20
        ([(0, 30, 1), (0, 20, 1), (0, 10, 1)], 1, 40 / 3),  # shortest first: waits 0, 10, 30
        ([(0, 10, 2)] * 4, 4, 5),  # two by two
        ([(0, 10, 4), (5, 10, 4), (5, 20, 4)], 4, 20 / 3),  # waits 0, 5, 15
        ([(0, 100, 4), (10, 10, 4), (10, 10, 4)], 4, 40 / 3),  # better to idle for 10 s: waits 30, 0, 10
        ([(0, 10, 2), (100, 10, 2)], 2, 0),
        ([(0, 10, 2), (0, 10, 2)], 4, 0),
        ([(0, 0, 2), (0, 10, 2)], 2, 0),  # a job of no length is in nobody's way
    ],
)
def test_the_bound_is_tight_where_jobs_leave_no_processor_idle(
    rows: list[Row], cluster_procs: int, least: float
) -> None:
    assert least_total_wait(rows, cluster_procs) / len(rows) == pytest.approx(least)
    bound = hindsight_bound(jobs_of(rows), cluster_procs)["least_average_wait_s"]
    assert 0.97 * least <= bound <= least


def test_the_bound_sees_no_processors_that_stay_idle_beside_wide_jobs() -> None:
    # Two jobs of 3 processors on 4 cannot run together: waits 0 and 10. The relaxation runs them side by side in part.
    rows = [(0, 10, 3), (0, 10, 3)]
    assert least_total_wait(rows, 4) == 10
    assert 6 < 2 * hindsight_bound(jobs_of(rows), 4)["least_average_wait_s"] < 7


@settings(deadline=None, max_examples=100)
@given(data=st.data())
def test_least_costs_are_those_of_trying_every_second(data: st.DataObject) -> None:
    edges = sorted(data.draw(st.sets(st.integers(1, 40), min_size=1, max_size=6)) | {0})
    prices = data.draw(st.lists(st.integers(0, 8), min_size=len(edges) - 1, max_size=len(edges) - 1))
    job = st.tuples(st.integers(0, edges[-1] - 1), st.integers(1, 20), st.integers(1, 4))
    rows = data.draw(st.lists(job, min_size=1, max_size=4))
    by_second = [prices[sum(edge <= t for edge in edges) - 1] / 4 for t in range(edges[-1])] + [0.0] * 100
    expected = sum(
        min(start - submit + procs * sum(by_second[start : start + runtime]) for start in range(submit, edges[-1] + 1))
        for submit, runtime, procs in rows
    )
    submit, runtime, procs = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
    edge, price = np.array(edges, dtype=np.int64), np.array(prices) / 4
    use = np.zeros(len(price))
    cell = np.searchsorted(edge, submit, side="right") - 1
    assert _least_costs(submit, runtime, procs, cell, edge, price, use) == expected  # quarters add up exactly
    assert use @ np.diff(edge) <= (runtime * procs).sum() + 1e-9


@pytest.mark.parametrize(("log", "cluster_procs"), [("lublin_256.swf.gz", 256), ("KTH-SP2-1996-2.1-cln.swf.gz", 100)])
def test_no_replay_of_a_real_log_is_below_the_bound(log: str, cluster_procs: int) -> None:
    records = read_swf(shared_file("traces", "swf", log)).records.drop_nulls(["runtime_s", "allocated_procs"])
    records = records.filter(records["runtime_s"] > 0, records["allocated_procs"] > 0).sort("submit_s").head(5000)
    jobs = jobs_of(records.select("submit_s", "runtime_s", "allocated_procs").rows())
    bound = hindsight_bound(jobs, cluster_procs)
    for policy in ("FCFS", "SJF", "SAF", "WFP3", "UNICEP", "F1"):
        found = metrics(jobs, replay(jobs, cluster_procs, policy, "easy"), cluster_procs)
        assert 0 < bound["least_average_wait_s"] < found["average_wait_s"]
        assert bound["least_average_turnaround_s"] < found["average_turnaround_s"]


def test_a_busy_and_broken_cluster_has_the_bound_of_an_empty_and_whole_one() -> None:
    rows = [(0, 10, 2), (0, 20, 2), (5, 5, 1)]
    one = np.ones(1, dtype=np.int64)
    running = RunningJobs(-5 * one, 100 * one, 2 * one, 100 * one, 100 * one, 0 * one)
    cluster = Cluster(3, running, Outages(2 * one, 50 * one, one, 2 * one))
    assert hindsight_bound(jobs_of(rows), cluster) == hindsight_bound(jobs_of(rows), 3)
    assert hindsight_bound(jobs_of(rows), Cluster(3, waiting=1)) == hindsight_bound(jobs_of(rows[1:]), 3)


def test_more_rounds_never_lower_the_bound_and_a_call_repeats_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bound, "MOST_BOUNDS", 0)  # nothing is kept from the call before
    rng = np.random.default_rng(1)
    rows = sorted((int(rng.integers(0, 900)), int(rng.integers(1, 200)), int(rng.integers(1, 9))) for _ in range(60))
    jobs = jobs_of(rows)
    found = [hindsight_bound(jobs, 8, rounds)["least_average_wait_s"] for rounds in (1, 5, 20, 40, 40)]
    assert found == sorted(found)
    assert found[3] == found[4] > 0
    order = np.lexsort((jobs.procs, jobs.runtime))  # some schedule, jobs one after the other
    start = np.empty(60, dtype=np.int64)
    start[order] = jobs.submit.max() + np.concatenate([[0], np.cumsum(jobs.runtime[order])[:-1]])
    schedule = Schedule(start, np.zeros(60, dtype=np.bool_))
    assert found[4] < metrics(jobs, schedule, 8)["average_wait_s"]


def test_what_cannot_be_bounded_is_an_error() -> None:
    with pytest.raises(ValueError, match="index 1 needs 5 processors"):
        hindsight_bound(jobs_of([(0, 1, 4), (0, 1, 5)]), 4)
    with pytest.raises(ValueError, match="empty"):
        hindsight_bound(jobs_of([(0, 1, 1)]).window(0, 0), 4)
