"""The read-only copy: what is in it, and that nobody waits for its readers."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest

from assets.common.journal import DATABASE
from assets.sharing.readers_copy import LEFT_EMPTY, refresh_readers, write_readers_copy
from tests.assets.sharing.exposition import read_exposition
from tests.pipelines.command_line import GOOD, call, fail, succeed, use_home
from tests.tiny import Home, busy_log, warehouse_of
from warehouse import Warehouse

PAGE = Path(__file__).resolve().parents[3] / "docs" / "guides" / "your-tools.md"
READ_AND_WAIT = """
import duckdb, sys
with duckdb.connect(sys.argv[1], read_only=True) as connection:
    print(connection.execute("SELECT count(*) FROM core.jobs").fetchone()[0], flush=True)
    sys.stdin.readline()
    print(connection.execute("SELECT count(*) FROM core.jobs").fetchone()[0], flush=True)
"""
TWO = "; MaxProcs: 8\n" + "".join(GOOD.format(n=n) for n in (1, 2))
READERS = '[readers]\ncopy = "for-all/readers.duckdb"\nmetrics = "for-all/tracehouse.prom"\n'


@pytest.fixture
def warehouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Warehouse:
    """A warehouse of 100 jobs, in a home."""
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path / "home"))
    data = tmp_path / "home" / "warehouse" / "data"
    warehouse_of(data, busy_log(100) + "1 2 secret\n")
    (data / "w.duckdb").rename(data / DATABASE)
    return Warehouse(data / DATABASE)


@contextmanager
def reader(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that has the file open, and counts its jobs now and after a line on its standard input."""
    command = [sys.executable, "-c", READ_AND_WAIT, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process


def count(process: subprocess.Popen[str]) -> int:
    assert process.stdout is not None
    return int(process.stdout.readline())


def test_it_has_all_results_and_no_line_of_a_log(warehouse: Warehouse, tmp_path: Path) -> None:
    copy = tmp_path / "shared" / "readers.duckdb"
    write_readers_copy(warehouse, copy)
    with warehouse.read() as connection:
        jobs = connection.sql("FROM core.jobs ORDER BY job_index").pl()
    with duckdb.connect(str(copy), read_only=True) as connection:
        assert connection.sql("FROM core.jobs ORDER BY job_index").pl().equals(jobs)
        assert connection.sql("SELECT rejected FROM marts.ingest_summary").fetchall() == [(1,)]
        for name in LEFT_EMPTY:
            assert connection.sql(f"SELECT count(*) FROM {name}").fetchall() == [(0,)], name
        comments = connection.sql("SELECT count(*) FROM duckdb_columns() WHERE comment IS NOT NULL").fetchall()
        assert comments[0][0] > 500
        assert connection.sql("SELECT version FROM core.schema_version").fetchall()
    assert b"secret" in warehouse.path.read_bytes() and b"secret" not in copy.read_bytes()
    assert sorted(path.name for path in copy.parent.iterdir()) == [".readers.duckdb.lock", "readers.duckdb"]


def test_the_panels_of_the_page_read_the_copy(finished: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path / "home"))
    write_readers_copy(Warehouse(finished.database), tmp_path / "readers.duckdb")
    panels = re.findall(r"^```sql\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert len(panels) == 3
    with duckdb.connect(str(tmp_path / "readers.duckdb"), read_only=True) as connection:
        for panel in panels:
            rows = connection.sql(panel).pl()
            assert rows.height > 0
            assert rows.columns[0] in ("time", "rank")


def test_a_reader_blocks_nobody_and_the_next_one_sees_the_new_copy(warehouse: Warehouse, tmp_path: Path) -> None:
    copy = tmp_path / "readers.duckdb"
    write_readers_copy(warehouse, copy)
    with reader(copy) as process:
        assert count(process) == 100
        with Warehouse(warehouse.path, timeout_s=0).write() as connection:  # it would not wait
            connection.execute("DELETE FROM core.jobs WHERE job_index >= 60")
        write_readers_copy(Warehouse(warehouse.path, timeout_s=0), copy)
        with reader(copy) as later:
            assert count(later) == 60
            later.communicate("\n")
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
        assert count(process) == 100  # what it had open stays whole


@pytest.mark.parametrize(
    "moment", ["assets.sharing.readers_copy.fold_journal", "assets.sharing.readers_copy.Path.replace"]
)
def test_a_kill_leaves_the_copy_before(warehouse: Warehouse, tmp_path: Path, moment: str) -> None:
    copy = tmp_path / "readers.duckdb"
    write_readers_copy(warehouse, copy)
    before = copy.read_bytes()
    code = (
        "import os, signal; from pathlib import Path; from unittest.mock import patch; from warehouse import Warehouse\n"
        "from assets.sharing.readers_copy import write_readers_copy\n"
        f"with patch({moment!r}, lambda *_: os.kill(os.getpid(), signal.SIGKILL)):\n"
        f"    write_readers_copy(Warehouse(Path({str(warehouse.path)!r})), Path({str(copy)!r}))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert copy.read_bytes() == before and (tmp_path / ".readers.duckdb.part").exists()
    with warehouse.write() as connection:
        connection.execute("DELETE FROM core.jobs WHERE job_index >= 60")
    write_readers_copy(warehouse, copy)
    with duckdb.connect(str(copy), read_only=True) as connection:
        assert connection.sql("SELECT count(*) FROM core.jobs").fetchall() == [(60,)]
    assert not (tmp_path / ".readers.duckdb.part").exists()


def test_tracehouses_own_files_are_no_place(warehouse: Warehouse) -> None:
    for name in (DATABASE, "readers.duckdb"):
        with pytest.raises(ValueError, match="keeps its own files"):
            write_readers_copy(warehouse, warehouse.path.with_name(name))


def test_a_view_that_somebody_has_put_in_the_place_of_a_table_reads_no_file(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    (tmp_path / "private.csv").write_text("source\nsecret\n")
    with duckdb.connect(str(warehouse.path)) as connection:
        connection.execute("DROP TABLE marts.leaderboard")
        connection.execute(f"CREATE VIEW marts.leaderboard AS SELECT * FROM '{tmp_path}/private.csv'")
    with pytest.raises(duckdb.Error, match=r"disabled|Permission"):
        write_readers_copy(warehouse, tmp_path / "readers.duckdb")
    assert not (tmp_path / "readers.duckdb").exists()


@pytest.fixture
def catalogue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The second catalogue of a home of its own."""
    return use_home(monkeypatch, tmp_path / "home")


def jobs_in(copy: Path) -> int:
    with duckdb.connect(str(copy), read_only=True) as connection:
        return int(connection.sql("SELECT count(*) FROM core.jobs").fetchall()[0][0])


def test_each_run_refreshes_what_the_catalogue_names(catalogue: Path, tmp_path: Path) -> None:
    catalogue.write_text(READERS)
    log, shared = tmp_path / "mine.swf", catalogue.resolve().parent / "for-all"
    log.write_text(TWO)
    succeed("ingest", log)
    assert jobs_in(shared / "readers.duckdb") == 2
    log.write_text(TWO + GOOD.format(n=3))
    succeed("ingest", log)
    assert jobs_in(shared / "readers.duckdb") == 3
    samples = read_exposition((shared / "tracehouse.prom").read_text())
    assert samples["tracehouse_jobs", frozenset({("source", "mine")})] == 3
    (shared / "readers.duckdb").unlink()
    assert refresh_readers() == [shared / "readers.duckdb", shared / "tracehouse.prom"]
    assert jobs_in(shared / "readers.duckdb") == 3


def test_a_place_that_cannot_be_written_is_said_and_the_run_is_done(catalogue: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    catalogue.write_text(f'[readers]\ncopy = "{tmp_path}/file/readers.duckdb"\n')
    (tmp_path / "mine.swf").write_text(TWO)
    done = call("ingest", tmp_path / "mine.swf")
    assert done.exit_code == 0 and "for readers, nothing new was written" in done.stderr


def test_publish_writes_to_a_place_that_is_given(catalogue: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.swf").write_text(TWO)
    succeed("ingest", tmp_path / "mine.swf")
    assert "the catalogue names no place: give FILE" in fail("publish")
    succeed("publish", tmp_path / "now.duckdb")
    assert jobs_in(tmp_path / "now.duckdb") == 2
