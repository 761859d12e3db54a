"""Folders of VASP runs into the raw tables: what has changed since the last time, whole folders at a time."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import duckdb
import polars as pl

from assets.common.progress import progress_bar
from assets.ingest.generated import written_once
from traces.catalogue.vasp import VaspSource
from traces.common.log import LogError
from traces.vasp.runs import VERSION, Folder, ReadFolder, find_runs, read_folder, tables_of
from traces.vasp.synthetic import VERSION as SYNTHETIC_VERSION
from traces.vasp.synthetic import SyntheticOptions, write_runs
from warehouse import Warehouse, commit_so_far, file_lock, first_row

TABLES = ("vasp_runs", "vasp_electronic_steps", "vasp_ionic_steps", "vasp_rejects", "vasp_folders")
BATCH = 200
"""Folders that are written in one transaction."""


@dataclass
class Read:
    """What one run of the asset has done. folders: by outcome: accepted, rejected, unchanged, gone."""

    folders: Counter[str] = field(default_factory=Counter)
    bytes: int = 0
    first_reject: str = ""


def update_vasp_log(warehouse: Warehouse, source: VaspSource, default_time_zone: str, now: datetime) -> Read:
    """Brings the raw tables up to date with the run folders, and says what was done.

    Folders whose files have the size and time they had are not opened, unless a run in them was still running. A folder that
    is gone keeps its rows. now: UTC, without zone. Raises LogError where there is no folder, or no run in it.
    """
    root = runs_folder(source)
    version = f"{VERSION} {source.time_zone or default_time_zone} {source.quiet_s}"
    done = Read()
    with file_lock(warehouse.path.with_name(f".{source.name}.vasp.lock")):
        found = list(find_runs(root))
        with warehouse.write() as connection:
            known = {
                folder: (stamp, read_by)
                for folder, stamp, read_by in connection.execute(
                    "SELECT folder, stamp, version FROM raw.vasp_folders WHERE source = ?", [source.name]
                ).fetchall()
            }
            running = {
                folder
                for (folder,) in connection.execute(
                    "SELECT DISTINCT folder FROM raw.vasp_runs WHERE source = ? AND state = 'running'", [source.name]
                ).fetchall()
            }
            todo = [f for f in found if known.get(f.name) != (f.stamp, version) or f.name in running]
            done.folders["unchanged"] = len(found) - len(todo)
            done.folders["gone"] = len(set(known) - {f.name for f in found})
            with progress_bar("reading VASP runs", len(todo)) as bar:
                for first in range(0, len(todo), BATCH):
                    batch = []
                    for folder in todo[first : first + BATCH]:
                        batch.append(
                            (folder, read_folder(folder, source.time_zone or default_time_zone, now, source.quiet_s))
                        )
                        bar.update()
                    _write(connection, source.name, version, batch, done)
                    commit_so_far(connection)
            connection.execute(  # nobody writes to it any more
                "UPDATE raw.vasp_runs SET state = 'cut_off', state_reason = 'its folder is gone' "
                "WHERE source = ? AND state = 'running' AND folder NOT IN (SELECT unnest(?))",
                [source.name, [f.name for f in found]],
            )
            if not first_row(connection, "SELECT count(*) FROM raw.vasp_runs WHERE source = ?", [source.name])[0]:  # type: ignore[index]
                told = f"; first: {done.first_reject}" if done.first_reject else ""
                raise LogError(
                    f"{root}: no VASP run in it ({done.folders['rejected']} folders rejected{told}): expected folders that "
                    "hold an OUTCAR, at any depth"
                )
    return done


def runs_folder(source: VaspSource) -> Path:
    """Where the run folders of a source are; synthetic ones are written on first use."""
    if source.path is not None:
        return source.path
    recipe = json.dumps(["vasp", SYNTHETIC_VERSION, source.generator], sort_keys=True)
    options = SyntheticOptions(**source.generator)
    return written_once(source.name, recipe, lambda folder: write_runs(folder, options))


def _write(
    connection: duckdb.DuckDBPyConnection, source: str, version: str, batch: list[tuple[Folder, ReadFolder]], done: Read
) -> None:
    ledger = []
    for folder, read in batch:
        outcome = "accepted" if read.run_rows else "rejected"
        done.folders[outcome] += 1
        done.bytes += sum(row["outcar_bytes"] for row in read.run_rows)
        if not done.first_reject and read.reject_rows:
            name, file, reason = read.reject_rows[0]
            done.first_reject = f"{name}/{file}: {reason}".replace("/:", ":")
        ledger.append((folder.name, outcome, len(read.run_rows), folder.stamp, version))
    names = [folder.name for folder, _ in batch]
    columns = ["folder", "outcome", "launches", "stamp", "version"]
    frames = [*tables_of([read for _, read in batch]), pl.DataFrame(ledger, schema=columns, orient="row")]
    for table, rows in zip(TABLES, frames, strict=True):
        connection.execute(
            f"DELETE FROM raw.{table} WHERE source = ? AND folder IN (SELECT unnest(?))", [source, names]
        )
        if rows.height:
            connection.register("vasp_rows", rows.with_columns(source=pl.lit(source)).to_arrow())
            connection.execute(f"INSERT INTO raw.{table} BY NAME SELECT * FROM vasp_rows")
            connection.unregister("vasp_rows")
