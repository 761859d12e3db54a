"""Commands on disks that are full or read-only: one line that says so, and the same command goes on later."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.disks import files_end_at, read_only, resize, small_disk
from tests.pipelines.command_line import call, succeed, use_home
from tests.tiny import SOURCE, Home, busy_log
from traces.catalogue.places import PROJECT

JOBS = ("sql", "SELECT * EXCLUDE (source) FROM core.jobs ORDER BY job_index", "--format", "csv")
LIMIT = "a file would grow beyond this account's limit of "


def refused(*arguments: str | Path) -> str:
    """What a command says that meets a full disk; it is one line, and nothing of Dagster's or DuckDB's stands around it."""
    result = call(*arguments)
    assert result.exit_code != 0 and result.stdout == ""
    message = result.stderr.partition("Error: ")[2]
    assert message.count("\n") == 1 and "INSERT" not in result.stderr and "sqlalche" not in result.stderr
    return message


def assert_no_leftovers(*folders: Path) -> None:
    for folder in folders:
        assert [path for path in folder.rglob("*") if path.name.endswith(".part")] == []


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "mine.swf"
    path.write_text(busy_log(300, days=10))
    return path


@pytest.mark.parametrize("kibibytes", [0, 60, 250])
def test_ingest_where_files_may_not_grow(catalogue: Path, tmp_path: Path, log: Path, kibibytes: int) -> None:
    """Before, this was a traceback from Dagster's records (60) or from DuckDB's COMMIT (250), and an entry in the catalogue."""
    with files_end_at(kibibytes << 10):
        message = refused("ingest", log)
    assert LIMIT in message and "(`ulimit -f`). Raise the limit. Then run the same command again" in message
    assert_no_leftovers(tmp_path)
    succeed("ingest", log)
    assert succeed(*JOBS).count("\n") == 301
    assert (tmp_path / "home" / "dagster.yaml").read_bytes() == (PROJECT / "dagster.yaml").read_bytes()


def test_ingest_on_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log: Path) -> None:
    use_home(monkeypatch, tmp_path / "home")
    succeed("ingest", log)
    undisturbed = succeed(*JOBS)
    disk = tmp_path / "disk"
    for kibibytes in (100, 3500):
        with small_disk(disk, kibibytes):
            use_home(monkeypatch, disk / "home")
            message = refused("ingest", log)
            assert (
                f"{disk}/home" in message
                and "no space left on this disk. Make room there, or set TRACEHOUSE_HOME" in message
            )
            assert_no_leftovers(disk)
            resize(disk, 100_000)
            succeed("ingest", log)
            assert succeed(*JOBS) == undisturbed


def test_a_home_that_is_read_only(catalogue: Path, tmp_path: Path, log: Path) -> None:
    home = tmp_path / "home"
    succeed("ingest", log)
    jobs = succeed(*JOBS)
    with read_only(home):
        for arguments in (
            ("ingest", log), ("ingest", log, "--name", "other"), ("run", "mine", "--job", "ingest"),
            ("replay", "mine", "--save", "x"), ("export", "mine", home / "x.swf"),
            ("sql", "FROM core.jobs", "-o", str(tmp_path / "home" / "inbox.csv")),
        ):  # fmt: skip
            message = call(*arguments).stderr.partition("Error: ")[2]
            assert (
                "cannot be written, since the disk is mounted read-only" in message
            ) or "may not write there" in message
            assert message.count("\n") == 1
        assert succeed(*JOBS) == jobs  # what only reads goes on
        assert "bounded slowdown" in succeed("replay", "mine")
        assert "bounded slowdown" in succeed("replay", log)
    succeed("ingest", log)
    assert succeed(*JOBS) == jobs


def test_a_log_is_replayed_where_temporary_files_have_no_room(
    catalogue: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log: Path
) -> None:
    with small_disk(tmp_path / "tmp", 600):
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
        message = refused("replay", log)
        assert "no space left on this disk" in message and "or set TMPDIR to a folder on another disk" in message
        assert list((tmp_path / "tmp").iterdir()) == []
        resize(tmp_path / "tmp", 50_000)
        assert "bounded slowdown" in succeed("replay", log)


def test_results_that_cannot_be_written_leave_no_half_file(catalogue: Path, tmp_path: Path, log: Path) -> None:
    """Before, half a file was left, which looked whole."""
    succeed("ingest", log)
    results = tmp_path / "results"
    results.mkdir()
    (results / "kept.csv").write_text("of yesterday")
    for arguments in (
        ("sql", "FROM core.jobs", "-o", results / "new.csv", "--format", "csv"),
        ("sql", "FROM core.jobs", "-o", results / "kept.csv", "--format", "csv"),
        ("sql", "FROM core.jobs", "-o", results / "new.parquet", "--format", "parquet"),
        ("export", "mine", results / "new.swf"),
        ("export", "mine", results / "new.swf.gz"),
        (
            "train",
            "mine",
            "--window-jobs",
            "16",
            "--epochs",
            "1",
            "--seeds",
            "1",
            "-o",
            results / "new.json",
        ),
    ):
        with files_end_at(2000):
            message = refused(*arguments)
        assert LIMIT in message and "results" in message, arguments
    assert [path.name for path in results.iterdir()] == ["kept.csv"]
    assert (results / "kept.csv").read_text() == "of yesterday"
    for to_device in (("sql", "FROM core.jobs", "-o", "/dev/full"), ("export", "mine", "/dev/full", "--format", "swf")):
        assert "/dev/full: no space left on this disk" in refused(*to_device)
    assert Path("/dev/full").is_char_device()


def test_a_report_that_cannot_be_written(finished: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(finished.folder, tmp_path / "home")
    home = Home(tmp_path / "home")
    use_home(monkeypatch, home.folder)
    monkeypatch.setenv("TRACEHOUSE_SOURCES", str(home.folder / "sources.toml"))
    report = home.folder / "warehouse" / "data" / "reports" / f"{SOURCE}.html"
    before = report.read_bytes()
    with files_end_at(100_000):
        assert LIMIT in refused("report", SOURCE)
    assert report.read_bytes() == before
    assert_no_leftovers(home.folder)
    assert str(report) in call("report", SOURCE, arrange_pictures=True).stdout
    date = re.compile(rb"Created on [^<]*|\"created\": ?\"[^\"]*\"")
    assert date.sub(b"", report.read_bytes()) == date.sub(b"", before)
