"""Rivals of the predictors of remaining time, by hand."""

from __future__ import annotations

import numpy as np

from models.remaining.evaluation import REMAINING_RIVALS, finished
from models.remaining.rivals import EndsNow, MedianWhole, SameShare
from models.remaining.runs import Runs
from models.remaining.snapshots import MEDIAN_LEVEL, PROGRESS_SHARES, Moments, at_shares


def test_a_run_that_ends_now_has_nothing_left(many: Runs) -> None:
    rival = EndsNow()
    rival.fit(many, finished(many), 1)
    assert (rival.predict(many, Moments(np.array([0, 1]), np.array([0.0, 9.0]))) == 0).all()


def test_the_median_whole_run_time_less_what_was_used(many: Runs) -> None:
    which, rival = finished(many)[:21], MedianWhole()
    rival.fit(many, which, 1)
    middle = np.median(many.total_s[which])
    quantiles = rival.predict(many, Moments(np.array([0, 0, 0]), np.array([0.0, 0.5 * middle, 9 * middle])))
    np.testing.assert_allclose(quantiles[:, MEDIAN_LEVEL], [middle, 0.5 * middle, 0.0])
    assert (np.diff(quantiles, axis=1) >= 0).all()


def test_no_factor_of_the_time_used_has_a_smaller_mean_error(many: Runs) -> None:
    which, rival = finished(many), SameShare()
    rival.fit(many, which, 1)
    moments = at_shares(many, which, PROGRESS_SHARES)
    total = many.total_s[moments.run]

    def error(whole_s: np.ndarray) -> float:
        return float(np.abs(whole_s / total - 1).mean())

    left = rival.predict(many, moments)[:, MEDIAN_LEVEL]
    least = min(error(factor * moments.used_s) for factor in np.linspace(1, 5, 801))
    assert error(moments.used_s + left) <= least + 1e-9
    assert (left > 0).any() and set(REMAINING_RIVALS) == {"ends_now", "constant_median", "constant_share"}
