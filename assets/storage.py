"""Where things are on disk: the database, and files too big for it (their path and hash are in the database)."""

from __future__ import annotations

from pathlib import Path

from traces.catalogue import home
from warehouse import Warehouse


def data_folder() -> Path:
    """Everything derived; remove it, materialize, and the same comes back."""
    return home() / "warehouse" / "data"


def open_warehouse() -> Warehouse:
    return Warehouse(data_folder() / "tracehouse.duckdb")


def report_path(source: str) -> Path:
    return data_folder() / "reports" / f"{source}.html"


def model_path(source: str, name: str) -> Path:
    return data_folder() / "models" / source / name


def in_data_folder(path: Path) -> str:
    """The path as the database stores it: relative to the data folder, so that the folder can be moved."""
    return path.relative_to(data_folder()).as_posix()
