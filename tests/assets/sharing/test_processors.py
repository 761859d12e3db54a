"""Processors that are made up for Gantt charts."""

from __future__ import annotations

import numpy as np
import pytest

from assets.sharing.processors import first_idle_processors


def numbers(text: str) -> set[int]:
    """The processors that a text such as `0-3 7` names."""
    chosen: set[int] = set()
    for part in text.split():
        first, _, last = part.partition("-")
        chosen |= set(range(int(first), int(last or first) + 1))
    return chosen


def test_by_hand() -> None:
    # job 0 leaves 0-1 at second 5, when job 2 takes them and the next idle one behind job 1
    assert first_idle_processors([0, 0, 5, 6], [5, 9, 8, 7], [2, 2, 3, 1]) == ["0-1", "2-3", "0-1 4", "5"]


def test_a_job_that_takes_no_time_leaves_nothing_behind() -> None:
    assert first_idle_processors([3, 3, 3], [3, 4, 3], [4, 2, 1]) == ["0-3", "0-1", "0"]


@pytest.mark.parametrize("seed", range(5))
def test_no_two_running_jobs_share_a_processor(seed: int) -> None:
    rng = np.random.default_rng(seed)
    jobs = 300
    start = rng.integers(0, 500, jobs)
    end = start + rng.integers(0, 60, jobs)
    procs = rng.integers(1, 20, jobs)
    names = first_idle_processors(start.tolist(), end.tolist(), procs.tolist())
    sets = [numbers(name) for name in names]
    assert [len(chosen) for chosen in sets] == procs.tolist()
    for second in range(0, 560):
        running = [sets[job] for job in np.flatnonzero((start <= second) & (second < end))]
        assert len(set().union(*running)) == sum(map(len, running))
    in_use = max(int(procs[(start <= second) & (second < end)].sum()) for second in range(560))
    assert max(map(max, sets)) < in_use + 20  # the lowest idle ones: never far beyond the most in use
