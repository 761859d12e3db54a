"""A correction in the catalogue mends rows of files that are gone, as if they could be read again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.assets.ingest.incremental import CHECKS, Log, OpenWarehouse, ended, faults, queued, requeued, started
from tests.tiny import assert_same_tables
from tests.traces.slurm.slurm_lines import document, job_line, step_line
from traces.common.log import LogError
from traces.common.pseudonyms import DEFAULT_KINDS
from traces.slurm.reader import SLURM_READER_VERSION


@pytest.fixture(scope="module")
def emptied(tmp_path_factory: pytest.TempPathFactory) -> OpenWarehouse:
    return OpenWarehouse(tmp_path_factory.mktemp("warehouse"))


@pytest.fixture
def warehouse(emptied: OpenWarehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenWarehouse]:
    """The same for all tests, without what others have left in it: making one takes longer than most of them."""
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    yield emptied
    Log(emptied, tmp_path / "over").forget()


def pbs_log(warehouse: OpenWarehouse, folder: Path, **options: Any) -> Log:
    """Two days of a PBS server; the widest job has 16 processors."""
    log = Log(warehouse, folder, **options)
    log.write("1", *(queued(k, k) + started(k, k, k + 5) + ended(k, k, k + 5, 90_000, procs=k) for k in (4, 8, 16)))
    log.write("1", (log.folder / "1").read_bytes(), requeued(4, 4, 4, 5), "no record\n")
    log.write("2", ended(20, 90_000, 90_010, 95_000, procs=2))
    return log


def slurm_log(warehouse: OpenWarehouse, folder: Path, **options: Any) -> Log:
    """Two dumps of sacct with local times; the nights in which clocks change are in the first."""
    log = Log(warehouse, folder, "slurm", **options)
    nights = ("2024-03-31T01:30:00", "2024-03-31T03:30:00", "2024-10-27T01:30:00", "2024-10-27T02:30:00")
    lines = [
        job_line(JobID=f"{k}", JobIDRaw=f"{k}", Submit=night, Eligible=night, Start=night, End="2024-12-01T10:00:00")
        for k, night in enumerate(nights, 1)
    ]
    lines.append(job_line(JobID="9", JobIDRaw="9", NCPUS="64", ReqCPUS="64"))
    log.write("1.psv", document(*lines, step_line("1.batch", MaxRSS="5M")))
    log.write("2.psv", document(job_line(JobID="20", JobIDRaw="20", NCPUS="2", ReqCPUS="2")))
    return log


LOGS = {"pbs": pbs_log, "slurm": slurm_log}


@pytest.mark.parametrize("log_format", LOGS)
@pytest.mark.parametrize(
    ("before", "changes"),
    [
        ({}, {"procs": 8, "drop_wider": True}),
        ({"procs": 8, "drop_wider": True}, {"procs": 64}),
        ({"procs": 8, "drop_wider": True}, {"procs": 4}),
        ({"procs": 8, "drop_wider": True}, {"procs": None, "drop_wider": False}),
        ({}, {"pseudonyms": DEFAULT_KINDS}),
        ({"pseudonyms": ("user",)}, {"pseudonyms": ("user", "job")}),
        ({"time_zone": "Asia/Tokyo"}, {"time_zone": "UTC"}),
        ({"time_zone": "Asia/Tokyo"}, {"time_zone": "Europe/Berlin"}),
        ({"time_zone": "America/New_York"}, {"time_zone": "Europe/Berlin", "procs": 16, "drop_wider": True}),
    ],
)
def test_rows_of_a_file_that_is_gone_become_those_of_reading_it(
    warehouse: OpenWarehouse, tmp_path: Path, log_format: str, before: dict[str, Any], changes: dict[str, Any]
) -> None:
    log = LOGS[log_format](warehouse, tmp_path, **before)
    log.ingest()
    jobs = len(log.jobs("job_id"))
    gone = sorted(log.folder.iterdir())[0].rename(tmp_path / "gone")
    log.source = replace(log.source, **changes)
    done = log.ingest()
    corrected = log.tables()
    assert done.files["gone"] == 1
    if "procs" not in changes:
        assert len(log.jobs("job_id")) == jobs
    gone.rename(log.folder / ("1" if log_format == "pbs" else "1.psv"))
    fresh = log.fresh()
    assert corrected["raw.log_files"]["outdated"].to_list() == [None, None]
    for tables in (corrected, fresh):  # a line that was accepted is gone, so that its reject has the record instead
        tables["raw.rejects"] = tables["raw.rejects"].with_columns(
            text=pl.when(pl.col("reason").str.starts_with("wider")).then(None).otherwise("text")
        )
        tables["raw.log_files"] = tables["raw.log_files"].drop("modified_ns")
    assert_same_tables(corrected, fresh)


@pytest.mark.parametrize("log_format", LOGS)
def test_a_correction_that_was_wrong_is_corrected(warehouse: OpenWarehouse, tmp_path: Path, log_format: str) -> None:
    log = LOGS[log_format](warehouse, tmp_path)
    log.ingest()
    before = log.tables()
    for path in list(log.folder.iterdir())[:1]:
        path.unlink()
    right = log.source
    for wrong in ({"procs": 2, "drop_wider": True}, {"procs": 3, "drop_wider": True, "time_zone": "Asia/Tokyo"}):
        log.source = replace(right, **wrong)
        log.ingest()
        assert len(log.jobs("job_id")) < before["core.jobs"].height
    log.source = right
    log.ingest()
    assert_same_tables(log.tables(), before)


def test_a_job_that_is_too_wide_and_gone_is_an_error_that_changes_nothing(
    warehouse: OpenWarehouse, tmp_path: Path
) -> None:
    log = pbs_log(warehouse, tmp_path)
    log.ingest()
    before = log.tables()
    (log.folder / "1").unlink()
    log.source = replace(log.source, procs=8)
    with pytest.raises(LogError, match=r"1:9: a job of 16 processors on a cluster of 8 .*the file is gone"):
        log.ingest()
    assert_same_tables(log.tables(), before)


def test_another_format_is_an_error_where_files_are_gone(warehouse: OpenWarehouse, tmp_path: Path) -> None:
    log = pbs_log(warehouse, tmp_path)
    log.ingest()
    before = log.tables()
    (log.folder / "1").unlink()
    log.write("2", document(job_line()))
    log.source = replace(log.source, format="slurm")
    with pytest.raises(LogError, match="the jobs of 1, which is gone, were read as pbs, and the log is slurm now"):
        log.ingest()
    assert_same_tables(log.tables(), before)


@pytest.mark.parametrize(
    ("log_format", "before", "changes", "reason"),
    [
        ("pbs", {"pseudonyms": ("user", "job")}, {"pseudonyms": ("user",)}, "pseudonyms kept for job"),
        ("slurm", {}, {"columns": "JobID"}, "columns read as the header says"),
    ],
)
def test_what_cannot_be_corrected_is_in_the_ledger(
    warehouse: OpenWarehouse,
    tmp_path: Path,
    log_format: str,
    before: dict[str, Any],
    changes: dict[str, Any],
    reason: str,
) -> None:
    log = LOGS[log_format](warehouse, tmp_path, **before)
    log.ingest()
    rows = log.tables()["core.jobs"].height
    sorted(log.folder.iterdir())[0].unlink()
    log.source = replace(log.source, **changes)
    for _ in range(2):
        log.ingest()
        assert log.rows("SELECT outdated FROM raw.log_files WHERE source = $source ORDER BY file") == [
            (reason,),
            (None,),
        ]
    assert log.tables()["core.jobs"].height == rows


def test_local_times_that_no_clock_told_apart_are_counted(warehouse: OpenWarehouse, tmp_path: Path) -> None:
    """03:30 was written in Berlin's night without a hour from 2 to 3; read as Berlin's, 02:30 gives the same second."""
    log = slurm_log(warehouse, tmp_path, time_zone="Europe/Berlin")
    log.ingest()
    (log.folder / "1.psv").unlink()
    log.source = replace(log.source, time_zone="UTC")
    corrected = log.ingest().corrected
    assert corrected.files == 1
    assert corrected.counts["times in an hour that a clock has twice or skips"] == 3
    assert "times read in UTC instead of Europe/Berlin" in str(corrected)


def test_unix_seconds_stay_in_every_time_zone(warehouse: OpenWarehouse, tmp_path: Path) -> None:
    log = Log(warehouse, tmp_path, "slurm", time_zone="Asia/Tokyo")
    times = {"Submit": "1700000000", "Eligible": "1700000000", "Start": "1700000100", "End": "1700003700"}
    log.write("1.psv", document(job_line(**times)))
    log.write("2.psv", document(job_line(JobID="2", JobIDRaw="2", **times)))
    log.ingest()
    (log.folder / "1.psv").unlink()
    log.source = replace(log.source, time_zone="UTC")
    log.ingest()
    assert log.rows("SELECT DISTINCT submit_s, end_s FROM raw.slurm_jobs WHERE source = $source") == [
        (1_700_000_000, 1_700_003_700)
    ]


def test_counts_add_up_after_every_correction(warehouse: OpenWarehouse, tmp_path: Path) -> None:
    log = pbs_log(warehouse, tmp_path)
    log.ingest()
    (log.folder / "1").unlink()
    for procs in (16, 4, 8, 2, 16):
        log.source = replace(log.source, procs=procs, drop_wider=True)
        log.ingest()
        assert faults(log.warehouse, "mine", CHECKS) == []
        widths = [procs for (procs,) in log.jobs("procs")]
        assert widths == [width for width in (4, 8, 16, 2) if width <= procs]


@pytest.mark.parametrize("log_format", LOGS)
def test_pseudonyms_that_were_switched_off_and_on_are_those_of_reading_the_file(
    warehouse: OpenWarehouse, tmp_path: Path, log_format: str
) -> None:
    """Pseudonyms are never pseudonyms of pseudonyms, and no name comes back readable."""
    log = LOGS[log_format](warehouse, tmp_path, pseudonyms=("user", "job"), procs=8, drop_wider=True)
    log.ingest()
    gone = sorted(log.folder.iterdir())[0].rename(tmp_path / "gone")
    for changes, outdated in (
        ({"pseudonyms": ()}, "pseudonyms kept for job, user"),
        ({"procs": 64}, "pseudonyms kept for job, user"),  # takes back jobs, whose names are readable
        ({"pseudonyms": ("user",)}, "pseudonyms kept for job"),
        ({"pseudonyms": ("user", "job")}, None),
    ):
        log.source = replace(log.source, **changes)
        log.ingest()
        assert log.rows("SELECT outdated FROM raw.log_files WHERE source = $source ORDER BY file")[0] == (outdated,)
        assert not log.ingest().corrected.files
    corrected = log.tables()
    gone.rename(log.folder / ("1" if log_format == "pbs" else "1.psv"))
    fresh = log.fresh()
    for table in ("core.jobs", "raw.rejects"):
        assert_same_tables({table: corrected[table]}, {table: fresh[table]})


def test_columns_that_were_given_and_taken_away_leave_nothing_outdated(
    warehouse: OpenWarehouse, tmp_path: Path
) -> None:
    log = slurm_log(warehouse, tmp_path)
    log.ingest()
    (log.folder / "1.psv").unlink()
    right = log.source
    for columns, outdated in (("JobID", "columns read as the header says"), ("", None)):
        log.source = replace(right, columns=columns)
        log.ingest()
        assert log.rows("SELECT outdated FROM raw.log_files WHERE source = $source ORDER BY file")[0] == (outdated,)


def test_times_that_nobody_noted_as_local_stay_and_say_so(warehouse: OpenWarehouse, tmp_path: Path) -> None:
    """Rows of the first reader do not tell which times were local."""
    log = slurm_log(warehouse, tmp_path, time_zone="Asia/Tokyo")
    log.ingest()
    (log.folder / "1.psv").unlink()
    log.warehouse.connection.execute(  # type: ignore[attr-defined]
        "UPDATE raw.slurm_jobs SET local_times = NULL; UPDATE raw.log_files SET version = 'slurm-1/jobs-0'"
    )
    before = log.rows("SELECT submit_s FROM raw.slurm_jobs WHERE source = $source AND file = '1.psv' ORDER BY line")
    for zone, outdated in (
        ("UTC", "; times read in Asia/Tokyo"),
        ("Asia/Tokyo", ""),
        ("UTC", "; times read in Asia/Tokyo"),
    ):
        log.source = replace(log.source, time_zone=zone)
        log.ingest()
        (text,) = log.rows("SELECT outdated FROM raw.log_files WHERE source = $source AND file = '1.psv'")[0]
        assert text == f"read by slurm-1, and not by slurm-{SLURM_READER_VERSION}{outdated}"
        rows = log.rows("SELECT submit_s FROM raw.slurm_jobs WHERE source = $source AND file = '1.psv' ORDER BY line")
        assert rows == before


@pytest.mark.parametrize("log_format", LOGS)
def test_a_hash_that_fits_no_settings_hides_names_and_says_so(
    warehouse: OpenWarehouse, tmp_path: Path, log_format: str
) -> None:
    """Half of the names are pseudonyms already; the settings of the file are not known."""
    log = LOGS[log_format](warehouse, tmp_path, pseudonyms=("user",))
    log.ingest()
    gone = sorted(log.folder.iterdir())[0].rename(tmp_path / "gone")
    with log.warehouse.write() as connection:
        connection.execute("UPDATE raw.log_files SET settings = '0123456789abcdef'")
    log.source = replace(log.source, pseudonyms=("user", "job"))
    done = log.ingest()
    assert done.files["read"] == 1 and done.corrected.files == 1  # the other file is there, so it is read again
    query = "SELECT outdated FROM raw.log_files WHERE source = $source ORDER BY file"
    assert log.rows(query) == [("settings of then unknown",), (None,)]
    corrected = {"core.jobs": log.tables()["core.jobs"]}
    assert not log.ingest().corrected.files
    assert log.rows(query) == [("settings of then unknown",), (None,)]
    gone.rename(log.folder / ("1" if log_format == "pbs" else "1.psv"))
    assert_same_tables(corrected, {"core.jobs": log.fresh()["core.jobs"]})
    log.ingest()
    assert log.rows(query) == [(None,), (None,)]
