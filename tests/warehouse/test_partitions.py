"""A write replaces its partition, and nothing else."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from warehouse import Warehouse, first_row, replace_partition, replace_partition_by_query, replace_rows

COUNTS = pl.DataFrame({"file": ["f"], "outcome": ["accepted"], "reason": ["job"], "lines": [3]})


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return Warehouse(tmp_path / "w.duckdb")


def test_rows_are_replaced_by_their_key(warehouse: Warehouse) -> None:
    with warehouse.write() as connection:
        for source, file, lines in (("a", "f", 1), ("a", "g", 2), ("b", "f", 3), ("a", "f", 4)):
            rows = COUNTS.with_columns(lines=pl.lit(lines))
            assert replace_rows(connection, "raw.line_counts", {"source": source, "file": file}, rows) == 1
        kept = connection.execute("SELECT source, file, lines FROM raw.line_counts ORDER BY ALL").fetchall()
        assert kept == [("a", "f", 4), ("a", "g", 2), ("b", "f", 3)]
        assert replace_partition(connection, "raw.line_counts", "a", COUNTS.clear()) == 0
        assert first_row(connection, "SELECT count(*) FROM raw.line_counts") == (1,)


def test_rows_of_a_query(warehouse: Warehouse) -> None:
    query = "SELECT $source AS source, 'f' AS file, 'accepted' AS outcome, 'job' AS reason, unnest([1, 2]) AS lines"
    with warehouse.write() as connection:
        for _ in range(2):
            assert replace_partition_by_query(connection, "raw.line_counts", "a", query, {"source": "a"}) == 2
        assert first_row(connection, "SELECT count(*) FROM raw.line_counts") == (2,)
        assert first_row(connection, "SELECT 1 WHERE false") is None
