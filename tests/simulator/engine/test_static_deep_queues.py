"""The static engine gives exactly what the general engine gives on queues that grow out of the list, into the tree and back.

Hypothesis alone does not build queues of hundreds of jobs, so numpy draws the workloads: the load of the cluster swings
around its size, so that hundreds wait and are all served again several times in one replay.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simulator.engine.replay as replay_module
from simulator.engine import static as static_engine
from simulator.engine.queue_tree import BACK, MOST_CLASSES, NOTHING, SHORT
from simulator.engine.replay import replay, rules_of
from simulator.jobs.cluster import FOREVER, Cluster, Outages, RunningJobs
from simulator.jobs.jobs import NEVER, Jobs
from simulator.jobs.schedule import CANCELLED, Schedule
from simulator.jobs.tasks import tasks_of
from simulator.policies.registry import parse_policy
from tests.shared import size
from tests.simulator.oracle import oracle_run
from tests.simulator.oracle_types import workload_of

POLICIES = ("FCFS", "LCFS", "SJF", "LJF", "SAF", "smallest", "largest", "F1", "F3", "random:seed=5")
BACKFILLS = ("none", "easy", "easy-sjbf")
CYCLES, BURST = 6, 0.15


@dataclass(frozen=True)
class Shape:
    """What a synthetic workload is like. widths: few, many (more than the tree has classes), wide or narrow jobs only.
    estimates: exact, over, under (they expire), beyond (the tree's largest), coarse (a few values: ties).
    grid_s: submit times are multiples of it, so that events coincide."""

    seed: int = 1
    jobs: int = 3000
    load: float = 0.9
    cluster_procs: int = 128
    widths: str = "few"
    estimates: str = "over"
    grid_s: int = 1
    correction: str = "requested"
    cancelled_share: float = 0.0
    zero_share: float = 0.0
    outages: int = 0
    warm: bool = False


SHAPES = {
    "few widths": Shape(),
    "many widths": Shape(2, widths="many", cluster_procs=300, load=0.9),
    "overloaded": Shape(3, widths="many", cluster_procs=300, load=1.4),
    "wide jobs": Shape(4, widths="wide", load=1.0),
    "narrow jobs": Shape(5, widths="narrow", load=1.2, cluster_procs=16),
    "exact": Shape(6, estimates="exact", widths="many"),
    "beyond 2^31": Shape(7, estimates="beyond", widths="many"),
    "ties": Shape(8, estimates="coarse", grid_s=600),
    "expiring, requested": Shape(9, estimates="under"),
    "expiring, increments": Shape(10, estimates="under", widths="many", correction="increments"),
    "expiring, doubling": Shape(11, estimates="under", correction="doubling", load=1.3),
    "cancelled": Shape(12, cancelled_share=0.5, load=1.4, estimates="under", grid_s=60),
    "all cancelled": Shape(13, cancelled_share=1.0, load=1.4, widths="many"),
    "outages": Shape(14, outages=12, estimates="under", correction="increments"),
    "warm start": Shape(15, warm=True, estimates="under", correction="doubling"),
    "zero run times": Shape(16, zero_share=0.3, grid_s=60, estimates="coarse"),
    "thousands, expiring": Shape(
        22, 6000, load=4.0, widths="many", cluster_procs=300, estimates="under", correction="increments"
    ),
    "thousands, ties": Shape(23, 6000, load=4.0, estimates="coarse", grid_s=600, zero_share=0.1),
    "everything": Shape(
        17, widths="many", estimates="under", grid_s=300, correction="increments", cancelled_share=0.3, zero_share=0.1,
        outages=8, warm=True,
    ),
}  # fmt: skip


@cache
def workload(shape: Shape) -> tuple[Jobs, Cluster]:
    """The jobs and the cluster of a shape; the same shape is always the same workload."""
    rng = np.random.default_rng(shape.seed)
    n, m = shape.jobs, shape.cluster_procs
    procs = {
        "few": lambda: 2 ** rng.integers(0, int(np.log2(m)), n),
        "many": lambda: rng.integers(1, m // 2, n),
        "wide": lambda: rng.integers(m // 2 - 3, m + 1, n),
        "narrow": lambda: rng.integers(1, 4, n),
    }[shape.widths]()
    runtime = np.maximum(1, rng.lognormal(7, 1.5, n).astype(np.int64))
    if shape.estimates == "coarse":
        runtime = rng.choice([600, 1200, 3600], n)
    estimate = {
        "exact": lambda: runtime,
        "over": lambda: runtime * rng.integers(1, 20, n),
        "under": lambda: np.maximum(1, runtime // rng.integers(1, 200, n)),
        "beyond": lambda: np.where(
            rng.random(n) < 0.5,
            runtime + rng.integers(0, 9, n),
            NOTHING + rng.integers(-3, 4, n) * rng.integers(1, 99, n),
        ),
        "coarse": lambda: runtime * rng.integers(1, 3, n),
    }[shape.estimates]()
    runtime = np.where(rng.random(n) < shape.zero_share, 0, runtime)
    limit = np.maximum(runtime, estimate) + rng.integers(0, 2, n) * rng.integers(0, 5000, n)
    # Jobs arrive in the first part of every cycle, so that the queue grows, and has the rest of the cycle to empty.
    span = float((runtime * procs).sum()) / (m * shape.load)
    cycle, phase = np.divmod(np.sort(rng.random(n)) * CYCLES, 1.0)
    submit = 1000 + ((cycle + BURST * phase) * span / CYCLES).astype(np.int64) // shape.grid_s * shape.grid_s
    patience = rng.integers(0, max(2, int(span / CYCLES)), n) // shape.grid_s * shape.grid_s
    cancel = np.where(rng.random(n) < shape.cancelled_share, submit + patience, NEVER)
    jobs = Jobs(submit, runtime, procs, estimate, limit, cancel=cancel)
    return jobs, _cluster(shape, rng, int(submit[0]), int(span))


def _cluster(shape: Shape, rng: np.random.Generator, begin: int, span: int) -> Cluster:
    outages, running = Outages(), RunningJobs()
    if shape.outages:
        start = begin + rng.integers(-100, max(2, span), shape.outages)
        end = start + rng.integers(1, max(2, span // 30), shape.outages)
        outages = Outages(start, end, rng.integers(1, shape.cluster_procs + 1, shape.outages), start)
    if shape.warm:
        k = 12
        elapsed, left = rng.integers(0, 5000, k), rng.integers(1, 5000, k)
        estimate = rng.integers(1, 9000, k)
        limit = np.maximum(elapsed + left, estimate) + rng.integers(0, 9, k)
        width = np.full(k, shape.cluster_procs // k)
        running = RunningJobs(begin - elapsed, elapsed + left, width, estimate, limit, np.zeros(k, dtype=np.int64))
    return Cluster(shape.cluster_procs, running, outages)


def general(jobs: Jobs, cluster: Cluster, policy: str, backfill: str, correction: str) -> Schedule:
    """The replay by the general engine, whatever engine `replay` would choose."""
    tasks = tasks_of(jobs, cluster)
    rules = rules_of(backfill, correction, cluster.procs)
    engine = replay_module._GeneralEngine(jobs, tasks, rules, parse_policy(policy))
    engine.run()
    part = slice(tasks.first, tasks.last)
    return Schedule(engine.episode.start[part], engine.episode.backfilled[part])


def assert_same(schedule: Schedule, expected: Schedule) -> None:
    differ = np.flatnonzero((schedule.start != expected.start) | (schedule.backfilled != expected.backfilled))
    assert not len(differ), (
        f"{len(differ)} jobs differ, the first at index {differ[0]}: starts {schedule.start[differ[0]]}, "
        f"expected {expected.start[differ[0]]}"
    )


def depths(jobs: Jobs, schedule: Schedule) -> np.ndarray:
    """How many jobs wait after each event that changes it, int64 (events,)."""
    leave = np.where(schedule.start == CANCELLED, jobs.cancel, schedule.start)
    times = np.unique(np.concatenate([jobs.submit, leave]))
    return np.searchsorted(jobs.submit, times, "right") - np.searchsorted(np.sort(leave), times, "right")


def moves(depth: np.ndarray) -> int:
    """How often the queue has certainly gone into the tree and come back."""
    found, deep = 0, False
    for waiting in depth.tolist():
        if not deep and waiting > SHORT:
            deep = True
        elif deep and waiting < BACK:
            deep = False
            found += 1
    return found


@pytest.mark.parametrize("name", SHAPES)
def test_the_queues_are_as_deep_as_they_are_meant_to_be(name: str) -> None:
    """Guards the tests below: a workload without deep queues would test nothing."""
    shape = SHAPES[name]
    jobs, cluster = workload(shape)
    schedule = general(jobs, cluster, "FCFS", "easy", shape.correction)
    depth = depths(jobs, schedule)
    assert depth.max() > (2500 if name.startswith("thousands") else SHORT + 50)
    assert moves(depth) >= (1 if shape.load > 0.9 else 2)
    if shape.widths == "many":
        assert len(np.unique(jobs.procs)) > 3 * MOST_CLASSES, "more than the tree tells apart"
    if shape.cancelled_share:
        assert (schedule.start == CANCELLED).sum() > 100
    if shape.estimates == "beyond":
        assert (jobs.estimate > NOTHING).sum() > 100 and (jobs.estimate == NOTHING).any()
    if shape.estimates == "under":
        assert (jobs.estimate < jobs.runtime).mean() > 0.5


@pytest.mark.parametrize("backfill", BACKFILLS)
@pytest.mark.parametrize("name", SHAPES)
def test_the_static_engine_gives_what_the_general_engine_gives(name: str, backfill: str) -> None:
    shape = SHAPES[name]
    jobs, cluster = workload(shape)
    for policy in POLICIES:
        expected = general(jobs, cluster, policy, backfill, shape.correction)
        schedule = replay(jobs, cluster, policy, backfill, correction=shape.correction)
        assert_same(schedule, expected)


@settings(deadline=None, max_examples=size(450, 7000))
@given(
    shape=st.builds(
        Shape,
        seed=st.integers(0, 2**32),
        jobs=st.sampled_from([SHORT, SHORT + 1, 300, 700]),
        load=st.sampled_from([0.9, 1.4, 3.0, 1000.0]),
        cluster_procs=st.sampled_from([8, 60, 200]),
        widths=st.sampled_from(["few", "many", "wide", "narrow"]),
        estimates=st.sampled_from(["exact", "over", "under", "beyond", "coarse"]),
        grid_s=st.sampled_from([1, 30, 3600]),
        correction=st.sampled_from(["requested", "increments", "doubling"]),
        cancelled_share=st.sampled_from([0.0, 0.2, 0.9]),
        zero_share=st.sampled_from([0.0, 0.2]),
        outages=st.sampled_from([0, 3]),
        warm=st.booleans(),
    ),
    policy=st.sampled_from(POLICIES),
    backfill=st.sampled_from(BACKFILLS),
)
def test_the_engines_agree_on_any_mixture(shape: Shape, policy: str, backfill: str) -> None:
    if shape.warm and shape.cluster_procs < 12:
        shape = replace(shape, warm=False)
    jobs, cluster = workload.__wrapped__(shape)
    expected = general(jobs, cluster, policy, backfill, shape.correction)
    assert_same(replay(jobs, cluster, policy, backfill, correction=shape.correction), expected)


@pytest.mark.parametrize("backfill", BACKFILLS)
@pytest.mark.parametrize("policy", ["FCFS", "SJF", "largest"])
def test_deep_queues_against_the_oracle(policy: str, backfill: str) -> None:
    """The two engines share the book-keeping of running jobs; the oracle shares nothing."""
    shape = Shape(21, jobs=260, load=50.0, estimates="under", cancelled_share=0.2, outages=2, correction="increments")
    jobs, cluster = workload(shape)
    expected = oracle_run(workload_of(jobs, cluster), policy, backfill, shape.correction)
    schedule = replay(jobs, cluster, policy, backfill, correction=shape.correction)
    assert depths(jobs, schedule).max() > SHORT
    assert schedule.start.tolist() == expected.start
    assert schedule.backfilled.tolist() == expected.backfilled


@pytest.mark.parametrize("waiting", [BACK - 1, BACK, BACK + 1, SHORT - 1, SHORT, SHORT + 1, SHORT + 2, 2 * SHORT + 1])
@pytest.mark.parametrize("backfill", BACKFILLS)
def test_exactly_at_the_limits_of_list_and_tree(waiting: int, backfill: str) -> None:
    """A cluster-wide job blocks while exactly `waiting` jobs queue up; in one pass or one by one they leave."""
    rng = np.random.default_rng(waiting)
    n = waiting + 1
    for gap in (0, 1):
        submit = np.concatenate([[0], 1 + gap * np.arange(waiting)])
        runtime = np.concatenate([[5000], rng.integers(1, 9, waiting)])
        procs = np.concatenate([[7], rng.integers(1, 8, waiting)])
        estimate = np.concatenate([[5000], rng.integers(1, 9000, waiting)])
        jobs = Jobs(submit, runtime, procs, estimate, np.maximum(runtime, estimate))
        assert len(jobs) == n
        for policy in POLICIES:
            expected = general(jobs, Cluster(8), policy, backfill, "requested")
            assert_same(replay(jobs, 8, policy, backfill), expected)


def test_an_outage_that_never_ends_leaves_a_deep_queue_stuck_in_both_engines() -> None:
    n = 3 * SHORT
    submit, one = np.arange(n), np.ones(n, dtype=np.int64)
    jobs = Jobs(submit, one, 3 * one, one, one)
    outage = Outages(np.array([0]), np.array([FOREVER]), np.array([2]), np.array([0]))
    for run in (
        lambda: replay(jobs, Cluster(4, outages=outage), "SJF", "easy"),
        lambda: general(jobs, Cluster(4, outages=outage), "SJF", "easy", "requested"),
    ):
        with pytest.raises(ValueError, match=r"job at index 0 \(3 processors\) can never start"):
            run()


@pytest.mark.parametrize("backfill", BACKFILLS)
def test_fixed_policies_go_through_the_static_engine(backfill: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the comparisons above would compare the general engine with itself."""

    def refuse(*_: Any) -> Any:
        raise AssertionError("the general engine ran")

    jobs, cluster = workload(SHAPES["everything"])
    monkeypatch.setattr(replay_module, "_GeneralEngine", refuse)
    for policy in (*POLICIES, "formula:estimate"):
        replay(jobs, cluster, policy, backfill)
    for policy, rule in (("WFP3", "easy"), ("FCFS", "conservative")):
        with pytest.raises(AssertionError):
            replay(jobs, cluster, policy, rule)
    assert static_engine.STUCK != static_engine.DONE
