"""What the catalogue wants for other tools is there after each run."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from assets.sharing.refresh import refresh_readers
from tests.assets.sharing.exposition import read_exposition
from tests.pipelines.command_line import GOOD, call, fail, succeed, use_home

TWO = "; MaxProcs: 8\n" + "".join(GOOD.format(n=n) for n in (1, 2))
READERS = '[readers]\ncopy = "for-all/readers.duckdb"\nmetrics = "for-all/tracehouse.prom"\n'


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
