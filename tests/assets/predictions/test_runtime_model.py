"""The asset predictions/runtime_model on a small warehouse: the champion, its drift and the split for policies."""

from __future__ import annotations

import pytest

from assets.predictions.features import runtime_rows
from assets.predictions.runtime_model import LEAST_ROWS, runtime_model
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


def test_too_few_jobs_are_refused_with_what_works(warehouse: Warehouse) -> None:
    with warehouse.write() as connection:
        connection.execute("DELETE FROM core.jobs WHERE source = 'mine' AND job_index >= 100")
    with pytest.raises(
        ValueError, match=rf"100 jobs .* are too few .*, at least {LEAST_ROWS} are needed; `tracehouse replay"
    ):
        materialized(runtime_model, warehouse)
    assert kinds(warehouse) == []
