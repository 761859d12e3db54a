"""Rights to reservations, and the order in which they are made."""

from __future__ import annotations

import numpy as np

from simulator.engine.replay import replay
from simulator.engine.reserving import expansion_factor_reached, sort_places
from simulator.jobs.jobs import Jobs

n = np.array


def test_the_expansion_factor_counts_waiting() -> None:
    assert expansion_factor_reached(100, 100, 2.0)
    assert not expansion_factor_reached(99, 100, 2.0)


def test_places_are_sorted_by_score_then_job() -> None:
    rng = np.random.default_rng(1)
    score, queue = rng.integers(0, 9, 50).astype(np.float64), rng.permutation(50)
    order = np.arange(50)
    sort_places(score, queue, order, 50)
    assert order.tolist() == sorted(range(50), key=lambda k: (score[k], queue[k]))


def test_an_early_end_moves_reservations_up() -> None:
    """The first job ends at 10 instead of 100: the second moves up, and the third fills what is left beside it."""
    jobs = Jobs(n([0, 1, 2]), n([10, 50, 50]), n([4, 3, 1]), n([100, 50, 50]), n([100, 50, 50]))
    schedule = replay(jobs, 4, "FCFS", "conservative")
    assert schedule.start.tolist() == [0, 10, 10]
