"""What later files say of jobs that are there already: the canonical jobs never depend on the order in which files came."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import permutations
from pathlib import Path

import pytest

from assets.common.trace import waiting_jobs
from tests.assets.ingest.incremental import (
    DAY,
    ZERO,
    Log,
    OpenWarehouse,
    aborted,
    deleted,
    ended,
    queued,
    record,
    requeued,
    started,
)  # fmt: skip
from tests.tiny import assert_same_tables, swf_line
from tests.traces.slurm.slurm_lines import document, job_line, step_line

OTHER = queued(1, 0) + started(1, 0, 10) + ended(1, 0, 10, 70)
"""A day with a job of its own: a source needs one."""


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> OpenWarehouse:
    return OpenWarehouse(tmp_path_factory.mktemp("warehouse"))


@pytest.fixture
def log(warehouse: OpenWarehouse, tmp_path: Path) -> Iterator[Log]:
    log = Log(warehouse, tmp_path)
    yield log
    log.forget()


def at(seconds: int) -> datetime:
    return datetime(2026, 3, 1) + timedelta(seconds=seconds)


def in_every_order(log: Log, *files: str) -> None:
    """Files come one by one, in each possible order, the first with a day of another job: each order ends alike. All orders that
    begin with a file go on from what it has left."""
    fresh = {}
    for first in range(len(files)):
        deliver(log, ("0", OTHER), (f"{first + 1}", files[first]))
        log.copy("mine", "begun")
        for later in permutations(k for k in range(len(files)) if k != first):
            log.copy("begun", "mine")
            for k in later:
                deliver(log, (f"{k + 1}", files[k]))
            fresh = fresh or log.fresh()
            assert_same_tables(log.tables(), fresh)
            for k in later:
                (log.folder / f"{k + 1}").unlink()
        for path in log.folder.iterdir():
            path.unlink()
        log.forget("begun")
    log.forget()


def deliver(log: Log, *files: tuple[str, str]) -> None:
    for name, content in files:
        log.write(name, content)
    log.ingest()


# whoever asks for the deletion of a job that runs cancels it; this one had also run into its limit
@pytest.mark.parametrize(("gone", "end"), [(deleted, "cancelled"), (aborted, "timeout")])
def test_a_job_that_was_deleted_before_it_started(log: Log, gone, end: str) -> None:
    told = ("job_id", "submit_time", "start_time", "end_time", "wait_s", "runtime_s", "status", "file")
    log.write("0", OTHER)
    log.write("1", queued(7, 100))
    log.ingest()
    assert len(log.jobs(*told)) == 1
    log.write("3", gone(7, 2 * DAY))
    log.ingest()
    assert log.jobs(*told)[1:] == [("7.head", at(100), None, at(2 * DAY), 2 * DAY - 100, 0, "cancelled", "3")]
    log.assert_like_fresh()
    log.write("2", started(7, 100, DAY))  # a file that was late: the job was deleted as it ran
    log.ingest()
    assert len(log.jobs(*told)) == 1
    log.assert_like_fresh()
    log.write("4", ended(7, 100, DAY, 2 * DAY + 5, status=271))
    log.ingest()
    assert log.jobs(*told)[1:] == [("7.head", at(100), at(DAY), at(2 * DAY + 5), DAY - 100, DAY + 5, end, "4")]
    log.assert_like_fresh()


def test_a_deletion_whose_job_comes_later(log: Log) -> None:
    in_every_order(log, queued(7, 100), deleted(7, 3 * DAY), queued(8, DAY) + ended(8, DAY, DAY, DAY + 9))


def test_an_end_that_comes_after_the_deletion(log: Log) -> None:
    in_every_order(log, queued(7, 100), deleted(7, 5 * DAY), ended(7, 100, 4 * DAY, 5 * DAY + 9, status=271))


def test_a_queue_record_that_is_a_second_earlier_than_the_submission(log: Log) -> None:
    """As Torque's, which tell the queue only: their time is that of their stamp."""
    said = record("Q", 7, 99, "queue=batch")
    in_every_order(log, said, deleted(7, 5 * DAY), ended(7, 100, 4 * DAY, 5 * DAY + 9, status=271))


def test_a_job_that_was_deleted_twice(log: Log) -> None:
    in_every_order(log, queued(7, 100), deleted(7, 3 * DAY), deleted(7, 2 * DAY))


