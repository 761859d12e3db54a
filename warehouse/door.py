"""The one door to the warehouse: `Warehouse.read()`, `Warehouse.write()` and `Warehouse.transact()`.

Behind it is one DuckDB file (`warehouse/file_door.py`), or a lake that many machines share (`warehouse/lake_door.py`). A writer opens one
transaction, commits or rolls back, and always closes.
"""

from __future__ import annotations

import errno
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, TypeVar

import duckdb

from warehouse.disk import DiskError
from warehouse.doors import Commit, Door
from warehouse.errors import NotCommitted, NoWarehouse, WarehouseError
from warehouse.file_door import FileDoor
from warehouse.lake_door import LakeDoor
from warehouse.lake_place import LakePlace
from warehouse.schema import CURRENT_VERSION, Stored, create_schema, stored_version, wanted
from warehouse.waiting import timeout_from_environment

ATTEMPTS = 12
"""A transaction that does not take effect is run so often."""
ALONE_AFTER = 4
"""After so many conflicts nobody else may write, so that long transactions come through beside many short ones."""
FIRST_WAIT_S, LONGEST_WAIT_S = 0.1, 5.0
"""Means of the waits before a transaction is run again: doubled each time, and as long again or half as long by chance."""
_is_confined = [False]
"""Whether connections cannot open other files, as the last item says."""
_Result = TypeVar("_Result")


class Unfinished(NamedTuple):
    """Work on the warehouse's files that must be finished after a kill. No process may read or write before it is done.

    marker: a file that is there while some of it is left. finish: does it, under the warehouse's lock, and removes the marker.
    """

    marker: Path
    finish: Callable[[], None]


