"""Logs of generated sources: written once, complete or not at all."""

from __future__ import annotations

import hashlib
import os
from datetime import datetime
from itertools import islice
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pytest

from assets.ingest.generated import generated_log, scheduled, write_centre_log, written_once
from simulator.engine.replay import replay
from simulator.jobs.jobs import jobs_from_log
from traces.catalogue.sources import Source
from traces.common.log import log_files
from traces.pbs.reader import read_pbs
from traces.swf.reader import header_value, read_swf
from traces.synthetic.centre import CENTRES, CentreOptions
from traces.synthetic.weeks import job_weeks

OPTIONS = {"jobs": 60, "seed": 3}
JOBS = 60_000


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))


def test_a_folder_is_filled_once() -> None:
    calls = []

    def write(folder: Path) -> None:
        calls.append(folder)
        (folder / "x").write_text("content")

    first = written_once("mine", "recipe", write)
    assert written_once("mine", "recipe", write) == first and len(calls) == 1
    assert (first / "x").read_text() == "content" and first.name.startswith("mine-")
    assert written_once("mine", "another", write) != first


def test_what_a_killed_run_has_left_goes_after_an_hour() -> None:
    folder = written_once("mine", "recipe", lambda folder: None)
    for name, age_s in (("old.1.part", 4000), ("new.1.part", 10)):
        (folder.parent / name).mkdir()
        before = folder.stat().st_mtime - age_s
        os.utime(folder.parent / name, (before, before))
    written_once("mine", "another", lambda folder: None)
    assert [path.name for path in folder.parent.glob("*.part")] == ["new.1.part"]


def test_a_run_that_fails_leaves_no_log() -> None:
    def write(folder: Path) -> None:
        (folder / "x").write_text("half")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        written_once("mine", "recipe", write)
    folder = written_once("mine", "recipe", lambda folder: None)
    assert not list(folder.iterdir())


@pytest.mark.parametrize("log_format", ["swf", "pbs"])
def test_a_generated_log_is_read_as_a_real_one(log_format: str) -> None:
    source = Source("drawn", log_format, None, procs=32, time_zone="Asia/Tokyo", generator=OPTIONS)
    path = generated_log(source)
    logs = [(read_swf if log_format == "swf" else read_pbs)(file) for file in log_files(path)]
    assert sum(log.accepted for log in logs) == 60 and not any(log.rejected for log in logs)
    if log_format == "swf":
        assert header_value(logs[0].header, "MaxProcs") == 32
    assert generated_log(source) == path


def test_a_log_after_a_model_is_a_folder_of_months() -> None:
    options = {"model": "lemhi", "jobs": 300, "seed": 3}
    source = Source("large", "swf", None, procs=20_160, time_zone="America/Boise", generator=options)
    path = generated_log(source)
    assert [file.name for file in log_files(path)] == ["large-2019-01.swf"]
    assert read_swf(log_files(path)[0]).accepted == 300
    assert generated_log(source) == path


def hashes(folder: Path) -> dict[str, str]:
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in log_files(folder)}


@pytest.mark.parametrize("model", CENTRES)
def test_parts_are_scheduled_as_the_whole(model: str) -> None:
    options = CentreOptions(model, 4, JOBS)
    jobs, procs = pl.concat(job_weeks(options)), options.centre.procs
    columns = (jobs[name].to_numpy() for name in ("submit_s", "runtime_s", "procs", "requested_walltime_s"))
    whole = replay(jobs_from_log(*columns), procs, "FCFS", "easy").start
    assert (whole > jobs["submit_s"].to_numpy()).mean() > 0.1  # there are queues to be handed on
    for parts in (job_weeks(options), jobs.iter_slices(997), iter([jobs])):
        in_parts = pl.concat(scheduled(parts, procs))
        assert in_parts.drop("start_s").equals(jobs)
        assert (in_parts["start_s"].to_numpy() == whole).all()


def test_the_memory_of_a_schedule_is_that_of_a_part() -> None:
    """Jobs go as soon as all before them have started: what is held does not grow with the log."""
    options = CentreOptions("falcon", 4)
    come = went = most = 0

    def counted():
        nonlocal come, most
        for week in islice(job_weeks(options), 30):
            come += week.height
            most = max(most, come - went)
            yield week

    for jobs in scheduled(counted(), options.centre.procs):
        went += jobs.height
    assert come == went > 1_000_000 and most < 400_000


def test_the_log_is_one_file_a_month_with_all_jobs(tmp_path: Path) -> None:
    options = CentreOptions("falcon", 4, JOBS)
    assert write_centre_log(options, tmp_path, "large") == JOBS
    files = log_files(tmp_path)
    assert [file.name for file in files] == ["large-2014-09.swf", "large-2014-10.swf"]
    logs = [read_swf(file) for file in files]
    assert sum(log.accepted for log in logs) == JOBS and not any(log.rejected for log in logs)
    zone = ZoneInfo("America/Boise")
    zero = int(datetime(2014, 9, 24, tzinfo=zone).timestamp())
    october = int(datetime(2014, 10, 1, tzinfo=zone).timestamp()) - zero
    for log in logs:
        assert header_value(log.header, "UnixStartTime") == zero
        assert (header_value(log.header, "MaxProcs"), header_value(log.header, "MaxNodes")) == (34_992, 972)
    assert logs[0].records["submit_s"].to_numpy().max() < october <= logs[1].records["submit_s"].to_numpy().min()
    records = pl.concat(log.records for log in logs)
    jobs = pl.concat(job_weeks(options))
    assert records["allocated_procs"].equals(records["requested_procs"])
    assert records.select("submit_s", "runtime_s", "user_id", "group_id", "executable", "queue", "status").equals(
        jobs.select("submit_s", "runtime_s", "user_id", "group_id", "executable", "queue", "status")
    )
    assert (records["wait_s"] >= 0).all() and records["wait_s"].to_numpy().max() > 3600


def test_no_more_than_the_cluster_is_in_use(tmp_path: Path) -> None:
    options = CentreOptions("lemhi", 1, JOBS)
    write_centre_log(options, tmp_path, "large")
    records = pl.concat(read_swf(file).records for file in log_files(tmp_path))
    start = (records["submit_s"] + records["wait_s"]).to_numpy()
    end, procs = start + records["runtime_s"].to_numpy(), records["allocated_procs"].to_numpy()
    moments = np.concatenate([end, start])  # at the same second ends come first
    in_use = np.cumsum(np.concatenate([-procs, procs])[np.argsort(moments, kind="stable")])
    assert in_use.max() == options.centre.procs and in_use.min() == 0


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        (tmp_path / name).mkdir()
        write_centre_log(CentreOptions("lemhi", seed, 5_000), tmp_path / name, "large")
    a, b, c = (hashes(tmp_path / name) for name in "abc")
    assert a == b and len(a) == 1 and a != c