def test_a_job_that_was_routed_to_another_queue_in_the_second_of_its_submission(log: Log) -> None:
    """The last of its queue records counts, by file and line."""
    route, execution = (queued(7, 100).replace("queue=q", f"queue={queue}") for queue in ("route", "main"))
    for number in range(10, 40):
        log.append("0", *(text.replace(";7.head", f";{number}.head") for text in (route, execution)))
    log.append("0", OTHER, *(deleted(number, DAY) for number in range(10, 40)))
    log.ingest()
    assert {row for row in log.jobs("queue", "status") if row[1] == "cancelled"} == {("main", "cancelled")}
    log.forget()
    (log.folder / "0").unlink()
    in_every_order(log, route, execution, deleted(7, DAY))


def test_an_id_that_is_used_again(log: Log) -> None:
    in_every_order(
        log,
        queued(7, 100) + started(7, 100, 200) + ended(7, 100, 200, 300),
        queued(7, 9 * DAY) + deleted(7, 10 * DAY),
        queued(7, 20 * DAY) + started(7, 20 * DAY, 21 * DAY) + ended(7, 20 * DAY, 21 * DAY, 22 * DAY),
    )


def test_an_id_of_a_waiting_job_that_is_used_again_before_a_deletion(log: Log) -> None:
    """The deletion is of the job that had the id last, whenever its records come."""
    in_every_order(log, queued(7, 100), queued(7, 5 * DAY), deleted(7, 10 * DAY))


def test_an_id_of_a_waiting_job_whose_next_owner_ran(log: Log) -> None:
    in_every_order(log, queued(7, 100) + deleted(7, 10 * DAY), ended(7, 5 * DAY, 6 * DAY, 6 * DAY + 100))


def test_an_array_of_which_a_task_ran_was_not_cancelled(log: Log) -> None:
    in_every_order(log, queued("7[]", 100), deleted("7[]", 3 * DAY), ended("7[2]", 100, 4 * DAY, 5 * DAY))


def test_an_array_as_a_whole_is_no_job_beside_its_tasks(log: Log) -> None:
    tasks = [ended(f"7[{k}]", 100, 200 + k, 300 + k) for k in (1, 2)]
    in_every_order(log, queued("7[]", 100) + tasks[0], tasks[1], ended("7[]", 100, 200, 302))
    log.write("0", OTHER, queued("7[]", 100), *tasks, ended("7[]", 100, 200, 302))
    log.ingest()
    assert log.jobs("job_id") == [("1.head",), ("7[1].head",), ("7[2].head",)]
    assert log.rows("SELECT lines, accepted, kept, ignored, rejected FROM raw.log_files WHERE source = $source") == [
        (7, 3, 4, 0, 0)
    ]


def test_a_cancelled_array_is_one_job_whether_its_end_was_written_or_not(log: Log) -> None:
    """The end record of an array that never started has no start."""
    unstarted = record(
        "E", "7[]", 2 * DAY, f"queue=q ctime={ZERO + 100} end={ZERO + 2 * DAY} Exit_status=271 run_count=0"
    )
    in_every_order(log, queued("7[]", 100), deleted("7[]", 2 * DAY), unstarted)
    log.write("0", OTHER, queued("7[]", 100), deleted("7[]", 2 * DAY), unstarted)
    log.ingest()
    assert log.jobs("job_id", "status", "start_time", "wait_s")[1:] == [("7[].head", "cancelled", None, 2 * DAY - 100)]


def test_an_array_that_was_deleted_as_it_ran_is_no_job(log: Log) -> None:
    """Its end record tells that it ran, even where those of its tasks are missing."""
    in_every_order(log, queued("7[]", 100), deleted("7[]", 2 * DAY), ended("7[]", 100, 200, 2 * DAY))
    log.write("0", OTHER, queued("7[]", 100), deleted("7[]", 2 * DAY), ended("7[]", 100, 200, 2 * DAY))
    log.ingest()
    assert log.jobs("job_id") == [("1.head",)]


def test_a_job_that_ended_twice(log: Log) -> None:
    """The last end is the job; the other is a repeat, and an attempt of its own."""
    first, second = ended(7, 100, 200, 300), ended(7, 100, 3 * DAY, 4 * DAY)
    in_every_order(log, queued(7, 100) + first, second, second)
    log.write("0", OTHER, second)
    log.ingest()
    log.write("1", first)
    log.ingest()
    assert log.jobs("job_id", "start_time", "run_count", "requeued_s", "file")[1:] == [
        ("7.head", at(3 * DAY), 2, 100, "0")
    ]
    assert log.rows("SELECT job_index, file, runtime_s FROM core.requeues WHERE source = $source") == [(1, "1", 100)]
    assert log.rows("SELECT job_id, start_s, file FROM core.repeats WHERE source = $source") == [
        ("7.head", ZERO + 200, "1")
    ]


