"""Jobs of sacct as records, and why some cannot be one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.traces.slurm.slurm_lines import JOB, MORE, document, job_line, one_job, read, step_line, table
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


@pytest.mark.parametrize(
    ("state", "nodes", "start"),
    [
        ("FAILED", "None assigned", None),
        ("DEADLINE", "None assigned", None),
        ("CANCELLED by 0", "None assigned", None),
        ("FAILED", "n1", 1_705_314_000),  # it failed in the second in which it started
        ("FAILED", "", 1_705_314_000),  # a log without NodeList does not tell
    ],
)
def test_jobs_without_nodes_never_started(tmp_path: Path, state: str, nodes: str, start: int | None) -> None:
    end = "2024-01-15T10:20:00"
    record = one_job(tmp_path, document(job_line(State=state, Start=end, End=end, Elapsed="00:00:00", NodeList=nodes)))
    assert (record["start_s"], record["end_s"]) == (start, 1_705_314_000)


@pytest.mark.parametrize(("memory", "kilobytes"), [("0", None), ("0n", None), ("0c", None), ("4G", 4 << 20)])
def test_memory_of_0_is_not_known(tmp_path: Path, memory: str, kilobytes: int | None) -> None:
    """It is all memory of the nodes, or Slurm keeps no track of it."""
    assert one_job(tmp_path, document(job_line(ReqMem=memory, ReqTRES="")))["requested_memory_kb"] == kilobytes


def test_more_columns_are_read_where_they_are_there(tmp_path: Path) -> None:
    more = {
        "Priority": "4294901", "Reason": "Dependency", "Constraints": "a100&ib", "Reservation": "course",
        "TRESUsageInTot": "", "ConsumedEnergyRaw": "0", "AdminComment": "moved by root", "SubmitLine": "sbatch run.sh",
    }  # fmt: skip
    job = {name: JOB[name] for name in ("JobID", "Submit", "Start", "End", "State", "NCPUS")}
    steps = [
        {"JobID": "12.batch", "TRESUsageInTot": "cpu=00:01:00,energy=5,fs/disk=10,mem=2M", "ConsumedEnergyRaw": "5"},
        {"JobID": "12.0", "TRESUsageInTot": "cpu=1-00:00:00,mem=1024K", "ConsumedEnergyRaw": "7"},
    ]
    empty = dict.fromkeys(job | more, "")
    record = one_job(tmp_path, table(job | more, *(empty | step for step in steps)))
    assert {name: record[name] for name in MORE} == {
        "priority": 4_294_901, "reason": "Dependency", "constraints": "a100&ib", "reservation": "course",
        "usage_in_total": "cpu=86460,energy=5,fs/disk=10,mem=3072K", "consumed_energy_j": 12,
        "admin_comment": "moved by root", "submit_line": "sbatch run.sh",
    }  # fmt: skip
