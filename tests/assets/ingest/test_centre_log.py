"""A log of years is scheduled and written in parts, as if it were done at once."""

from __future__ import annotations

import hashlib
from datetime import datetime
from itertools import islice
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pytest

from assets.ingest.centre_log import scheduled, write_centre_log
from simulator.engine.replay import replay
from simulator.jobs.jobs import jobs_from_log
from traces.common.log import log_files
from traces.swf.reader import header_value, read_swf
from traces.synthetic.centre import CENTRES, CentreOptions
from traces.synthetic.weeks import job_weeks

JOBS = 60_000


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