def test_requeues_before_and_after_the_end_of_their_job(log: Log) -> None:
    in_every_order(
        log,
        queued(7, 100) + requeued(7, 100, DAY, DAY + 60),
        requeued(7, 100, 2 * DAY, 3 * DAY) + requeued(8, DAY, 2 * DAY, 2 * DAY + 3),
        ended(7, 100, 4 * DAY, 5 * DAY) + ended(2, 5, 6, 7),
    )


def test_jobs_of_the_same_second_keep_the_order_of_their_files(log: Log) -> None:
    in_every_order(*(log, *("".join(ended(3 * k + n, 50, 60, 70 + k) for n in range(3)) for k in range(3))))


def test_a_long_job_of_an_old_file_is_in_use_on_later_days(log: Log) -> None:
    in_every_order(
        log,
        ended(2, 500, 600, 9 * DAY, procs=64),
        ended(3, 2 * DAY, 2 * DAY, 3 * DAY + 5, procs=7),
        ended(4, 20 * DAY, 20 * DAY, 20 * DAY, procs=1),
    )


HOUR = 3600


def test_the_last_day_of_use_east_of_greenwich(log: Log) -> None:
    """It is a whole day, whenever the next one comes: job 7 ends at five in the morning, job 8 runs on the next day."""
    log.source = replace(log.source, time_zone="Asia/Tokyo")
    in_every_order(log, ended(7, 0, 10, 20 * HOUR), ended(8, 40 * HOUR, 40 * HOUR, 41 * HOUR))


def test_the_last_day_of_use_west_of_greenwich(log: Log) -> None:
    """Job 7 ends in the evening of the day before that in UTC; job 9, of a later day, uses nothing."""
    log.source = replace(log.source, time_zone="America/Los_Angeles")
    in_every_order(log, ended(7, 0, 10, 26 * HOUR), queued(9, 70 * HOUR) + deleted(9, 80 * HOUR))


SLURM_DAY = {"Submit": "2024-01-15T10:00:00", "Start": "2024-01-15T10:01:00", "End": "2024-01-15T11:01:00"}


def slurm_jobs(*numbers: int, **changes: str) -> list[str]:
    """A job a day, with a step."""
    lines = []
    for number in numbers:
        day = {name: value.replace("-15T", f"-{number}T") for name, value in SLURM_DAY.items()}
        lines.append(job_line(JobID=f"{number}", JobIDRaw=f"{number}", **(day | changes)))
        lines.append(step_line(f"{number}.batch", MaxRSS=f"{number}M"))
    return lines


def test_sacct_dumps_that_overlap(warehouse: OpenWarehouse, tmp_path: Path) -> None:
    """Each dump has the jobs of the days before it too; those that ran then are over in the next."""
    dumps = [
        document(*slurm_jobs(11, 12), *slurm_jobs(13, State="RUNNING", End="Unknown")),
        document(*slurm_jobs(12, 13), *slurm_jobs(14, State="PENDING", Start="Unknown", End="Unknown")),
        document(*slurm_jobs(13), *slurm_jobs(14, 15), *slurm_jobs(12, End="2024-01-12T12:00:00", State="FAILED")),
    ]
    fresh = {}
    for order in permutations(range(3)):
        log = Log(warehouse, tmp_path / "".join(map(str, order)), "slurm")
        for k in order:
            log.write(f"{k}.psv", dumps[k])
            log.ingest()
        fresh = fresh or log.fresh()
        assert_same_tables(log.tables(), fresh)
        assert log.jobs("job_id", "status", "used_memory_kb", "file") == [
            ("11", "completed", 11 * 1024, "0.psv"),
            ("12", "failed", 12 * 1024, "2.psv"),
            ("13", "completed", 13 * 1024, "1.psv"),
            ("14", "completed", 14 * 1024, "2.psv"),
            ("15", "completed", 15 * 1024, "2.psv"),
        ]
        log.forget()


