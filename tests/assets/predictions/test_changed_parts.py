"""Features are written again from the first part on that changed jobs may have touched, and are those of a fresh computation."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from assets.predictions import features as features_module
from assets.predictions.changed_parts import ChangedParts
from assets.predictions.features import write_job_features, write_similar_jobs
from tests.assets.predictions.plain_features import features_of, odd_jobs
from tests.tiny import busy_log, warehouse_of
from warehouse import Warehouse, replace_partition

JOBS, PART = 250, 40
Change = Callable[[pl.DataFrame], pl.DataFrame]


@pytest.fixture
def firsts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The first part of each writing."""
    seen: list[int] = []
    compare = ChangedParts.compare

    def noted(self: ChangedParts, connection: object) -> int:
        seen.append(compare(self, connection))  # type: ignore[arg-type]
        return seen[-1]

    monkeypatch.setattr("assets.predictions.changed_parts.PART_JOBS", PART)
    monkeypatch.setattr(ChangedParts, "compare", noted)
    return seen


def put(warehouse: Warehouse, jobs: pl.DataFrame) -> None:
    with warehouse.write() as connection:
        connection.execute("UPDATE core.sources SET time_zone = 'Europe/Berlin'")
        replace_partition(connection, "core.jobs", "mine", jobs.drop("source"))


def written(warehouse: Warehouse) -> pl.DataFrame:
    assert write_job_features(warehouse, "mine") == rows_of(warehouse).height
    return rows_of(warehouse)


def rows_of(warehouse: Warehouse) -> pl.DataFrame:
    with warehouse.read() as connection:
        return connection.sql("FROM features.job_features ORDER BY job_index").pl()


def at(index: int, **values: pl.Expr) -> Change:
    """Other values of one job."""
    return lambda jobs: jobs.with_columns(
        pl.when(pl.col("job_index") == index).then(value).otherwise(name).alias(name) for name, value in values.items()
    )


def exchanged(jobs: pl.DataFrame) -> pl.DataFrame:
    """Two jobs of a part have each other's queue."""
    return at(201, queue=pl.lit("a"))(at(202, queue=pl.lit("b"))(jobs))


@pytest.mark.parametrize(
    ("change", "first"),
    [
        (lambda jobs: jobs, 7),
        (at(249, queue=pl.lit("another")), 6),
        (at(130, status=pl.lit("failed"), used_cpu_s=pl.lit(1.0)), 3),
        (at(130, used_cpu_s=pl.lit(1.0)), 7),
        (at(200, end_time=pl.col("submit_time") - timedelta(days=2)), None),
        (at(200, start_time=pl.lit(None), end_time=pl.lit(None)), None),
        (exchanged, 5),
        (lambda jobs: jobs.head(150), 3),
        (lambda jobs: jobs.head(160), 4),
        (lambda jobs: jobs.clear(), 0),
        (lambda jobs: jobs.with_columns(start_time=pl.lit(None, jobs.schema["start_time"])), 0),
    ],
)
def test_rows_are_those_of_a_fresh_computation(
    tmp_path: Path, firsts: list[int], change: Change, first: int | None
) -> None:
    jobs = odd_jobs(tmp_path, 5, JOBS)
    warehouse = warehouse_of(tmp_path / "w", busy_log(20))
    put(warehouse, jobs.head(210))
    assert_frame_equal(written(warehouse), features_of(jobs.head(210)))
    jobs = at(201, queue=pl.lit("b"))(at(202, queue=pl.lit("a"))(jobs))
    put(warehouse, jobs)
    assert_frame_equal(written(warehouse), features_of(jobs))
    assert firsts[0] == 0 and firsts[1] in (4, 5)  # the last part was not full, and jobs ran over its beginning
    changed = change(jobs)
    put(warehouse, changed)
    rows = written(warehouse)
    assert_frame_equal(rows, features_of(changed) if changed.height else rows.clear())
    assert firsts[2] == first or (first is None and 0 <= firsts[2] < 6)


def test_similar_jobs_of_a_longer_log(tmp_path: Path, firsts: list[int]) -> None:
    jobs = odd_jobs(tmp_path, 7, JOBS)
    warehouse, fresh = (warehouse_of(tmp_path / name, busy_log(20)) for name in ("w", "fresh"))
    tables = []
    for place, heights in ((warehouse, (130, JOBS)), (fresh, (JOBS,))):
        for height in heights:
            put(place, jobs.head(height))
            count = write_similar_jobs(place, "mine")
        with place.read() as connection:
            tables.append(connection.sql("FROM features.similar_jobs ORDER BY job_index").pl())
        assert count == tables[-1].height
    assert_frame_equal(tables[0], tables[1])
    assert firsts[0] == firsts[2] == 0 and 1 <= firsts[1] <= 3


def test_rows_that_somebody_removed_and_other_code_are_computed_again(
    tmp_path: Path, firsts: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = odd_jobs(tmp_path, 6, JOBS)
    warehouse = warehouse_of(tmp_path / "w", busy_log(20))
    put(warehouse, jobs)
    whole = written(warehouse)
    with warehouse.write() as connection:
        connection.execute("DELETE FROM features.job_features WHERE job_index = 3")
    assert_frame_equal(written(warehouse), whole)
    code = tmp_path / "histories.py"
    code.write_text("# another")
    monkeypatch.setattr(features_module.histories, "__file__", str(code))
    assert_frame_equal(written(warehouse), whole)
    assert firsts == [0, 0, 0]
