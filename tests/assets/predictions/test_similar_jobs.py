"""The asset features/similar_jobs on a small warehouse."""

from __future__ import annotations

from assets.predictions.similar_jobs import similar_jobs
from tests.assets.predictions.registry import JOBS, materialized
from warehouse import Warehouse


def test_one_row_per_job(warehouse: Warehouse) -> None:
    with warehouse.write() as connection:
        connection.execute("DELETE FROM features.similar_jobs WHERE source = 'mine'")
    metadata = materialized(similar_jobs, warehouse)
    assert metadata["dagster/row_count"] == JOBS
    with warehouse.read() as connection:
        rows = connection.sql("SELECT job_index FROM features.similar_jobs WHERE source = 'mine'").pl()
    assert rows["job_index"].n_unique() == JOBS
