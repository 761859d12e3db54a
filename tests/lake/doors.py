"""The tests of the warehouse over the lake: with TRACEHOUSE_TEST_LAKE set, each database file that a test names is a lake.

A lake gets 1,100 comments, which takes a second. So the first of a process is made, and the others begin as copies of its catalogue.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.lake.server import Server
from warehouse import LakePlace, NoWarehouse, Warehouse, door
from warehouse.doors import Door
from warehouse.lake_door import LakeDoor

ABOUT_THE_FILE = {
    "tests/warehouse/test_disk.py": "about the file system under one file",
    "test_door.py::test_a_second_writer_waits_and_names_the_first": "readers of a lake do not wait (test_lake_door.py)",
    "test_door.py::test_a_file_that_is_no_database": "about a damaged file",
    "test_door.py::test_pausing_upgrades_nothing": "compares the bytes of a file",
    "test_door.py::test_replacing_is_refused": "about putting a file in place of another",
    "test_door.py::test_what_a_killed_process_has_left": "about putting a file in place of another",
    "test_schema.py::test_every_table_view_and_column": "a lake has the comments of a view's columns in the view's (test_lake_door.py)",
    "test_schema_migrations.py::test_a_newer_warehouse_is_refused": "compares the bytes of a file (test_lake_door.py)",
    "test_schema.py::test_a_file_needs_none": "about a file, and test_lake_door.py has the same over a lake",
    "test_schema_migrations.py::test_a_reader_who_may_not_write": "about the rights to one file",
    "test_schema_migrations.py::test_a_warehouse_before_the_first_release": "compares the bytes of a file",
    "test_schema_migrations.py::test_killed_in_the_middle": "forks a process that has a session of PostgreSQL; the stress kills writers",
}
"""Tests that are not run over a lake, by the beginning of their name, and why."""


def reason_not_over_a_lake(test: str) -> str | None:
    """Why a test is not run over a lake; None where it is."""
    return next((reason for name, reason in ABOUT_THE_FILE.items() if name in test), None)


SERVER_OF_TESTS = "TRACEHOUSE_TEST_LAKE"
"""Folder and port of the server that `tests.lake.run` has started; not set where the tests use files."""


def server_of_tests() -> Server | None:
    """The server, as a test process sees it; None where the tests use files."""
    text = os.environ.get(SERVER_OF_TESTS)
    if not text:
        return None
    folder, _, port = text.partition(":")
    server = Server.__new__(Server)
    server.folder, server.port = Path(folder), int(port)
    server.words = f"host={folder} port={port} user=postgres"
    from tests.lake.server import postgres_folder, unprivileged

    server.bin, server.prefix, server._process = postgres_folder(), unprivileged(), None
    return server


SLOW_ON_EMPTY_TABLES = "statistics_propagation,join_order"
"""Parts of DuckDB's optimizer that ask PostgreSQL for statistics, again for each column of a table that is empty. Most tables of a test
are, and a query of one takes ten times as long."""
_CONNECT = LakeDoor.connect
_NUMBERS = count(1)
CURRENT: list[Lakes] = []
"""The lakes of this process, where its tests use them."""


class Lakes:
    """Makes a lake for each path. folder: of the data of all of them."""

    def __init__(self, server: Server, folder: Path) -> None:
        self.server, self.folder, self.made = server, folder, set[str]()
        self.template, self.making = "", threading.Lock()

    def place_of(self, path: Path) -> LakePlace:
        """The lake that takes the place of a file."""
        name = "w" + hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:16]
        (self.folder / name).mkdir(exist_ok=True)
        return LakePlace(f"dbname={name} {self.server.words}", str(self.folder / name), path.parent)

    def make_template(self) -> None:
        """Makes the lake that others are copies of."""
        template = self.place_of(self.folder / "template")
        name = _database(template)
        self.server.execute(f'CREATE DATABASE "{name}"')
        self.made.add(name)
        with Warehouse(template).write():
            pass
        self.template = name

    def make(self, place: LakePlace, empty: bool = False) -> None:
        """Makes the catalogue of a lake, unless it is there. empty: without tables."""
        name = _database(place)
        with self.making:  # threads of one test may come at once
            if name in self.made or not name.startswith("w"):
                return
            if empty:
                self.server.execute(f'CREATE DATABASE "{name}"')
            else:
                self.copy_catalogue(self.template, place)
            self.made.add(name)

    def copy_catalogue(self, name: str, target: LakePlace) -> None:
        """Makes the catalogue of a lake as that of another, to which nobody is connected. name: of its database."""
        copy = _database(target)
        self.server.execute(f'CREATE DATABASE "{copy}" TEMPLATE "{name}"')
        self.server.execute(f"UPDATE ducklake_metadata SET value = '{target.tables}' WHERE key = 'data_path'", copy)

    def copy(self, source: LakePlace, target: LakePlace) -> None:
        """Makes a lake with the rows of another, to which nobody is connected."""
        shutil.copytree(source.data, target.data, dirs_exist_ok=True)
        self.copy_catalogue(_database(source), target)
        self.made.add(_database(target))


def argument_of(warehouse: Warehouse) -> str:
    """A warehouse as an argument of another process, to which it is no copy that has yet to be made."""
    place = warehouse.place
    if isinstance(place, LakePlace) and CURRENT:
        CURRENT[-1].make(place)
    parts = [place.catalogue, place.data, str(place.folder)] if isinstance(place, LakePlace) else [str(place)]
    return json.dumps(parts)


def warehouse_of(argument: str, timeout_s: float | None = None) -> Warehouse:
    """The warehouse, in the other process."""
    first, *others = json.loads(argument)
    return Warehouse(LakePlace(first, others[0], Path(others[1])) if others else Path(first), timeout_s)


@contextmanager
def new_lake(folder: Path, bucket: str = "") -> Iterator[Warehouse]:
    """A lake whose tables are empty, opened by its own door, with its data in a folder, or in a bucket."""
    server, name = CURRENT[-1].server, f"own_{os.getpid()}_{next(_NUMBERS)}"
    data = f"{bucket}/{name}" if bucket else str(folder / name)
    if not bucket:
        Path(data).mkdir()
    place = LakePlace(f"dbname={name} {server.words}", data, folder / f"{name}-home")
    CURRENT[-1].copy_catalogue(CURRENT[-1].template, place)
    yield Warehouse(place, timeout_s=60)
    server.execute(f"DROP DATABASE {name} WITH (FORCE)")


def copied(path: Path, target: Path) -> Path:
    """A copy of a warehouse that nobody has open, by the paths of their files, which may be lakes. Returns its path."""
    if server_of_tests() is None:
        return Path(shutil.copy(path, target))
    lakes = CURRENT[-1]
    lakes.copy(lakes.place_of(path), lakes.place_of(target))
    return target


@contextmanager
def unguarded(warehouse: Warehouse, read_only: bool = False) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection that is not opened by the door's rules: no transaction, no upgrade, no lock. A new lake is empty."""
    if warehouse.lake is None:
        with duckdb.connect(str(warehouse.path), read_only=read_only) as connection:
            yield connection
        return
    CURRENT[-1].make(warehouse.lake, empty=True)
    connection = _CONNECT(warehouse.door, read_only, time.monotonic() + 10, False, True)
    try:
        yield connection
    finally:
        connection.close()


