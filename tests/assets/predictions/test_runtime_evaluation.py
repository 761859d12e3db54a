"""The asset predictions/runtime_evaluation and the mart of its errors, on a small warehouse."""

from __future__ import annotations

import dagster as dg
import polars as pl
import pytest

from assets.common.asset import PASSED_OVER
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


def test_a_row_says_how_many_of_its_jobs_another_predictor_answered(warehouse: Warehouse) -> None:
    """Trees wait for 200 jobs that have ended; the request of every job is known, so that `requested` never falls back."""
    metadata = materialized(runtime_evaluation, warehouse, predictors=["requested"], predictor="xgboost", days=10)
    scores = table(warehouse, "runtime_scores").filter(pl.col("user_class") == "all users")
    fallback = dict(scores.select("predictor", "fallback_jobs").iter_rows())
    by_period = table(warehouse, "runtime_scores_by_period").filter(pl.col("predictor") == "xgboost")
    early = by_period.filter(pl.col("jobs_fitted") < 200)
    assert early.height == 2 and early["jobs"].equals(early["fallback_jobs"])
    assert by_period.filter(pl.col("jobs_fitted") >= 200)["fallback_jobs"].to_list() == [0, 0]
    assert fallback == {"requested": 0, "last_two": 0, "xgboost": early["jobs"].sum()}
    kept = table(warehouse, "prequential_predictions").sort("job_index")["predictor"].to_list()
    assert kept == ["similar_jobs"] * fallback["xgboost"] + ["xgboost"] * (JOBS - fallback["xgboost"])
    assert all("| fallback_jobs |" in metadata[name] for name in ("scores", "by_user_class"))


def test_the_request_is_scored_as_the_request(warehouse: Warehouse) -> None:
    """In a log of four days nothing had ended before the first period; the error is that of the requests all the same."""
    materialized(runtime_evaluation, warehouse, source="short", predictors=["requested"], predictor="similar_jobs")
    with warehouse.read() as connection:
        found = dict(
            connection.sql(
                "SELECT predictor, mean_absolute_error_s FROM predictions.runtime_scores "
                "WHERE source = 'short' AND user_class = 'all users'"
            ).fetchall()
        )
        (expected,) = connection.sql(
            "SELECT avg(abs(requested_walltime_s - runtime_s)) FROM core.jobs WHERE source = 'short'"
        ).fetchall()[0]
    assert found["requested"] == pytest.approx(expected)
    assert len(set(found.values())) == 3


def test_a_wrong_name_is_refused_before_hours_of_work(warehouse: Warehouse) -> None:
    with pytest.raises(dg.Failure, match="unknown predictor 'oracle'"):
        materialized(runtime_evaluation, warehouse, predictors=["oracle"])
    assert table(warehouse, "runtime_scores").is_empty()


def test_a_source_without_jobs(warehouse: Warehouse) -> None:
    metadata = materialized(runtime_evaluation, warehouse, source="none")
    assert "source 'none': 0 jobs with a known run time are too few" in metadata[PASSED_OVER]
