"""The asset predictions/runtime_model on a small warehouse: the champion, its drift and the split for policies."""

from __future__ import annotations

import dagster as dg
import pytest

from assets.common.asset import LEAST_JOBS, PASSED_OVER
from assets.predictions.features import runtime_rows
from assets.predictions.runtime_model import runtime_model
from tests.assets.predictions.registry import JOBS, kinds, materialized, stored
from warehouse import Warehouse


def test_a_first_champion_its_drift_and_the_split(warehouse: Warehouse) -> None:
    metadata = materialized(runtime_model, warehouse, predictor="user_mean", test_days=10, train_share=0.5)
    assert metadata["happened"] == "version 1 (user_mean): first, the first model of this source"
    assert metadata["champion"] == 1 and kinds(warehouse) == [("first", 1, 1)]
    assert {row["version"] for row in stored(warehouse, "model_drift")} == {1}
    with warehouse.read() as connection:
        split = connection.execute(
            "SELECT test_job_index, train_share FROM predictions.training_splits WHERE source = 'mine'"
        ).fetchall()
    assert split == [(runtime_rows(warehouse, "mine")["job_index"][JOBS // 2], 0.5)]


def test_too_few_jobs_are_passed_over_with_what_works(warehouse: Warehouse) -> None:
    with warehouse.write() as connection:
        connection.execute("DELETE FROM core.jobs WHERE source = 'mine' AND job_index >= 100")
    metadata = materialized(runtime_model, warehouse)
    assert "100 jobs with a known run time are too few" in metadata[PASSED_OVER]
    assert f"at least {LEAST_JOBS} are needed; `tracehouse replay" in metadata[PASSED_OVER]
    assert kinds(warehouse) == []


def test_jobs_without_features_say_what_comes_first(warehouse: Warehouse) -> None:
    with warehouse.write() as connection:
        connection.execute("DELETE FROM features.job_features")
    with pytest.raises(dg.Failure, match="source 'mine' has no features: materialize features/job_features first"):
        materialized(runtime_model, warehouse)
