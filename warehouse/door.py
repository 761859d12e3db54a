"""The one door to the DuckDB warehouse: `Warehouse.read()` and `Warehouse.write()`.

DuckDB lets one process write or many read. A writer takes an exclusive lock on a file beside the database, opens
one transaction, commits or rolls back, and always closes. A reader opens read-only. Both wait for each other.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import duckdb

from warehouse.disk import DiskError, disk_fault
from warehouse.errors import NoWarehouse, WarehouseBusy, WarehouseError
from warehouse.migrations import CURRENT_VERSION, Stored, stored_version
from warehouse.schema import create_schema, wanted

WAIT_SAYS_AFTER_S = 2.0
SAYS_AGAIN_AFTER_S = 60.0
POLL_S = 0.1
MOST_OF_A_COMMAND = 60
"""Letters of the command of a process that holds the warehouse."""
HEADERS_BYTES = 3 * 4096
"""A DuckDB file begins with three headers. Its tables come after them."""
_is_confined = [False]
"""Whether connections cannot open other files, as the last item says."""


class Unfinished(NamedTuple):
    """Work on the warehouse's files that must be finished after a kill. No process may read or write before it is done.

    marker: a file that is there while some of it is left. finish: does it, under the warehouse's lock, and removes the marker.
    """

    marker: Path
    finish: Callable[[], None]


class Warehouse:
    """The warehouse in one DuckDB file.

    path: the database file, which the first write makes.
    timeout_s: how long to wait for other processes before raising WarehouseBusy
        (default: TRACEHOUSE_TIMEOUT_S, or 600 s).
    unfinished: work that a killed process may have left, and that the next process has to do.
    """

    def __init__(self, path: Path, timeout_s: float | None = None, unfinished: Unfinished | None = None) -> None:
        self.path = Path(path)
        self.timeout_s = _timeout_from_environment() if timeout_s is None else timeout_s
        self.unfinished = unfinished
        self._held = threading.local()

    @contextmanager
    def read(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A read-only connection. A warehouse of an older tracehouse is upgraded first. Raises WarehouseError when there is no
        warehouse yet, or it cannot be opened."""
        self.settle()
        self.must_exist()
        with self._not_nested():
            connection = self._connect(read_only=True, deadline=time.monotonic() + self.timeout_s)
            try:
                stored = self._stored_surely(connection)
                if stored.version == CURRENT_VERSION:
                    yield connection
                    return
            except duckdb.PermissionException as error:  # see `confined`
                raise WarehouseError(
                    f"{self.path}: one of its views would read another file or the network, which none of tracehouse's does "
                    f"({error}). The view was changed from outside. Use an earlier copy, or ingest the logs into another TRACEHOUSE_HOME"
                ) from None
            finally:
                connection.close()
        try:
            with self.write():
                pass
        except DiskError as error:
            cause = error.__cause__
            if not isinstance(cause, OSError) or cause.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
                raise  # the disk is full
            raise WarehouseError(
                f"{self.path}: its tables are of an older tracehouse, and cannot be upgraded here ({cause.strerror}). Run a command "
                "once from an account that may write this file"
            ) from None
        with self.read() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection inside one transaction: committed at the end of the block, rolled back on an exception."""
        deadline = time.monotonic() + self.timeout_s
        with self._disk_faults(), self._not_nested(), self._exclusive_lock(deadline):
            if self._is_half_made():
                self.path.unlink()
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

    @contextmanager
    def paused(self) -> Iterator[Stored]:
        """Blocks writers, while readers continue. For copying the file. Returns what the file says of its tables, which are not
        upgraded. Raises WarehouseError as `read` does."""
        self.settle()
        self.must_exist()
        deadline = time.monotonic() + self.timeout_s
        with self._not_nested(), self._exclusive_lock(deadline):
            connection = self._connect(read_only=True, deadline=deadline)
            try:
                yield self._stored_surely(connection)
            finally:
                connection.close()

    @contextmanager
    def replacing(self) -> Iterator[None]:
        """Blocks writers and ingests. For replacing the file by another. Raises WarehouseBusy at once where a process writes or ingests.
        The file may be damaged, or missing."""
        now = time.monotonic()
        folder = self.path.parent
        with self._not_nested(), ExitStack() as held:
            held.enter_context(self._exclusive_lock(now))
            for lock in sorted(folder.glob(".*.lock")):
                held.enter_context(file_lock(lock, now, folder))
            if self.path.exists():
                try:
                    self._connect(read_only=True, deadline=now).close()
                except WarehouseBusy:
                    raise
                except (WarehouseError, duckdb.Error):  # the file is damaged, which may be why it is replaced
                    pass
            yield

    def settle(self) -> None:
        """Finishes the work that a killed process has left. Raises WarehouseError where this account may not."""
        if self.unfinished is None or not self.unfinished.marker.exists():
            return
        try:
            with self._not_nested(), self._exclusive_lock(time.monotonic() + self.timeout_s):
                pass
        except OSError as error:
            raise WarehouseError(
                f"{self.path.parent}: a restore was interrupted here, and cannot be finished ({error.strerror}). Run a command once "
                "from an account that may write there"
            ) from None

    def must_exist(self) -> None:
        """Raises WarehouseError where there is no warehouse yet."""
        if not self.path.exists() or self._is_half_made():
            raise NoWarehouse(f"{self.path}: no warehouse yet: make one with `tracehouse run` or `tracehouse ingest`")

    def _stored_surely(self, connection: duckdb.DuckDBPyConnection) -> Stored:
        stored = self._stored(connection)
        if stored is None:  # its first writer was killed, or another program made the file
            raise NoWarehouse(f"{self.path}: no warehouse yet: make one with `tracehouse run`")
        return stored

    def _stored(self, connection: duckdb.DuckDBPyConnection) -> Stored | None:
        try:
            return stored_version(connection)
        except WarehouseError as error:
            raise WarehouseError(f"{self.path}: {error}") from None

    def _bring_up_to_date(self, connection: duckdb.DuckDBPyConnection, stored: Stored | None) -> None:
        """Makes the tables, or upgrades them in a transaction of its own, so that a later failure does not undo it."""
        older = stored is not None and stored.version < CURRENT_VERSION
        try:
            create_schema(connection, stored)
        except (WarehouseError, duckdb.Error) as error:
            raise WarehouseError(f"{self.path}: cannot be brought up to date ({error}). Nothing was changed") from error
        if older:
            connection.execute("COMMIT")
            connection.execute("BEGIN")
            kept = "all rows are kept but those of rankings and of prediction searches, which the next evaluation computes again"
            print(f"warehouse: upgraded to version {CURRENT_VERSION} of its tables: {kept}", file=sys.stderr)

    def _is_half_made(self) -> bool:
        """Whether the disk was full, or the process killed, while DuckDB wrote the headers of a new file. Nothing else is in it,
        and DuckDB can never open it again."""
        try:
            # a whole file is never opened here: closing it would end the locks that DuckDB has on it in this process
            if self.path.stat().st_size >= HEADERS_BYTES:
                return False
            beginning = self.path.read_bytes()
        except FileNotFoundError:
            return False
        return beginning[8:12] in (b"", b"DUCK")

    @contextmanager
    def _disk_faults(self) -> Iterator[None]:
        """Raises DiskError where the disk is full or cannot be written. The warehouse then has what was committed before."""
        try:
            yield
        except (duckdb.Error, OSError) as error:
            if isinstance(error, OSError) and error.filename is None:
                error.filename = str(self.path)
            fault = disk_fault(error, self.path)
            if fault is None:
                raise
            raise DiskError(fault) from error

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
            if self.unfinished is not None and self.unfinished.marker.exists():
                self.unfinished.finish()
            yield

    @property
    def staging(self) -> Path:
        """The folder of rows that are about to be inserted."""
        return self.path.parent / "staging"

    def _close_other_files(self, connection: duckdb.DuckDBPyConnection) -> None:
        """See `confined`. An open connection of this process may already have closed them."""
        if connection.execute("SELECT current_setting('enable_external_access')").fetchall() == [(True,)]:
            connection.execute("SET allowed_directories = [?]", [f"{self.staging.resolve()}/"])
            connection.execute("SET enable_external_access = false")

    def _connect(self, read_only: bool, deadline: float) -> duckdb.DuckDBPyConnection:
        waiting = _Waiting(self.path, deadline)
        while True:
            try:
                connection = duckdb.connect(str(self.path), read_only=read_only)
                waiting.done()
                if _is_confined[-1]:
                    self._close_other_files(connection)
                return connection
            except duckdb.IOException as error:
                if fault := disk_fault(error, self.path):
                    raise DiskError(fault) from error
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
    """Holds a lock that is a file. Waits for other processes until the deadline.

    deadline: by time.monotonic, by default TRACEHOUSE_TIMEOUT_S from now.

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
                waiting.step(f"another writer ({_process(lock.read().strip())}) holds it")
        waiting.done()
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield  # closing the file releases the lock, and so does the end of the process, whatever its reason


