"""Whoever catches the error of the warehouse catches a warehouse that is busy, too."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pipelines.command_line import call, use_home
from warehouse import Warehouse, WarehouseBusy, WarehouseError


def test_a_busy_warehouse_is_an_error_of_the_warehouse(tmp_path: Path) -> None:
    first, second = (Warehouse(tmp_path / "w.duckdb", timeout_s=0.0) for _ in range(2))
    with first.write(), pytest.raises(WarehouseError) as busy, second.write():
        pass
    assert isinstance(busy.value, WarehouseBusy)


def test_the_command_line_prints_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_home(monkeypatch, tmp_path)
    refused = call("sql", "SELECT 1")
    assert refused.exit_code == 1 and refused.stderr.startswith("Error: ") and refused.stderr.count("\n") == 1
