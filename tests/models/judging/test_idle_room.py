"""The part of a wait in which enough processors were idle agrees with a count second by second."""

from __future__ import annotations

import numpy as np

from models.judging.idle_room import waited_with_room_s
from simulator.engine.replay import replay
from simulator.jobs.jobs import jobs_from_log


def by_seconds(submit, start, runtime, procs, cluster_procs):  # type: ignore[no-untyped-def]
    """Counted for every second of every wait."""
    end = start + runtime
    seconds = []
    for job in range(len(submit)):
        idle = (
            cluster_procs - procs[(start <= second) & (second < end)].sum() for second in range(submit[job], start[job])
        )
        seconds.append(sum(free >= procs[job] for free in idle))
    return seconds


def test_as_counted_second_by_second() -> None:
    rng = np.random.default_rng(5)
    for case in range(20):
        count = int(rng.integers(1, 40))
        submit, runtime = np.sort(rng.integers(0, 300, count)), rng.integers(0, 60, count)
        start, procs = submit + rng.integers(0, 80, count) * rng.integers(0, 2, count), rng.integers(1, 9, count)
        expected = by_seconds(submit, start, runtime, procs, 8)
        assert waited_with_room_s(submit, start, runtime, procs, 8).tolist() == expected, case


def test_by_hand() -> None:
    """Of four processors three are used from 0 to 100: a job of one has room all the time, a job of two from 100 on."""
    submit, start, runtime = np.array([0, 10, 10]), np.array([0, 150, 130]), np.array([100, 50, 50])
    assert waited_with_room_s(submit, start, runtime, np.array([3, 1, 2]), 4).tolist() == [0, 140, 30]


def test_before_the_first_start_all_processors_are_idle() -> None:
    assert waited_with_room_s(np.array([0]), np.array([70]), np.array([5]), np.array([4]), 4).tolist() == [70]
    assert waited_with_room_s(np.array([0]), np.array([70]), np.array([5]), np.array([5]), 4).tolist() == [0]


def test_nobody_waits_with_room_where_whatever_fits_starts() -> None:
    """With backfilling without reservations each job starts as soon as it fits."""
    rng = np.random.default_rng(6)
    submit, runtime, procs = np.sort(rng.integers(0, 9000, 400)), rng.integers(1, 900, 400), rng.integers(1, 17, 400)
    jobs = jobs_from_log(submit, runtime, procs, runtime)
    start = replay(jobs, 16, "FCFS", "any").start
    assert (start > submit).any()
    assert not waited_with_room_s(submit, start, runtime, procs, 16).any()
