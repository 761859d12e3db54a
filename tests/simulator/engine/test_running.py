"""Running jobs, twice sorted, and corrected estimates."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.engine.running import (
    CORRECTION_IDS,
    corrected_end,
    heap_pop,
    heap_push,
    insert_running,
    remove_running,
    reservation,
)
from simulator.jobs.cluster import FOREVER


def test_the_heap_gives_ends_in_order() -> None:
    expected = np.random.default_rng(1).integers(0, 40, 60)
    ends, jobs = np.empty(60, dtype=np.int64), np.empty(60, dtype=np.int64)
    for size, end in enumerate(expected.tolist()):
        heap_push(ends, jobs, size, end, size)
    popped = []
    for size in range(60, 0, -1):
        popped.append(int(ends[0]))
        assert expected[jobs[0]] == ends[0]
        heap_pop(ends, jobs, size)
    assert popped == sorted(expected.tolist())


def test_estimated_ends_stay_sorted() -> None:
    est_end, est_job = np.empty(6, dtype=np.int64), np.empty(6, dtype=np.int64)
    for count, end in enumerate((5, 3, 5, 9, 5)):
        insert_running(est_end, est_job, count, end, count)
    assert (est_end[:5].tolist(), est_job[:5].tolist()) == ([3, 5, 5, 5, 9], [1, 0, 2, 4, 3])
    remove_running(est_end, est_job, 5, 5, 2)
    assert (est_end[:4].tolist(), est_job[:4].tolist()) == ([3, 5, 5, 9], [1, 0, 4, 3])


@pytest.mark.parametrize(
    ("correction", "now", "expected"),
    [
        ("requested", 100, 1000),
        ("increments", 100, 160),
        ("increments", 200, 460),
        ("doubling", 100, 200),
        ("doubling", 700, 800),
        ("doubling", 900, 1000),
    ],
)
def test_corrected_ends_of_a_job_of_100_s_with_a_limit_of_1000(correction: str, now: int, expected: int) -> None:
    assert corrected_end(0, 100, 1000, now, CORRECTION_IDS[correction]) == expected


def test_shadow_time_and_extra_processors() -> None:
    est_end, est_job, procs = np.array([10, 20, 20, 30]), np.arange(4), np.array([1, 1, 2, 4])
    assert reservation(1, 3, est_end, est_job, 4, procs) == (20, 2), "all that end at the shadow time count"
    assert reservation(0, 9, est_end, est_job, 4, procs) == (FOREVER, 0)