@contextmanager
def confined(on: bool = True) -> Iterator[None]:
    """Inside, warehouses are opened without access to the network, and to files other than those of `Warehouse.staging`. The views
    of a warehouse that another person has made could read them. It counts for the whole process. Do not use it in notebooks, because
    DuckDB opens a file with one setting at a time.
    """
    _is_confined.append(on)
    try:
        yield
    finally:
        _is_confined.pop()


def _timeout_from_environment() -> float:
    text = os.environ.get("TRACEHOUSE_TIMEOUT_S", "600")
    try:
        return float(text)
    except ValueError:
        raise WarehouseError(f"TRACEHOUSE_TIMEOUT_S must be a number of seconds, found {text!r}") from None


class _Waiting:
    """Waits between two tries, says so, and gives up at the deadline. On a terminal it counts, elsewhere it says so once a minute."""

    def __init__(self, path: Path, deadline: float) -> None:
        self.path = path
        self.deadline = deadline
        self.began = time.monotonic()
        self.said = 0.0

    def step(self, why: str) -> None:
        now = time.monotonic()
        if now >= self.deadline:
            self.done()
            raise WarehouseBusy(
                f"{self.path}: still busy after {now - self.began:.0f} s: {why}. Close it there or wait, then try again "
                "(TRACEHOUSE_TIMEOUT_S sets how long to wait)"
            )
        counts = sys.stderr.isatty()
        if now - (self.said or self.began) >= (
            WAIT_SAYS_AFTER_S if not self.said else 1.0 if counts else SAYS_AGAIN_AFTER_S
        ):
            times = f"{now - self.began:.0f} s so far, giving up in {self.deadline - now:.0f} s"
            self._say(f"waiting for the warehouse, {times}: {why}", counts)
            self.said = now
        time.sleep(POLL_S)

    def done(self) -> None:
        """Clears the line of the terminal that counts."""
        if self.said and sys.stderr.isatty():
            print(end="\r\x1b[K", file=sys.stderr, flush=True)

    def _say(self, text: str, counts: bool) -> None:
        if counts:
            columns = shutil.get_terminal_size().columns
            text = text if len(text) < columns else f"{text[: columns - 2]}…"
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
        else:
            print(text, file=sys.stderr, flush=True)


def _process(number: str) -> str:
    """A process in words: its number and its command, where it is on this machine."""
    if not number.isdigit():
        return "process unknown"
    try:
        words = (Path("/proc") / number / "cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return f"process {number}"
    command = " ".join(word.rpartition("/")[2] if k < 2 else word for k, word in enumerate(words) if word)
    shown = "".join(letter if letter.isprintable() else "?" for letter in command)[:MOST_OF_A_COMMAND]
    return f"process {number}, {shown}" if shown else f"process {number}"


def _holder(message: str) -> str:
    """The part of DuckDB's message that names the process holding the file."""
    start = message.find("Conflicting lock is held in ")
    if start < 0:
        return "another process holds it"
    return "it is held by " + message[start + len("Conflicting lock is held in ") :].split(". ")[0].split(" See ")[0]
