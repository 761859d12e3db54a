"""What the ledger says of the code that made its rows: an edit reads again what it must, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import sql
from assets.ingest import versions
from assets.ingest.versions import (
    HASHED_READERS,
    JOB_STATEMENTS,
    READER_VERSIONS,
    CodeVersion,
    current_version,
    recorded_version,
)
from tests.assets.ingest.incremental import Log, OpenWarehouse, ended, queued
from tests.tiny import assert_same_tables, swf_line
from tests.traces.slurm.slurm_lines import document, job_line
from traces.common.blocks import LogStream

DAYS = {"1": queued(1, 0) + ended(1, 0, 10, 70), "2": ended(2, 100, 110, 170)}


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> OpenWarehouse:
    return OpenWarehouse(tmp_path_factory.mktemp("warehouse"))


@pytest.fixture
def log(warehouse: OpenWarehouse, tmp_path: Path) -> Iterator[Log]:
    """Two files of a PBS server that have been ingested."""
    log = Log(warehouse, tmp_path)
    for name, content in DAYS.items():
        log.write(name, content)
    log.ingest()
    yield log
    log.forget()


@pytest.fixture
def no_file_is_opened(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the first ingest on."""

    def opened(self: LogStream) -> None:
        raise AssertionError(f"{self.path} is opened")

    monkeypatch.setattr(LogStream, "__iter__", opened)


def versions_in(log: Log) -> set[str]:
    return {version for (version,) in log.rows("SELECT version FROM raw.log_files WHERE source = $source")}


def set_versions(log: Log, version: str, file: str = "%") -> None:
    with log.warehouse.write() as connection:
        connection.execute(
            "UPDATE raw.log_files SET version = ? WHERE source = ? AND file LIKE ?", [version, log.source.name, file]
        )


def edit_statement(monkeypatch: pytest.MonkeyPatch, name: str, old: str, new: str) -> None:
    """As if the statement's file had been edited."""
    original = sql.load
    assert old in original(name)
    monkeypatch.setattr(sql, "load", lambda each: original(each).replace(old, new) if each == name else original(each))


def test_files_that_a_release_before_read_by_version_1_are_read_again(log: Log) -> None:
    before = log.tables()
    set_versions(log, HASHED_READERS)
    done = log.ingest()
    assert +done.files == {"read": 2} and READER_VERSIONS["pbs"] > 1
    assert_same_tables(log.tables(), before)


@pytest.mark.parametrize("recorded", ["today", f"pbs-{READER_VERSIONS['pbs']}/jobs-of-before"])
@pytest.mark.usefixtures("no_file_is_opened")
def test_an_edited_statement_writes_all_jobs_again_and_reads_nothing(
    log: Log, monkeypatch: pytest.MonkeyPatch, recorded: str
) -> None:
    if recorded != "today":
        set_versions(log, recorded)
    before = str(current_version("pbs"))
    edit_statement(monkeypatch, "core.jobs_from_pbs", "job_name AS executable", "upper(job_name) AS executable")
    done = log.ingest()
    assert +done.files == {"unchanged": 2} and not done.lines
    assert log.jobs("job_id", "executable") == [("1.head", "RUN"), ("2.head", "RUN")]
    assert versions_in(log) == {str(current_version("pbs"))} and versions_in(log) != {before}
    tables = log.tables()
    log.ingest()
    assert_same_tables(log.tables(), tables)


@pytest.mark.usefixtures("no_file_is_opened")
def test_another_form_of_a_statement_changes_nothing(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql, "load", lambda name, load=sql.load: f"-- a comment\n{load(name)}\n".replace("\n", "\n  "))
    before = log.tables()
    log.ingest()
    assert_same_tables(log.tables(), before)


def test_a_raised_version_reads_the_files_of_its_format_alone(
    log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = []
    for log_format, content in {"swf": swf_line(1, 0, 5, 50, 4), "slurm": document(job_line())}.items():
        other = Log(log.warehouse, tmp_path / log_format, log_format, procs=64)
        other.source = type(other.source)(f"of-{log_format}", log_format, other.folder, procs=64)
        other.write("log", content)
        other.ingest()
        others.append(other)
    monkeypatch.setitem(READER_VERSIONS, "pbs", READER_VERSIONS["pbs"] + 1)
    for other in others:
        assert +other.ingest().files == {"unchanged": 1}
        other.forget(other.source.name)
    done = log.ingest()
    assert +done.files == {"read": 2} and done.lines.total() == 3
    assert versions_in(log) == {f"pbs-{READER_VERSIONS['pbs']}/{current_version('pbs').jobs}"}
    log.assert_like_fresh()


def test_rows_of_a_file_that_is_gone_keep_the_version_of_their_reader(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It cannot be read again; its jobs are made by the statements of today nevertheless."""
    set_versions(log, "0123456789ab", file="1")
    (log.folder / "1").unlink()
    edit_statement(monkeypatch, "core.jobs_from_pbs", "job_name AS executable", "upper(job_name) AS executable")
    done = log.ingest()
    assert +done.files == {"unchanged": 1, "gone": 1}
    assert log.jobs("job_id", "executable") == [("1.head", "RUN"), ("2.head", "RUN")]
    assert versions_in(log) == {f"0123456789ab/{current_version('pbs').jobs}", str(current_version("pbs"))}
    before = log.tables()
    assert +log.ingest().files == {"unchanged": 1, "gone": 1}
    assert_same_tables(log.tables(), before)


def test_every_statement_that_makes_jobs_is_in_the_version(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = set()
    load = sql.load
    monkeypatch.setattr(sql, "load", lambda name: loaded.add(name) or load(name))
    set_versions(log, "pbs-1/jobs-of-before")
    log.ingest()
    statements = set(sql.names("queries"))
    assert {name for name in loaded & statements if name.startswith("core.")} == set(JOB_STATEMENTS["pbs"])
    assert set(JOB_STATEMENTS) == set(READER_VERSIONS)


def test_every_statement_that_makes_slurm_jobs_is_in_the_version(
    warehouse: OpenWarehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = set()
    load = sql.load
    monkeypatch.setattr(sql, "load", lambda name: loaded.add(name) or load(name))
    slurm = Log(warehouse, tmp_path, "slurm")
    slurm.write("log", document(job_line()))
    slurm.ingest()
    slurm.forget()
    assert set(JOB_STATEMENTS["slurm"]) == {name for name in loaded if name.startswith("core.")} & set(
        sql.names("queries")
    )


def test_versions_are_written_and_read() -> None:
    version = CodeVersion("swf-7", "jobs-ab12cd34ef56")
    assert recorded_version(str(version), "swf") == version
    assert recorded_version("something else", "swf") == CodeVersion("something else", "")
    assert current_version("swf") != current_version("pbs")


def test_the_hash_is_of_all_statements_of_the_format(monkeypatch: pytest.MonkeyPatch) -> None:
    for log_format, names in versions.JOB_STATEMENTS.items():
        before = current_version(log_format)
        for name in names:
            with monkeypatch.context() as patch:
                edit_statement(patch, name, "SELECT", "SELECT DISTINCT")
                assert current_version(log_format).jobs != before.jobs, name
                assert current_version(log_format).reader == before.reader
