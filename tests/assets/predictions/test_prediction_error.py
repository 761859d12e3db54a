"""The asset marts/prediction_error on a small warehouse."""

from __future__ import annotations

from assets.predictions.prediction_error import prediction_error
from tests.assets.predictions.registry import materialized
from warehouse import Warehouse


def test_one_row_per_predictor_and_period(evaluated: Warehouse) -> None:
    with evaluated.read() as connection:
        rows = connection.sql("FROM marts.prediction_error WHERE source = 'mine'").pl()
    assert rows.select("predictor", "period_start").n_unique() == rows.height == 2 * 4
    metadata = materialized(prediction_error, evaluated)
    assert metadata["dagster/row_count"] == rows.height
    newest = str(metadata["newest_period"])
    assert newest.count("| user_mean |") == newest.count("| last_two |") == 1


def test_a_source_without_predictions_has_no_rows(warehouse: Warehouse) -> None:
    """As after `tracehouse run NAME --job evaluate` on a source that is new."""
    assert materialized(prediction_error, warehouse)["dagster/row_count"] == 0
