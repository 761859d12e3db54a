"""`tracehouse export`: which file it writes, and of which jobs."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

from tests.pipelines.command_line import call, fail, succeed, told_of
from tests.tiny import busy_log, in_queues
from traces.catalogue.catalogue import load_catalogue


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
