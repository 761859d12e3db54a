"""Scores of predictions by hand."""

from __future__ import annotations

import numpy as np
import pytest

from models.runtime.predictor import LEVELS, Prediction
from models.runtime.scores import USER_CLASSES, gain_interval, score, user_classes


def test_every_score_by_hand() -> None:
    """Points 100, 50, 300 and 10 s for run times of 80, 200, 300 and 40 s; quantiles 10, 20, ... 80 s for all."""
    true = np.array([80.0, 200.0, 300.0, 40.0])
    found = score(Prediction(np.array([100.0, 50.0, 300.0, 10.0]), np.tile(np.arange(10.0, 90.0, 10.0), (4, 1))), true)
    assert found["mean_absolute_error_s"] == (20 + 150 + 0 + 30) / 4
    assert found["median_absolute_error_s"] == 25
    assert found["mean_absolute_percentage_error"] == pytest.approx((0.25 + 0.75 + 0 + 0.75) / 4)
    assert found["mean_accuracy"] == pytest.approx((0.8 + 0.25 + 1 + 0.25) / 4)
    assert found["underestimated_share"] == 0.5  # a run time that is met is not underestimated
    # at 40 s, the median: 40 s meets it; at 70 s and 80 s, 90 % and 95 %
    assert found["coverage_50"] == 0.25 and found["coverage_80"] == 0.25 and found["coverage_90"] == 0.25
    losses = []
    for runtime in (80, 200, 300, 40):
        for level, quantile in zip((0.05, 0.1, 0.25, 0.5, 0.75, 0.8, 0.9, 0.95), range(10, 90, 10), strict=True):
            above = runtime - quantile
            losses.append(level * above if above >= 0 else (1 - level) * -above)
    assert found["pinball_loss_s"] == pytest.approx(sum(losses) / 32)
    assert len(found) == 9


def test_coverage_by_level() -> None:
    quantiles = np.tile(np.arange(1.0, 9.0), (10, 1))
    true = np.array([4.0, 4.1, 6.0, 6.1, 7.0, 7.1, 1.0, 1.0, 1.0, 1.0])  # levels 50, 80 and 90 % are at 4, 6 and 7 s
    found = score(Prediction(quantiles[:, 3], quantiles), true)
    assert [LEVELS.index(level) for level in (0.5, 0.8, 0.9)] == [3, 5, 6]
    assert (found["coverage_50"], found["coverage_80"], found["coverage_90"]) == (0.5, 0.7, 0.9)


def test_a_perfect_prediction() -> None:
    true = np.array([1.0, 50.0, 7000.0])
    found = score(Prediction(true, np.repeat(true[:, None], len(LEVELS), axis=1)), true)
    assert found["mean_accuracy"] == 1 and found["coverage_50"] == 1
    assert sum(value for name, value in found.items() if not name.startswith(("mean_accuracy", "coverage"))) == 0


def test_classes_of_users() -> None:
    jobs = {"few": 30, "some": 31, "many": 1000, "most": 1001, "": 2}
    users = np.array([user for user, count in jobs.items() for _ in range(count)], dtype=object)
    shuffled = np.random.default_rng(1).permutation(len(users))
    found = user_classes(users[shuffled])
    expected = {"few": 0, "some": 1, "many": 1, "most": 2, "": 0}
    assert found.tolist() == [expected[user] for user in users[shuffled]]
    assert len(USER_CLASSES) == 3


def test_a_clear_gain() -> None:
    """Every user gains 10 s in the mean; users of many jobs count for as many."""
    rng = np.random.default_rng(2)
    users = rng.integers(0, 20, 2000)
    baseline = rng.uniform(100, 200, 2000)
    gain, low, high = gain_interval(baseline - 10 + rng.normal(0, 5, 2000), baseline, users, seed=1)
    assert gain == pytest.approx(10, abs=0.5)
    assert low is not None and high is not None
    assert 9 < low < gain < high < 11
    assert gain_interval(baseline - 10, baseline, users, seed=1) == pytest.approx((10, 10, 10))


def test_a_gain_of_one_user_is_none_of_all() -> None:
    """One of six users gains much with many jobs; a bootstrap over jobs would be sure of it."""
    users = np.array([0] * 500 + [1, 2, 3, 4, 5] * 100)
    baseline = np.full(1000, 100.0)
    error = np.where(users == 0, 60.0, 110.0)
    gain, low, high = gain_interval(error, baseline, users, seed=3)
    assert gain == 15
    assert low is not None and high is not None and low < 0 < gain < high


def test_the_interval_against_a_loop() -> None:
    rng = np.random.default_rng(4)
    users = np.array(["a", "b", "c", "d", "e", "f"])[rng.integers(0, 6, 300)]
    error, baseline = rng.uniform(0, 10, 300), rng.uniform(0, 12, 300)
    drawn = np.random.default_rng(9).integers(6, size=(1000, 6))
    means = []
    for draw in drawn:
        picked = np.concatenate([np.flatnonzero(users == "abcdef"[k]) for k in draw])
        means.append((baseline[picked] - error[picked]).mean())
    gain, low, high = gain_interval(error, baseline, users, seed=9)
    assert gain == pytest.approx((baseline - error).mean())
    assert (low, high) == pytest.approx(tuple(np.percentile(means, [2.5, 97.5])))


@pytest.mark.parametrize(("users", "known"), [(4, False), (5, True)])
def test_few_users_tell_nothing(users: int, known: bool) -> None:
    number = np.arange(100) % users
    gain, low, high = gain_interval(np.zeros(100), np.full(100, 3.0), number, seed=1)
    assert gain == 3
    assert (low is not None and high is not None) == known
