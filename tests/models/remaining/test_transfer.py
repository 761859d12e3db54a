"""Predictors that learned from one folder's runs, judged on another's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from models.remaining.evaluation import finished
from models.remaining.runs import Runs
from models.remaining.transfer import systems_of, transfer_scores


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
