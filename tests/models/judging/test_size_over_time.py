"""Sizes of a cluster are read off what was in use."""

from __future__ import annotations

import numpy as np
import pytest

from models.judging.size_over_time import SizeOverTime, in_use, parse_size_over_time, sizes_in_use
from simulator.jobs.cluster import FOREVER

GREW = SizeOverTime((48, 64), (86_400,))
DAY_S = 86_400


def full(*levels: tuple[int, int], length: int = 1000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Start, end and processors of one job after another: (jobs, processors of each)."""
    procs = np.repeat([procs for _, procs in levels], [jobs for jobs, _ in levels])
    start = length * np.arange(len(procs))
    return start, start + length, procs


def test_within_a_second_jobs_end_then_others_start() -> None:
    """In whatever order they come, and a job of no length uses nothing."""
    start, end, procs = np.array([100, 0, 100, 100]), np.array([200, 100, 150, 100]), np.array([3, 4, 1, 4])
    moments, used = in_use(start, end, procs)
    assert list(zip(moments.tolist(), used.tolist(), strict=True)) == [(0, 4), (100, 4), (150, 3), (200, 0)]


def test_text_there_and_back() -> None:
    twice = SizeOverTime((48, 64, 32), (86_400, 90_000))
    assert GREW.text == "48 until 86400, then 64" and twice.text == "48 until 86400, 64 until 90000, then 32"
    assert [parse_size_over_time(each.text) for each in (GREW, twice)] == [GREW, twice]
    for text in ("", "64", "then 64", "48 until 5, 64", "48 until x, then 64"):
        with pytest.raises(ValueError, match="expected sizes such as"):
            parse_size_over_time(text)


def test_what_is_missing() -> None:
    assert GREW.most == 64 and GREW.missing == [(0, 86_400, 16)]
    twice = SizeOverTime((48, 64, 32), (86_400, 90_000))
    assert twice.missing == [(0, 86_400, 16), (90_000, None, 32)]
    lost = twice.cluster.outages
    assert lost.end.tolist() == [86_400, FOREVER] and lost.procs.tolist() == [16, 32]
    assert lost.announced.tolist() == lost.start.tolist() == [0, 90_000]


@pytest.mark.parametrize(
    ("procs", "ends"), [((64,), ()), ((64, 64), (5,)), ((64, 32), ()), ((1, 2, 3), (9, 5)), ((1, 2), (0,))]
)
def test_numbers_that_do_not_go_together(procs: tuple[int, ...], ends: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="expected"):
        SizeOverTime(procs, ends)


def test_in_use() -> None:
    moments, used = in_use(np.array([0, 5, 5]), np.array([5, 9, 7]), np.array([4, 2, 1]))
    assert moments.tolist() == [0, 5, 7, 9] and used.tolist() == [4, 3, 2, 0]
    assert not len(in_use(*(np.zeros(0, dtype=np.int64),) * 3)[0])


def test_sizes_to_the_second() -> None:
    jobs = full((300, 40), (700, 64))
    assert sizes_in_use(*jobs, 1_000_000) == SizeOverTime((40, 64), (300_000,))
    # the last job on more than 32 processors has started at 299,000
    jobs = full((300, 64), (200, 32), (500, 50))
    assert sizes_in_use(*jobs, 1_000_000) == SizeOverTime((64, 32, 50), (299_001, 500_000))


def test_one_size_is_no_change() -> None:
    assert sizes_in_use(*full((1000, 64)), 1_000_000) is None
    assert sizes_in_use(*full((500, 64), (20, 32), (480, 64)), 1_000_000) is None  # too short
    assert sizes_in_use(*full((500, 64), (500, 63)), 1_000_000) is None  # too little
    assert sizes_in_use(*(np.zeros(0, dtype=np.int64),) * 3, 1_000_000) is None
    assert sizes_in_use(*full((30, 64), length=1), 30) is None
    assert sizes_in_use(*full((500, 64), (500, 32), length=100), 100_000) is None  # half a day each


def test_what_ended_before_the_log_begins_was_in_use_too() -> None:
    """An accounting tool that is asked for some days knows of earlier jobs only those that still ran: these are no smaller cluster."""
    start, end, procs = full((400, 39))
    earlier = np.arange(0, 500_000, 20_000)  # they run until the end
    start = np.concatenate([earlier, 600_000 + start])
    end = np.concatenate([np.full(len(earlier), 1_000_000), 600_000 + end])
    procs = np.concatenate([np.ones(len(earlier), np.int64), procs])
    assert sizes_in_use(start, end, procs, 1_000_000) is None
    first = np.array([0]), np.array([10]), np.array([1])  # a short job at the beginning: the log is whole
    whole = (np.concatenate(pair) for pair in zip(first, (start, end, procs), strict=True))
    assert sizes_in_use(*whole, 1_000_000) is not None


def test_what_comes_later_does_not_count() -> None:
    assert sizes_in_use(*full((500, 64), (500, 32)), 500_000) is None
