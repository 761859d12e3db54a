"""Tests of warehouse: copying, doors, errors, extensions, file_door, partitions, schema_metrics, waiting."""

from __future__ import annotations

import os
import time
from pathlib import Path

import polars as pl
import pytest

import sql
import warehouse.extensions as extensions
from simulator.metrics.metrics import METRICS
from tests.pipelines.command_line import call, use_home
from warehouse import (
    Warehouse,
    WarehouseBusy,
    WarehouseError,
    first_row,
    replace_partition,
    replace_partition_by_query,
    replace_rows,
)
from warehouse.copying import copied_tables, copy_rows
from warehouse.door import door_of
from warehouse.doors import Door
from warehouse.errors import NoWarehouse
from warehouse.file_door import FileDoor
from warehouse.lake_door import LakeDoor
from warehouse.lake_place import LakePlace
from warehouse.schema import column_comments, table_columns
from warehouse.waiting import Waiting, file_lock, process_words, timeout_from_environment

# copying: Copies of a warehouse, from file to file. tests/assets/common/test_transfer.py copies to a lake and back.


def filled(path: Path) -> Warehouse:
    warehouse = Warehouse(path)
    with warehouse.write() as connection:
        connection.execute("INSERT INTO core.capacity VALUES ('a', DATE '2026-01-01', 4, 2.5, 0, 3)")
        connection.execute("INSERT INTO core.capacity VALUES ('b', DATE '2026-01-02', 8, 1.5, 0, 1)")
    return warehouse


def rows_of(warehouse: Warehouse) -> list[tuple[object, ...]]:
    with warehouse.read() as connection:
        return connection.execute("FROM core.capacity ORDER BY ALL").fetchall()


def test_all_rows_are_copied_and_counted(tmp_path: Path) -> None:
    source, target = filled(tmp_path / "x.duckdb"), Warehouse(tmp_path / "y.duckdb")
    counts = copy_rows(source, target)
    assert set(counts) == set(copied_tables()) and counts["core.capacity"] == 2 and sum(counts.values()) == 2
    assert rows_of(target) == rows_of(source)


def test_a_used_target_is_refused_unless_its_rows_are_replaced(tmp_path: Path) -> None:
    source, target = filled(tmp_path / "x.duckdb"), filled(tmp_path / "y.duckdb")
    with pytest.raises(WarehouseError, match=r"is not empty \(core\.capacity has rows\)"):
        copy_rows(source, target)
    assert copy_rows(source, target, replace=True)["core.capacity"] == 2 and len(rows_of(target)) == 2


def test_rows_can_be_changed_or_left_out(tmp_path: Path) -> None:
    def change(name: str, rows: pl.DataFrame) -> pl.DataFrame:
        return rows.with_columns(source=pl.lit("c"))

    source = filled(tmp_path / "x.duckdb")
    changed, without = Warehouse(tmp_path / "y.duckdb"), Warehouse(tmp_path / "z.duckdb")
    copy_rows(source, changed, change=change)
    assert {row[0] for row in rows_of(changed)} == {"c"}
    assert copy_rows(source, without, without=["core.capacity"])["core.capacity"] == 0 and rows_of(without) == []


# doors: Both doors can do what a door must.


def test_a_place_has_its_door(tmp_path: Path) -> None:
    lake = LakePlace("dbname=tracehouse", str(tmp_path / "data"), tmp_path)
    assert isinstance(door_of(tmp_path / "x.duckdb"), FileDoor) and isinstance(door_of(lake), LakeDoor)


def test_rows_that_are_about_to_be_inserted_are_in_the_folder_of_the_home(tmp_path: Path) -> None:
    assert door_of(tmp_path / "x.duckdb").staging == tmp_path / "staging"


def test_a_door_that_cannot_do_all_is_none() -> None:
    class Half(Door):
        pass

    with pytest.raises(TypeError, match="abstract"):
        Half()  # type: ignore[abstract]


# errors: Whoever catches the error of the warehouse catches a warehouse that is busy, too.


def test_a_busy_warehouse_is_an_error_of_the_warehouse(tmp_path: Path) -> None:
    first, second = (Warehouse(tmp_path / "w.duckdb", timeout_s=0.0) for _ in range(2))
    with first.write(), pytest.raises(WarehouseError) as busy, second.write():
        pass
    assert isinstance(busy.value, WarehouseBusy)


def test_the_command_line_prints_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_home(monkeypatch, tmp_path)
    refused = call("sql", "SELECT 1")
    assert refused.exit_code == 1 and refused.stderr.startswith("Error: ") and refused.stderr.count("\n") == 1


# extensions: DuckDB's extensions, which a lake needs.


