"""The ends of an interval learn from what they missed, once that is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from models.waits.interval_ends import LARGEST_MOVE, IntervalEnds
from models.waits.neighbours import FEATURES, POINTS, Pool

TOLD = np.array([10.0, 50.0, 100.0, 500.0, 1000.0])


def random_pool(jobs: int = 3000, seed: int = 1) -> Pool:
    """Jobs whose circumstances say nothing. Their waits grow from job to job, so that past ones are too short."""
    rng = np.random.default_rng(seed)
    wait = np.exp(np.linspace(4, 10, jobs) + rng.normal(0, 1, jobs)).astype(np.int64)
    zeros = np.zeros(jobs)
    return Pool(
        rng.normal(0, 1, (jobs, len(FEATURES))), np.zeros((jobs, len(POINTS))), zeros, zeros.astype(np.int64),
        np.arange(jobs) * 3600, wait, np.ones(jobs, dtype=bool),
    )  # fmt: skip


def test_ends_hold_as_often_as_they_should_although_waits_grow() -> None:
    pool = random_pool()
    ends, plain, moved = IntervalEnds(pool), [], []
    from models.waits.neighbours import waits_of_neighbours

    for job in range(1000, len(pool)):
        submit, wait = int(pool.submit[job]), int(pool.wait[job])
        told = waits_of_neighbours(pool, pool.features[job], 0, submit).quantiles
        assert told is not None
        for kept, each in ((plain, told), (moved, ends.moved(told, submit))):
            kept.append((wait < each[0], wait > each[-1]))
    assert np.mean(plain, axis=0)[1] > 0.15
    assert np.allclose(np.mean(moved, axis=0), 0.1, atol=0.015)


def test_what_is_not_known_yet_moves_nothing() -> None:
    """Two pools that differ in waits only which are not over at the moment asked for."""
    pool, moment = random_pool(400), 300 * 3600
    later = replace(pool, wait=np.where(pool.submit + pool.wait > moment, pool.wait + 99_999, pool.wait))
    assert (later.wait != pool.wait).sum() > 100
    moved = IntervalEnds(pool).moved(TOLD, moment)
    assert (moved == IntervalEnds(later).moved(TOLD, moment)).all() and (moved != TOLD).any()
    shorter = replace(pool, wait=np.where(pool.submit < moment // 2, 0, pool.wait))
    assert (moved != IntervalEnds(shorter).moved(TOLD, moment)).any(), "the comparison above would see a difference"


def test_the_median_and_the_order_stay() -> None:
    pool = random_pool()
    moved = IntervalEnds(replace(pool, wait=np.full(len(pool), 7))).moved(TOLD, int(pool.submit[-1]))
    assert (np.diff(moved) >= 0).all() and moved[2] == TOLD[2]
    assert moved[-1] <= np.expm1(np.log1p(TOLD[-1]) + LARGEST_MOVE)
    zeros = np.zeros(len(POINTS))
    assert IntervalEnds(pool).moved(zeros, int(pool.submit[-1]))[:3].tolist() == [0.0, 0.0, 0.0]
