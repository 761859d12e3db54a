"""The campaign of faults finds one that is planted, finds nothing where there is none, and says what it has not done."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from random import Random

import duckdb
import pytest

from benchmarks.faults import disk, large, traffic
from benchmarks.faults.__main__ import _summary
from benchmarks.faults.damage import damage_part
from benchmarks.faults.kills import Victim, database_of, partly_there, put_back
from benchmarks.faults.pairs import Pairs
from benchmarks.faults.results import Result, compare_tables
from benchmarks.faults.workers import Ended, Worker
from tests.warehouse.released import make_warehouse, versions
from warehouse.schema import CURRENT_VERSION


def test_rows_that_differ_are_lost_doubled_or_wrong() -> None:
    ours = {"a": Counter(["1", "2", "2", "3"]), "b": Counter(["1"])}
    undisturbed = {"a": Counter(["1", "2", "4", "5"]), "b": Counter(["1"])}
    difference = compare_tables(ours, undisturbed)
    assert (difference.lost, difference.doubled, difference.wrong, difference.where) == (2, 1, 1, {"a"})
    assert not compare_tables(ours, ours)
    assert compare_tables({}, undisturbed).lost == 5


@pytest.mark.parametrize("plant", ["dropped line", ""])
def test_a_planted_fault_is_found_and_nothing_else(tmp_path: Path, plant: str) -> None:
    result = Result("damage")
    counts = damage_part(result, tmp_path, 1, 0.02, plant, formats=("swf",))
    assert bool(result.findings) == bool(plant), result.findings
    assert result.lines[-1].startswith("| all | 134 |")
    if not plant:
        assert counts[4:6] == [2, 1]  # of four files two have other bytes, and one has only a new time


def test_a_worker_tells_how_a_command_has_ended(tmp_path: Path) -> None:
    with Worker(tmp_path / "home") as worker:
        ended = worker.command("health", "nothing-of-this-name")
        assert ended.code == 1 and "Error: " in ended.printed and not ended.was_killed
        killed = worker.command("sources", kill_after=0.0)
        assert killed.was_killed
        worker.start("time:sleep", 0)
        with suppress(ProcessLookupError):
            while True:
                os.kill(worker.child, 0)
                time.sleep(0.01)
        worker.kill()  # a child that is over
        assert worker.end().code == 0


@pytest.mark.parametrize(("finding", "undone", "code"), [("", "", 0), ("x", "", 1), ("", "x", 1)])
def test_what_was_found_and_what_was_not_done_is_a_failure(finding: str, undone: str, code: int) -> None:
    result = Result("kills", findings=[finding] * bool(finding), undone=[undone] * bool(undone))
    assert _summary([result], 0.0, quick=False) == code


@pytest.mark.parametrize("version", versions())
def test_what_a_kill_has_left_is_found_in_all_sources_and_not_changed(tmp_path: Path, version: int) -> None:
    database = tmp_path / "w.duckdb"
    assert partly_there(database) == []
    make_warehouse(version, database)
    before = database.read_bytes()
    assert partly_there(database) == [] and database.read_bytes() == before
    with duckdb.connect(str(database)) as connection:
        sources = connection.execute("SELECT DISTINCT source FROM raw.log_files ORDER BY source").fetchall()
        connection.execute("UPDATE raw.log_files SET lines = lines + 1")
        connection.execute("DELETE FROM raw.log_files WHERE source = ?", sources[0])
    wrong = partly_there(database)
    assert len(sources) > 1 and "mine" not in {source for (source,) in sources}
    for (source,) in sources[1:]:
        assert any(line.startswith(f"checks.counts_add_up, {source}, ") for line in wrong)
    assert any(f"rows of {sources[0][0]}, " in line and "not in the ledger" in line for line in wrong)
    database.write_bytes(b"no database")
    assert partly_there(database)[0].startswith("the file cannot be read: ")


class _Stub:
    """A worker whose commands change nothing, and whose calls make a table. code: with which a call ends."""

    def __init__(self, home: Path, code: int) -> None:
        self.home, self.code = home, code

    def command(self, *_: object, **__: object) -> Ended:
        return Ended(0, "", 0.0, 0.0)

    def call(self, *_: object, **__: object) -> Ended:
        with duckdb.connect(str(database_of(self.home))) as connection:
            connection.execute("CREATE TABLE IF NOT EXISTS core.half (x INTEGER)")
        return Ended(self.code, "", 0.0, 0.0)


def _upgrade_victim(tmp_path: Path, code: int) -> Victim:
    base = tmp_path / "base"
    database_of(base).parent.mkdir(parents=True)
    make_warehouse(CURRENT_VERSION, database_of(base))
    put_back(base, tmp_path / "home")
    return Victim("upgrade", _Stub(tmp_path / "home", code), base, [], at_once=True)  # type: ignore[arg-type]


def test_kills_that_came_too_late_are_not_done(tmp_path: Path) -> None:
    result = Result("kills")
    killed = _upgrade_victim(tmp_path, 0).kill(2, Random(1), result)
    assert killed.kills == 0 and killed.too_late >= 8
    assert result.undone == ["upgrade: only 0 of 2 kills", "upgrade: no kill came while it wrote"]


def test_tables_between_before_and_after_are_found(tmp_path: Path) -> None:
    result = Result("kills")
    killed = _upgrade_victim(tmp_path, -9).kill(2, Random(1), result)
    assert killed.kills == killed.writing == 2 and result.undone == []
    assert "upgrade, kill 1: left the tables neither as they were nor as they become" in result.findings


def test_a_disk_that_is_never_full_and_a_mount_that_fails_are_not_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = Result("disk")
    disk.fill_files(_upgrade_victim(tmp_path, 0), 1, Random(1), result)
    assert result.undone == ["upgrade: no command ended for lack of room"]
    monkeypatch.setattr(disk, "can_mount", lambda folder: True)
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "mount").write_text("#!/bin/sh\necho no room for it >&2\nexit 32\n")
    (tmp_path / "mount").chmod(0o755)
    undone = disk.disk(tmp_path / "disk", 1, quick=True).undone
    assert [line.split(":")[0] for line in undone] == ["ingest", "replay"]
    assert all(line.endswith("size=2g: no room for it") for line in undone)


def test_readers_that_read_nothing_have_not_done_their_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = Result("traffic")
    traffic._add_row("reader 2", traffic.Seen(lasted_s=1.0), result)
    traffic._add_row("writer 0", traffic.Seen(lasted_s=1.0), result)
    traffic._add_row("reader 3", traffic.Seen(Counter(read=3), [0.1] * 3, lasted_s=2.0), result)
    assert result.undone == ["reader 2 has read nothing", "writer 0 has ingested nothing"]
    assert "| 3 read | 1.50 | 0.10 | 0.10 |" in result.lines[-1]


def test_a_reader_of_a_large_log_sees_what_is_there_at_the_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_warehouse(CURRENT_VERSION, tmp_path / "w.duckdb")
    (tmp_path / "over").touch()
    large.watch(str(tmp_path / "w.duckdb"), str(tmp_path / "over"))
    waits, seen, last, _ = json.loads(capsys.readouterr().out)
    assert len(waits) == 1 and seen == last
    large.watch(str(tmp_path / "none.duckdb"), str(tmp_path / "over"))
    assert json.loads(capsys.readouterr().out) == [[], [], [], 0.0]


def test_a_source_that_is_half_removed_is_found(tmp_path: Path) -> None:
    """Rows that no catalogue names, an end without a word, and a failure beside a command that removes nothing."""
    made = Pairs(tmp_path, Result("pairs"))
    database_of(made.home).parent.mkdir(parents=True)
    make_warehouse(CURRENT_VERSION, database_of(made.home))
    (made.home / "sources.local.toml").write_text("[sources.mine]\n")
    made._look_at_home("a pair", {})
    assert "left 0 jobs of a source that is declared" in made.result.findings[0] and made.result.difference.lost == 400
    for code, printed, rival in ((1, "Error: gone", "remove"), (1, "Error: gone", "sql"), (3, "", "remove")):
        made._look_at_end("a pair", "export", rival, Ended(code, printed, 0.0, 0.0))
    assert [finding.split(": ", 2)[1] for finding in made.result.findings[1:]] == [
        "export failed, and nobody removed the source", "export ended with 3"
    ]  # fmt: skip
