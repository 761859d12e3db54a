"""Tests of traces/pbs: queue, requests."""

from __future__ import annotations

from typing import Any

import pytest

from traces.common.log import LogError
from traces.common.queue import HELD, RUNNING, WAITING
from traces.pbs.queue import jobs_of_document, read_pbs_queue
from traces.pbs.requests import (
    Chunk,
    JobPlacement,
    chunks_of_select,
    place_of,
    placed_chunks,
)

# queue: `qstat -f -F json` of PBS Professional.

JOB = '"{name}.srv":{{"Job_Name":"a","Variable_List":{{"X":{value}}},"job_state":"Q"}}'
HEAD = '{"timestamp":5,"Jobs":{'


def job(**fields: Any) -> dict[str, Any]:
    usual = {
        "Job_Name": "solve", "Job_Owner": "ada@login1.example.org", "job_state": "Q", "queue": "workq", "Account_Name": "a1",
        "project": "_pbs_project_default", "ctime": "Mon Mar  2 08:00:00 2026", "qtime": "Mon Mar  2 08:00:01 2026",
        "Resource_List": {"ncpus": 16, "nodect": 2, "walltime": "01:30:00"},
    }  # fmt: skip
    return usual | fields


def read(**jobs: Any) -> Any:
    return read_pbs_queue(
        {"timestamp": 1_772_500_000, "Jobs": {f"{name}.pbs": each for name, each in jobs.items()}},
        "q.json",
        "Europe/Berlin",
    )


def test_waiting_and_running_jobs() -> None:
    snapshot = read(
        a=job(), b=job(job_state="R", stime="Mon Mar  2 09:00:00 2026", Resource_List={"nodect": 3, "walltime": 60})
    )
    first, second = snapshot.jobs
    assert (first.job_id, first.state, first.procs, first.requested_walltime_s) == ("a", WAITING, 16, 5400)
    assert first.submit_s == 1_772_434_800  # 07:00 UTC
    assert (first.user_name, first.account, first.queue, first.job_name) == ("ada", "a1", "workq", "solve")
    assert (second.state, second.procs, second.requested_walltime_s, second.start_s) == (
        RUNNING,
        3,
        60,
        1_772_434_800 + 3600,
    )
    assert snapshot.written_s == 1_772_500_000
    assert snapshot.latest_s == 1_772_434_800 + 3600, "the start of b"


@pytest.mark.parametrize(
    ("fields", "because"),
    [
        ({"job_state": "H"}, "held"),
        ({"job_state": "H", "depend": "afterok:9"}, "dependency"),
        ({"job_state": "W"}, "waits for its time"),
        ({"job_state": "S"}, "suspended"),
    ],
)
def test_what_waits_for_something_else_is_held(fields: dict[str, Any], because: str) -> None:
    (only,) = read(a=job(**fields)).jobs
    assert (only.state, only.because) == (HELD, because)


def test_an_array_stands_for_the_tasks_that_are_not_listed() -> None:
    began = "Mon Mar  2 09:00:00 2026"
    array = job(job_state="B", stime=began, array_state_count="Queued:7 Running:2 Exiting:0 Expired:2 ")
    done = job(job_state="B", stime=began, array_state_count="Queued:0 Running:1 Exiting:0 Expired:2 ")
    tasks = {"12[3]": job(job_state="R", stime=began), "12[4]": job(), "13[1]": job(job_state="E", stime=began)}
    snapshot = read(**{"12[]": array, "13[]": done, "14[]": job(job_state="H")}, **tasks)
    assert [(each.job_id, each.state, each.tasks) for each in snapshot.jobs] == [
        ("12[]", WAITING, 6), ("12[]", RUNNING, 1), ("14[]", HELD, 1), ("12[3]", RUNNING, 1), ("12[4]", WAITING, 1),
        ("13[1]", RUNNING, 1),
    ]  # fmt: skip
    # 19 h after the array began, its tasks are half-way through their limit
    assert snapshot.jobs[1].start_s == 1_772_500_000 - 5400 // 2


