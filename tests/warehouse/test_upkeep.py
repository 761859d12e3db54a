"""Upkeep of a lake is tested with a lake in tests/warehouse/test_lake_door.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from warehouse import Warehouse, WarehouseError
from warehouse.upkeep import Tidied, tidy_tables


def test_a_file_needs_none(tmp_path: Path) -> None:
    with pytest.raises(WarehouseError, match="a file needs no tidying"):
        tidy_tables(Warehouse(tmp_path / "x.duckdb"))


def test_it_says_what_was_done() -> None:
    assert str(Tidied(1200, 3, 4, 5)) == "1,200 files merged, 3 snapshots expired, 4 old files and 5 orphans removed"
