"""Canonical jobs of SWF: times with fractions, jobs that ran in parts, and times that are far away."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import polars as pl
import pytest

from assets.ingest import canonical_jobs
from assets.sharing.job_files import export_swf
from tests.assets.ingest.incremental import Log, OpenWarehouse
from tests.shared import shared_file
from tests.tiny import swf_line

DAY = 86_400
HEADER = "; UnixStartTime: 1767225600\n; MaxProcs: 8\n"
TIMES = "job_id", "epoch(submit_time)::BIGINT", "wait_s", "runtime_s", "procs", "requested_walltime_s"


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> OpenWarehouse:
    return OpenWarehouse(tmp_path_factory.mktemp("warehouse"))


@pytest.fixture
def log(warehouse: OpenWarehouse, tmp_path: Path) -> Iterator[Log]:
    log = Log(warehouse, tmp_path, "swf")
    yield log
    log.forget()


def outcomes(log: Log) -> dict[tuple[str, str], int]:
    rows = log.rows("SELECT outcome, reason, lines FROM raw.line_counts WHERE source = $source")
    return {(outcome, reason): lines for outcome, reason, lines in rows}


def test_times_with_fractions_become_whole_seconds(log: Log) -> None:
    log.write("a.swf", shared_file("cases", "swf-fractional-times.swf").read_bytes())
    log.ingest()
    assert log.jobs(*TIMES) == [
        ("0", 0, 0, 89, 1, 149),
        ("10", 5, 0, 266, 2, 399),
        ("2050", 2740, 0, 7, 2, 67),
        ("4100", 5684, 0, 152, 4, 228),
        ("6150", 8217, 0, 88, 1, 149),
    ]


def test_a_job_that_follows_on_another_still_does(log: Log) -> None:
    """On a cluster of 2 processors: rounding every field for itself would have both running in one second."""
    log.write("a.swf", "; MaxProcs: 2\n1 0.3 0 2.3 2" + " -1" * 13 + "\n2 0.4 2.2 9.9 2" + " -1" * 13 + "\n")
    log.ingest()
    ((_, start, runtime), (_, next_start, _)) = log.jobs("job_id", "epoch(start_time)::BIGINT", "runtime_s")
    assert start + runtime == next_start
    assert log.rows("SELECT max(peak_procs) FROM core.capacity WHERE source = $source") == [(2,)]


def test_parts_of_a_job_that_has_a_line_as_a_whole_are_kept_aside(log: Log, tmp_path: Path) -> None:
    log.write("a.swf", shared_file("cases", "swf-partial-executions.swf").read_bytes())
    log.ingest()
    assert log.jobs("job_id", "runtime_s", "status") == [
        ("1", 100, "completed"), ("2", 50, "completed"), ("3", 50, "failed"),
    ]  # fmt: skip
    aside = "SELECT job_id, line, reason FROM core.repeats WHERE source = $source ORDER BY line"
    assert log.rows(aside) == [("1", 7, "partial execution"), ("3", 11, "partial execution")]
    assert outcomes(log) == {
        ("accepted", "job"): 5, ("ignored", "comment"): 5, ("ignored", "partial execution without a submission"): 1,
    }  # fmt: skip
    jobs = log.jobs("* EXCLUDE (file, line)")
    assert export_swf(log.warehouse, "mine", tmp_path / "out.swf") == 3
    written = (tmp_path / "out.swf").read_text()
    assert "; MaxJobs: 3\n; MaxRecords: 5\n" in written
    (log.folder / "a.swf").unlink()
    log.forget()
    log.write("b.swf", written)
    log.ingest()
    assert log.jobs("* EXCLUDE (file, line)") == jobs


@pytest.mark.parametrize("slice_rows", [1, 500_000])
def test_what_is_a_part_depends_on_the_lines_of_the_same_file_only(
    log: Log, slice_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(canonical_jobs, "SLICE_ROWS", slice_rows)
    parts = swf_line(1, 0, 5, 10, 4, status=2) + swf_line(2, 9 * DAY, 5, 20, 4, status=4)
    log.write("a.swf", HEADER + parts)  # no line of either job as a whole
    log.ingest()
    assert log.jobs("job_id", "status") == [("1", "unknown"), ("2", "unknown")]
    log.write("b.swf", HEADER + swf_line(2, 9 * DAY, 5, 50, 4))  # another log's job 2
    log.ingest()
    assert [job for (job,) in log.jobs("job_id")] == ["1", "2", "2"]
    log.write("a.swf", HEADER + parts + swf_line(2, 3 * DAY, 5, 70, 4, status=0) + swf_line(1, 0, 5, 10, 4, status=3))
    log.ingest()
    assert log.jobs("job_id", "runtime_s", "status", "file") == [
        ("1", 10, "unknown", "a.swf"), ("1", 10, "unknown", "a.swf"),
        ("2", 70, "failed", "a.swf"), ("2", 50, "completed", "b.swf"),
    ]  # fmt: skip
    log.assert_like_fresh()


def test_a_duplicate_is_exported_once(log: Log, tmp_path: Path) -> None:
    """Before, one file with the lines of both was two jobs."""
    for name in ("a.swf", "b.swf"):
        log.write(name, HEADER + swf_line(1, 0, 5, 10, 4) + swf_line(2, 9, 5, 10, 4))
    log.ingest()
    assert log.rows("SELECT DISTINCT file, reason FROM core.repeats WHERE source = $source") == [("b.swf", "duplicate")]
    assert export_swf(log.warehouse, "mine", tmp_path / "out.swf") == 2


def test_one_time_that_is_far_away_makes_no_days_in_between(log: Log) -> None:
    near = swf_line(1, 0, 5, 100, 4) + swf_line(2, 40 * DAY, 5, 3 * DAY, 4)
    days = "SELECT day, peak_procs FROM core.capacity WHERE source = $source ORDER BY day"
    log.write("a.swf", HEADER + near)
    log.ingest()
    before = log.rows(days)
    assert len(before) == 44 and sum(procs == 0 for _, procs in before) == 39
    log.write(
        "b.swf", HEADER + swf_line(3, 80_000_000_000, DAY, DAY, 8) + swf_line(4, 41 * DAY + 3600, 0, 50 * 365 * DAY, 2)
    )
    log.ingest()
    after = log.rows(days)
    assert [row for row in after if row[0] < date(2026, 2, 9)] == [row for row in before if row[0] < date(2026, 2, 9)]
    assert len(after) == 44 + 1 + 3  # the end of job 4, and job 3
    assert {day.year: procs for day, procs in after if day.year > 2026} == {2076: 2, 4561: 8}
    log.assert_like_fresh()
    mean = pl.DataFrame(log.rows("SELECT mean_procs FROM core.capacity WHERE source = $source"), orient="row")
    assert mean.to_series().max() <= 8
