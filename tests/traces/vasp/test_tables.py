"""Rows of VASP runs as tables."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from tests.traces.vasp.vasp_lines import (
    read_runs,
    written,
)
from traces.vasp.tables import ELECTRONIC_SCHEMA, IONIC_SCHEMA, RUN_SCHEMA, VASP_REJECT_SCHEMA, tables_of


def test_schemas(tmp_path: Path) -> None:
    written(tmp_path / "a" / "OUTCAR")
    (tmp_path / "b").mkdir()
    for read in read_runs(tmp_path).values():
        assert (read.runs.schema, read.electronic.schema) == (RUN_SCHEMA, ELECTRONIC_SCHEMA)
        assert (read.ionic.schema, read.rejects.schema) == (IONIC_SCHEMA, VASP_REJECT_SCHEMA)


def test_tables_of_many_folders_are_those_of_each(tmp_path: Path) -> None:
    for name in ("a", "b"):
        written(tmp_path / name / "OUTCAR")
    (tmp_path / "c").mkdir()
    reads = list(read_runs(tmp_path).values())
    tables = tables_of(reads)
    assert [table.height for table in tables] == [2, 4, 2, 1]
    for number, table in enumerate(tables):
        assert table.equals(pl.concat(tables_of([read])[number] for read in reads))


def test_no_folder_gives_tables_of_the_usual_columns() -> None:
    assert [set(table.columns) for table in tables_of([])] == [
        set(RUN_SCHEMA),
        set(ELECTRONIC_SCHEMA),
        set(IONIC_SCHEMA),
        set(VASP_REJECT_SCHEMA),
    ]
