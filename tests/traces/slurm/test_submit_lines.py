"""Tests of traces/slurm: submit_lines, document_jobs, records."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.shared import shared_file
from tests.traces.slurm.slurm_lines import JOB, read, table, unix
from traces.slurm.document_jobs import DOCUMENT_COLUMNS, job_lines
from traces.slurm.reader import read_slurm
from traces.slurm.submit_lines import submission_options

# submit_lines: GPUs that the trackable resources lack, from what sbatch was asked for.


def test_only_options_before_the_script_are_of_the_submission() -> None:
    line = "/usr/bin/sbatch -W -N 2 --exclusive --gres=gpu:2 --gpus-per-task 1 -n4 train.py --gpus 9 -G 7"
    assert submission_options(line) == {
        "W": "", "nodes": "2", "exclusive": "", "gres": "gpu:2", "gpus-per-task": "1", "ntasks": "4",
    }  # fmt: skip
    assert submission_options("srun -W 5 -G 2 ./x") == {"W": "5", "gpus": "2"}
    assert submission_options("python train.py --gpus 9") == submission_options("") == {}


@pytest.mark.parametrize(
    ("line", "gpus"),
    [  # the job has two nodes
        ("sbatch --gpus=8 run.sh", 8),
        ("sbatch -G h100:2 run.sh", 2),
        ("salloc -Ga100:1,v100:1", 2),
        ("sbatch --gpus-per-node=h100:1 run.sh", 2),
        ("sbatch --gres gpu:a100:4,nvme:1 run.sh", 8),
        ("sbatch --gres=gpu run.sh", 2),
        ("srun -n8 --gpus-per-task=2 ./x", 16),
        ("sbatch --ntasks-per-node=3 --gpus-per-task=1 run.sh", 6),
        ("sbatch --gpus-per-socket=1 --sockets-per-node=2 run.sh", 4),
        ("sbatch --gpus-per-socket=1 run.sh", None),  # nobody knows how many sockets
        ("sbatch --wrap sleep 30 --gpus 4", None),  # sbatch's or the command's
        ("sbatch --gres=gpu:0 run.sh", 0),
        ("sbatch --gres=nvme:1 run.sh", 0),
        ("sbatch run.sh --gpus 4", 0),  # of the program
        ("sbatch train.sh", 0),
        ("", 0),
    ],
)
def test_gpus_of_the_submission(tmp_path: Path, line: str, gpus: int | None) -> None:
    (job,) = read(tmp_path, table(JOB | {"SubmitLine": line})).records.to_dicts()
    assert job["gpus"] == gpus
    tracked = JOB | {"SubmitLine": line, "AllocTRES": "cpu=8,node=2,gres/gpu=3"}
    assert read(tmp_path, table(tracked)).records["gpus"].to_list() == [3]


@pytest.mark.parametrize(
    ("line", "asked"),
    [  # the job has two nodes
        ("sbatch --gpus=a100:2 run.sh", "a100=2"),
        ("sbatch -G 2 run.sh", "=2"),
        ("salloc -Ga100:1,v100:1", "a100=1,v100=1"),
        ("sbatch --gres=gpu:a100:2 run.sh", "a100=4"),
        ("sbatch --gres=gpu:a100:1,nvme:1,gpu:1 run.sh", "=2,a100=2"),
        ("sbatch --gpus-per-node=v100:1 run.sh", "v100=2"),
        ("srun -n8 --gpus-per-task=v100:1 ./x", "v100=8"),
        ("srun -n8 --tres-per-task=cpu=2,gres/gpu:v100=1 ./x", "v100=8"),
        ("sbatch --gpus-per-socket=a:1 --sockets-per-node=2 run.sh", "a=4"),
        ("sbatch --gpus=4 --gpus-per-node=a100:2 run.sh", "a100=4"),
        ("sbatch --gpus=3 --gpus-per-node=a100:2 run.sh", "=3"),
        ("sbatch --gpus-per-socket=a:1 run.sh", None),
        ("sbatch --gres=gpu:0 run.sh", None),
        ("sbatch --wrap sleep 30 --gpus a100:4", None),
        ("sbatch run.sh", None),
    ],
)
def test_types_of_the_submission(tmp_path: Path, line: str, asked: str | None) -> None:
    (job,) = read(tmp_path, table(JOB | {"SubmitLine": line})).records.to_dicts()
    assert job["asked_gpus"] == asked
    # the trackable resources have fewer: the request was changed since
    fewer = JOB | {"SubmitLine": line, "AllocTRES": "cpu=8,node=2,gres/gpu=1"}
    assert read(tmp_path, table(fewer)).records["asked_gpus"].to_list() == [None]


def test_types_of_older_generic_resources(tmp_path: Path) -> None:
    for columns, asked in (
        ({"ReqGRES": "gpu:a100:2"}, "a100=4"),  # of each node
        ({"AllocGRES": "gpu:a100:2,gpu:v100:1"}, "a100=2,v100=1"),
        ({"ReqGRES": "gpu:1", "AllocGRES": "gpu:a100:2"}, "=2"),
        ({"ReqGRES": "craynetwork:0", "AllocGRES": ""}, None),
    ):
        assert read(tmp_path, table(JOB | columns)).records["asked_gpus"].to_list() == [asked]


def test_gpus_of_generic_resources_beside_the_trackable_ones(tmp_path: Path) -> None:
    assert read(tmp_path, table(JOB | {"AllocGRES": "gpu:a100:5"})).records["gpus"].to_list() == [5]
    assert read(tmp_path, table(JOB | {"ReqGRES": "gpu:2"})).records["gpus"].to_list() == [4]
    for fields, gpus in (
        ({"tres_per_node": "gres/gpu:2"}, "gpu:6"),
        ({"tres_per_node": "gres/gpu:a100:2"}, "gpu:a100:6"),
        ({"tres_per_job": "gres/gpu:a:2,gres/gpu:1"}, "gpu:a:2,gpu:1"),
        ({"gres_detail": ["gpu:a:1(IDX:0)"]}, "gpu:1"),
        ({"gres_detail": ["gpu:a:1(IDX:0)"], "tres_per_job": "gres/gpu:a:1"}, "gpu:a:1"),
        ({"gres_detail": ["gpu:a:1(IDX:0)"], "tres_per_job": "gres/gpu:a:2"}, "gpu:1"),
        ({"used_gres": "gpu:7"}, "gpu:7"),
        ({}, ""),
    ):
        (words,) = job_lines({"job_id": 7, "allocation_nodes": 3} | fields)
        assert dict(zip(DOCUMENT_COLUMNS, words, strict=True))["AllocGRES"] == gpus


# values: jobs that a submission names.


@pytest.mark.parametrize(
    ("line", "dependency"),
    [
        ("sbatch --dependency=afterok:12:13,afterany:14 run.sh", "afterok:12:13,afterany:14"),
        ("sbatch --dependency afterok:12?after:13+5 run.sh", "afterok:12?after:13+5"),
        ("sbatch --depend=singleton run.sh", "singleton"),
        ("sbatch -N 2 -d afternotok:12_3 run.sh", "afternotok:12_3"),
        ("srun -dafterany:12 ./x", "afterany:12"),
        ("sbatch -Hd AFTEROK:12 run.sh", "afterok:12"),
        ('sbatch --dependency="afterok:12" run.sh', "afterok:12"),
        ("sbatch run.sh --depth after:3", None),
        ("sbatch --deadline=now+5 -D /afterok:1 run.sh -d 5", None),
        ("sbatch run.sh", None),
        ("", None),
    ],
)
def test_jobs_that_a_submission_names(tmp_path: Path, line: str, dependency: str | None) -> None:
    assert read(tmp_path, table(JOB | {"SubmitLine": line})).records["dependency"].to_list() == [dependency]


# records: times that SLURM_TIME_FORMAT writes with their zone, and those that are relative to the day.


@pytest.mark.parametrize("end", ["-0700", " UTC-0700", "-07:00", " -0700"])
def test_times_with_their_zone(tmp_path: Path, end: str) -> None:
    times = {name: f"{JOB[name]}{end}" for name in ("Submit", "Eligible", "Start", "End")}
    log = read(
        tmp_path, table(JOB | times, JOB | times | {"Submit": "2024-01-15T16:30:00Z"}), time_zone="Europe/Berlin"
    )
    assert log.rejects.rows() == [] and log.records["local_times"].to_list() == [False, False]
    assert log.records["submit_s"].to_list() == [unix("2024-01-15T17:00:00"), unix("2024-01-15T16:30:00")]
    assert log.records["end_s"].to_list() == [unix("2024-01-15T18:01:00")] * 2


@pytest.mark.parametrize("text", ["29 Apr 14:00", "Ystday 14:00", "Mon 14:00", "14:00:00", "3 Mar 2024"])
def test_times_that_are_relative_to_the_day(tmp_path: Path, text: str) -> None:
    (reject,) = read(tmp_path, table(JOB | {"Submit": text})).rejects.to_dicts()
    assert reject["reason"] == (
        f"Submit is relative to the day of printing: {text}. Print the log again with SLURM_TIME_FORMAT=standard, or with %s"
    )


def test_times_of_the_case() -> None:
    log = read_slurm(shared_file("cases", "logs-and-configurations", "sacct-times-with-zone", "sacct.txt"), "UTC")
    assert log.records["submit_s"].to_list() == [unix("2026-04-29T21:00:00")] * 2
    assert [line for line, *_ in log.rejects.rows()] == [4]


# records: memory of all tasks of a step.


@pytest.mark.parametrize(
    ("step", "kilobytes"),
    [
        ({"MaxRSS": "3000K", "NTasks": "4", "TRESUsageInTot": "cpu=00:01:00,energy=0,mem=11000K,vmem=9G"}, 11_000),
        ({"MaxRSS": "3000K", "NTasks": "4", "TRESUsageInTot": ""}, 12_000),
        ({"MaxRSS": "3000K", "NTasks": "4", "TRESUsageInTot": "cpu=1,mem=0"}, 12_000),
        ({"MaxRSS": "3000K", "NTasks": "", "TRESUsageInTot": ""}, 3000),
        ({"MaxRSS": "", "NTasks": "4", "TRESUsageInTot": ""}, None),
    ],
)
def test_memory_of_all_tasks_of_the_largest_step(tmp_path: Path, step: dict[str, str], kilobytes: int | None) -> None:
    """As seff and reportseff take it. MaxRSS is of one task."""
    job = JOB | {"NTasks": "", "TRESUsageInTot": ""}
    batch = dict.fromkeys(job, "") | {"JobID": "12.batch", "NTasks": "1"}
    (record,) = read(tmp_path, table(job, batch, batch | step | {"JobID": "12.0"})).records.to_dicts()
    assert record["used_memory_kb"] == kilobytes


def test_memory_of_the_case() -> None:
    log = read_slurm(shared_file("cases", "logs-and-configurations", "memory-of-mpi-jobs", "sacct.txt"), "UTC")
    (job,) = log.records.to_dicts()
    assert (job["used_memory_kb"], job["requested_memory_kb"]) == (384_000_000, 512_000 * 1024)
    assert job["used_memory_kb"] / job["requested_memory_kb"] == pytest.approx(0.732, abs=0.001)
    assert (job["used_cpu_s"], job["procs"] * (job["end_s"] - job["start_s"])) == (240 * 3600, 256 * 3600)


def test_tasks_of_a_step_in_json() -> None:
    step = {
        "step": {"id": "7.0"},
        "tasks": {"count": 128},
        "tres": {"requested": {"max": [{"type": "mem", "count": 2048}]}},
    }
    _, words = job_lines({"job_id": 7, "steps": [step]})
    line = dict(zip(DOCUMENT_COLUMNS, words, strict=True))
    assert (line["JobID"], line["MaxRSS"], line["NTasks"]) == ("7.0", "2K", "128")
