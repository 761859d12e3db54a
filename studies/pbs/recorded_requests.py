"""What the jobs of a recorded run of PBS asked for, with all that comes with it, of PBS Pro, OpenPBS and Torque.

Each function takes attributes by name, as an accounting record has them (`Resource_List.select`), or `qstat -f -F json` by
traces.pbs.requests.flat_attributes. Torque Administrator Guide, "Requesting Resources".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from assets.replaying.own.pbs.requests import piece_of
from simulator.pbs.requests import PbsJob
from traces.pbs.requests import (
    GPU_WORDS,
    PLUS,
    Chunk,
    JobPlacement,
    chunk_of,
    chunks_of_select,
    kilobytes_of,
    number_of_text,
    place_of,
)
from traces.pbs.rules import duration_s

_NO_PROJECT = "_pbs_project_default"
_WHOLE_JOB = ("ncpus", "mem", "nodect", "select", "place", "nodes", "neednodes", "walltime", "mpiprocs", *GPU_WORDS)
"""Of Resource_List: sums that the server makes of the chunks, and what has a field of its own."""


@dataclass(frozen=True)
class PbsRequest:
    """What one job asks for. walltime_s: None for none. whole_job: further resources of the job as a whole, such as licences.

    memory_kb: of the whole job, None for none. dependency: as PBS spells it (`afterok:19.pbs3`). array: indices such as `1-10:2`, "" for a
    job that is none. most_tasks: how many tasks of the array may run at a time, None for all. priority: as given by hand.
    """

    chunks: tuple[Chunk, ...]
    placement: JobPlacement = field(default_factory=JobPlacement)
    memory_kb: int | None = None
    walltime_s: int | None = None
    user: str = ""
    group: str = ""
    queue: str = ""
    account: str = ""
    project: str = ""
    reservation: str = ""
    dependency: str = ""
    array: str = ""
    most_tasks: int | None = None
    priority: int = 0
    whole_job: Mapping[str, str] = field(default_factory=dict)

    @property
    def ncpus(self) -> int:
        """Processors of all chunks."""
        return sum(chunk.count * chunk.ncpus for chunk in self.chunks)

    @property
    def ngpus(self) -> int:
        """GPUs of all chunks."""
        return sum(chunk.count * chunk.ngpus for chunk in self.chunks)


def pbs_request_of(attributes: Mapping[str, str]) -> PbsRequest:
    """The request in the attributes of a job.

    Raises ValueError, with the key, what was expected and what was found, where a request cannot be read.
    """
    listed = {key.partition(".")[2]: text for key, text in attributes.items() if key.startswith("Resource_List.")}
    chunks = _chunks(listed, attributes)
    of_chunks = [chunk.count * chunk.memory_kb for chunk in chunks if chunk.memory_kb is not None]
    memory_kb = kilobytes_of("Resource_List.mem", listed["mem"]) if "mem" in listed else sum(of_chunks) or None
    project = attributes.get("project", "")
    array, most_tasks = _array(attributes)
    return PbsRequest(
        chunks,
        place_of(listed["place"]) if "place" in listed else _usual_placement(listed),
        memory_kb,
        _walltime_s(listed),
        attributes.get("user") or attributes.get("euser") or attributes.get("Job_Owner", "").partition("@")[0],
        attributes.get("group") or attributes.get("egroup", ""),
        attributes.get("queue", ""),
        attributes.get("account") or attributes.get("Account_Name", ""),
        "" if project == _NO_PROJECT else project,
        attributes.get("resvID") or attributes.get("reserve_ID", ""),
        attributes.get("depend", ""),
        array,
        most_tasks,
        int(attributes.get("Priority") or 0),
        {key: text for key, text in listed.items() if key not in _WHOLE_JOB and not key.startswith("mpp")},
    )


def chunks_of_nodes(text: str) -> tuple[Chunk, ...]:
    """The chunks of Torque's `2:ppn=8:fast+node07:ppn=4`; words that stand alone are features or names of nodes.

    Raises ValueError for a text that is none."""
    return tuple(chunk_of("nodes", part) for part in PLUS.split(text.partition("#")[0]))


def _chunks(listed: Mapping[str, str], attributes: Mapping[str, str]) -> tuple[Chunk, ...]:
    """Of select, else of a Cray's width, else of Torque's nodes and procs (the larger), else of Torque's tasks, else of ncpus."""
    if listed.get("select"):
        return chunks_of_select(listed["select"])
    if width := number_of_text("mppwidth", listed.get("mppwidth", "0")):
        return (Chunk(width, number_of_text("mppdepth", listed.get("mppdepth", "1")) or 1),)
    if of_nodes := _listed_nodes(listed):
        return of_nodes
    if procs := number_of_text("procs", listed.get("procs", "0")):
        return (Chunk(procs),)
    if attributes.get("tasks"):
        return tuple(chunk_of("tasks", part.partition(" ")[0]) for part in PLUS.split(attributes["tasks"]))
    gpus = next((number_of_text(word, listed[word]) for word in GPU_WORDS if word in listed), 0)
    memory_kb = kilobytes_of("Resource_List.mem", listed["mem"]) if "mem" in listed else None
    return (Chunk(1, number_of_text("ncpus", listed.get("ncpus", "1")), memory_kb, gpus),)


