"""Locks that all machines share: advisory locks of PostgreSQL. A process that dies loses its session, and its locks with it."""

from __future__ import annotations

import ctypes
import hashlib
import os
import socket
from typing import Any

import duckdb

from warehouse.errors import NotCommitted
from warehouse.extensions import connect_with
from warehouse.lake_place import LakePlace
from warehouse.schema import literal
from warehouse.waiting import Waiting

GATE, ALL, COMMIT = "gate", "all", "commit"
"""Names of locks. ALL: held by each writer, and by one alone who must be alone. GATE: taken before ALL, so that who must be alone comes
in though others come all the time. COMMIT: held during a commit."""


def key_of(name: str) -> int:
    """The number of a lock, 63 bits."""
    return int.from_bytes(hashlib.sha256(f"tracehouse {name}".encode()).digest()[:8], "big") >> 1


def name_this_process() -> None:
    """How PostgreSQL calls this process's sessions, so that those who wait can say for whom."""
    os.environ["PGAPPNAME"] = f"tracehouse {socket.gethostname()[:30]} process {os.getpid()}"


class LockSession:
    """A session of PostgreSQL that holds locks until it is closed. Raises duckdb.Error where PostgreSQL cannot be reached."""

    def __init__(self, place: LakePlace, deadline: float) -> None:
        self.waiting = Waiting(place.name, deadline)
        name_this_process()
        self._connection = connect_with("postgres_scanner")
        try:
            self._connection.execute(f"ATTACH {literal(place.catalogue)} AS locks (TYPE postgres, READ_ONLY)")
            self._connection.execute("BEGIN")  # all statements of a transaction go through one session
        except BaseException:
            close(self._connection)
            raise

    def take(self, name: str, shared: bool = False) -> None:
        """Waits for a lock. Raises WarehouseBusy at the deadline."""
        key, suffix = key_of(name), "_shared" if shared else ""
        while not self._ask(f"pg_try_advisory_lock{suffix}({key})"):
            self.waiting.step(f"{self._holder(key)} writes")
        self.waiting.done()

    def release(self, name: str, shared: bool = False) -> None:
        """Gives a lock back."""
        self._ask(f"pg_advisory_unlock{'_shared' if shared else ''}({key_of(name)})")

    def take_before_commit(self) -> None:
        """Takes the lock of commits. Raises NotCommitted where the session, and so its locks, are gone."""
        try:
            self.take(COMMIT)
        except duckdb.Error:
            raise NotCommitted("the connection to the catalogue was lost") from None

    def close(self) -> None:
        """Ends the session."""
        close(self._connection)

    def _ask(self, expression: str) -> Any:
        (row,) = self._connection.execute(
            "FROM postgres_query('locks', ?)", [f"SELECT {expression} AS answer"]
        ).fetchall()
        return row[0]

    def _holder(self, key: int) -> str:
        name = self._ask(
            "(SELECT string_agg(DISTINCT application_name, ', ') FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE locktype = "
            f"'advisory' AND granted AND objsubid = 1 AND classid = {key >> 32} AND objid = {key & 0xFFFFFFFF})"
        )
        return name or "another process"


def close(connection: duckdb.DuckDBPyConnection) -> None:
    """Closes a connection, also where PostgreSQL has ended its session: DuckDB 1.5.5 then aborts the process unless it is rolled back.

    Where even that fails, closing would abort the process, now or when Python ends. Such a connection is kept for ever.
    """
    try:
        connection.execute("ROLLBACK")
    except (duckdb.FatalException, duckdb.InternalException):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))
        return
    except duckdb.Error:
        pass
    connection.close()
