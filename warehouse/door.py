"""The one door to the DuckDB warehouse: `Warehouse.read()` and `Warehouse.write()`.

DuckDB lets one process write or many read. A writer takes an exclusive lock on a file beside the database, opens
one transaction, commits or rolls back, and always closes; a reader opens read-only. Both wait for each other.
"""

from __future__ import annotations

import fcntl
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from warehouse.errors import WarehouseBusy, WarehouseError
from warehouse.migrations import CURRENT_VERSION, Stored, stored_version
from warehouse.schema import create_schema, wanted

WAIT_SAYS_AFTER_S = 2.0
POLL_S = 0.1


class Warehouse:
    """The warehouse in one DuckDB file.

    path: the database file; created by the first write.
    timeout_s: how long to wait for other processes before raising WarehouseBusy
        (default: TRACEHOUSE_TIMEOUT_S, or 600 s).
    """

    def __init__(self, path: Path, timeout_s: float | None = None) -> None:
        self.path = Path(path)
        self.timeout_s = _timeout_from_environment() if timeout_s is None else timeout_s
        self._held = threading.local()

    @contextmanager
    def read(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A read-only connection. A warehouse of an older tracehouse is upgraded first. Raises WarehouseError when there is no
        warehouse yet, or it cannot be opened."""
        if not self.path.exists():
            raise WarehouseError(
                f"{self.path}: no warehouse yet; make one with `tracehouse run` or `tracehouse ingest`"
            )
        with self._not_nested():
            connection = self._connect(read_only=True, deadline=time.monotonic() + self.timeout_s)
            try:
                stored = self._stored(connection)
                if stored is None:  # its first writer was killed, or another program made the file
                    raise WarehouseError(f"{self.path}: no warehouse yet; make one with `tracehouse run`")
                if stored.version == CURRENT_VERSION:
                    yield connection
                    return
            finally:
                connection.close()
        try:
            with self.write():
                pass
        except OSError as error:
            raise WarehouseError(
                f"{self.path}: its tables are of an older tracehouse, and cannot be upgraded here ({error.strerror}). Run a command "
                "once from an account that may write this file"
            ) from None
        with self.read() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection inside one transaction: committed at the end of the block, rolled back on an exception."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        deadline = time.monotonic() + self.timeout_s
        with self._not_nested(), self._exclusive_lock(deadline):
            connection = self._connect(read_only=False, deadline=deadline)
            try:
                stored = self._stored(connection)
                connection.execute("BEGIN")
                if stored != wanted():
                    self._bring_up_to_date(connection, stored)
                yield connection
                connection.execute("COMMIT")
            finally:  # closing without COMMIT rolls back
                connection.close()

    def _stored(self, connection: duckdb.DuckDBPyConnection) -> Stored | None:
        try:
            return stored_version(connection)
        except WarehouseError as error:
            raise WarehouseError(f"{self.path}: {error}") from None

    def _bring_up_to_date(self, connection: duckdb.DuckDBPyConnection, stored: Stored | None) -> None:
        """Makes the tables, or upgrades them in a transaction of its own: what fails later must not undo it."""
        older = stored is not None and stored.version < CURRENT_VERSION
        try:
            create_schema(connection, stored)
        except (WarehouseError, duckdb.Error) as error:
            raise WarehouseError(f"{self.path}: cannot be brought up to date ({error}). Nothing was changed") from error
        if older:
            connection.execute("COMMIT")
            connection.execute("BEGIN")
            print(f"warehouse: upgraded to version {CURRENT_VERSION} of its tables; all rows are kept", file=sys.stderr)

    @contextmanager
    def _not_nested(self) -> Iterator[None]:
        if getattr(self._held, "open", False):
            raise WarehouseError("the warehouse is already open in this thread: never nest read() and write()")
        self._held.open = True
        try:
            yield
        finally:
            self._held.open = False

    @contextmanager
    def _exclusive_lock(self, deadline: float) -> Iterator[None]:
        with file_lock(self.path.with_name(self.path.name + ".lock"), deadline, self.path):
            yield

    def _connect(self, read_only: bool, deadline: float) -> duckdb.DuckDBPyConnection:
        waiting = _Waiting(self.path, deadline)
        while True:
            try:
                return duckdb.connect(str(self.path), read_only=read_only)
            except duckdb.IOException as error:
                if "Could not set lock" not in str(error) and "Conflicting lock" not in str(error):
                    raise WarehouseError(
                        f"{self.path}: cannot be opened ({error}). If a newer version of DuckDB wrote it, update tracehouse. If "
                        "it is damaged, put a copy in its place. Without a copy, move it away: `tracehouse run` makes a new one "
                        "from the logs, but without what was decided on models and policies"
                    ) from None
                waiting.step(_holder(str(error)))
            except duckdb.ConnectionException as error:  # the same file, open in this process with other settings
                waiting.step(f"it is open elsewhere in this process ({error})")


@contextmanager
def file_lock(path: Path, deadline: float | None = None, of: Path | None = None) -> Iterator[None]:
    """Holds a lock that is a file; waits for other processes until the deadline (time.monotonic; TRACEHOUSE_TIMEOUT_S from now).

    Raises WarehouseBusy, naming `of` (default: the file itself) and the process that holds it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+") as lock:
        waiting = _Waiting(of or path, deadline or time.monotonic() + _timeout_from_environment())
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                lock.seek(0)
                waiting.step(f"another writer (process {lock.read().strip() or 'unknown'}) holds it")
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield  # closing the file releases the lock, and so does the end of the process, however it comes


def commit_so_far(connection: duckdb.DuckDBPyConnection) -> None:
    """Inside `Warehouse.write()`: what has been written so far stays, whatever comes."""
    connection.execute("COMMIT")
    connection.execute("BEGIN")


def _timeout_from_environment() -> float:
    text = os.environ.get("TRACEHOUSE_TIMEOUT_S", "600")
    try:
        return float(text)
    except ValueError:
        raise WarehouseError(f"TRACEHOUSE_TIMEOUT_S must be a number of seconds, found {text!r}") from None


class _Waiting:
    """Waits between two tries, tells the user once, and gives up at the deadline."""

    def __init__(self, path: Path, deadline: float) -> None:
        self.path = path
        self.deadline = deadline
        self.began = time.monotonic()
        self.told = False

    def step(self, why: str) -> None:
        now = time.monotonic()
        if now >= self.deadline:
            raise WarehouseBusy(
                f"{self.path}: still busy after {now - self.began:.0f} s: {why}. Close it there or wait, then try again "
                "(TRACEHOUSE_TIMEOUT_S sets how long to wait)"
            )
        if not self.told and now - self.began > WAIT_SAYS_AFTER_S:
            print(f"waiting for the warehouse {self.path.name}: {why}", file=sys.stderr, flush=True)
            self.told = True
        time.sleep(POLL_S)


def _holder(message: str) -> str:
    """The part of DuckDB's message that names the process holding the file."""
    start = message.find("Conflicting lock is held in ")
    if start < 0:
        return "another process holds it"
    return "it is held by " + message[start + len("Conflicting lock is held in ") :].split(". ")[0].split(" See ")[0]
