"""How predictors of remaining time are judged, on systems that they have not seen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from models.remaining.evaluation import finished, try_out
from models.remaining.runs import Runs
from models.remaining.snapshots import MEDIAN_LEVEL


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