def _listed_nodes(listed: Mapping[str, str]) -> tuple[Chunk, ...]:
    """Torque's nodes. () for none, and where they are the server's default of one beside a request for more procs."""
    chunks = chunks_of_nodes(listed["nodes"]) if listed.get("nodes") and not listed.get("select") else ()
    procs = number_of_text("procs", listed.get("procs", "0"))
    return chunks if sum(chunk.count * chunk.ncpus for chunk in chunks) >= procs else ()


def _usual_placement(listed: Mapping[str, str]) -> JobPlacement:
    """Where a record has no place: PBS scatters the nodes of `nodes=2:ppn=8`, packs a request without chunks, and leaves others free."""
    sharing = {"excl": "excl", "shared": "shared"}.get(listed.get("nodes", "").partition("#")[2], "")
    if _listed_nodes(listed):
        return JobPlacement("scatter", sharing)
    one_piece = not any(listed.get(key) for key in ("select", "procs", "mppwidth"))
    return JobPlacement("pack" if one_piece else "free", sharing)


def _array(attributes: Mapping[str, str]) -> tuple[str, int | None]:
    """Indices of an array, and how many of its tasks may run at a time, which only the line of the submission may have."""
    submitted = re.search(r"-J\s*(\S+)", attributes.get("Submit_arguments", ""))
    texts = (attributes.get(key, "") for key in ("array_indices_submitted", "array_indices", "job_array_request"))
    array = next((text for text in texts if text), submitted.group(1) if submitted else "")
    most = attributes.get("max_run_subjobs") or array.partition("%")[2]
    if not most and submitted:
        most = submitted.group(1).partition("%")[2]
    return array.partition("%")[0], number_of_text("max_run_subjobs", most) if most else None


def _walltime_s(listed: Mapping[str, str]) -> int | None:
    if not listed.get("walltime"):
        return None
    try:
        return duration_s(listed["walltime"])
    except ValueError:
        raise ValueError(f"Resource_List.walltime: expected H:M:S or seconds, found {listed['walltime']!r}") from None


def job_of_request(request: PbsRequest, submit_s: int) -> PbsJob:
    """A job of the simulator with what a record of PBS asks for. Dependencies, arrays and holds are for the caller to add."""
    return PbsJob(
        submit_s=submit_s,
        pieces=tuple(piece_of(chunk) for chunk in request.chunks),
        walltime_s=request.walltime_s,
        arrangement=request.placement.arrangement,
        sharing=request.placement.sharing,
        queue="" if request.reservation else request.queue,
        user=request.user,
        group=request.group,
        project=request.project,
        account=request.account,
        reservation=request.reservation,
        priority=request.priority,
    )
