"""The door: transactions, waiting, and messages."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import duckdb
import polars as pl
import pytest

from tests.lake.doors import argument_of
from tests.warehouse.released import make_warehouse
from warehouse import (
    Unfinished,
    Warehouse,
    WarehouseBusy,
    WarehouseError,
    confined,
    first_row,
    replace_partition,
    waiting,
)
from warehouse.schema import CURRENT_VERSION

COUNTS = pl.DataFrame({"file": ["f"], "outcome": ["accepted"], "reason": ["job"], "lines": [3]})


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return Warehouse(tmp_path / "w.duckdb", timeout_s=0.5)


def lines(warehouse: Warehouse) -> list[tuple[str, int]]:
    with warehouse.read() as connection:
        return connection.execute("SELECT source, lines FROM raw.line_counts ORDER BY ALL").fetchall()


def test_replacing_a_partition_leaves_the_others(warehouse: Warehouse) -> None:
    for source in ("a", "b", "a"):
        with warehouse.write() as connection:
            replace_partition(connection, "raw.line_counts", source, COUNTS)
    assert lines(warehouse) == [("a", 3), ("b", 3)]


def test_an_exception_rolls_everything_back(warehouse: Warehouse) -> None:
    with warehouse.write() as connection:
        replace_partition(connection, "raw.line_counts", "a", COUNTS)

    def fail_half_way() -> None:
        with warehouse.write() as connection:
            replace_partition(connection, "raw.line_counts", "a", COUNTS.with_columns(lines=pl.lit(9)))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_half_way()
    assert lines(warehouse) == [("a", 3)]


def test_reading_before_anything_was_written_says_how_to_begin(warehouse: Warehouse) -> None:
    with pytest.raises(WarehouseError, match="tracehouse run"), warehouse.read():
        pass


def test_nesting_is_refused_instead_of_waiting_for_itself(warehouse: Warehouse) -> None:
    with (
        warehouse.write(),
        pytest.raises(WarehouseError, match="never nest"),
        warehouse.read(),
    ):
        pass
    with warehouse.write():  # and the door is not left locked
        pass


def test_a_reader_cannot_write(warehouse: Warehouse) -> None:
    with warehouse.write():
        pass
    with warehouse.read() as connection, pytest.raises(duckdb.Error):
        connection.execute("DELETE FROM core.jobs")


WRITER = """
import sys, time
from tests.lake.doors import warehouse_of
with warehouse_of(sys.argv[1]).write():
    print("writing", flush=True)
    time.sleep(float(sys.argv[2]))
"""


def test_a_second_writer_waits_and_names_the_first(warehouse: Warehouse) -> None:
    other = subprocess.Popen(
        [sys.executable, "-c", WRITER, argument_of(warehouse), "3"], stdout=subprocess.PIPE, text=True
    )
    assert other.stdout is not None
    assert other.stdout.readline() == "writing\n"
    with pytest.raises(WarehouseBusy, match=f"process {other.pid}"), warehouse.write():
        pass
    with pytest.raises(WarehouseBusy), warehouse.read():
        pass
    patient = Warehouse(warehouse.place, timeout_s=30)
    with patient.write() as connection:
        replace_partition(connection, "raw.line_counts", "a", COUNTS)
    assert other.wait() == 0
    assert lines(warehouse) == [("a", 3)]


@pytest.mark.parametrize("terminal", [True, False])
def test_who_waits_hears_how_long_and_for_whom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], terminal: bool
) -> None:
    """Every second on the one line of a terminal, and once a minute elsewhere."""
    clock = iter(range(0, 2000, 20) if not terminal else range(0, 200))
    monkeypatch.setattr(waiting.time, "monotonic", lambda: float(next(clock)))
    monkeypatch.setattr(waiting.time, "sleep", lambda _: None)
    monkeypatch.setattr("sys.stderr.isatty", lambda: terminal, raising=False)
    monkeypatch.setenv("COLUMNS", "110")
    turn = waiting.Waiting(tmp_path / "w.duckdb", 190.0)
    with pytest.raises(WarehouseBusy, match=r"still busy after (190|200) s"):
        _wait(turn, f"another writer ({waiting.process_words(str(os.getpid()))}) holds it")
    said = [text for text in re.split(r"[\r\n]", capsys.readouterr().err) if "waiting" in text]
    assert re.search(
        r"waiting for the warehouse, \d+ s so far, giving up in \d+ s: another writer \(process \d+", said[0]
    )
    assert 180 < len(said) < 190 if terminal else len(said) == 3
    assert all(len(text.removeprefix("\x1b[K")) <= 110 for text in said) or not terminal


def _wait(turn: waiting.Waiting, why: str) -> None:
    while True:
        turn.step(why)


def test_a_process_of_elsewhere_has_its_number_alone() -> None:
    assert waiting.process_words("999999999") == "process 999999999" and waiting.process_words("") == "process unknown"


MANY_WRITES = """
import sys
from tests.lake.doors import warehouse_of
from warehouse import first_row
warehouse = warehouse_of(sys.argv[1], timeout_s=60)
for _ in range(5):
    with warehouse.write() as connection:
        row = first_row(connection, "SELECT coalesce(max(lines), 0) FROM raw.line_counts")
        connection.execute("DELETE FROM raw.line_counts")
        connection.execute("INSERT INTO raw.line_counts VALUES ('n', 'f', 'accepted', 'job', ?)", [row[0] + 1])
    with warehouse.read() as connection:
        first_row(connection, "SELECT count(*) FROM raw.line_counts")
