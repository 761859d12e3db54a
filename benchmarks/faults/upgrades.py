"""Warehouses of every release are opened, compared row by row, and go on being ingested."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import duckdb
import polars as pl

from assets.ingest.removal import HISTORIES
from benchmarks.faults.kills import database_of
from benchmarks.faults.results import Difference, Result, compare_tables
from benchmarks.faults.workers import Worker
from tests.warehouse.released import make_warehouse, versions
from tests.warehouse.test_schema_migrations import OWN, SOURCES, ingest, tables
from warehouse import Warehouse
from warehouse.schema import CURRENT_VERSION


def _rows(frame: pl.DataFrame, columns: list[str]) -> Counter[str]:
    return Counter(map(repr, frame.select(columns).rows()))


def ingest_again(database: str, fresh: str) -> None:
    """In a worker's child: the logs again, in the upgraded warehouse and in a new one. Prints the difference as JSON."""
    upgraded, new = Warehouse(Path(database)), Warehouse(Path(fresh))
    ingest(upgraded)
    ingest(new)
    ours, theirs = tables(upgraded), tables(new)
    names = [name for name in theirs if name.startswith(("raw.", "core.")) and name != "core.schema_version"]
    sources = [source.name for source in SOURCES]
    kept = {name: [column for column in theirs[name].columns if column not in OWN.get(name, [])] for name in names}
    difference = compare_tables(
        {name: _rows(ours[name].filter(pl.col("source").is_in(sources)), kept[name]) for name in names},
        {name: _rows(theirs[name], kept[name]) for name in names},
    )
    print(json.dumps([difference.lost, difference.doubled, difference.wrong, sorted(difference.where)]))


def _upgrade(version: int, worker: Worker, folder: Path, result: Result) -> None:
    database = database_of(worker.home)
    database.parent.mkdir(parents=True, exist_ok=True)
    make_warehouse(version, database)
    before = tables(Warehouse(database))
    ended = worker.command("sql", "SELECT count(*) AS jobs FROM core.jobs")
    what = f"upgrade from version {version}"
    result.look_at(what, ended.printed)
    if ended.code:
        result.findings.append(f"{what}: {ended.printed[-300:]}")
        return
    lost_before = result.difference.lost
    after, rows = tables(Warehouse(database)), 0
    for name, frame in before.items():
        if name == "core.schema_version":
            continue
        rows += frame.height
        columns = [column for column in frame.columns if column not in OWN.get(name, [])]
        columns = [column for column in columns if column in after[name].columns]
        result.compare(f"{what}, {name}", {name: _rows(after[name], columns)}, {name: _rows(frame, columns)})
    history = sum(before[name].height for name in HISTORIES if name in before)
    again = worker.call(
        "benchmarks.faults.upgrades:ingest_again", str(database), str(folder / f"fresh-{version}.duckdb")
    )
    result.look_at(f"{what}, ingest again", again.printed)
    if again.code:
        result.findings.append(f"{what}, ingest again: {again.printed[-300:]}")
    else:
        lost, doubled, wrong, where = json.loads(again.printed.strip().splitlines()[-1])
        difference = Difference(lost, doubled, wrong, set(where))
        if difference:
            result.difference.add(difference)
            result.findings.append(f"{what}, ingest again: {difference}")
    with duckdb.connect(str(database), read_only=True) as connection:
        (row,) = connection.execute("SELECT version FROM core.schema_version").fetchall()
    result.add(f"{version} to {row[0]}", len(before), rows, history, result.difference.lost - lost_before)
    result.require(rows > 0, f"{what}: it has no rows")
    if row[0] != CURRENT_VERSION:
        result.findings.append(f"{what}: it has version {row[0]} now")


def upgrade_part(result: Result, folder: Path, plant: str = "") -> None:
    """All releases."""
    for version in versions():
        with Worker(folder / f"home-{version}", plant) as worker:
            _upgrade(version, worker, folder, result)


def upgrades(folder: Path, seed: int, quick: bool) -> Result:
    """The part of the campaign: all releases, in a quick one, too."""
    result = Result("upgrades")
    result.head("tables' version", "tables", "rows", "of histories", "rows lost")
    upgrade_part(result, folder)
    return result
