"""Copies of a warehouse, from file to file. tests/assets/common/test_transfer.py copies to a lake and back."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from warehouse import Warehouse, WarehouseError
from warehouse.copying import copied_tables, copy_rows


def filled(path: Path) -> Warehouse:
    warehouse = Warehouse(path)
    with warehouse.write() as connection:
        connection.execute("INSERT INTO core.capacity VALUES ('a', DATE '2026-01-01', 4, 2.5, 0, 3)")
        connection.execute("INSERT INTO core.capacity VALUES ('b', DATE '2026-01-02', 8, 1.5, 0, 1)")
    return warehouse


def rows_of(warehouse: Warehouse) -> list[tuple[object, ...]]:
    with warehouse.read() as connection:
        return connection.execute("FROM core.capacity ORDER BY ALL").fetchall()


def test_all_rows_are_copied_and_counted(tmp_path: Path) -> None:
    source, target = filled(tmp_path / "x.duckdb"), Warehouse(tmp_path / "y.duckdb")
    counts = copy_rows(source, target)
    assert set(counts) == set(copied_tables()) and counts["core.capacity"] == 2 and sum(counts.values()) == 2
    assert rows_of(target) == rows_of(source)


def test_a_used_target_is_refused_unless_its_rows_are_replaced(tmp_path: Path) -> None:
    source, target = filled(tmp_path / "x.duckdb"), filled(tmp_path / "y.duckdb")
    with pytest.raises(WarehouseError, match=r"is not empty \(core\.capacity has rows\)"):
        copy_rows(source, target)
    assert copy_rows(source, target, replace=True)["core.capacity"] == 2 and len(rows_of(target)) == 2


def test_rows_can_be_changed_or_left_out(tmp_path: Path) -> None:
    def change(name: str, rows: pl.DataFrame) -> pl.DataFrame:
        return rows.with_columns(source=pl.lit("c"))

    source = filled(tmp_path / "x.duckdb")
    changed, without = Warehouse(tmp_path / "y.duckdb"), Warehouse(tmp_path / "z.duckdb")
    copy_rows(source, changed, change=change)
    assert {row[0] for row in rows_of(changed)} == {"c"}
    assert copy_rows(source, without, without=["core.capacity"])["core.capacity"] == 0 and rows_of(without) == []
