"""Trials as tables: rows by run and share, scores by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from models.remaining.evaluation import HeldOutTrial, finished
from models.remaining.runs import Runs
from models.remaining.score_tables import rows_before_the_start, systems_of, transfer_scores, trial_rows, trial_scores
from models.remaining.snapshots import PROGRESS_SHARES


@pytest.fixture(scope="module")
def trial(many: Runs) -> HeldOutTrial:
    """Of the first five runs; every whole time is predicted twice too long, and by the parameters alone exactly."""
    which = finished(many)[:5]
    total = many.total_s[which]
    used = total[:, None] * PROGRESS_SHARES
    quantiles = np.repeat((2 * total[:, None] - used)[:, :, None], 5, axis=2)
    return HeldOutTrial("made up", which, used, quantiles, total, np.zeros(5, dtype=bool))


def test_rows_and_scores_by_hand(many: Runs, trial: HeldOutTrial) -> None:
    rows = trial_rows(trial, many, seed=3)
    assert rows.height == 50 and rows["progress"][:10].to_list() == PROGRESS_SHARES.tolist()
    np.testing.assert_allclose(rows["used_s"] + rows["remaining_s"], np.repeat(many.total_s[trial.which], 10))
    before = rows_before_the_start(rows, trial, many)
    assert before is not None and before.height == 5 and set(before["error"]) == {0.0}
    scores = trial_scores([rows, before]).filter(pl.col("ionic") == "all")
    assert scores["progress"].to_list() == [0.0, *PROGRESS_SHARES.tolist()]
    np.testing.assert_allclose(scores["mape"].to_numpy(), [0.0] + [100.0] * 10)
    assert scores["coverage"].to_list() == [None] + [0.0] * 10
    assert set(scores["runs"]) == {5} and set(scores["seeds"]) == {1}
    assert set(scores["systems"]) == {len(np.unique(many.group[trial.which]))}


def test_predictors_without_a_word_before_the_start(many: Runs, trial: HeldOutTrial) -> None:
    silent = HeldOutTrial(trial.name, trial.which, trial.used_s, trial.quantiles, np.full(5, np.nan), trial.seen)
    assert rows_before_the_start(trial_rows(silent, many, 1), silent, many) is None


def test_scores_by_kind_of_system(many: Runs) -> None:
    """Systems in pairs: of the last twelve runs, those whose mates were learned from count as seen."""
    paired = replace(many, group=many.group // 2)
    which = finished(paired)
    learned, judged = which[:-12], which[-12:]
    fits: list[None] = []
    scores = transfer_scores(paired, learned, judged, ["inputs_only"], 1, lambda: fits.append(None))
    assert len(fits) == 4
    seen = np.isin(paired.group[judged], paired.group[learned])
    assert 0 < seen.sum() < len(judged)
    runs = {(row["split"], row["runs"]) for row in scores.filter(ionic="all").to_dicts()}
    assert runs == {("all", 12), ("seen", int(seen.sum())), ("unseen", int((~seen).sum()))}
    whole = scores.filter((pl.col("split") == "all") & (pl.col("ionic") == "all") & (pl.col("predictor") == "ends_now"))
    assert whole["progress"].to_list()[:-1] == pytest.approx([k / 10 for k in range(1, 11)])
    assert whole["progress"][-1] is None
    assert whole["mean_error"][-1] == pytest.approx(whole["mean_error"][:-1].mean())
    assert whole["mean_error"][:-1].to_list() == sorted(whole["mean_error"][:-1], reverse=True)
    assert systems_of(paired, judged) == len(np.unique(paired.group[judged]))


def test_too_few_runs_on_either_side(many: Runs) -> None:
    which = finished(many)
    with pytest.raises(ValueError, match="judged on at least 10 finished VASP runs, found 3"):
        transfer_scores(many, which[:-3], which[-3:], [], 1, lambda: None)
    with pytest.raises(ValueError, match="learned from at least 20 finished VASP runs, found 5"):
        transfer_scores(many, which[:5], which[5:], [], 1, lambda: None)
