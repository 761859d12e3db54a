"""DuckDB's extensions, which a lake needs."""

from __future__ import annotations

from pathlib import Path

import pytest

import warehouse.extensions as extensions
from warehouse.errors import WarehouseError


def test_a_wheel_of_another_version_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extensions.duckdb, "__version__", "0.0.1")
    assert extensions.wheel_file("ducklake") is None


def test_a_missing_extension_says_where_it_comes_from(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(extensions, "wheel_file", lambda name: tmp_path / "none.duckdb_extension")
    with pytest.raises(WarehouseError, match=r"DuckDB's extensions ducklake and httpfs, and.*extension-httpfs==1.5.5"):
        extensions.connect_with("ducklake", "httpfs")
