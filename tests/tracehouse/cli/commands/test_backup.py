"""Tests of tracehouse/cli/commands: backup, export."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from assets.ingest.ledger import ReadingPlan, plan_reading
from tests.kills import killed_at
from tests.pipelines.command_line import call, fail, succeed, told_of, use_home
from tests.tiny import SOURCE, Home, assert_same_tables, busy_log, in_queues
from tracehouse.cli.commands.export import format_of
from traces.catalogue.catalogue import load_catalogue
from warehouse import file_lock

# backup: `tracehouse backup` and `restore`: a home that is restored goes on where the other was.

LEDGER = "SELECT * FROM raw.log_files"
TASK = ("--policy", "learned", "--window", "200:400", "--json")


def ledger(home: Path) -> list[tuple[object, ...]]:
    with duckdb.connect(str(home / "warehouse" / "data" / "tracehouse.duckdb"), read_only=True) as connection:
        return connection.execute(LEDGER).fetchall()


@pytest.fixture
def saved(loaded: tuple[Path, str], tmp_path: Path) -> Path:
    """An archive of a copy of the loaded home, which is in use."""
    with pytest.MonkeyPatch.context() as use:
        shutil.copytree(loaded[0].parent, tmp_path / "first")
        use_home(use, tmp_path / "first")
        printed = succeed("backup", tmp_path / "a.tar.zst")
    assert printed.startswith(f"wrote {tmp_path / 'a.tar.zst'} (") and "0 model files, catalogue\n" in printed
    assert "not in it: your logs (those of the inbox too), reports, Dagster's records" in printed
    return tmp_path / "a.tar.zst"


def test_a_restored_home_goes_on(
    saved: Path, loaded: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalogue = use_home(monkeypatch, tmp_path / "home")
    catalogue.unlink()
    printed = succeed("restore", saved)
    assert printed.startswith(f"restored {saved} into {tmp_path / 'home'}: warehouse (")
    assert "UTC by tracehouse" in printed
    before = ledger(tmp_path / "home")
    assert before == ledger(loaded[0].parent)
    assert "mine" in succeed("sources")
    plans: list[ReadingPlan] = []

    def planned(*arguments: Any) -> ReadingPlan:
        plans.append(plan_reading(*arguments))
        return plans[-1]

    monkeypatch.setattr("assets.ingest.update.plan_reading", planned)
    assert succeed("ingest", loaded[0].parents[1] / "mine.swf", "--time-zone", "Europe/Berlin") == loaded[1]
    assert plans == [ReadingPlan(unchanged=1)] and ledger(tmp_path / "home") == before


def test_models_and_histories_are_restored(finished: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = Home(tmp_path / "first")
    shutil.copytree(finished.folder, first.folder, dirs_exist_ok=True)
    second = Home(tmp_path / "second")
    with monkeypatch.context() as patch:
        use_home(patch, first.folder)
        assert "warning" not in call("backup", tmp_path / "a.tar.zst").stderr
        replayed = succeed("replay", SOURCE, *TASK)
        history = succeed("models", SOURCE)
    with monkeypatch.context() as patch:
        use_home(patch, second.folder)
        succeed("restore", tmp_path / "a.tar.zst")
        assert_same_tables(first.tables(), second.tables())
        assert succeed("replay", SOURCE, *TASK) == replayed
        assert succeed("models", SOURCE) == history


def test_a_key_is_told(saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_home(monkeypatch, tmp_path / "first")
    (tmp_path / "first" / "pseudonym.key").write_text("0" * 64)
    printed = succeed("backup", saved, "--replace")
    assert "It holds the key of pseudonyms. Only you may read it (mode 0600)" in printed
    assert saved.stat().st_mode & 0o777 == 0o600


def test_missing_models_are_told(finished: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(finished.folder, tmp_path / "home")
    shutil.rmtree(tmp_path / "home" / "warehouse" / "data" / "models")
    use_home(monkeypatch, tmp_path / "home")
    assert (
        "model files in use are missing or damaged, also in the archive: models/"
        in call("backup", tmp_path / "a").stderr
    )


def test_faults_are_told_in_a_line(saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_home(monkeypatch, tmp_path / "first")
    assert "Give another name, or --replace" in fail("backup", saved)
    assert "is not empty" in fail("restore", saved)
    (tmp_path / "b").write_text("text")
    assert "no archive of `tracehouse backup`" in fail("restore", tmp_path / "b", "--replace")
    with file_lock(tmp_path / "first" / "warehouse" / "data" / ".mine.ingest.lock"):
        assert f"another writer (process {os.getpid()}, " in fail("restore", saved, "--replace")
    use_home(monkeypatch, tmp_path / "empty")
    assert "no warehouse yet" in fail("backup", tmp_path / "c")


def test_any_command_finishes_a_restore_that_was_killed(
    saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    monkeypatch.setenv("TRACEHOUSE_HOME", str(home))
    monkeypatch.delenv("TRACEHOUSE_SOURCES")
    journal = home / "warehouse" / "data" / "restore.journal"
    for operation in range(40, 80):
        shutil.rmtree(home, ignore_errors=True)
        assert killed_at(lambda: call("restore", saved), operation)
        if journal.exists():
            break
    assert journal.exists()
    assert "mine" in succeed("sources")
    assert not journal.exists()


# export: `tracehouse export`: which file it writes, and of which jobs.


@pytest.fixture
def busy(catalogue: Path, tmp_path: Path) -> Path:
    """A folder, and in the home the source `busy`: 400 jobs of two months in queues, and their replay `fcfs`."""
    log = tmp_path / "busy.swf"
    log.write_text(in_queues(busy_log(days=60)))
    succeed("ingest", log, "--name", "busy")
    succeed("replay", "busy", "--policy", "FCFS", "--backfill", "none", "--save", "fcfs")
    return tmp_path


def test_export_never_writes_over_a_log(loaded: tuple[Path, str]) -> None:
    """What is exported has no rejected lines, and the log may be the only copy of them."""
    log = load_catalogue().source("mine").path
    assert log is not None
    before = log.read_bytes()
    assert "this is where the log of source 'mine' is" in fail("export", "mine", log)
    assert log.read_bytes() == before


def test_a_name_that_tells_no_format_is_refused(loaded: tuple[Path, str], tmp_path: Path) -> None:
    assert "its name tells no format" in fail("export", "mine", tmp_path / "jobs.json")
    succeed("export", "mine", tmp_path / "jobs.json", "--format", "swf")
    assert (tmp_path / "jobs.json").read_text().startswith("; MaxProcs: 8")


def test_the_part_that_is_exported_is_the_part_that_is_scored(busy: Path) -> None:
    for part in (["--period", "last-month"], ["--queue", "7"], ["--user", "3", "--from", "2026-01-20"]):
        scored = told_of("busy", *part)
        done = call("export", "busy", busy / "part.swf.gz", *part)
        jobs = int(re.findall(r"wrote ([\d,]+) jobs", done.stderr)[0].replace(",", ""))
        assert 0 < jobs < 400 and jobs == scored["scored_jobs"], done.stderr
        for name in ("part.parquet", "part.csv"):
            succeed("export", "busy", busy / name, *part)
        assert pl.read_parquet(busy / "part.parquet").height == pl.read_csv(busy / "part.csv").height == jobs
    assert "no job queue long: the commonest are" in fail("export", "busy", busy / "none.parquet", "--queue", "long")
    assert not (busy / "none.parquet").exists()


def test_a_saved_run_is_exported(busy: Path) -> None:
    succeed("export", "busy", busy / "run.parquet", "--run", "fcfs")
    run = pl.read_parquet(busy / "run.parquet")
    assert run.height == 400 and set(run["run"]) == {"fcfs"}
    told = told_of("busy", "--policy", "FCFS", "--backfill", "none")
    assert run["wait_s"].mean() == pytest.approx(told["average_wait_s"])
    assert "saved runs are: fcfs" in fail("export", "busy", busy / "run.csv", "--run", "easy")
    assert "SWF holds what was logged" in fail("export", "busy", busy / "run.swf", "--run", "fcfs")


# export: The name of a file tells its format.


@pytest.mark.parametrize(
    ("name", "file_format"),
    [("a.swf", "swf"), ("a.SWF.GZ", "swf"), ("a.b.parquet", "parquet"), ("a.csv", "evalys")],
)
def test_names_tell_formats(name: str, file_format: str) -> None:
    assert format_of(Path(name)) == file_format


def test_other_names_tell_none() -> None:
    for name in ("a.json", "a.csv.gz", "parquet", "swf"):
        with pytest.raises(ValueError, match=r"its name tells no format: let it end in \.swf"):
            format_of(Path(name))
