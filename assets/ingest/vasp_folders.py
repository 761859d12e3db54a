"""Folders of VASP runs into the raw tables: what has changed since the last time, whole folders at a time."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import duckdb
import polars as pl

import sql
from assets.common.progress import progress_bar
from assets.ingest.generated import written_once
from assets.ingest.staging import source_lock
from traces.catalogue.catalogue import VaspSource
from traces.common.log import LogError
from traces.vasp.folders import RunFolder, find_runs
from traces.vasp.runs import VASP_READER_VERSION, read_folder
from traces.vasp.synthetic import SYNTHETIC_RUNS_VERSION, SyntheticOptions, write_runs
from traces.vasp.tables import ReadFolder, tables_of
from warehouse import Warehouse, first_row

VASP_TABLES = ("vasp_runs", "vasp_electronic_steps", "vasp_ionic_steps", "vasp_rejects", "vasp_folders")
_LEARNED = ("remaining_times", "remaining_time_models", "remaining_time_scores", "remaining_time_trials")
_GENERATED = "generator "
"""How the root of synthetic runs begins: they can be drawn again."""
FOLDERS_A_COMMIT = 200
"""Folders that are written in one transaction."""


@dataclass
class VaspIngested:
    """What one run of the asset has read.

    folders: by outcome: accepted, rejected, unchanged, gone, moved (gone, but another folder has its runs now). bytes: of the
    OUTCARs. first_reject: where it is, and why.
    """

    folders: Counter[str] = field(default_factory=Counter)
    bytes: int = 0
    first_reject: str = ""


def update_vasp_log(
    warehouse: Warehouse, source: VaspSource, default_time_zone: str, now: datetime, replace: bool = False
) -> VaspIngested:
    """Brings the raw tables up to date with the run folders, and says what was done.

    A folder is not opened when its files have the size and time they had, unless a run in it was still running. A folder that
    is gone keeps its rows, unless its runs are those of another folder now. now: UTC, without zone, by the clock that
    stamps the files. replace: forget the runs of another root, in the transaction that stores the new ones. Raises LogError when
    there is no folder, or no run in it, and when the stored runs are of another root.
    """
    root = runs_folder(source)
    origin = str(root.resolve()) if source.path is not None else _GENERATED + _recipe(source)
    time_zone = source.time_zone or default_time_zone
    version = f"{VASP_READER_VERSION} {time_zone} {source.quiet_s}"
    done = VaspIngested()

    def read_batches(changed: list[RunFolder]) -> Iterator[_Batch]:
        with progress_bar("reading VASP runs", len(changed)) as bar:
            for first in range(0, len(changed), FOLDERS_A_COMMIT):
                read = []
                for folder in changed[first : first + FOLDERS_A_COMMIT]:
                    read.append((folder, read_folder(folder, time_zone, now, source.quiet_s)))
                    bar.update()
                yield _Batch.of(read)

    with source_lock(warehouse, source.name, is_vasp=True):
        folders = list(find_runs(root))
        with warehouse.write() as connection:
            is_other = _is_other_root(connection, source, origin, folders, replace)
            changed = folders if is_other else _changed_folders(connection, source.name, version, folders, done)
        if is_other:  # all or nothing
            batches = list(read_batches(changed))
            with warehouse.write() as connection:
                _forget_runs(connection, source.name)
                for batch in batches:
                    _write(connection, source.name, (version, origin), batch, done)
                _finish(connection, source.name, root, folders, set(), done)
            return done
        for batch in read_batches(changed):  # while the warehouse is closed
            with warehouse.write() as connection:
                _write(connection, source.name, (version, origin), batch, done)
        links = _links(warehouse, source.name, root.resolve(), folders)
        with warehouse.write() as connection:
            _finish(connection, source.name, root, folders, links, done)
    return done


@dataclass(frozen=True)
class _Batch:
    """Folders that were read, as rows.

    launches: by folder. without_outcar: folders in which no OUTCAR can be read any more. frames: as in VASP_TABLES, without the
    ledger.
    """

    folders: list[RunFolder]
    launches: dict[str, int]
    without_outcar: list[str]
    bytes: int
    first_reject: str
    frames: list[pl.DataFrame]

    @classmethod
    def of(cls, read: list[tuple[RunFolder, ReadFolder]]) -> _Batch:
        rejects = [reject for _, each in read for reject in each.reject_rows]
        return cls(
            [folder for folder, _ in read],
            {folder.name: len(each.run_rows) for folder, each in read},
            [folder.name for folder, _ in read if not folder.outcars],
            sum(row["outcar_bytes"] for _, each in read for row in each.run_rows),
            "{}/{}: {}".format(*rejects[0]).replace("/:", ":") if rejects else "",
            list(tables_of([each for _, each in read])),
        )


def _finish(
    connection: duckdb.DuckDBPyConnection,
    source: str,
    root: Path,
    folders: list[RunFolder],
    links: set[str],
    done: VaspIngested,
) -> None:
    """Brings up to date what is stored of folders that were not read now. Raises LogError where there is no run at all."""
    _remove_twins(connection, source, links, folders, done)
    connection.execute(  # nobody writes to it any more
        "UPDATE raw.vasp_runs SET state = 'cut_off', state_reason = 'its folder is gone' "
        "WHERE source = ? AND state = 'running' AND folder NOT IN (SELECT unnest(?))",
        [source, [folder.name for folder in folders]],
    )
    runs = first_row(connection, "SELECT count(*) FROM raw.vasp_runs WHERE source = ?", [source])
    if not runs or not runs[0]:
        first_reject = f"; first: {done.first_reject}" if done.first_reject else ""
        raise LogError(
            f"{root}: no VASP run in it ({done.folders['rejected']} folders rejected{first_reject}): expected "
            "folders that hold an OUTCAR, at any depth"
        )


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
    options = SyntheticOptions(**source.generator)
    return written_once(source.name, _recipe(source), lambda folder: write_runs(folder, options))


def _recipe(source: VaspSource) -> str:
    return json.dumps(["vasp", SYNTHETIC_RUNS_VERSION, source.generator], sort_keys=True)


def _is_other_root(
    connection: duckdb.DuckDBPyConnection, source: VaspSource, origin: str, folders: list[RunFolder], replace: bool
) -> bool:
    """Whether what is stored is of another root, and shall be forgotten: that is wanted, or it was synthetic.

    Raises LogError where the runs of two roots would be mixed. An older release did not keep the root. What it has stored is of
    this one where a folder has the files that it had.
    """
    rows = connection.execute("SELECT folder, stamp, root FROM raw.vasp_folders WHERE source = ?", [source.name])
    stored = rows.fetchall()
    roots = {root for _, _, root in stored if root is not None}
    unchanged = {(folder.name, folder.stamp) for folder in folders if folder.stamp}
    if not roots and (not replace or any((name, stamp) in unchanged for name, stamp, _ in stored)):
        return False
    if not stored or roots == {origin}:
        return False
    other = next(iter(roots - {origin}), "")
    if not replace and not other.startswith(_GENERATED):
        remedy = f"give {source.path} a name of its own" if source.path else "give the generator a name of its own"
        if source.path is not None:
            command = shlex.join(["tracehouse", "vasp", "ingest", str(source.path), "--name", source.name, "--replace"])
            remedy = f"{remedy}, or forget the runs of {other}: {command}"
        raise LogError(
            f"[vasp.{source.name}] is {source.path or 'a generator'} now ({source.declared_at}), but the runs that are stored "
            f"under this name are of {other}. Put that path back, or {remedy}"
        )
    return True


def _forget_runs(connection: duckdb.DuckDBPyConnection, source: str) -> None:
    tables = [*(f"raw.{name}" for name in VASP_TABLES), "core.vasp_jobs", *(f"predictions.{name}" for name in _LEARNED)]
    for table in tables:
        connection.execute(f"DELETE FROM {table} WHERE source = ?", [source])


def _links(warehouse: Warehouse, source: str, root: Path, folders: list[RunFolder]) -> set[str]:
    """Stored folders that are links to a folder that stands under its own name: an older release stored both.

    Paths are looked up while the warehouse is closed, since a file system may be slow."""
    names = {folder.name for folder in folders}
    with warehouse.read() as connection:
        rows = connection.execute("SELECT folder FROM raw.vasp_folders WHERE source = ?", [source]).fetchall()
    present = {folder.path for folder in folders}
    return {name for (name,) in rows if name not in names and _is_link_to(root / name, present)}


def _remove_twins(
    connection: duckdb.DuckDBPyConnection, source: str, links: set[str], folders: list[RunFolder], done: VaspIngested
) -> None:
    """Removes the rows of folders that are stored twice: under a link, as an older release did, or under a former name."""
    present = [folder.name for folder in folders]
    rows = connection.execute(sql.load("raw.vasp_twins"), {"source": source, "present": present}).fetchall()
    twins = links | {name for (name,) in rows}
    for table in VASP_TABLES:
        connection.execute(
            f"DELETE FROM raw.{table} WHERE source = ? AND folder IN (SELECT unnest(?))", [source, sorted(twins)]
        )
    done.folders["moved"] = len(twins)
    done.folders["gone"] -= len(twins)


def _is_link_to(path: Path, present: set[Path]) -> bool:
    """Whether a path goes through a link to a folder that stands under its own name."""
    target = path.resolve()
    return target != path and target in present


def _write(
    connection: duckdb.DuckDBPyConnection, source: str, read_by: tuple[str, str], batch: _Batch, done: VaspIngested
) -> None:
    """read_by: version and root, as the ledger has them. A folder whose OUTCARs are gone keeps what was read of them."""
    ledger, kept = [], _runs_without_outcar(connection, source, batch.without_outcar)
    for folder in batch.folders:
        launches = batch.launches[folder.name] or kept.get(folder.name, 0)
        outcome = "accepted" if launches else "rejected"
        done.folders[outcome] += 1
        ledger.append((folder.name, outcome, launches, folder.stamp, *read_by))
    done.bytes += batch.bytes
    done.first_reject = done.first_reject or batch.first_reject
    names = [folder.name for folder in batch.folders]
    columns = ["folder", "outcome", "launches", "stamp", "version", "root"]
    frames = [*batch.frames, pl.DataFrame(ledger, schema=columns, orient="row")]
    for table, rows in zip(VASP_TABLES, frames, strict=True):
        of_runs = table not in ("vasp_rejects", "vasp_folders")
        replaced = [name for name in names if not (of_runs and name in kept)]
        connection.execute(
            f"DELETE FROM raw.{table} WHERE source = ? AND folder IN (SELECT unnest(?))", [source, replaced]
        )
        if rows.height:
            connection.register("vasp_rows", rows.with_columns(source=pl.lit(source)).to_arrow())
            connection.execute(f"INSERT INTO raw.{table} BY NAME SELECT * FROM vasp_rows")
            connection.unregister("vasp_rows")


def _runs_without_outcar(connection: duckdb.DuckDBPyConnection, source: str, without: list[str]) -> dict[str, int]:
    """Launches that are stored of folders in which no OUTCAR can be read any more, by folder. None of them is running now."""
    where = "WHERE source = ? AND folder IN (SELECT unnest(?))"
    connection.execute(
        f"UPDATE raw.vasp_runs SET state = 'cut_off', state_reason = 'its OUTCAR is gone' {where} AND state = 'running'",
        [source, without],
    )
    rows = connection.execute(f"SELECT folder, count(*) FROM raw.vasp_runs {where} GROUP BY folder", [source, without])
    return dict(rows.fetchall())
