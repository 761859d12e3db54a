"""Tests of traces/slurm: queue, asked_gpus, numbers, document_jobs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.shared import shared_file
from traces.common.queue import QueueJob
from traces.slurm.asked_gpus import gpus_of_list
from traces.slurm.document_jobs import DOCUMENT_COLUMNS, job_lines
from traces.slurm.numbers import slurm_number
from traces.slurm.queue import read_slurm_queue

SUBMITTED_S = 1_764_400_000


def number(value: int, is_set: bool = True) -> dict[str, Any]:
    return {"set": is_set, "infinite": False, "number": value}


def one(**fields: Any) -> QueueJob:
    """A job that waits, with the fields changed."""
    job = {
        "job_id": 7, "job_state": ["PENDING"], "state_reason": "Priority", "submit_time": number(SUBMITTED_S), "cpus": number(4),
        "tres_req_str": "cpu=4,mem=4G,node=2,billing=4", "tres_alloc_str": "",
    }  # fmt: skip
    (only,) = read_slurm_queue({"jobs": [job | fields]}, "q.json").jobs
    return only


# numbers: NO_VAL and INFINITE are not set.


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("below", [1, 2])
def test_a_number_that_is_not_set(bits: int, below: int) -> None:
    unset = 2**bits - below
    for value in (unset, float(unset) if bits == 32 else unset, number(unset)):
        assert slurm_number(value) is None
    job = one(
        time_limit=unset, start_time=unset, eligible_time=unset, priority=unset, array_job_id=unset, het_job_id=unset
    )
    assert (job.job_id, job.requested_walltime_s, job.asked.eligible_s, job.asked.priority) == ("7", -1, None, None)
    assert job.state == "waiting"


def test_a_short_number_is_not_set_only_where_it_is_a_time() -> None:
    for unset in (65_534, 65_535):
        assert slurm_number(unset) == unset and slurm_number(number(unset), is_time=True) is None
        job = one(job_id=unset, time_limit=unset, eligible_time=number(unset))
        assert (job.job_id, job.requested_walltime_s, job.asked.eligible_s) == (str(unset), -1, None)


@pytest.mark.parametrize("unset", [2**16 - 1, 2**16 - 2, 2**32 - 1, 2**32 - 2, 2**64 - 1, 2**64 - 2])
def test_numbers_of_sacct_that_are_not_set(unset: int) -> None:
    times = {"submission": SUBMITTED_S, "start": unset, "end": number(unset), "eligible": unset, "limit": number(unset)}
    code = {"return_code": number(0), "signal": {"id": number(unset), "signal_id": unset}}
    (words,) = job_lines({"job_id": 7, "time": times, "exit_code": code})
    line = dict(zip(DOCUMENT_COLUMNS, words, strict=True))
    assert [line[name] for name in ("Submit", "Start", "End", "Eligible")] == [str(SUBMITTED_S), *["Unknown"] * 3]
    assert (line["TimelimitRaw"], line["ExitCode"], line["JobID"]) == ("", "0:0", "7")


# queue: whole nodes and parts of heterogeneous jobs, in the forms of 21.08 to 26.05.


@pytest.mark.parametrize(
    ("fields", "is_exclusive"),
    [
        ({"shared": "none"}, True),  # 21.08, 22.05
        ({"shared": "shared"}, None),
        ({"shared": "user"}, None),
        ({"shared": None}, None),
        ({"shared": ["none"], "exclusive": ["true"], "oversubscribe": False}, True),  # 23.02
        ({"shared": ["oversubscribe"], "exclusive": ["false"], "oversubscribe": True}, None),
        ({"shared": ["user"], "exclusive": ["user"]}, None),
        ({"exclusive": True}, True),
        ({"exclusive": False}, None),
        ({"shared": ["none"]}, True),  # 24.11 to 25.11
        ({"shared": ["topo"]}, True),
        ({"shared": ["mcs"]}, None),
        ({"shared": []}, None),
        ({"exclusive": "NODE"}, True),  # 26.05
        ({"exclusive": "NO"}, None),
    ],
)
def test_jobs_that_have_their_nodes_alone(fields: dict[str, Any], is_exclusive: bool | None) -> None:
    assert one(**fields).asked.is_exclusive is is_exclusive


def test_a_part_of_a_heterogeneous_job_has_the_id_that_squeue_prints() -> None:
    assert one(job_id=289_763, het_job_id=number(289_762), het_job_offset=number(1)).job_id == "289762+1"
    assert one(job_id=289_762, het_job_id=289_762, het_job_offset=0).job_id == "289762+0"
    assert one(het_job_id=number(0), het_job_offset=number(0)).job_id == "7"
    assert one(het_job_id=0, het_job_offset=2**32 - 2).job_id == "7"
    document = json.loads(shared_file("cases", "logs-and-configurations", "squeue-het-job", "squeue.json").read_text())
    assert [job.job_id for job in read_slurm_queue(document, "q").jobs] == ["289762+0", "289762+1"]


# asked_gpus: GPUs that the trackable resources lack.


@pytest.mark.parametrize(
    ("text", "gpus"),
    [
        ("gres/gpu:4", {"": 4}),
        ("gres:gpu:2", {"": 2}),
        ("gpu", {"": 1}),
        ("gres/gpu=2", {"": 2}),
        ("cpu=4,gres/gpu:h100=2", {"h100": 2}),
        ("gres/gpu:a100:2,gres/gpu:v100:1", {"a100": 2, "v100": 1}),
        ("gpu:2080ti", {"2080ti": 1}),
        ("gpu:a100_1g.5gb:1(IDX:0,2-3),shard:h100:4", {"a100_1g.5gb": 1}),
        ("gres/gpumem:4G,gres/shard:2,license/gpu=1", {}),
        ("", {}),
    ],
)
def test_forms_of_generic_resources(text: str, gpus: dict[str, int]) -> None:
    assert gpus_of_list(text) == gpus


@pytest.mark.parametrize(
    ("fields", "gpus", "types"),
    [
        ({"tres_per_job": "gres/gpu:8", "tres_per_task": "gres/gpu=1"}, 8, None),
        ({"tres_per_node": "gres/gpu:h100:2"}, 4, "h100=4"),
        ({"tres_per_socket": "gres:gpu:1", "sockets_per_node": number(2)}, 4, None),
        ({"tres_per_socket": "gres/gpu:1", "sockets_per_node": number(0, is_set=False)}, None, None),
        ({"tres_per_task": "gres/gpu:a:2,gres/gpu:b:1", "tasks": number(3)}, 9, "a=6,b=3"),
        ({"tres_per_task": "gres/gpu=2", "tasks": None}, None, None),
        ({"tres_per_node": "", "tres_per_job": ""}, 0, None),  # these say that there is none
        ({}, None, None),  # nothing says so
        ({"tres_per_node": "gres/gpu:2", "tres_req_str": "cpu=4,node=2,gres/gpu=4,gres/gpu:a=4"}, 4, "a=4"),
        ({"tres_per_node": "gres/gpu:a:2", "tres_req_str": "cpu=4,node=2,gres/gpu=4"}, 4, "a=4"),
        ({"tres_per_node": "gres/gpu:a:2", "tres_req_str": "cpu=4,node=2,gres/gpu=3"}, 3, None),
        (
            {"tres_per_node": "gres/gpu:2", "tres_req_str": "", "tres_alloc_str": "node=2,gres/gpu=4,gres/gpu:a=4"},
            4,
            None,
        ),
        ({"tres_req_str": "", "tres_alloc_str": "node=2,gres/gpu=4,gres/gpu:a=4"}, 4, "a=4"),
        ({"tres_per_socket": "gres/gpu:1", "gres_detail": ["gpu:h100:3(IDX:0-2)", "gpu:h100:1(IDX:0)"]}, 4, None),
    ],
)
def test_gpus_that_the_resources_do_not_track(fields: dict[str, Any], gpus: int | None, types: str | None) -> None:
    asked = one(**fields).asked
    assert (asked.gpus, asked.gpu_types) == (gpus, types)


def test_gpus_of_real_answers() -> None:
    right = {
        "gres": 4,
        "multi-nodes": 8,
        "multi-types": 1,
        "pending": 4,
        "per-node": 2,
        "per-socket": 2,
        "per-task": 4,
        "running": 4,
        "type": 1,
    }
    folder = shared_file("cases", "logs-and-configurations", "squeue-gpus-not-in-tres")
    for name, gpus in right.items():
        (job,) = read_slurm_queue(json.loads((folder / f"gpus-{name}.json").read_text()), name).jobs
        assert job.asked.gpus == gpus, name
        assert job.asked.gpu_types == ("h100=1" if name in ("type", "multi-types") else None), name
