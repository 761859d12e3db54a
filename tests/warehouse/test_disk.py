"""Faults of a disk are said in one line, and cost nothing that was committed."""

from __future__ import annotations

import errno
import os
import sqlite3
from pathlib import Path

import duckdb
import pytest
import sqlalchemy.exc

from tests.disks import files_end_at, read_only, resize, small_disk
from warehouse import DiskError, Warehouse, WarehouseError, disk_fault, first_row

HOME = Path("/home/of/tracehouse")


def of_sqlite(text: str) -> Exception:
    return sqlalchemy.exc.OperationalError("INSERT INTO runs", {}, sqlite3.OperationalError(text))


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "/data/x"), "/data/x: no space left on this disk."),
        (OSError(errno.EDQUOT, "Disk quota exceeded", b"/data/x"), "/data/x: no space left on this disk."),
        (OSError(errno.ENOSPC, "No space left on device"), "no space left on this disk"),
        (
            OSError(errno.EROFS, "Read-only file system", str(HOME / "x")),
            "mounted read-only. Mount it for writing, or set TRACE",
        ),
        (
            OSError(errno.EFBIG, "File too large", "/data/x"),
            "grow beyond this account's limit (`ulimit -f`). Raise the limit.",
        ),
        (OSError("No space left on device (os error 28)"), "no space left on this disk"),
        (
            duckdb.IOException('Could not write file "x": No space left on device'),
            f"{HOME}: no space left on this disk.",
        ),
        (duckdb.FatalException("Failed: No space left on device"), f"{HOME}: no space left on this disk."),
        (
            of_sqlite("database or disk is full"),
            f"{HOME}: no space left on this disk. Make room there, or set TRACEHOUSE_HOME",
        ),
        (of_sqlite("disk I/O error"), f"{HOME}: the disk does not take what is to be written."),
    ],
)
def test_faults_of_a_disk_are_one_line(error: Exception, says: str) -> None:
    message = disk_fault(error, HOME)
    assert message is not None and says in message and message.isprintable()
    assert message.endswith("run the same command again: what was finished is kept")
    wrapped = RuntimeError("something else")
    wrapped.__context__ = error
    assert disk_fault(wrapped, HOME) == message


@pytest.mark.parametrize(
    "error",
    [ValueError("No space left on device"), FileNotFoundError(2, "no such file", "x"), of_sqlite("no such table: runs"),
     duckdb.CatalogException("no table")],
)  # fmt: skip
def test_other_errors_are_none(error: Exception) -> None:
    assert disk_fault(error, HOME) is None


def test_a_file_that_may_not_be_read_is_another_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x").touch()
    error = PermissionError(errno.EACCES, "Permission denied", str(tmp_path / "x"))
    assert "this account may not write there" in str(disk_fault(error, HOME))
    monkeypatch.setattr("os.access", lambda path, mode: False)
    assert disk_fault(error, HOME) is None


def test_a_warehouse_that_may_not_be_read_is_no_damaged_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before, the message advised to move the file away."""
    warehouse = Warehouse(tmp_path / "w.duckdb")
    fill(warehouse, "a", 1)

    def closed(*_: object, **__: object) -> None:
        raise duckdb.IOException(f'IO Error: Cannot open file "{warehouse.path}": Permission denied')

    monkeypatch.setattr("duckdb.connect", closed)
    monkeypatch.setattr("os.access", lambda path, mode: False)
    with (
        pytest.raises(WarehouseError, match=r"w.duckdb: this account may not read it\. Let it") as fault,
        warehouse.read(),
    ):
        pass
    assert "move it away" not in str(fault.value)


def fill(warehouse: Warehouse, text: str, rows: int) -> None:
    with warehouse.write() as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS filled (text VARCHAR)")
        connection.execute(
            f"INSERT INTO filled SELECT '{text}' || hash(i) || hash(i + 1) || hash(i + 2) FROM range({rows}) AS numbers(i)"
        )


def counts(warehouse: Warehouse) -> list[tuple[str, int]]:
    with warehouse.read() as connection:
        return connection.execute("SELECT text[1] AS t, count(*) FROM filled GROUP BY ALL ORDER BY t").fetchall()


@pytest.mark.parametrize("more_kib", [1, 100, 600])
def test_a_file_that_may_not_grow_keeps_what_was_committed(tmp_path: Path, more_kib: int) -> None:
    """Of DuckDB's errors some come from a statement, some from COMMIT; before, all were tracebacks."""
    warehouse = Warehouse(tmp_path / "w.duckdb")
    fill(warehouse, "a", 1000)
    with files_end_at(warehouse.path.stat().st_size + (more_kib << 10)), pytest.raises(DiskError, match="ulimit -f"):
        fill(warehouse, "b", 40_000)
    assert counts(warehouse) == [("a", 1000)]
    fill(warehouse, "b", 40_000)
    assert counts(warehouse) == [("a", 1000), ("b", 40_000)]


@pytest.mark.parametrize("size_bytes", [4096, 5000, 9000])
def test_a_new_file_that_was_half_made_is_made_again(tmp_path: Path, size_bytes: int) -> None:
    """Before, DuckDB could not open the first 4,096 bytes of a file any more, and no command went on."""
    warehouse = Warehouse(tmp_path / "w.duckdb")
    with files_end_at(size_bytes):
        with pytest.raises(duckdb.IOException):
            duckdb.connect(str(warehouse.path))
        with pytest.raises(WarehouseError):
            fill(warehouse, "a", 1)
    with pytest.raises(WarehouseError, match=r"no warehouse yet|cannot be opened"), warehouse.read():
        pass
    fill(warehouse, "a", 1)
    assert counts(warehouse) == [("a", 1)]


def test_a_full_disk_keeps_what_was_committed(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    with small_disk(disk, 6000):
        warehouse = Warehouse(disk / "w.duckdb")
        fill(warehouse, "a", 1000)
        with pytest.raises(DiskError, match=r"w.duckdb: no space left on this disk"):
            fill(warehouse, "b", 200_000)
        assert counts(warehouse) == [("a", 1000)]
        resize(disk, 60_000)
        fill(warehouse, "b", 200_000)
        assert counts(warehouse) == [("a", 1000), ("b", 200_000)]


def test_a_disk_that_is_read_only(tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path / "home" / "w.duckdb")
    fill(warehouse, "a", 10)
    with read_only(tmp_path / "home"):
        with pytest.raises(WarehouseError, match=r"mounted read-only|this account may not write"):
            fill(warehouse, "b", 10)
        assert counts(warehouse) == [("a", 10)]
    with read_only(tmp_path / "home"), pytest.raises(WarehouseError, match=r"mounted read-only|may not write"):
        fill(Warehouse(tmp_path / "home" / "new" / "w.duckdb"), "a", 1)
    fill(warehouse, "b", 1)
    with warehouse.read() as connection:
        assert first_row(connection, "SELECT count(*) FROM filled") == (11,)
    assert sorted(path.name for path in (tmp_path / "home").iterdir()) == ["w.duckdb", "w.duckdb.lock"]


def test_what_is_printed_to_a_full_disk_is_told_as_such() -> None:
    kept, full = os.dup(1), os.open("/dev/full", os.O_WRONLY)
    try:
        os.dup2(full, 1)
        message = disk_fault(OSError(errno.ENOSPC, "No space left on device"), HOME)
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(full)
    assert message is not None and message.startswith("standard output: no space left on this disk")