def _database(place: LakePlace) -> str:
    return (place.catalogue.partition("dbname=")[2].split() or [""])[0]


def install(patch: pytest.MonkeyPatch, lakes: Lakes) -> None:
    """Lets all warehouses of this process that name a file be lakes."""
    connect, session = LakeDoor.connect, LakeDoor._session

    def door_of(place: Path | LakePlace) -> Door:
        return LakeDoor(place if isinstance(place, LakePlace) else lakes.place_of(Path(place)))

    def connect_to_copy(self: LakeDoor, *arguments: Any, **options: Any) -> Any:
        if _database(self.place) not in lakes.made and _database(self.place).startswith("w"):
            raise NoWarehouse(f"{self.name}: no warehouse yet; make one with `tracehouse run`")
        connection = connect(self, *arguments, **options)
        connection.execute(f"SET threads = 1; SET disabled_optimizers = '{SLOW_ON_EMPTY_TABLES}'")
        return connection

    def session_of_copy(self: LakeDoor, deadline: float) -> Any:
        lakes.make(self.place)
        return session(self, deadline)

    CURRENT.append(lakes)
    lakes.make_template()
    patch.setattr(door, "door_of", door_of)
    patch.setattr(LakeDoor, "connect", connect_to_copy)
    patch.setattr(LakeDoor, "_session", session_of_copy)
