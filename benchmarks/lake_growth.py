"""How a lake grows while partitions are replaced, with upkeep and without: `python -m benchmarks.lake --replace 1000`."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from papers.markdown import markdown
from tests.lake.server import Server
from warehouse import LakePlace, Warehouse
from warehouse.lake_door import LakeDoor
from warehouse.partitions import replace_partition
from warehouse.upkeep import tidy_tables

TABLE, SOURCES, ROWS = "raw.line_counts", 4, 10_000
"""What is replaced: the rows of a source, one source after the other."""
TIDIED_AFTER = 50
"""Replacements between two upkeeps."""
SHOWN = (100, 500, 1_000)
"""Numbers of replacements at which sizes are printed. The last one is always."""


@dataclass(frozen=True)
class Size:
    """files, bytes: in the data folder. catalogue_bytes: of the database of PostgreSQL."""

    files: int
    bytes: int
    catalogue_bytes: int


def rows_of_step(step: int) -> pl.DataFrame:
    """The rows by which a step replaces those of its source."""
    lines = np.random.default_rng(step).integers(0, 1 << 40, ROWS)
    return pl.DataFrame(
        {"file": ["f"] * ROWS, "outcome": ["accepted"] * ROWS, "reason": [f"step {step}"] * ROWS, "lines": lines}
    )


def grow(server: Server, folder: Path, steps: int, name: str, tidied_after: int | None) -> dict[int, Size]:
    """Replaces partitions of a new lake. Returns its size after SHOWN and after all steps.

    tidied_after: replacements between two upkeeps, None without any. Raises RuntimeError where the rows are not those of the last steps.
    """
    server.execute(f"CREATE DATABASE {name}")
    (folder / name).mkdir()
    lake = Warehouse(LakePlace(f"dbname={name} {server.words}", str(folder / name), folder / f"{name}-home"))
    with lake.write():
        pass
    assert isinstance(lake.door, LakeDoor)
    sizes = {}
    with lake.door.connection(time.monotonic() + 60) as connection:
        for step in range(1, steps + 1):
            connection.execute("BEGIN")
            replace_partition(connection, TABLE, f"source-{step % SOURCES}", rows_of_step(step))
            connection.execute("COMMIT")
            if tidied_after and step % tidied_after == 0:
                tidy_tables(lake, kept_days=0)
            if step in SHOWN or step == steps:
                sizes[step] = _size(server, folder / name, name)
    with lake.read() as connection:
        query = f"SELECT source, reason, count(*) FROM {TABLE} GROUP BY ALL ORDER BY ALL"
        stored = connection.execute(query).fetchall()
    last = range(max(1, steps - SOURCES + 1), steps + 1)
    if stored != sorted((f"source-{step % SOURCES}", f"step {step}", ROWS) for step in last):
        raise RuntimeError(f"{name}: the rows are not those of the last steps: {stored}")
    return sizes


def growth_table(server: Server, folder: Path, steps: int) -> str:
    """The table, in Markdown."""
    with_upkeep = grow(server, folder, steps, "tidied", TIDIED_AFTER)
    without = grow(server, folder, steps, "untidied", None)
    upkeep = f"with upkeep every {TIDIED_AFTER}: files"
    titles = ["replaced", upkeep, "MB", "catalogue, MB", "without: files", "MB", "catalogue, MB"]
    rows = [[f"{step:,}", *_cells(tidied), *_cells(without[step])] for step, tidied in with_upkeep.items()]
    return markdown(titles, rows)


def _cells(size: Size) -> list[str]:
    return [f"{size.files:,}", f"{size.bytes / 1e6:.1f}", f"{size.catalogue_bytes / 1e6:.1f}"]


def _size(server: Server, folder: Path, name: str) -> Size:
    files = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
    return Size(len(files), sum(files), int(server.execute(f"SELECT pg_database_size('{name}')")))
