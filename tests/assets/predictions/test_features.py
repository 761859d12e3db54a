"""Features as predictors read them."""

from __future__ import annotations

import polars as pl

from assets.predictions.features import column_summary, runtime_rows, write_job_features, write_similar_jobs
from models.runtime.similar import SIMILAR_FEATURES, similar_job_features
from tests.assets.predictions.registry import JOBS
from warehouse import Warehouse


def test_rows_have_all_features_in_order_of_submission(warehouse: Warehouse) -> None:
    rows = runtime_rows(warehouse, "mine")
    assert rows.height == JOBS and rows["submit_time"].is_sorted()
    assert set(SIMILAR_FEATURES) <= set(rows.columns) and rows["runtime_s"].null_count() == 0
    again = similar_job_features(rows)
    assert rows.select(SIMILAR_FEATURES).equals(again.select(SIMILAR_FEATURES))
    assert write_job_features(warehouse, "mine") == write_similar_jobs(warehouse, "mine") == JOBS
    assert runtime_rows(warehouse, "mine").equals(rows)


def test_a_summary_has_a_row_per_column(warehouse: Warehouse) -> None:
    summary = column_summary(warehouse, "features.similar_jobs", "mine")
    assert summary["column_name"].to_list() == ["job_index", *SIMILAR_FEATURES]
    numbers = summary.filter(pl.col("column_name") == "job_index")
    assert float(numbers["max"][0]) == JOBS - 1 + float(numbers["min"][0])


def test_a_source_without_jobs_has_no_features(warehouse: Warehouse) -> None:
    assert write_job_features(warehouse, "never-loaded") == 0
