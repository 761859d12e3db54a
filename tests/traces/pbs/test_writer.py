"""The PBS writer is the inverse of the reader, in every time zone."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import polars as pl
import pytest

from traces.pbs.reader import read_pbs
from traces.pbs.writer import write_pbs


def some_jobs(first_submit: int, step_s: int, count: int) -> pl.DataFrame:
    """Jobs of 30 minutes to a day, one every `step_s` seconds, one to 40 processors."""
    numbers = range(1, count + 1)
    return pl.DataFrame(
        {
            "job_number": list(numbers),
            "submit_s": [first_submit + number * step_s for number in numbers],
            "start_s": [first_submit + number * step_s + 60 * (number % 5) for number in numbers],
            "runtime_s": [1800 * (1 + number % 48) for number in numbers],
            "procs": [1 + number % 40 for number in numbers],
            "requested_walltime_s": [3600 * (1 + number % 120) for number in numbers],
            "user": [f"u{number % 7:03d}" for number in numbers],
            "group": [f"g{number % 3:02d}" for number in numbers],
            "queue": [("short", "normal")[number % 2] for number in numbers],
            "executable": [f"app{number % 11:03d}" for number in numbers],
        }
    )


@pytest.mark.parametrize(
    ("time_zone", "around"),
    [
        ("UTC", "2026-03-08T00:00+00:00"),
        ("America/Denver", "2026-03-08T09:00+00:00"),  # 02:00 becomes 03:00
        ("America/Denver", "2026-11-01T08:00+00:00"),  # 02:00 becomes 01:00
        ("Europe/Stockholm", "2026-10-25T01:00+00:00"),
        ("Australia/Lord_Howe", "2026-04-04T15:00+00:00"),  # by half an hour
        ("America/Santiago", "2026-09-06T04:00+00:00"),  # at midnight: the day begins at 01:00
        ("Asia/Kathmandu", "2026-01-01T00:00+00:00"),  # 05:45 ahead
        ("Pacific/Apia", "2011-12-30T10:00+00:00"),  # a day that never was
    ],
)
def test_what_is_written_is_read_again_in_every_time_zone(tmp_path: Path, time_zone: str, around: str) -> None:
    jobs = some_jobs(int(datetime.fromisoformat(around).timestamp()) - 86_400, 1800, 96)
    paths = write_pbs(jobs, tmp_path, time_zone, "head1")
    assert paths == sorted(tmp_path.iterdir())
    logs = [read_pbs(path) for path in paths]
    records = pl.concat([log.records for log in logs]).sort("ctime_s")

    assert sum(log.rejected for log in logs) == 0
    assert sum(log.kept for log in logs) == jobs.height
    assert records["job_id"].to_list() == [f"{number}.head1" for number in jobs["job_number"]]
    killed = jobs["runtime_s"] >= jobs["requested_walltime_s"]
    for column, expected in {
        "user_name": jobs["user"], "group_name": jobs["group"], "account": jobs["group"], "queue": jobs["queue"],
        "job_name": jobs["executable"], "ctime_s": jobs["submit_s"], "etime_s": jobs["submit_s"],
        "start_s": jobs["start_s"], "end_s": jobs["start_s"] + jobs["runtime_s"], "procs": jobs["procs"],
        "requested_procs": jobs["procs"], "requested_walltime_s": jobs["requested_walltime_s"],
        "used_walltime_s": jobs["runtime_s"], "used_cpu_s": jobs["runtime_s"] * jobs["procs"],
        "exit_status": killed.replace_strict({True: -29, False: 0}),
    }.items():  # fmt: skip
        assert records[column].to_list() == expected.to_list(), column

    zone = ZoneInfo(time_zone)
    for path, log in zip(paths, logs, strict=True):
        ends = [datetime.fromtimestamp(end, UTC).astimezone(zone) for end in log.records["end_s"].to_list()]
        assert {f"{end:%Y%m%d}" for end in ends} <= {path.name}
        written = path.read_text().splitlines()
        assert {f"{line[6:10]}{line[:2]}{line[3:5]}" for line in written} == {path.name}
        assert [written[line - 1][:19] for line in log.records["line"]] == [f"{end:%m/%d/%Y %H:%M:%S}" for end in ends]


def test_files_are_named_by_the_local_day_across_a_change_of_clocks(tmp_path: Path) -> None:
    """Denver leaves winter time on 8 March 2026: that day ends at 05:59:59 UTC and the one before at 06:59:59 UTC."""
    ends = ["2026-03-08T06:59:59", "2026-03-08T07:00:00", "2026-03-09T05:59:59", "2026-03-09T06:00:00"]
    seconds = [int(datetime.fromisoformat(end).replace(tzinfo=UTC).timestamp()) for end in ends]
    jobs = some_jobs(0, 1, 4).with_columns(
        submit_s=pl.Series(seconds) - 20, start_s=pl.Series(seconds) - 10, runtime_s=pl.lit(10)
    )
    paths = write_pbs(jobs, tmp_path, "America/Denver", "head1")
    found = {path.name: [job.partition(".")[0] for job in read_pbs(path).records["job_id"].to_list()] for path in paths}
    assert found == {"20260307": ["1"], "20260308": ["2", "3"], "20260309": ["4"]}
    started = {path.name: path.read_text().count(";S;") for path in paths}
    assert started == {"20260307": 2, "20260308": 2, "20260309": 0}  # two of the four started the day before
