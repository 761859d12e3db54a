"""Tests of assets/ingest: removal, rows.

Rows of the raw tables: written many at a time, and counted.

Removing a source: which rows and files are its own. The command is tested in tests/tracehouse/cli/commands/test_cluster.py.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import sql
from assets.common.storage import data_folder, report_path, tuning_folder
from assets.ingest import rows, staging
from assets.ingest.ledger import mark_changed
from assets.ingest.reading import reader_of
from assets.ingest.removal import (
    HISTORIES,
    gone_files,
    remove_gone_files,
    remove_source_data,
    source_files,
    source_rows,
)
from assets.ingest.rows import Ingested
from tests.assets.ingest.incremental import Log, OpenWarehouse, ended, queued
from tests.tiny import assert_same_tables
from traces.common.log import LARGEST_S, ParsedLines


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> OpenWarehouse:
    return OpenWarehouse(tmp_path_factory.mktemp("warehouse"))


def test_rows_do_not_depend_on_how_many_are_written_at_once(
    warehouse: OpenWarehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = Log(warehouse, tmp_path)
    for day in range(4):
        lines = [queued(job, day * 1000) + ended(job, day * 1000, day * 1000 + 10, 90_000) for job in range(5)]
        log.write(f"{day}", *lines)
    log.ingest()
    monkeypatch.setattr(staging, "SPILL_ROWS", 3)
    monkeypatch.setattr(rows, "COMMIT_BYTES", 1)
    log.assert_like_fresh()
    log.forget()


def test_outcomes_are_counted_over_all_reasons(tmp_path: Path) -> None:
    log = Log(OpenWarehouse(tmp_path), tmp_path)
    log.write("1", ended(1, 0, 10, 20))
    done = Ingested(reader_of(log.source))
    done.lines.update({("rejected", "a"): 2, ("rejected", "b"): 3, ("accepted", "job"): 1})
    assert [done.outcome(outcome) for outcome in ("rejected", "accepted", "kept")] == [5, 1, 0]


def test_changes_are_marked_from_a_second_on(warehouse: OpenWarehouse) -> None:
    with warehouse.write() as connection:
        for from_s in (70, 50):
            mark_changed(connection, "marked", "file", from_s)
        row = connection.execute("SELECT min(from_s) FROM core.changed_files WHERE source = 'marked'").fetchall()
        connection.execute("DELETE FROM core.changed_files WHERE source = 'marked'")
    assert row == [(50,)]


@pytest.mark.parametrize(
    ("log_format", "records", "events", "first_s"),
    [
        ("swf", {"submit_s": [70, 50]}, {}, 50),
        ("pbs", {"ctime_s": [500]}, {}, 500 - rows.QUEUED_BEFORE_S),
        ("pbs", {"ctime_s": [500]}, {"ctime_s": [300], "logged_s": [200_000]}, 300),
        ("pbs", {"ctime_s": []}, {"ctime_s": [None], "logged_s": [200_000]}, 200_000 - rows.CLOCKS_DIFFER_S),
        ("swf", {"submit_s": []}, {}, LARGEST_S),
    ],
)
def test_the_earliest_submission_that_lines_are_about(
    log_format: str, records: dict[str, list[int]], events: dict[str, list[int]], first_s: int
) -> None:
    frames = [pl.DataFrame(each, schema=dict.fromkeys(each, pl.Int64)) for each in (records, events)]
    assert rows._first_s(ParsedLines(2, frames[0], events=frames[1]), log_format) == first_s


# --- removal


def test_every_history_is_a_table_that_says_so() -> None:
    for table in HISTORIES:
        assert table in sql.names("tables")
    said = {
        name
        for name in sql.names("tables")
        if "cannot be recomputed" in sql.load(name) or "A history" in sql.load(name)
    }
    assert said <= set(HISTORIES)


def test_files_are_those_of_the_source_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    ours = [
        report_path("a"),
        report_path("a@2026-01"),
        tuning_folder("a") / "replay.npz",
        data_folder() / "logs/a-0123456789ab/log.swf",
        data_folder() / "models" / "a" / "m.json",
    ]
    others = [report_path("a-b"), data_folder() / "logs/a-b-0123456789ab/log.swf", data_folder() / "logs/a-x/log.swf"]
    for path in ours + others:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert source_files("a", with_history=False) == [*ours[:2], ours[2].parent, ours[3].parent]
    assert source_files("a", with_history=True) == [*ours[:2], *(path.parent for path in ours[2:])]


def test_rows_of_a_source_go_and_others_stay(tmp_path: Path) -> None:
    warehouse = OpenWarehouse(tmp_path)
    logs = [Log(warehouse, tmp_path / name) for name in ("a", "b")]
    logs[1].source = logs[1].source.__class__("other", "pbs", logs[1].folder)
    for log in logs:
        log.write("1", ended(1, 0, 10, 20))
        log.ingest()
    before = logs[1].tables()
    removed = remove_source_data(warehouse, "mine", with_history=False)
    assert removed["core.jobs"] == removed["raw.pbs_records"] == 1
    with warehouse.read() as connection:
        assert source_rows(connection, "mine") == {}
    assert_same_tables(logs[1].tables(), before)


def test_rows_of_gone_files_go(tmp_path: Path) -> None:
    log = Log(OpenWarehouse(tmp_path), tmp_path)
    log.write("1", ended(1, 0, 10, 20), ended(3, 0, 10, 20))
    log.write("2", ended(2, 5, 10, 20))
    log.ingest()
    (log.folder / "1").unlink()
    reader = reader_of(log.source)
    assert gone_files(log.warehouse, reader) == {"1": 2}
    remove_gone_files(log.warehouse, reader)
    log.ingest()
    log.assert_like_fresh()
    assert gone_files(log.warehouse, reader) == {}
