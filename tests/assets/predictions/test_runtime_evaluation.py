"""The asset predictions/runtime_evaluation and the mart of its errors, on a small warehouse."""

from __future__ import annotations

import polars as pl
import pytest

from assets.predictions.runtime_evaluation import runtime_evaluation
from tests.assets.predictions.registry import JOBS, materialized
from warehouse import Warehouse


def table(warehouse: Warehouse, name: str) -> pl.DataFrame:
    with warehouse.read() as connection:
        return connection.sql(f"FROM predictions.{name} WHERE source = 'mine' ORDER BY ALL").pl()


def test_every_predictor_is_scored_and_one_is_kept_job_by_job(warehouse: Warehouse) -> None:
    """last_two is always among them: the others are compared with it."""
    metadata = materialized(runtime_evaluation, warehouse, predictors=["requested"], predictor="user_mean", days=10)
    scores = table(warehouse, "runtime_scores").filter(pl.col("user_class") == "all users")
    assert scores["predictor"].to_list() == ["last_two", "requested", "user_mean"]
    assert metadata["jobs"] == JOBS and set(scores["jobs"]) == {JOBS}
    gains = dict(scores.select("predictor", "mae_gain_over_last_two_s").iter_rows())
    assert gains["last_two"] is None and gains["requested"] < 0 < gains["user_mean"]
    by_period = table(warehouse, "runtime_scores_by_period")
    assert by_period["period_start"].n_unique() == metadata["periods"] == 4
    assert by_period.group_by("predictor").agg(pl.col("jobs").sum())["jobs"].to_list() == [JOBS] * 3
    kept = table(warehouse, "prequential_predictions")
    assert kept.height == JOBS and set(kept["predictor"]) == {"user_mean"}


def test_a_wrong_name_is_refused_before_hours_of_work(warehouse: Warehouse) -> None:
    with pytest.raises(ValueError, match="unknown predictor 'oracle'"):
        materialized(runtime_evaluation, warehouse, predictors=["oracle"])
    assert table(warehouse, "runtime_scores").is_empty()


def test_a_source_without_jobs(warehouse: Warehouse) -> None:
    with pytest.raises(ValueError, match="source 'none' has no job with a known run time: nothing to predict"):
        materialized(runtime_evaluation, warehouse, source="none")
