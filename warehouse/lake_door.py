"""The door to a lake: tables are Parquet files on a shared folder or object store, the catalogue is PostgreSQL (DuckLake).

Readers see the last commit, and wait for nobody. Writers of one partition follow one another; those of different partitions write side by
side. DuckLake refuses a commit where two have changed the same table. The door then raises NotCommitted, and the face runs the whole
transaction again (`Warehouse.transact`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import duckdb

from warehouse.disk import DiskError, disk_fault
from warehouse.doors import Commit, Door
from warehouse.errors import NotCommitted, NoWarehouse, WarehouseError
from warehouse.extensions import connect_with
from warehouse.lake_locks import ALL, GATE, LockSession, close, literal, name_this_process
from warehouse.lake_place import DATA, PLACE, LakePlace, scrubbed
from warehouse.waiting import Waiting

ATTACHED = "tracehouse"
"""Name of the warehouse's database in statements, as with the file."""
_CONFLICTS = (
    "Transaction conflict",
    "Failed to commit DuckLake transaction",
    "could not serialize access",
    "FileSystem has been disabled",  # a commit that failed: see `_commit`
)
_LOST = (
    "terminating connection",
    "server closed the connection",
    "connection to server",
    "SSL connection has been closed",
    "no connection to the server",
    "could not receive data",
    "could not send data",
    "Connection refused",
    "Connection reset",
    "Unable to connect to Postgres",
    "Failed to commit: Failed to execute query",
    "Current transaction is aborted",  # of a new connection, whose first statement came while PostgreSQL stopped
)
_STARTING = ("the database system is starting up", "the database system is shutting down", "in recovery mode")


