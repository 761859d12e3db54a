"""Waits of the past: what may be known of them, and whom a job is compared with."""

from __future__ import annotations

import numpy as np
import polars as pl

from models.waits.history import history_of, state_at
from models.waits.interval_ends import IntervalEnds
from models.waits.neighbours import (
    FEATURES,
    POINTS,
    PastWaits,
    Pool,
    distribution,
    expected_wait,
    features_of,
    pool_numbers,
    pool_of,
    similar_waits,
    waits_of_neighbours,
    waits_of_survivors,
)
from models.waits.replays import start_times
from tests.models.waits.states import rows_of


def predicted(rows: pl.DataFrame, moment: int) -> list[object]:
    history = history_of(rows, 16)
    state = state_at(history, moment).with_job(4, 7200, 2)
    replayed = start_times(state, -1, 30, 1)
    features = features_of(history, state, -1, replayed)
    pool = pool_of(history, pool_numbers(history, moment), 1)
    past = waits_of_neighbours(pool, features, 2, moment)
    assert past.quantiles is not None and past.jobs > 0
    similar = similar_waits(history, 4, 7200, moment)
    moved = IntervalEnds(pool).moved(past.quantiles, moment)
    mean_s = expected_wait(past, similar, float(replayed.mean()))
    return [replayed.tolist(), features.tolist(), past.quantiles.tolist(), moved.tolist(), mean_s, similar.tolist()]


def pool_by_hand(features: np.ndarray, user: np.ndarray, submit: np.ndarray, wait: np.ndarray) -> Pool:
    """A pool whose replays say 0 s, and whose jobs start."""
    count = len(submit)
    return Pool(
        features, np.zeros((count, len(POINTS))), np.zeros(count), user, submit, wait, np.ones(count, dtype=bool)
    )


def test_nothing_after_the_moment_changes_the_answer() -> None:
    rows = rows_of()
    moment = int(rows["submit_s"][220]) + 1
    end = pl.col("start_s") + pl.col("runtime_s")
    later = rows.filter(pl.col("submit_s") <= moment).with_columns(
        runtime_s=pl.when(end > moment).then(pl.col("runtime_s") + 77_777).otherwise("runtime_s"),
        start_s=pl.when(pl.col("start_s") > moment).then(pl.col("start_s") + 99_999).otherwise("start_s"),
        cancel_s=pl.when(pl.col("cancel_s") > moment).then(pl.col("cancel_s") + 5).otherwise("cancel_s"),
    )
    assert state_at(history_of(rows, 16), moment).waiting.number.size > 0
    assert predicted(rows, moment) == predicted(later, moment)
    earlier = rows.with_columns(start_s=pl.when(end < moment).then(pl.col("submit_s")).otherwise("start_s"))
    assert predicted(rows, moment) != predicted(earlier, moment)  # the comparison above would see a difference


def test_jobs_that_still_wait_count_for_as_long_as_they_have_waited() -> None:
    """Half of the jobs start after 5 s. The others still wait, and that they will wait 10,000 s is not known."""
    features, submit = np.zeros((40, len(FEATURES))), np.arange(40) * 10
    wait = np.where(np.arange(40) % 2 == 0, 5, 10_000)
    pool = pool_by_hand(features, np.zeros(40, dtype=np.int64), submit, wait)
    past = waits_of_neighbours(pool, features[0], 0, 400)
    assert past.jobs == 30 and past.quantiles is not None and past.mean_s is not None
    assert past.quantiles[:2].tolist() == [5.0, 5.0] and 5 < past.quantiles[3] <= 390 and past.mean_s < 400
    assert waits_of_neighbours(pool, features[0], 0, 50) == PastWaits(None, None, 3)  # at 0, 20 and 40


def test_the_mean_is_that_of_three_means() -> None:
    past, similar = PastWaits(np.zeros(5), 30.0, 30), np.array([100, 200])
    assert expected_wait(past, similar, 60.0) == 80.0
    assert expected_wait(PastWaits(None, None, 3), similar[:0], 60.0) == 60.0


def test_nobody_in_particular_is_compared_without_what_is_known_of_users() -> None:
    features = np.zeros((60, len(FEATURES)))
    features[30:, FEATURES.index("user_waiting")] = 9.0  # of a user with many jobs, who waits long
    features[30:, FEATURES.index("procs")] = -0.1
    times, user = np.arange(60), np.repeat([1, 2], 30)
    pool = pool_by_hand(features, user, times, np.where(user == 1, 5, 900))
    asked = features[0] + (features[30] - features[0]) * [name == "procs" for name in FEATURES]
    means = [waits_of_neighbours(pool, asked, user, 10_000).mean_s for user in (1, -1)]
    assert np.allclose(np.array(means, dtype=np.float64), [5.0, 900.0])


def test_jobs_that_waited_as_long() -> None:
    """Of 40 jobs 20 start after 5 s; of the others, 15 after 100, 200, ... s, and 5 still wait after 800 s and more."""
    waits = np.concatenate([np.full(20, 5), np.arange(1, 16) * 100, np.full(5, 99_999)])
    rows = rows_of(40).with_columns(submit_s=pl.lit(0), start_s=pl.Series(waits), cancel_s=pl.lit(None, dtype=pl.Int64))
    history = history_of(rows, 16)
    found, mean_s, started = waits_of_survivors(history, 1500, 50)
    assert started == 15 and found is not None
    assert found.tolist() == [200.0, 500.0, 1000.0, 1500.0, 1500.0]  # a share of 15 in 20 after 1500, the rest unknown
    assert mean_s == 975.0, "as if the rest had waited 1500 s"
    assert waits_of_survivors(history, 900, 50) == PastWaits(None, None, 9)
    found = waits_of_survivors(history, 1500, 0).quantiles
    assert found is not None and found.tolist()[:3] == [5.0, 5.0, 5.0]


def test_quantiles_are_in_order_and_weighted() -> None:
    values, weight = np.array([3, 1, 2, 10]), np.array([1.0, 1.0, 2.0, 6.0])
    quantiles, mean_s = distribution(values, np.ones(4, dtype=bool), weight)
    assert quantiles.tolist() == [1.0, 2.0, 10.0, 10.0, 10.0] and np.isclose(mean_s, 6.8)
    rng = np.random.default_rng(5)
    for _ in range(20):
        found, mean_s = distribution(rng.integers(0, 99, 30), rng.random(30) < 0.7, rng.random(30))
        assert (np.diff(found) >= 0).all() and 0 < mean_s < 99
