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
from traces.vasp.folders import RunFolder, find_runs
from traces.vasp.runs import VASP_READER_VERSION, read_folder
from traces.vasp.synthetic import SYNTHETIC_RUNS_VERSION, SyntheticOptions, write_runs
from traces.vasp.tables import ReadFolder, tables_of
from warehouse import Warehouse, commit_so_far, file_lock, first_row

VASP_TABLES = ("vasp_runs", "vasp_electronic_steps", "vasp_ionic_steps", "vasp_rejects", "vasp_folders")
FOLDERS_A_COMMIT = 200
"""Folders that are written in one transaction."""


@dataclass
class VaspIngested:
    """What one run of the asset has read.

    folders: by outcome: accepted, rejected, unchanged, gone. bytes: of the OUTCARs. first_reject: where it is, and why.
    """

    folders: Counter[str] = field(default_factory=Counter)
    bytes: int = 0
    first_reject: str = ""


def update_vasp_log(warehouse: Warehouse, source: VaspSource, default_time_zone: str, now: datetime) -> VaspIngested:
    """Brings the raw tables up to date with the run folders, and says what was done.

    A folder is not opened when its files have the size and time they had, unless a run in it was still running. A folder that
    is gone keeps its rows. now: UTC, without zone. Raises LogError when there is no folder, or no run in it.
    """
    root = runs_folder(source)
    time_zone = source.time_zone or default_time_zone
    version = f"{VASP_READER_VERSION} {time_zone} {source.quiet_s}"
    done = VaspIngested()
    with file_lock(warehouse.path.with_name(f".{source.name}.vasp.lock")):
        folders = list(find_runs(root))
        with warehouse.write() as connection:
            changed = _changed_folders(connection, source.name, version, folders, done)
            with progress_bar("reading VASP runs", len(changed)) as bar:
                for first in range(0, len(changed), FOLDERS_A_COMMIT):
                    batch = []
                    for folder in changed[first : first + FOLDERS_A_COMMIT]:
                        batch.append((folder, read_folder(folder, time_zone, now, source.quiet_s)))
                        bar.update()
                    _write(connection, source.name, version, batch, done)
                    commit_so_far(connection)
            connection.execute(  # nobody writes to it any more
                "UPDATE raw.vasp_runs SET state = 'cut_off', state_reason = 'its folder is gone' "
                "WHERE source = ? AND state = 'running' AND folder NOT IN (SELECT unnest(?))",
                [source.name, [folder.name for folder in folders]],
            )
            runs = first_row(connection, "SELECT count(*) FROM raw.vasp_runs WHERE source = ?", [source.name])
            if not runs or not runs[0]:
                first_reject = f"; first: {done.first_reject}" if done.first_reject else ""
                raise LogError(
                    f"{root}: no VASP run in it ({done.folders['rejected']} folders rejected{first_reject}): expected "
                    "folders that hold an OUTCAR, at any depth"
                )
    return done


def _changed_folders(
    connection: duckdb.DuckDBPyConnection, source: str, version: str, folders: list[RunFolder], done: VaspIngested
) -> list[RunFolder]:
    """Those of the folders that have to be read; counts the others, and those that are gone."""
    rows = connection.execute(
        "SELECT folder, stamp, version FROM raw.vasp_folders WHERE source = ?", [source]
    ).fetchall()
    recorded = {name: (stamp, read_by) for name, stamp, read_by in rows}
    rows = connection.execute(
        "SELECT DISTINCT folder FROM raw.vasp_runs WHERE source = ? AND state = 'running'", [source]
    ).fetchall()
    running = {name for (name,) in rows}
    changed = [f for f in folders if recorded.get(f.name) != (f.stamp, version) or f.name in running]
    done.folders["unchanged"] = len(folders) - len(changed)
    done.folders["gone"] = len(set(recorded) - {f.name for f in folders})
    return changed


def runs_folder(source: VaspSource) -> Path:
    """Where the run folders of a source are; synthetic ones are written on first use."""
    if source.path is not None:
        return source.path
    recipe = json.dumps(["vasp", SYNTHETIC_RUNS_VERSION, source.generator], sort_keys=True)
    options = SyntheticOptions(**source.generator)
    return written_once(source.name, recipe, lambda folder: write_runs(folder, options))


def _write(
    connection: duckdb.DuckDBPyConnection,
    source: str,
    version: str,
    batch: list[tuple[RunFolder, ReadFolder]],
    done: VaspIngested,
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
    for table, rows in zip(VASP_TABLES, frames, strict=True):
        connection.execute(
            f"DELETE FROM raw.{table} WHERE source = ? AND folder IN (SELECT unnest(?))", [source, names]
        )
        if rows.height:
            connection.register("vasp_rows", rows.with_columns(source=pl.lit(source)).to_arrow())
            connection.execute(f"INSERT INTO raw.{table} BY NAME SELECT * FROM vasp_rows")
            connection.unregister("vasp_rows")