class LakeDoor(Door):
    """place: of catalogue and data, which must be there. Tables are made by the first write."""

    def __init__(self, place: LakePlace) -> None:
        self.place = place
        self.name, self.folder, self.artefacts = place.name, place.folder, place.artefacts
        self._was_reached = False

    def must_exist(self) -> None:
        """Only the catalogue knows: `connect` raises NoWarehouse."""

    def connect(
        self, read_only: bool, deadline: float, confined: bool, makes: bool = False
    ) -> duckdb.DuckDBPyConnection:
        """As in `warehouse.doors.Door`."""
        self._require_data()
        if not read_only and self.place.is_folder:
            # also where only the catalogue was restored, or the empty folder was removed
            Path(self.place.tables).mkdir(exist_ok=True)
        name_this_process()
        options = f"DATA_PATH {literal(self.place.tables)}" + (", READ_ONLY" if read_only else "")
        options += "" if makes else ", CREATE_IF_NOT_EXISTS false"
        attach = f"ATTACH {literal(self.name)} AS {ATTACHED} ({options})"
        waiting = Waiting(self.name, deadline)
        while True:
            connection = connect_with(*self.place.extensions)
            try:
                connection.execute(attach)
                connection.execute(f"USE {ATTACHED}")
                if confined:
                    self.close_other_files(connection)
                waiting.done()
                self._was_reached = True
                return connection
            except duckdb.Error as error:
                close(connection)
                if not any(words in str(error) for words in _STARTING):
                    raise self._fault_of_opening(error) from None
                waiting.step("PostgreSQL is starting or stopping")
            except BaseException:
                close(connection)
                raise

    @contextmanager
    def connection(self, deadline: float) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection that is no transaction, for work on the lake as a whole."""
        connection = self.connect(False, deadline, confined=False)
        try:
            yield connection
        finally:
            close(connection)

    def close(self, connection: duckdb.DuckDBPyConnection) -> None:
        """As in `warehouse.doors.Door`."""
        close(connection)

    def close_other_files(self, connection: duckdb.DuckDBPyConnection, files: Path | None = None) -> None:
        """As in `warehouse.doors.Door`."""
        if connection.execute("SELECT current_setting('enable_external_access')").fetchall() == [(True,)]:
            folders = [f"{(files or self.staging).resolve()}/", self.place.tables]
            connection.execute("SET allowed_directories = ?", [folders])
            connection.execute("SET enable_external_access = false")

    @contextmanager
    def alone(self, deadline: float) -> Iterator[Commit]:
        """As in `warehouse.doors.Door`."""
        with self._session(deadline) as session:
            session.take(GATE)
            session.take(ALL)
            yield lambda connection: self._commit(connection, session)

    @contextmanager
    def beside(self, partition: str, deadline: float) -> Iterator[Commit]:
        """As in `warehouse.doors.Door`."""
        with self._session(deadline) as session:
            session.take(GATE, shared=True)
            session.take(ALL, shared=True)
            session.release(GATE, shared=True)
            session.take(f"partition {partition}")
            yield lambda connection: self._commit(connection, session)

    @contextmanager
    def lock(self, name: str, deadline: float) -> Iterator[None]:
        """As in `warehouse.doors.Door`."""
        with self._session(deadline) as session:
            session.take(f"work {name}")
            yield

    @contextmanager
    def faults(self) -> Iterator[None]:
        """Raises NotCommitted for conflicts and a lost catalogue, DiskError where the folder takes nothing more, WarehouseError for what an
        object store refuses. What statements do wrong stays as it is."""
        try:
            yield
        except duckdb.Error as error:
            if fault := self._not_committed(error):
                raise fault from None
            if self.place.is_folder and (text := disk_fault(error, Path(self.place.data))):
                raise DiskError(text) from error
            if not self.place.is_folder and isinstance(error, duckdb.IOException):
                raise WarehouseError(
                    f"{self.place.data}: the object store gives or takes no rows ({scrubbed(str(error)).splitlines()[0]}). Check {DATA}, "
                    "and the key and the endpoint that DuckDB knows for it (docs/guides/lake.md)"
                ) from None
            raise

    def _commit(self, connection: duckdb.DuckDBPyConnection, session: LockSession) -> None:
        session.take_before_commit()
        # DuckLake removes the files of a commit that fails. PostgreSQL may have made it nevertheless, and then been stopped before it
        # said so. So it must not: upkeep removes what belongs to no commit.
        files = "LocalFileSystem" if self.place.is_folder else "S3FileSystem"
        nothing_to_commit, settings_are_locked = duckdb.TransactionException, duckdb.InvalidInputException
        with suppress(nothing_to_commit, settings_are_locked):
            connection.execute(f"SET disabled_filesystems = '{files}'")
        connection.execute("COMMIT")

    @contextmanager
    def _session(self, deadline: float) -> Iterator[LockSession]:
        try:
            session = LockSession(self.place, deadline)
        except duckdb.Error as error:
            raise self._fault_of_opening(error) from None
        self._was_reached = True
        try:
            yield session
        finally:
            session.close()

    def _require_data(self) -> None:
        if self.place.is_folder and not Path(self.place.data).is_dir():
            raise WarehouseError(
                f"{self.place.data}: there is no such folder, and the tables of the lake are to be in it ({DATA}). Mount it, or make it "
                "if the lake is new"
            )

    def _not_committed(self, error: duckdb.Error) -> NotCommitted | None:
        text = str(error)
        if isinstance(error, duckdb.InternalException | duckdb.FatalException):
            # of DuckLake 1.5.5, where PostgreSQL is restarted while it reads the rows that the catalogue holds
            return NotCommitted(
                f"{self.name}: DuckDB broke down ({text.splitlines()[0]}), as it may when PostgreSQL is restarted. Nothing was written. "
                "Try again"
            )
        if any(words in text for words in _CONFLICTS):
            return NotCommitted(
                f"{self.name}: another writer changed the same table first. Nothing was written. Try again"
            )
        if any(words in text for words in (*_LOST, *_STARTING)):
            return NotCommitted(
                f"{self.name}: the connection to the catalogue was lost. Nothing was written. Try again"
            )
        return None

    def _fault_of_opening(self, error: duckdb.Error) -> WarehouseError:
        """What is wrong, in words, and the way out."""
        text = scrubbed(str(error)).strip()
        if "creating a new DuckLake is explicitly disabled" in text:
            return NoWarehouse(f"{self.name}: no warehouse yet: make one with `tracehouse run` or `tracehouse ingest`")
        if "does not match existing data path" in text:
            there = text.partition("in the catalog ")[2].split('"')[1:2]
            return WarehouseError(
                f"{self.name}: its tables are in {''.join(there)}, and {DATA} says {self.place.data}. Set it to the folder above "
                f"{''.join(there)}, or copy the lake to another catalogue with `tracehouse warehouse copy`"
            )
        why = text.rpartition("failed: ")[2] or text
        why = " ".join(why.split())
        if any(words in text for words in _LOST):
            # whom it has served a moment ago it will serve again, when PostgreSQL has been restarted
            kind = NotCommitted if self._was_reached and "FATAL" not in text else WarehouseError
            return kind(
                f"{self.name}: the catalogue cannot be opened ({why}). Check {PLACE}, that PostgreSQL runs there, and that this account "
                "may use it (PGPASSWORD, PGPASSFILE)"
            )
        return WarehouseError(
            f"{self.name}: cannot be opened as a lake ({why}). Check {PLACE}. If a newer DuckLake wrote it, update DuckDB and its "
            "extensions (docs/guides/lake.md)"
        )
