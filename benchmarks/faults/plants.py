"""Faults that are planted in a child, to see that the campaign finds them. Functions of the program are exchanged in that process
alone; the program itself knows nothing of this."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb

import assets.common.backup
import assets.common.writing.locks
import assets.ingest.canonical_jobs
import assets.ingest.ledger
import assets.ingest.reading
import assets.ingest.removal
import assets.ingest.rows
import assets.ingest.update
import warehouse.schema
from warehouse import Warehouse


@dataclass(frozen=True)
class Plant:
    """A fault. change: makes it, in this process. part: what of the campaign should find it."""

    text: str
    part: str
    change: Callable[[], None]


class _Autocommit:
    """A connection that knows no transactions."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection

    def execute(self, query: str, *arguments: Any) -> Any:
        """Every statement stays."""
        if query in ("BEGIN", "COMMIT", "ROLLBACK"):
            return self
        result = self._connection.execute(query, *arguments)
        if query.startswith("INSERT"):
            time.sleep(0.05)  # as on a slow disk, so that a kill between two of them need not be luck
        return result

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


class _SameAsEvery(str):
    """A hash that equals all others."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        return True


def _no_transaction() -> None:
    connect = Warehouse._connect
    Warehouse._connect = lambda *arguments, **options: _Autocommit(connect(*arguments, **options))  # type: ignore


def _no_hash() -> None:
    assets.ingest.ledger._content_hash = lambda path: _SameAsEvery()  # type: ignore


def _lost_ledger_row() -> None:
    add = assets.ingest.staging.StagedRows.add  # type: ignore[attr-defined]
    seen = [0]

    def lose(self: Any, table: str, file: str, frame: Any) -> None:
        seen[0] += table == "raw.log_files"
        if table != "raw.log_files" or seen[0] % 7:
            add(self, table, file, frame)

    assets.ingest.staging.StagedRows.add = lose  # type: ignore


def _open_lock() -> None:
    for module in (assets.ingest.update, assets.ingest.canonical_jobs, assets.ingest.removal):
        module.source_lock = lambda *_: nullcontext()  # type: ignore


def _open_doors() -> None:
    assets.common.writing.locks._held = lambda *_, **__: nullcontext()  # type: ignore


def _dropped_line() -> None:
    parse_block = assets.ingest.reading.parse_block

    def drop(block: Any, parse: Any) -> Any:
        cut = block.content.rfind(b"\n", 0, len(block.content) - 1) + 1
        return parse_block(replace(block, content=block.content[:cut]) if cut else block, parse)

    assets.ingest.reading.parse_block = drop  # type: ignore


def _backup_in_place() -> None:
    write_archive = assets.common.backup.write_archive

    def write(target: Path, *arguments: Any) -> None:
        whole = target.with_name(f"{target.name}.whole")
        write_archive(whole, *arguments)
        content = whole.read_bytes()
        whole.unlink()
        target.write_bytes(b"")
        for begin in range(0, len(content), len(content) // 100 + 1):
            with target.open("ab") as file:
                file.write(content[begin : begin + len(content) // 100 + 1])

    assets.common.backup.write_archive = write  # type: ignore


def _forgetful_upgrade() -> None:
    adopt = warehouse.schema._adopt_definition

    def forget(connection: Any, name: str, statement: str) -> None:
        adopt(connection, name, statement)
        if name == "core.jobs":
            connection.execute("DELETE FROM core.jobs WHERE job_index = 1")

    warehouse.schema._adopt_definition = forget


PLANTS = {
    "no transaction": Plant("every statement commits", "kills", _no_transaction),
    "no hash": Plant("a file with its old size is taken for unchanged", "damage", _no_hash),
    "lost ledger row": Plant("every seventh file has no row in the ledger", "damage", _lost_ledger_row),
    "open lock": Plant("the lock of a source locks nothing", "traffic", _open_lock),
    "open doors": Plant("nobody waits for who works on a source", "pairs", _open_doors),
    "dropped line": Plant("the reader drops the last line of a block", "damage", _dropped_line),
    "backup in place": Plant("the archive is written where the old one is", "kills", _backup_in_place),
    "forgetful upgrade": Plant("an upgrade forgets one job of every source", "upgrades", _forgetful_upgrade),
}
