"""The door to one DuckDB file.

DuckDB lets one process write or many read. A writer takes an exclusive lock on a file beside the database. A reader opens it read-only.
Both wait for each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import duckdb

from warehouse.disk import DiskError, disk_fault
from warehouse.doors import Commit, Door
from warehouse.errors import NoWarehouse, WarehouseBusy, WarehouseError
from warehouse.waiting import Waiting, file_lock

HEADERS_BYTES = 3 * 4096
"""A DuckDB file begins with three headers. Its tables come after them."""


class FileDoor(Door):
    """path: the database file, which the first write makes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name, self.folder, self.artefacts = str(path), path.parent, path.parent

    def must_exist(self) -> None:
        """As in `warehouse.doors.Door`."""
        if not self.path.exists() or self._is_half_made():
            raise NoWarehouse(f"{self.path}: no warehouse yet: make one with `tracehouse run` or `tracehouse ingest`")

    def connect(
        self, read_only: bool, deadline: float, confined: bool, makes: bool = False
    ) -> duckdb.DuckDBPyConnection:
        """As in `warehouse.doors.Door`."""
        if makes and self._is_half_made():
            self.path.unlink()
        waiting = Waiting(self.path, deadline)
        while True:
            try:
                connection = duckdb.connect(str(self.path), read_only=read_only)
                waiting.done()
                if confined:
                    self.close_other_files(connection)
                return connection
            except duckdb.IOException as error:
                if fault := disk_fault(error, self.path):
                    raise DiskError(fault) from error
                if "Permission denied" in str(error):
                    raise WarehouseError(
                        f"{self.path}: this account may not read it. Let it read the file and its folder, or run the command with the "
                        "account that made it"
                    ) from None
                if "we can only read versions" in str(error):
                    raise WarehouseError(
                        f"{self.path}: a newer DuckDB has written it than the {duckdb.__version__} that is here. Update DuckDB, or make a "
                        "copy with the one that wrote it: tracehouse warehouse copy FROM TO --older-duckdb"
                    ) from None
                if "Could not set lock" not in str(error) and "Conflicting lock" not in str(error):
                    raise WarehouseError(
                        f"{self.path}: cannot be opened ({error}). If a newer version of DuckDB wrote it, update tracehouse. If "
                        "it is damaged, put a copy in its place. Without a copy, move it away: `tracehouse run` makes a new one "
                        "from the logs, but without what was decided on models and policies"
                    ) from None
                waiting.step(_holder(str(error)))
            except duckdb.ConnectionException as error:  # the same file, open in this process with other settings
                waiting.step(f"it is open elsewhere in this process ({error})")

    def close(self, connection: duckdb.DuckDBPyConnection) -> None:
        """As in `warehouse.doors.Door`."""
        connection.close()

    @contextmanager
    def alone(self, deadline: float) -> Iterator[Commit]:
        """As in `warehouse.doors.Door`."""
        with file_lock(self.path.with_name(self.path.name + ".lock"), deadline, self.path):
            yield _commit

    @contextmanager
    def beside(self, partition: str, deadline: float) -> Iterator[Commit]:
        """One process writes at a time, whatever the partition."""
        with self.alone(deadline) as commit:
            yield commit

    @contextmanager
    def lock(self, name: str, deadline: float) -> Iterator[None]:
        """As in `warehouse.doors.Door`."""
        with file_lock(self.folder / f".{name}.lock", deadline):
            yield

    @contextmanager
    def faults(self) -> Iterator[None]:
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
    def all_locks(self, deadline: float) -> Iterator[None]:
        """All locks of the folder, for who puts another file in place of this one. It may be damaged. Raises WarehouseBusy."""
        with ExitStack() as held:
            for lock in sorted(self.folder.glob(".*.lock")):
                held.enter_context(file_lock(lock, deadline, self.folder))
            if self.path.exists():
                try:
                    self.connect(True, deadline, confined=False).close()
                except WarehouseBusy:
                    raise
                except (WarehouseError, duckdb.Error):  # damaged: whoever replaces it knows why
                    pass
            yield

    def _is_half_made(self) -> bool:
        """Whether the disk was full, or the process killed, while DuckDB wrote the headers of a new file: nothing else is in it,
        and DuckDB opens it never again."""
        try:
            # a whole file is never opened here: closing it would end the locks that DuckDB has on it in this process
            if self.path.stat().st_size >= HEADERS_BYTES:
                return False
            beginning = self.path.read_bytes()
        except FileNotFoundError:
            return False
        return beginning[8:12] in (b"", b"DUCK")

    def close_other_files(self, connection: duckdb.DuckDBPyConnection, files: Path | None = None) -> None:
        """A connection of this process that is open already may have done so."""
        if connection.execute("SELECT current_setting('enable_external_access')").fetchall() == [(True,)]:
            connection.execute("SET allowed_directories = [?]", [f"{(files or self.staging).resolve()}/"])
            connection.execute("SET enable_external_access = false")


def _commit(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("COMMIT")


def _holder(message: str) -> str:
    """The part of DuckDB's message that names the process holding the file."""
    start = message.find("Conflicting lock is held in ")
    if start < 0:
        return "another process holds it"
    return "it is held by " + message[start + len("Conflicting lock is held in ") :].split(". ")[0].split(" See ")[0]
