"""Tests of traces/pbs: queue, requests."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from tests.traces.pbs.pbs_lines import each_golden, golden_folder, jobs_of_qstat, records, submissions
from traces.common.log import LogError
from traces.common.queue import HELD, RUNNING, WAITING
from traces.pbs.queue import jobs_of_document, read_pbs_queue
from traces.pbs.requests import (
    Chunk,
    JobPlacement,
    chunks_of_nodes,
    chunks_of_select,
    flat_attributes,
    pbs_request_of,
    place_of,
    placed_chunks,
)
from traces.pbs.rules import duration_s

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


@pytest.mark.parametrize(
    ("text", "chunks"),
    [
        ("3", (Chunk(3),)),
        ("2:ppn=8:fast:gpus=2", (Chunk(2, 8, ngpus=2, words=("fast",)),)),
        ("node01:ppn=2+node02+4:ppn=1#shared", (Chunk(1, 2, words=("node01",)), Chunk(words=("node02",)), Chunk(4))),
    ],
)
def test_chunks_of_nodes(text: str, chunks: tuple[Chunk, ...]) -> None:
    assert chunks_of_nodes(text) == chunks


def test_places() -> None:
    assert place_of("scatter:excl") == JobPlacement("scatter", "excl")
    assert place_of("exclhost") == JobPlacement("free", "exclhost")
    assert place_of("group=switch:pack") == JobPlacement("pack", "", "switch")


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"select": "2:ncpus=x"}, r"select: ncpus: expected a whole number of up to 9 digits, found 'x'"),
        ({"select": "2::ncpus=1"}, r"select: expected chunks such as 2:ncpus=8, found '2::ncpus=1'"),
        ({"nodes": "2:ppn=1+"}, r"nodes: expected chunks such as 2:ppn=8, found ''"),
        ({"select": "1:mem=much"}, r"select: mem: expected a size such as 4gb, found 'much'"),
        ({"select": "1", "place": "pile"}, r"place: expected words of free, pack, .*, found 'pile'"),
        ({"ncpus": "1", "walltime": "soon"}, r"Resource_List.walltime: expected H:M:S or seconds, found 'soon'"),
    ],
)
def test_faults_say_what_was_expected(attributes: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pbs_request_of({f"Resource_List.{key}": text for key, text in attributes.items()})
    with pytest.raises(ValueError, match="expected pieces such as"):
        list(placed_chunks("(ncpus=2)"))


@pytest.mark.parametrize(
    ("listed", "ncpus", "memory_kb"),
    [
        ({"nodes": "2:ppn=8:fast", "neednodes": "2:ppn=8", "ncpus": "1", "mem": "4gb"}, 16, 4 << 20),
        ({"nodes": "1", "procs": "12"}, 12, None),
        ({"ncpus": "4", "mem": "1gb"}, 4, 1 << 20),
        ({"mppwidth": "48", "mppdepth": "2", "mppnppn": "12"}, 96, None),
        ({"select": "4:ncpus=2:mem=1gb", "place": "scatter"}, 8, 4 << 20),
        ({}, 1, None),
    ],
)
def test_sums_of_a_request(listed: dict[str, str], ncpus: int, memory_kb: int | None) -> None:
    request = pbs_request_of({f"Resource_List.{key}": text for key, text in listed.items()})
    assert (request.ncpus, request.memory_kb) == (ncpus, memory_kb)


def test_what_comes_with_a_request() -> None:
    attributes = {
        "Job_Owner": "u1@host", "Account_Name": "proj x", "project": "_pbs_project_default", "reserve_ID": "R7.pbs",
        "depend": "afterok:19.pbs3", "Priority": "12", "Submit_arguments": "-l select=1 -J 1-6%2 job.sh",
        "Resource_List.select": "1", "Resource_List.matlab": "2",
    }  # fmt: skip
    request = pbs_request_of(attributes)
    assert (request.user, request.account, request.project, request.reservation) == ("u1", "proj x", "", "R7.pbs")
    assert (request.dependency, request.priority, request.array, request.most_tasks) == (
        "afterok:19.pbs3",
        12,
        "1-6",
        2,
    )
    assert request.whole_job == {"matlab": "2"}
    torque = {"tasks": "2:lprocs=4:memory=1gb:place=core"}
    assert pbs_request_of(torque).chunks == (Chunk(2, 4, 1 << 20, words=("place=core",)),)
    assert pbs_request_of(torque).memory_kb == 2 << 20


def _submitted(action: dict[str, Any], ids: dict[str, str]) -> dict[str, Any]:
    """The fields of the request that the arguments of a submission say."""
    arguments = [word for word in action["args"] if word != "-h"]
    options = list(zip(arguments[::2], arguments[1::2], strict=True))
    listed = dict(text.split("=", 1) for option, text in options if option == "-l")
    said: dict[str, Any] = {"user": action["user"]}
    if "select" in listed:
        said["chunks"] = chunks_of_select(listed["select"])
    elif "nodes" in listed:
        said["chunks"] = tuple(replace(chunk, processes=chunk.ncpus) for chunk in chunks_of_nodes(listed["nodes"]))
    else:
        said["ncpus"] = int(listed.get("ncpus", 1))
    if "place" in listed:
        said["placement"] = place_of(listed["place"])
    if "walltime" in listed:
        said["walltime_s"] = duration_s(listed["walltime"])
    names = {"-q": "queue", "-A": "account", "-P": "project"}
    said |= {names[option]: text for option, text in options if option in names}
    if "-J" in dict(options):
        said["array"] = dict(options)["-J"].partition("%")[0]
        said["most_tasks"] = int(dict(options)["-J"].partition("%")[2] or 0) or None
    if action.get("depend"):
        kind, job = action["depend"]
        said["dependency"] = f"{kind}:{ids[job]}"
    return said


@pytest.mark.thorough
@each_golden
def test_requests_of_the_recorded_runs_equal_their_scenarios(scenario: str) -> None:
    folder = golden_folder(scenario)
    queued, listed, jobs = records(folder, "Q"), jobs_of_qstat(folder), submissions(folder)
    ids = {action["name"]: job for job, action in jobs.items()}
    for job, action in jobs.items():
        said = _submitted(action, ids)
        if action["name"] == "move":
            said["queue"] = "workq"
        sources = [(queued[job], "most_tasks")]  # the log has no %2 of an array
        if job in listed and action["name"] not in ("alter", "alterq"):
            sources.append((flat_attributes(listed[job]), "dependency"))  # gone once it is met
        for attributes, unsaid in sources:
            request = pbs_request_of(attributes)
            request = replace(request, dependency=re.sub(r"@.*", "", request.dependency))
            expected = {key: value for key, value in said.items() if key != unsaid}
            assert {key: getattr(request, key) for key in expected} == expected, job