"""


def test_four_processes_counting_together_lose_nothing(warehouse: Warehouse) -> None:
    """Read, add one, write back: any lost or doubled transaction would show in the sum."""
    workers = [subprocess.Popen([sys.executable, "-c", MANY_WRITES, argument_of(warehouse)]) for _ in range(4)]
    assert [worker.wait(timeout=120) for worker in workers] == [0, 0, 0, 0]
    assert lines(warehouse) == [("n", 20)]


def test_a_file_that_is_no_database_is_named_with_the_remedy(warehouse: Warehouse) -> None:
    warehouse.path.write_text("not a database, but long enough to have a header that could be one" * 100)
    with pytest.raises(WarehouseError, match=r"w\.duckdb.*tracehouse run"), warehouse.read():
        pass


def test_first_row_of_nothing_is_none(warehouse: Warehouse) -> None:
    with warehouse.write() as connection:
        assert first_row(connection, "SELECT 1 WHERE false") is None


def test_while_it_is_paused_readers_go_on_and_writers_wait(warehouse: Warehouse) -> None:
    with warehouse.write():
        pass
    other = Warehouse(warehouse.place, timeout_s=0.2)
    with warehouse.paused() as stored:
        assert stored.version == CURRENT_VERSION
        with other.read() as connection:
            assert connection.execute("SELECT count(*) FROM core.jobs").fetchall() == [(0,)]
        with pytest.raises(WarehouseBusy, match=r"another writer|process \d+ writes"), other.write():
            pass
    with other.write():
        pass


def test_pausing_upgrades_nothing_and_needs_a_warehouse(tmp_path: Path) -> None:
    make_warehouse(1, tmp_path / "w.duckdb")
    before = (tmp_path / "w.duckdb").read_bytes()
    with Warehouse(tmp_path / "w.duckdb").paused() as stored:
        assert stored.version == 1
    assert (tmp_path / "w.duckdb").read_bytes() == before
    with pytest.raises(WarehouseError, match="no warehouse yet"), Warehouse(tmp_path / "other.duckdb").paused():
        pass
    duckdb.connect(str(tmp_path / "empty.duckdb")).close()
    with pytest.raises(WarehouseError, match="no warehouse yet"), Warehouse(tmp_path / "empty.duckdb").paused():
        pass


def test_replacing_is_refused_while_an_outside_program_writes(tmp_path: Path) -> None:
    path = tmp_path / "w.duckdb"
    code = "import duckdb, sys, time; c = duckdb.connect(sys.argv[1]); print('open', flush=True); time.sleep(60)"
    holder = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE)
    try:
        assert holder.stdout is not None and holder.stdout.readline() == b"open\n"
        with pytest.raises(WarehouseBusy, match=r"it is held by .*python"), Warehouse(path).replacing():
            pass
    finally:
        holder.kill()
        holder.wait()
    path.write_bytes(b"no database")
    with Warehouse(path).replacing():
        pass


def test_what_a_killed_process_has_left_is_finished_first(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    calls: list[str] = []

    def finish() -> None:
        calls.append("finished")
        marker.unlink()

    warehouse = Warehouse(tmp_path / "w.duckdb", unfinished=Unfinished(marker, finish))
    opened = {
        "write": warehouse.write,
        "read": warehouse.read,
        "paused": warehouse.paused,
        "replacing": warehouse.replacing,
    }
    for name, opening in opened.items():
        marker.touch()
        with opening():
            calls.append(name)
        with opening():
            pass
    warehouse.settle()
    marker.touch()
    warehouse.settle()
    assert calls == [word for name in opened for word in ("finished", name)] + ["finished"]


def test_who_may_not_finish_is_told_who_may(tmp_path: Path) -> None:
    def finish() -> None:
        raise PermissionError(13, "Permission denied")

    warehouse = Warehouse(tmp_path / "w.duckdb", unfinished=Unfinished(tmp_path, finish))
    with pytest.raises(
        WarehouseError, match=r"a restore was interrupted here, and cannot be finished \(Permission denied\)"
    ):
        warehouse.settle()


def test_a_view_of_somebody_else_reads_no_file(warehouse: Warehouse, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("the key")
    with warehouse.write() as connection:
        connection.execute(f"CREATE VIEW marts.theirs AS FROM read_text('{tmp_path / 'secret'}')")
    with confined():
        with warehouse.read() as connection, pytest.raises(duckdb.PermissionException):
            connection.execute("FROM marts.theirs")
        with warehouse.write() as connection, pytest.raises(duckdb.InvalidInputException):
            connection.execute("SET enable_external_access = true")
        with confined(False), warehouse.read() as connection:
            assert connection.execute("SELECT content FROM marts.theirs").fetchall() == [("the key",)]
        with warehouse.read() as connection, pytest.raises(duckdb.PermissionException):
            connection.execute("FROM marts.theirs")