def test_jobs_that_wait_at_the_end_of_sacct_dumps(warehouse: OpenWarehouse, tmp_path: Path) -> None:
    """Those that a later dump tells the end of are over, and a job that was requeued has started before. One that runs in a later dump has
    no row there, and was counted as if it still waited."""
    waits = {"State": "PENDING", "Start": "Unknown", "End": "Unknown", "NodeList": "None assigned"}
    log = Log(warehouse, tmp_path, "slurm")
    requeued = slurm_jobs(14, State="REQUEUED", End="2024-01-14T10:30:00")
    again = slurm_jobs(14, **waits, Submit="2024-01-14T10:30:00")
    log.write("1.psv", document(*slurm_jobs(11), *slurm_jobs(10, 12, 13, **waits), *requeued))
    runs = slurm_jobs(10, State="RUNNING", End="Unknown")
    log.write("2.psv", document(*slurm_jobs(12), *slurm_jobs(13, 15, **waits), *runs, *again))
    log.ingest()
    assert log.jobs("job_id") == [("11",), ("12",)]
    with warehouse.read() as connection:
        waiting = waiting_jobs(connection, log.source.name)
        assert set(waiting.columns) == set(connection.table("core.jobs").columns)
    assert waiting.select("job_id", "file", "start_time", "end_time", "requested_procs").rows() == [
        ("13", "2.psv", None, None, 6), ("15", "2.psv", None, None, 6),
    ]  # fmt: skip
    log.assert_like_fresh()
    log.forget()


def test_a_sacct_dump_that_is_made_anew_under_its_name(warehouse: OpenWarehouse, tmp_path: Path) -> None:
    log = Log(warehouse, tmp_path, "slurm")
    jobs = slurm_jobs(11, 12, 13)
    log.write("other.psv", document(*slurm_jobs(20)))
    for lines in (jobs[:2], jobs[:3], jobs[:5], jobs, [*slurm_jobs(11, State="FAILED"), *jobs[2:]]):
        log.write("dump.psv", document(*lines))
        log.ingest()
        log.assert_like_fresh()
    log.forget()


def test_swf_files_that_overlap(warehouse: OpenWarehouse, tmp_path: Path) -> None:
    head = "; UnixStartTime: 1767225600\n; MaxProcs: 16\n"
    lines = [swf_line(k, k * 40_000, 10 * k, 100_000 + k, 1 + k) for k in range(1, 10)]
    files = {"a.swf": lines[:6], "b.swf": lines[3:], "c.swf": [lines[0], lines[5], lines[5], lines[8]]}
    fresh, corrected = {}, {}
    for k, order in enumerate(permutations(files)):
        log = Log(warehouse, tmp_path / str(k), "swf")
        for name in order:
            log.write(name, head, *files[name])
            log.ingest()
        fresh = fresh or log.fresh()
        assert_same_tables(log.tables(), fresh)
        assert log.jobs("job_id") == [(f"{k}",) for k in range(1, 10)]
        log.write("a.swf", head, *lines[1:7])  # a correction
        log.ingest()
        corrected = corrected or log.fresh()
        assert_same_tables(log.tables(), corrected)
        log.forget()


@pytest.mark.parametrize("right", [1_000_000_000, 1_900_000_000])
def test_a_corrected_header_moves_all_jobs(warehouse: OpenWarehouse, tmp_path: Path, right: int) -> None:
    log = Log(warehouse, tmp_path, "swf")
    lines = [swf_line(k, k * 40_000, 10 * k, 100_000 + k, 1 + k) for k in range(10, 20)]
    for zero in (1_767_225_600, right):
        log.write("a.swf", f"; UnixStartTime: {zero}\n; MaxProcs: 32\n", *lines)
        log.ingest()
        log.assert_like_fresh()
    log.forget()


def test_days_of_use_are_those_of_the_time_zone(warehouse: OpenWarehouse, tmp_path: Path) -> None:
    """The time zone of an SWF log is no matter of its records, but of core.capacity."""
    log = Log(warehouse, tmp_path, "swf", procs=32)
    log.write("b.swf", *(swf_line(k, k * 40_000, 10 * k, 10_000 + k, 1 + k) for k in range(10, 20)))
    log.ingest()
    log.source = replace(log.source, time_zone="Asia/Tokyo")
    log.ingest()
    log.assert_like_fresh()
    log.source = replace(log.source, time_zone=None)
    log.write("a.swf", "; TimeZoneString: America/Los_Angeles\n", swf_line(99, 30 * DAY, 0, 10, 1))
    log.ingest()
    log.assert_like_fresh()
    log.forget()
