"""The door to one file."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from warehouse.errors import NoWarehouse, WarehouseBusy
from warehouse.file_door import FileDoor


def test_a_file_that_is_not_there_or_half_made_is_no_warehouse(tmp_path: Path) -> None:
    door = FileDoor(tmp_path / "x.duckdb")
    with pytest.raises(NoWarehouse, match="no warehouse yet"):
        door.must_exist()
    door.path.write_bytes(bytes(8) + b"DUCK" + bytes(100))
    with pytest.raises(NoWarehouse):
        door.must_exist()


def test_what_is_not_committed_is_gone(tmp_path: Path) -> None:
    door = FileDoor(tmp_path / "x.duckdb")
    deadline = time.monotonic() + 60
    for is_kept in (True, False):
        with door.alone(deadline) as commit:
            connection = door.connect(False, deadline, False, makes=True)
            connection.execute("BEGIN")
            connection.execute("CREATE TABLE IF NOT EXISTS t (x INTEGER)")
            connection.execute("INSERT INTO t VALUES (1)")
            if is_kept:
                commit(connection)
            door.close(connection)
    connection = door.connect(True, deadline, False)
    assert connection.execute("SELECT count(*) FROM t").fetchall() == [(1,)]
    door.close(connection)


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    door = FileDoor(tmp_path / "x.duckdb")
    with door.alone(time.monotonic() + 60), pytest.raises(WarehouseBusy), door.beside("a", time.monotonic()):
        pass