def test_bad_jobs_beside_good_ones_are_told_and_counted() -> None:
    snapshot = read(
        good=job(), a=job(job_state="?"), b=job(Resource_List={}), c=job(ctime="soon", qtime="soon"), d=job(job_state="R"), e=3,
        f=job(job_state="F"),
    )  # fmt: skip
    expected = ["job a.pbs: expected job_state", "job b.pbs: expected a number above 0 as Resource_List.ncpus", "job c.pbs: expected qtime",
                "job d.pbs: expected stime", "job e.pbs: expected an object"]  # fmt: skip
    for (fault, _), part in zip(snapshot.faults, expected, strict=True):
        assert fault.startswith("q.json: ") and part in fault
    assert snapshot.counts() == "7 jobs read: 0 running, 1 waiting, 0 held, 1 over, 5 left out for a fault"


def test_no_jobs_by_id() -> None:
    assert read_pbs_queue({"pbs_version": "23"}, "q.json", "UTC").read == 0
    with pytest.raises(LogError, match=r"q.json: expected the JSON of `qstat -f -F json`"):
        read_pbs_queue({"Jobs": []}, "q.json", "UTC")


def test_a_broken_value_costs_its_variable_and_no_job() -> None:
    jobs = ",\n".join(JOB.format(name=name, value=value) for name, value in ((1, "007"), (2, r'"a\'b"'), (3, '"x"')))
    document = jobs_of_document(f"{HEAD}{jobs}}}}}")
    assert document is not None and document["timestamp"] == 5
    assert list(document["Jobs"]) == ["1.srv", "2.srv", "3.srv"]
    assert {job["job_state"] for job in document["Jobs"].values()} == {"Q"}


def test_a_text_that_ends_early_is_no_document() -> None:
    whole = f"{HEAD}{JOB.format(name=1, value='1')}}}}}"
    assert jobs_of_document(whole) is not None
    assert jobs_of_document(whole[:-20]) is None
    assert jobs_of_document("no jobs") is None


# requests: What jobs ask for, in each spelling, and as the recorded scenarios have it.


@pytest.mark.parametrize(
    ("text", "chunks"),
    [
        ("1", (Chunk(),)),
        ("ncpus=4", (Chunk(1, 4),)),
        (
            "2:ncpus=8:mem=12gb+1:ncpus=2:ngpus=2:mem=1gb",
            (Chunk(2, 8, 12 << 20), Chunk(1, 2, 1 << 20, 2)),
        ),
        ("4:ncpus=2:mpiprocs=2:ompthreads=1", (Chunk(4, 2, processes=2, amounts={"ompthreads": 1}),)),
        ("1:ncpus=1:host=n07:scratch=10gb:big=True", (Chunk(words=("host=n07", "big=True"), amounts={"scratch": 10 << 20}),)),
        ('1:ncpus=1:app="a+b:c"+3', (Chunk(words=('app="a+b:c"',)), Chunk(3))),
    ],
)  # fmt: skip
def test_chunks_of_select(text: str, chunks: tuple[Chunk, ...]) -> None:
    assert chunks_of_select(text) == chunks


def test_places() -> None:
    assert place_of("scatter:excl") == JobPlacement("scatter", "excl")
    assert place_of("exclhost") == JobPlacement("free", "exclhost")
    assert place_of("group=switch:pack") == JobPlacement("pack", "", "switch")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2:ncpus=x", r"select: ncpus: expected a whole number of up to 9 digits, found 'x'"),
        ("2::ncpus=1", r"select: expected chunks such as 2:ncpus=8, found '2::ncpus=1'"),
        ("1:mem=much", r"select: mem: expected a size such as 4gb, found 'much'"),
    ],
)
def test_faults_say_what_was_expected(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        chunks_of_select(text)
    with pytest.raises(ValueError, match=r"place: expected words of free, pack, .*, found 'pile'"):
        place_of("pile")
    with pytest.raises(ValueError, match="expected pieces such as"):
        list(placed_chunks("(ncpus=2)"))