class Warehouse:
    """The warehouse, in one DuckDB file or in a lake.

    place: the database file, which the first write makes, or a lake.
    timeout_s: how long to wait for other processes before raising WarehouseBusy
        (default: TRACEHOUSE_TIMEOUT_S, or 600 s).
    unfinished: work that a killed process may have left, and that the next process has to do.
    conflicts: how many transactions of this object were run again.
    """

    def __init__(
        self, place: Path | LakePlace, timeout_s: float | None = None, unfinished: Unfinished | None = None
    ) -> None:
        self.door = door_of(place)
        self.timeout_s = timeout_from_environment() if timeout_s is None else timeout_s
        self.unfinished = unfinished
        self.conflicts = 0
        self._held = threading.local()

    @property
    def name(self) -> str:
        """Of the warehouse, in messages."""
        return self.door.name

    @property
    def path(self) -> Path:
        """The database file. Raises WarehouseError for a lake, which has none."""
        if isinstance(self.door, FileDoor):
            return self.door.path
        raise WarehouseError(
            f"{self.name}: this needs a warehouse in one file, and a lake has none. Copy it into one with `tracehouse warehouse copy`"
        )

    @property
    def place(self) -> Path | LakePlace:
        """Where it is: what another object needs for the same warehouse."""
        return self.door.place if isinstance(self.door, LakeDoor) else self.path

    @property
    def lake(self) -> LakePlace | None:
        """Where the lake is; None for a file."""
        return self.door.place if isinstance(self.door, LakeDoor) else None

    @property
    def artefacts(self) -> Path:
        """The folder of files that rows name, such as models."""
        return self.door.artefacts

    @property
    def staging(self) -> Path:
        """The folder of rows that are about to be inserted."""
        return self.door.staging

    @contextmanager
    def read(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A read-only connection. A warehouse of an older tracehouse is upgraded first. Raises WarehouseError when there is no
        warehouse yet, or it cannot be opened."""
        self.settle()
        self.must_exist()
        with self._not_nested():
            connection = self._connect(read_only=True, deadline=self._deadline())
            try:
                stored = self._stored_surely(connection)
                if stored.version == CURRENT_VERSION:
                    yield connection
                    return
            except duckdb.PermissionException as error:  # see `confined`
                raise WarehouseError(
                    f"{self.name}: one of its views would read another file or the network, which none of tracehouse's does "
                    f"({error}). The view was changed from outside. Use an earlier copy, or ingest the logs into another TRACEHOUSE_HOME"
                ) from None
            finally:
                self.door.close(connection)
        try:
            with self.write():
                pass
        except DiskError as error:
            cause = error.__cause__
            if not isinstance(cause, OSError) or cause.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
                raise  # the disk is full
            raise WarehouseError(
                f"{self.name}: its tables are of an older tracehouse, and cannot be upgraded here ({cause.strerror}). Run a command "
                "once from an account that may write this file"
            ) from None
        with self.read() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection inside one transaction: committed at the end of the block, rolled back on an exception. Nobody else writes
        meanwhile, on any machine."""
        deadline = self._deadline()
        with self.door.faults(), self._not_nested(), self._exclusive_lock(deadline) as commit:
            connection = self._connect(read_only=False, deadline=deadline, makes=True)
            try:
                stored = self._stored(connection)
                connection.execute("BEGIN")
                if stored != wanted():
                    self._bring_up_to_date(connection, stored)
                yield connection
                commit(connection)
            finally:  # closing without COMMIT rolls back
                self.door.close(connection)

    def transact(self, partition: str, function: Callable[[duckdb.DuckDBPyConnection], _Result]) -> _Result:
        """What a function returns that writes in one transaction, as in `write`. On a lake others write other partitions meanwhile.

        partition: what is replaced, such as the name of a source. function: it may be called several times, since a transaction that
        came second to the same table is run again as a whole. So it has no effect but through its connection. Raises NotCommitted after
        ATTEMPTS, WarehouseBusy.
        """
        if isinstance(self.door, FileDoor):
            with self.write() as connection:
                return function(connection)
        for attempt in range(1, ATTEMPTS + 1):
            try:
                if attempt > ALONE_AFTER:
                    with self.write() as connection:
                        return function(connection)
                return self._beside_others(partition, function)
            except NotCommitted:
                if attempt == ATTEMPTS:
                    raise
            self.conflicts += 1
            time.sleep(min(FIRST_WAIT_S * 2 ** (attempt - 1), LONGEST_WAIT_S) * random.uniform(0.5, 1.5))
        raise AssertionError("the last attempt returns or raises")

    @contextmanager
    def paused(self) -> Iterator[Stored]:
        """Nobody writes meanwhile, and readers go on: for copying the warehouse. Gives what it says of its tables, which are not
        upgraded. Raises WarehouseError as `read` does."""
        self.settle()
        self.must_exist()
        deadline = self._deadline()
        with self._not_nested(), self._exclusive_lock(deadline):
            connection = self._connect(read_only=True, deadline=deadline)
            try:
                yield self._stored_surely(connection)
            finally:
                self.door.close(connection)

    @contextmanager
    def replacing(self) -> Iterator[None]:
        """Nobody writes or ingests meanwhile: for putting another file in its place. Raises WarehouseBusy at once where somebody
        does. The file may be damaged, or missing. Raises WarehouseError for a lake."""
        now = time.monotonic()
        assert self.path
        assert isinstance(self.door, FileDoor)
        with self._not_nested(), self._exclusive_lock(now), self.door.all_locks(now):
            yield

    def confine(self, connection: duckdb.DuckDBPyConnection, files: Path | None = None) -> None:
        """Locks other files, the network and the settings of a connection away, for statements that somebody else has written. files: a
        folder that they may read."""
        self.door.close_other_files(connection, files)
        connection.execute("SET lock_configuration = true")

    @contextmanager
    def lock(self, name: str) -> Iterator[None]:
        """A lock for work that takes longer than a transaction, shared with all who use the warehouse. Raises WarehouseBusy."""
        with self.door.lock(name, time.monotonic() + timeout_from_environment()):
            yield

    def settle(self) -> None:
        """Finishes the work that a killed process has left. Raises WarehouseError where this account may not."""
        if self.unfinished is None or not self.unfinished.marker.exists():
            return
        try:
            with self._not_nested(), self._exclusive_lock(self._deadline()):
                pass
        except OSError as error:
            raise WarehouseError(
                f"{self.door.folder}: a restore was interrupted here, and cannot be finished ({error.strerror}). Run a command once "
                "from an account that may write there"
            ) from None

    def must_exist(self) -> None:
        """Raises NoWarehouse where that can be seen without opening it."""
        self.door.must_exist()

    def exists(self) -> bool:
        """Whether there is a warehouse. Raises WarehouseError where it cannot be told."""
        try:
            self.must_exist()
            if not isinstance(self.door, FileDoor):
                with self.read():
                    pass
        except NoWarehouse:
            return False
        return True

    def _beside_others(self, partition: str, function: Callable[[duckdb.DuckDBPyConnection], _Result]) -> _Result:
        """One attempt of a transaction while others write other partitions."""
        deadline = self._deadline()
        is_current = True
        with self.door.faults(), self._not_nested(), self.door.beside(partition, deadline) as commit:
            try:
                connection = self._connect(read_only=False, deadline=deadline)
            except NoWarehouse:
                is_current = False
            else:
                try:
                    is_current = self._stored(connection) == wanted()
                    if is_current:
                        connection.execute("BEGIN")
                        result = function(connection)
                        commit(connection)
                        return result
                finally:
                    self.door.close(connection)
        assert not is_current
        with self.write():  # which makes the tables, alone
            pass
        return self._beside_others(partition, function)

    def _deadline(self) -> float:
        return time.monotonic() + self.timeout_s

    def _connect(self, read_only: bool, deadline: float, makes: bool = False) -> duckdb.DuckDBPyConnection:
        return self.door.connect(read_only, deadline, _is_confined[-1], makes)

    def _stored_surely(self, connection: duckdb.DuckDBPyConnection) -> Stored:
        stored = self._stored(connection)
        if stored is None:  # its first writer was killed, or another program made the file
            raise NoWarehouse(f"{self.name}: no warehouse yet: make one with `tracehouse run`")
        return stored

    def _stored(self, connection: duckdb.DuckDBPyConnection) -> Stored | None:
        try:
            return stored_version(connection)
        except WarehouseError as error:
            raise WarehouseError(f"{self.name}: {error}") from None

    def _bring_up_to_date(self, connection: duckdb.DuckDBPyConnection, stored: Stored | None) -> None:
        """Makes the tables, or upgrades them in a transaction of its own, so that a later failure does not undo it."""
        older = stored is not None and stored.version < CURRENT_VERSION
        try:
            create_schema(connection, stored)
        except (WarehouseError, duckdb.Error) as error:
            raise WarehouseError(f"{self.name}: cannot be brought up to date ({error}). Nothing was changed") from error
        if older:
            connection.execute("COMMIT")
            connection.execute("BEGIN")
            kept = "all rows are kept but those of rankings, which the next evaluation computes again, and of prediction searches"
            print(f"warehouse: upgraded to version {CURRENT_VERSION} of its tables: {kept}", file=sys.stderr)

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
    def _exclusive_lock(self, deadline: float) -> Iterator[Commit]:
        with self.door.alone(deadline) as commit:
            if self.unfinished is not None and self.unfinished.marker.exists():
                self.unfinished.finish()
            yield commit


def door_of(place: Path | LakePlace) -> Door:
    """The door to a place."""
    return LakeDoor(place) if isinstance(place, LakePlace) else FileDoor(Path(place))


@contextmanager
def confined(on: bool = True) -> Iterator[None]:
    """Inside, warehouses are opened without access to the network, and to files other than those of `Warehouse.staging` and those of the
    tables. The views of a warehouse that somebody else has made could read them. It counts for the whole process. Not for notebooks:
    DuckDB opens a file with one setting at a time.
    """
    _is_confined.append(on)
    try:
        yield
    finally:
        _is_confined.pop()
