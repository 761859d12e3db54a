"""A grade says how well a replay gives back the waits of a log."""

from __future__ import annotations

import numpy as np
import pytest

from models.judging.fidelity import FEWEST_WAITING, GRADES, MEANING, agreement_of, error_of

RNG = np.random.default_rng(7)
WAITS = np.rint(RNG.lognormal(7, 2, 2000)).astype(np.int64)
RUNTIME = np.full(2000, 3600)


def test_equal_waits_have_the_best_grade() -> None:
    agreement = agreement_of(WAITS, WAITS, RUNTIME)
    assert (agreement.grade, agreement.alike, agreement.factor, agreement.wait_ratio) == ("A", 1.0, 1.0, 1.0)
    assert agreement.rank_correlation == pytest.approx(1.0) and agreement.distance == 0.0
    assert agreement.logged_bounded_slowdown == pytest.approx((WAITS / 3600 + 1).mean())


def test_by_hand() -> None:
    """Three of four waits are alike: within a minute, within a tenth, equal; the fourth is not."""
    logged, replayed = np.array([0, 10_000, 500, 100]), np.array([60, 9_100, 500, 200])
    agreement = agreement_of(logged, replayed, np.full(4, 10))
    assert agreement.alike == 0.75 and agreement.waited == 3 and agreement.grade is None  # four jobs say nothing
    error = (np.log(120 / 60) + np.log(10_060 / 9_160) + np.log(260 / 160)) / 4
    assert error_of(logged, replayed) == pytest.approx(error) and agreement.factor == pytest.approx(np.exp(error))
    assert agreement.logged_wait_s == 2650 and agreement.replayed_wait_s == 2465
    assert agreement.logged_median_wait_s == 300 and agreement.replayed_median_wait_s == 350


def test_noise_lowers_the_grade_down_to_the_worst() -> None:
    spread = RNG.standard_normal(2000)
    grades = [
        agreement_of(np.rint(WAITS * np.exp(sigma * spread)).astype(np.int64), WAITS, RUNTIME).grade
        for sigma in (0, 0.02, 0.1, 0.3, 0.6, 1.0, 2.0, 4.0)
    ]
    assert grades == sorted(grades) and set(grades) == set(GRADES)  # type: ignore[type-var]


def test_a_shuffled_replay_has_the_worst_grade_though_its_mean_is_right() -> None:
    agreement = agreement_of(WAITS, RNG.permutation(WAITS), RUNTIME)
    assert agreement.wait_ratio == pytest.approx(1.0) and agreement.distance == 0.0 and agreement.grade == "D"


def test_where_hardly_anybody_waited_there_is_no_grade() -> None:
    few = np.zeros(2000, dtype=np.int64)
    few[: FEWEST_WAITING - 1] = 1000
    agreement = agreement_of(few, np.zeros_like(few), RUNTIME)
    assert agreement.grade is None and agreement.rank_correlation is None
    with pytest.raises(ValueError, match="no job has a known wait"):
        agreement_of(few[:0], few[:0], few[:0])
    assert tuple(MEANING) == GRADES
