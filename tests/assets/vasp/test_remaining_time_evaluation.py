"""The asset predictions/remaining_time_evaluation on a small warehouse."""

from __future__ import annotations

import pytest

from assets.vasp.remaining_time_evaluation import remaining_time_evaluation
from tests.assets.vasp.remaining import OPEN, RUNS, materialized
from warehouse import Warehouse


def test_every_finished_run_is_tried_at_ten_moments(vasp_warehouse: Warehouse) -> None:
    metadata = materialized(remaining_time_evaluation, vasp_warehouse, predictors=["inputs_only"], folds=2)
    assert metadata["dagster/row_count"] == 10 * (RUNS - OPEN)
    with vasp_warehouse.read() as connection:
        scores = connection.sql(
            "SELECT progress, runs, seeds FROM predictions.remaining_time_scores WHERE ionic = 'all' ORDER BY progress"
        ).fetchall()
    assert [round(row[0], 1) for row in scores] == [k / 10 for k in range(11)]
    assert {row[1:] for row in scores} == {(RUNS - OPEN, 1)}


def test_a_wrong_name_is_refused(vasp_warehouse: Warehouse) -> None:
    with pytest.raises(ValueError, match="unknown predictor 'oracle'; expected inputs_only, progress, multimodal"):
        materialized(remaining_time_evaluation, vasp_warehouse, predictors=["oracle"])