def test_a_wheel_of_another_version_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extensions.duckdb, "__version__", "0.0.1")
    assert extensions.wheel_file("ducklake") is None


def test_a_missing_extension_says_where_it_comes_from(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(extensions, "wheel_file", lambda name: tmp_path / "none.duckdb_extension")
    with pytest.raises(WarehouseError, match=r"DuckDB's extensions ducklake and httpfs, and.*extension-httpfs==1.5.5"):
        extensions.connect_with("ducklake", "httpfs")


# file_door: The door to one file.


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


# partitions: A write replaces its partition, and nothing else.

COUNTS = pl.DataFrame({"file": ["f"], "outcome": ["accepted"], "reason": ["job"], "lines": [3]})


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return Warehouse(tmp_path / "w.duckdb")


def test_rows_are_replaced_by_their_key(warehouse: Warehouse) -> None:
    with warehouse.write() as connection:
        for source, file, lines in (("a", "f", 1), ("a", "g", 2), ("b", "f", 3), ("a", "f", 4)):
            rows = COUNTS.with_columns(lines=pl.lit(lines))
            assert replace_rows(connection, "raw.line_counts", {"source": source, "file": file}, rows) == 1
        kept = connection.execute("SELECT source, file, lines FROM raw.line_counts ORDER BY ALL").fetchall()
        assert kept == [("a", "f", 4), ("a", "g", 2), ("b", "f", 3)]
        assert replace_partition(connection, "raw.line_counts", "a", COUNTS.clear()) == 0
        assert first_row(connection, "SELECT count(*) FROM raw.line_counts") == (1,)


def test_rows_of_a_query(warehouse: Warehouse) -> None:
    query = "SELECT $source AS source, 'f' AS file, 'accepted' AS outcome, 'job' AS reason, unnest([1, 2]) AS lines"
    with warehouse.write() as connection:
        for _ in range(2):
            assert replace_partition_by_query(connection, "raw.line_counts", "a", query, {"source": "a"}) == 2
        assert first_row(connection, "SELECT count(*) FROM raw.line_counts") == (2,)
        assert first_row(connection, "SELECT 1 WHERE false") is None


# schema_metrics: The two tables that hold metrics of schedules define them equally, as the simulator gives them.

TABLES = ("replay.runs", "replay.period_scores")


def metric_lines(table: str) -> list[str]:
    """The lines of the definition that define a metric: name, type, whether it may be NULL, and comment."""
    return [line for line in sql.load(table).splitlines() if line.strip().split(" ")[0] in METRICS]


@pytest.mark.parametrize("table", TABLES)
def test_metrics_are_those_of_the_simulator_in_its_order(table: str) -> None:
    columns = table_columns(sql.load(table))
    names = [name for name, _ in columns]
    first = names.index(METRICS[0])
    assert names[first : first + len(METRICS)] == list(METRICS)
    assert {kind for name, kind in columns if name in METRICS} == {"DOUBLE"}


@pytest.mark.parametrize("table", TABLES[1:])
def test_metrics_are_defined_equally(table: str) -> None:
    assert len(metric_lines(table)) == len(METRICS)
    assert metric_lines(table) == metric_lines(TABLES[0])
    comments, others = column_comments(sql.load(table)), column_comments(sql.load(TABLES[0]))
    assert all(comments[name] == others[name] for name in METRICS)


# waiting: Waiting for other processes.


def test_a_lock_that_is_held_names_its_holder(tmp_path: Path) -> None:
    lock = tmp_path / "x.lock"
    with (
        file_lock(lock, time.monotonic() + 60),
        pytest.raises(WarehouseBusy, match=f"another writer .process {os.getpid()}"),
        file_lock(lock, time.monotonic()),
    ):
        pass
    with file_lock(lock, time.monotonic() + 60):  # it was given back
        assert lock.read_text() == str(os.getpid())


def test_at_the_deadline_it_says_why(tmp_path: Path) -> None:
    with pytest.raises(WarehouseBusy, match=r"still busy after 0 s: a backup runs\. Close it there or wait"):
        Waiting(tmp_path, time.monotonic()).step("a backup runs")


def test_seconds_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEHOUSE_TIMEOUT_S", "1.5")
    assert timeout_from_environment() == 1.5
    monkeypatch.setenv("TRACEHOUSE_TIMEOUT_S", "soon")
    with pytest.raises(WarehouseError, match="must be a number of seconds, found 'soon'"):
        timeout_from_environment()


def test_a_process_in_words() -> None:
    assert process_words(str(os.getpid())).startswith(f"process {os.getpid()}, ")
    assert process_words("nobody") == "process unknown"
    assert process_words("999999999") == "process 999999999"
