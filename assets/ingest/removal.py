"""Takes a source out of the warehouse: its rows, and the files that tracehouse wrote for it. Logs of users are never touched."""

from __future__ import annotations

import glob
import re
import shutil
from pathlib import Path

import duckdb

import sql
from assets.common.storage import artefacts_folder, data_folder, report_path, tuning_folder
from assets.ingest.ledger import read_ledger
from assets.ingest.reading import Reader
from assets.ingest.rows import remove_file
from assets.ingest.staging import source_lock
from traces.common.log import file_name
from warehouse import Warehouse, first_row
from warehouse.schema import table_columns

HISTORIES = (
    "predictions.model_versions",
    "predictions.model_events",
    "policies.policy_events",
    "policies.scheduling_policies",
)
"""Tables whose rows cannot be computed again: what was trained and decided. Model files belong to them."""
_OF_VASP = re.compile(r"raw\.vasp_|core\.vasp_jobs|predictions\.remaining_time|experiments\.rlschert")


def source_rows(connection: duckdb.DuckDBPyConnection, source: str, is_vasp: bool = False) -> dict[str, int]:
    """How many rows of a source each table has, for tables that have some. is_vasp: of a folder of VASP runs."""
    counts = {}
    for table in sql.names("tables"):
        columns = {column for column, _ in table_columns(sql.load(table))}
        if "source" not in columns or bool(_OF_VASP.match(table)) != is_vasp:
            continue
        row = first_row(connection, f"SELECT count(*) FROM {table} WHERE source = ?", [source])
        if row and row[0]:
            counts[table] = row[0]
    return counts


def source_files(source: str, with_history: bool) -> list[Path]:
    """Files and folders that tracehouse wrote for a source. Model files belong to its history.

    A log and a folder of VASP runs of one name share them.
    """
    paths = [report_path(source), *sorted(report_path(source).parent.glob(f"{glob.escape(source)}@*.html"))]
    paths.append(tuning_folder(source))
    paths += [
        path
        for path in sorted((data_folder() / "logs").glob("*"))
        if re.fullmatch(re.escape(source) + "-[0-9a-f]{12}", path.name)
    ]
    if with_history:
        paths.append(artefacts_folder() / "models" / source)
    return [path for path in paths if path.exists()]


def remove_source_data(warehouse: Warehouse, source: str, with_history: bool, is_vasp: bool = False) -> dict[str, int]:
    """Removes the rows of a source, in one transaction, and then its files. Returns how many rows went, by table.

    with_history: also what cannot be computed again (HISTORIES). is_vasp: the source is a folder of VASP runs. Files stay where a
    source of the other kind has this name, too.
    """
    with source_lock(warehouse, source, is_vasp):
        with warehouse.write() as connection:
            shares_files = bool(source_rows(connection, source, not is_vasp))
            counts = source_rows(connection, source, is_vasp)
            kept = {table: count for table, count in counts.items() if table in HISTORIES and not with_history}
            for table in counts.keys() - kept.keys():
                connection.execute(f"DELETE FROM {table} WHERE source = ?", [source])
        shutil.rmtree(warehouse.staging / source, ignore_errors=True)  # of an ingest that was killed
        for path in [] if shares_files else source_files(source, with_history or not kept):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
    return {table: count for table, count in counts.items() if table not in kept}


def gone_files(warehouse: Warehouse, reader: Reader) -> dict[str, int]:
    """Log files whose rows are in the warehouse, and that do not exist any more: how many jobs each had."""
    here = {file_name(path) for path in reader.files}
    with warehouse.read() as connection:
        rows = connection.execute(
            "SELECT file, accepted FROM raw.log_files WHERE source = ? ORDER BY file", [reader.source.name]
        ).fetchall()
    return {file: jobs for file, jobs in rows if file not in here}


def remove_gone_files(warehouse: Warehouse, reader: Reader) -> None:
    """Removes the rows of log files that do not exist any more. Their jobs go when the source is ingested the next time."""
    source = reader.source.name
    gone = gone_files(warehouse, reader)
    with source_lock(warehouse, source), warehouse.write() as connection:
        for file, row in read_ledger(connection, reader).items():
            if file in gone:
                remove_file(connection, source, row.log_format, file)
