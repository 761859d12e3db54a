"""Tests of studies/pbs: recorded_requests."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from simulator.pbs.requests import Piece
from studies.pbs.recorded_requests import chunks_of_nodes, job_of_request, pbs_request_of
from tests.traces.pbs.pbs_lines import each_golden, golden_folder, jobs_of_qstat, records, submissions
from traces.pbs.requests import Chunk, chunks_of_select, flat_attributes, place_of
from traces.pbs.rules import duration_s


def test_chunks_and_placement_of_a_record() -> None:
    attributes = {
        "user": "ann",
        "queue": "R7",
        "resvID": "R7.head",
        "Resource_List.select": "2:ncpus=8:mem=12gb+1:ncpus=2:ngpus=2",
        "Resource_List.place": "scatter:excl",
        "Resource_List.walltime": "00:01:30",
    }
    job = job_of_request(pbs_request_of(attributes), 5)
    assert job.pieces == (Piece(2, {"ncpus": 8, "mem": 12 * 1024 * 1024}), Piece(1, {"ncpus": 2, "ngpus": 2}))
    assert (job.submit_s, job.walltime_s, job.arrangement, job.sharing) == (5, 90, "scatter", "excl")
    assert (job.queue, job.reservation, job.user) == ("", "R7.head", "ann")


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
