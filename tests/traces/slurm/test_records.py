"""Jobs of sacct as records, and why some cannot be one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.traces.slurm.slurm_lines import document, job_line, one_job, read, step_line
from traces.slurm.records import READ_COLUMNS, SLURM_RECORD_SCHEMA


def test_every_column_that_is_read_has_a_name_of_sacct() -> None:
    assert len(set(READ_COLUMNS)) == len(READ_COLUMNS)
    assert all(name == name.lower() for name in READ_COLUMNS)


def test_the_largest_memory_of_a_step_is_that_of_its_job(tmp_path: Path) -> None:
    lines = [job_line(), step_line("12.batch", MaxRSS="5M"), step_line("12.0", MaxRSS="7M"), step_line("12.1")]
    assert one_job(tmp_path, document(*lines))["used_memory_kb"] == 7 * 1024


def test_a_job_that_was_cancelled_while_it_waited_never_started(tmp_path: Path) -> None:
    end = "2024-01-15T10:20:00"
    line = job_line(State="CANCELLED by 7", Start=end, End=end, Elapsed="00:00:00", NodeList="None assigned")
    record = one_job(tmp_path, document(line))
    assert (record["start_s"], record["node_list"], record["state"]) == (None, None, "CANCELLED")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"Submit": "yesterday"}, "Submit is no time: yesterday"),
        ({"Timelimit": "long"}, "Timelimit is no duration: long"),
        ({"NCPUS": "four"}, "NCPUS is no count: four"),
        ({"End": "Unknown"}, "a job that is over has no End time"),
        ({"Start": "2024-01-16T10:00:00"}, "times out of order: expected Submit <= Start <= End"),
    ],
)
def test_reasons(tmp_path: Path, changes: dict[str, str], reason: str) -> None:
    log = read(tmp_path, document(job_line(**changes)))
    assert log.rejects["reason"].to_list() == [reason] and dict(log.records.schema) == SLURM_RECORD_SCHEMA
