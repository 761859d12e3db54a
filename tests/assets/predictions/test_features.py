"""Features as predictors read them."""

from __future__ import annotations

import polars as pl
import pytest

from assets.predictions.features import column_summary, runtime_rows, write_job_features, write_similar_jobs
from models.runtime.past.similar import SIMILAR_FEATURES, similar_job_features
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


@pytest.mark.parametrize("jobs", [1, 7, 250])
def test_similar_jobs_in_parts_of_any_size(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch, jobs: int) -> None:
    """Some of these parts have no job that can be replayed."""
    with warehouse.write() as connection:
        connection.execute("UPDATE core.jobs SET procs = 0 WHERE source = 'mine' AND job_index BETWEEN 20 AND 40")
    whole = rows_of_similar_jobs(warehouse)
    monkeypatch.setattr("assets.predictions.changed_parts.PART_JOBS", jobs)
    assert whole.height == JOBS - 21 and rows_of_similar_jobs(warehouse).equals(whole)


def rows_of_similar_jobs(warehouse: Warehouse) -> pl.DataFrame:
    """As they are computed now."""
    rows = write_similar_jobs(warehouse, "mine")
    with warehouse.read() as connection:
        table = connection.sql("SELECT * FROM features.similar_jobs WHERE source = 'mine' ORDER BY job_index").pl()
    assert table.height == rows
    return table


def test_a_summary_has_a_row_per_column(warehouse: Warehouse) -> None:
    summary = column_summary(warehouse, "features.similar_jobs", "mine")
    assert summary["column_name"].to_list() == ["job_index", *SIMILAR_FEATURES]
    numbers = summary.filter(pl.col("column_name") == "job_index")
    assert float(numbers["max"][0]) == JOBS - 1 + float(numbers["min"][0])


def test_a_source_without_jobs_has_no_features(warehouse: Warehouse) -> None:
    assert write_job_features(warehouse, "never-loaded") == write_similar_jobs(warehouse, "never-loaded") == 0
