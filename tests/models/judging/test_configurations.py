"""The search names the scheduler that wrote a log."""

from __future__ import annotations

import numpy as np
import pytest

from models.judging.configurations import (
    SEARCHED_BACKFILLS,
    SEARCHED_ORDERS,
    LoggedJobs,
    replays_of_search,
    search_configuration,
)
from models.judging.fidelity import agreement_of
from models.judging.machine import Machine, SizeOverTime, sizes_in_use
from simulator.engine.replay import replay
from simulator.jobs.cluster import Cluster, Outages
from simulator.jobs.jobs import Jobs, jobs_from_log

PROCS, COUNT = 64, 3000


def workload(seed: int, count: int = COUNT) -> Jobs:
    """Jobs of a busy cluster, with requests that are too long, of twelve users."""
    rng = np.random.default_rng(seed)
    runtime = np.ceil(rng.lognormal(7.5, 1.4, count)).astype(np.int64)
    width = rng.choice([1, 2, 4, 8, 16, 32], count, p=[0.35, 0.2, 0.2, 0.15, 0.07, 0.03])
    span = (runtime * width).sum() / PROCS / 0.95
    submit = np.sort(rng.integers(0, int(span), count))
    request = np.ceil(runtime * rng.uniform(1, 5, count) / 600).astype(np.int64) * 600
    return jobs_from_log(submit, runtime, width, request, user=rng.integers(0, 12, count))


def waits_of(jobs: Jobs, policy: str, backfill: str, cluster: int | Cluster = PROCS) -> np.ndarray:
    return replay(jobs, cluster, policy, backfill).start - jobs.submit


def grade_of(jobs: Jobs, waits: np.ndarray) -> tuple[str, str, str | None]:
    """The policy and the backfilling rule that fit the first half, and the grade on the second."""
    half = len(jobs) // 2
    best = search_configuration(LoggedJobs(jobs, waits).first(half), [Machine(PROCS)])[0]
    replayed = waits_of(jobs, best.policy, best.backfill)
    return best.policy, best.backfill, agreement_of(waits[half:], replayed[half:], jobs.runtime[half:]).grade


def test_twenty_hidden_schedulers_are_found_or_have_equal_schedules() -> None:
    rng = np.random.default_rng(5)
    right = 0
    for seed in range(20):
        policy, backfill = (
            SEARCHED_ORDERS[rng.integers(len(SEARCHED_ORDERS))],
            SEARCHED_BACKFILLS[rng.integers(len(SEARCHED_BACKFILLS))],
        )
        jobs = workload(seed)
        waits = waits_of(jobs, policy, backfill)
        assert (waits > 60).mean() > 0.2  # there is a queue
        named, rule, grade = grade_of(jobs, waits)
        half = len(jobs) // 2
        same = (waits_of(jobs, named, rule)[half:] == waits[half:]).all()
        right += ((named, rule) == (policy, backfill) or same) and grade == "A"
    assert right >= 16


def outside(kind: str, seed: int) -> tuple[Jobs, np.ndarray]:
    """A log of a scheduler that the search does not have, and its waits."""
    jobs, rng = workload(100 + seed), np.random.default_rng(seed)
    if kind == "fair share":
        weights = f"fairshare={rng.integers(400, 900)},size={rng.integers(120, 290)},half_life_days=2.2,max_age_days=5"
        return jobs, waits_of(jobs, f"multifactor:{weights}", "easy")
    if kind == "outages":
        start = np.arange(86_400, int(jobs.submit[-1]), 6 * 86_400)
        lost = Outages(start, start + 86_400, np.full(len(start), 24), start)
        return jobs, waits_of(jobs, "FCFS", "easy", Cluster(PROCS, outages=lost))
    held = jobs.submit + np.where(rng.random(len(jobs)) < 0.1, rng.integers(600, 20_000, len(jobs)), 0)
    order = np.argsort(held, kind="stable")
    eligible = jobs_from_log(held[order], jobs.runtime[order], jobs.procs[order], jobs.estimate[order])
    start = np.empty(len(jobs), dtype=np.int64)
    start[order] = replay(eligible, PROCS, "FCFS", "easy").start
    return jobs, start - jobs.submit


@pytest.mark.parametrize("kind", ["fair share", "outages", "holds"])
def test_schedulers_outside_the_search_do_not_get_the_best_grade(kind: str) -> None:
    for seed in range(4):
        assert grade_of(*outside(kind, seed))[2] != "A"


def test_a_smaller_cluster_is_found() -> None:
    jobs = workload(1)
    waits = waits_of(jobs, "FCFS", "easy", 48)
    best = search_configuration(LoggedJobs(jobs, waits), [Machine(PROCS), Machine(48)])[0]
    assert (best.policy, best.backfill, best.procs, best.error) == ("FCFS", "easy", 48, 0.0)


@pytest.mark.parametrize("sizes", [(40, 64), (64, 40)])
def test_a_cluster_that_grew_or_shrank_is_found(sizes: tuple[int, int]) -> None:
    jobs = workload(1)
    hidden = SizeOverTime(sizes, (int(jobs.submit[1200]),))
    waits = waits_of(jobs, "SAF", "easy", hidden.cluster)
    start = jobs.submit + waits
    seen = sizes_in_use(start, start + jobs.runtime, jobs.procs, int(jobs.submit[-1]))
    assert seen is not None and seen.procs == sizes
    best = search_configuration(LoggedJobs(jobs, waits), [Machine(PROCS), Machine(64, seen)])[0]
    assert (best.policy, best.backfill, best.machine.size_over_time) == ("SAF", "easy", seen)
    replayed = best.machine.replay(jobs, best.policy, best.backfill).start - jobs.submit
    assert agreement_of(waits, replayed, jobs.runtime).grade in ("A", "B")


def test_what_never_fits_a_cluster_that_shrank_is_no_schedule() -> None:
    jobs = workload(2, 300)
    logged = LoggedJobs(jobs, waits_of(jobs, "FCFS", "easy"))
    assert logged.error("FCFS", "easy", Machine(64, SizeOverTime((64, 2), (5000,)))) == float("inf")


def test_bounds() -> None:
    jobs, tried = workload(2, 300), []
    weighted = waits_of(jobs, "multifactor:fairshare=555,size=111,half_life_days=2.5,max_age_days=2", "easy")
    search_configuration(LoggedJobs(jobs, weighted), [Machine(PROCS), Machine(40)], lambda: tried.append(1))
    assert len(SEARCHED_ORDERS) * len(SEARCHED_BACKFILLS) < len(tried) <= replays_of_search(300, 2)
    assert LoggedJobs(jobs, weighted).error("FCFS", "easy", Machine(16)) == float("inf")  # a job is wider
    with pytest.raises(ValueError, match="no job has a known wait"):
        search_configuration(LoggedJobs(jobs, np.full(300, -1)), [Machine(PROCS)])
