"""How predictors of remaining time are judged, on systems that they have not seen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from models.remaining.evaluation import REMAINING_RIVALS, EndsNow, MedianWhole, SameShare, finished, try_out
from models.remaining.runs import Runs
from models.remaining.snapshots import MEDIAN_LEVEL, PROGRESS_SHARES, Moments, at_shares


def test_steps_tell_more_than_parameters(many: Runs) -> None:
    """On systems that were not learned from; and more the longer a run goes on."""
    inputs, progress = (try_out(many, name, folds=2, seed=1) for name in ("inputs_only", "progress"))
    error = progress.errors(many).mean(axis=0)
    assert error[4] < 0.5 * inputs.errors_before(many).mean()
    assert error[9] < error[4] < error[0]
    assert 0.6 < progress.covered(many).mean() < 0.95
    assert (np.abs(progress.used_s[:, -1] - many.total_s[progress.which]) < 0.3 * many.total_s[progress.which]).all()
    middle = progress.used_s + progress.quantiles[:, :, MEDIAN_LEVEL]
    np.testing.assert_allclose(
        progress.errors(many), np.abs(middle / many.total_s[progress.which][:, None] - 1), atol=1e-12
    )


def test_runs_of_systems_that_were_learned_from(many: Runs) -> None:
    """Systems in pairs: a run is judged where its mate is in another part, and by a fit without itself."""
    paired = replace(many, group=many.group // 2)
    trial = try_out(paired, "constant_median", folds=2, seed=1, split="seen")
    assert 0 < len(trial.which) < len(finished(paired)) and (np.diff(trial.which) > 0).all() and trial.seen.all()
    assert (np.bincount(paired.group[trial.which]) != 1).all()
    unseen = try_out(paired, "constant_median", folds=2, seed=1)
    assert (unseen.which == finished(paired)).all() and not unseen.seen.any()
    alone = replace(many, group=np.arange(len(many)))
    assert len(try_out(alone, "constant_median", folds=2, seed=1, split="seen").which) == 0


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
