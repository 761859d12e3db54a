"""The asset predictions/runtime_predictions on a small warehouse: the evaluation's for older jobs, the champion's for new ones."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from assets.predictions import runtime_predictions as module
from assets.predictions.features import runtime_rows
from assets.predictions.model_registry import roll_back
from assets.predictions.runtime_predictions import runtime_predictions, write_predictions
from tests.assets.predictions.registry import JOBS, materialized, night, stored
from warehouse import Warehouse


def test_old_jobs_by_the_evaluation_new_ones_by_the_champion(evaluated: Warehouse) -> None:
    night(evaluated, "user_mean")
    metadata = materialized(runtime_predictions, evaluated)
    with evaluated.read() as connection:
        rows = connection.sql(
            "SELECT p.*, j.submit_time FROM predictions.runtime_predictions AS p JOIN core.jobs AS j USING (source, job_index) "
            "WHERE source = 'mine' ORDER BY job_index"
        ).pl()
    until = stored(evaluated, "model_versions")[0]["trained_until"]
    new = pl.col("submit_time") >= until
    assert rows.height == JOBS and metadata["from_the_champion"] == rows.filter(new).height
    assert set(rows.filter(new).select("predictor", "version").rows()) == {("user_mean", 1)}
    assert set(rows.filter(~new).select("predictor", "version").rows()) == {("last_two", None)}


def test_an_evaluation_of_other_jobs_is_refused(evaluated: Warehouse) -> None:
    night(evaluated, "user_mean")
    with pytest.raises(ValueError, match="materialize predictions/runtime_evaluation again"):
        write_predictions(evaluated, "mine", runtime_rows(evaluated, "mine")[:-1])


def test_a_rollback_while_jobs_are_predicted_is_obeyed(evaluated: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    night(evaluated, "requested")
    night(evaluated, "user_mean")
    load, loaded = module.load_champion, []

    def load_late(*arguments: Any) -> Any:
        loaded.append(load(*arguments))
        if len(loaded) == 1:
            roll_back(evaluated, "mine")
        return loaded[-1]

    monkeypatch.setattr(module, "load_champion", load_late)
    predictions = write_predictions(evaluated, "mine", runtime_rows(evaluated, "mine"))
    assert [version for version, _ in loaded] == [2, 1]
    assert set(predictions["version"].drop_nulls()) == {1}
