"""What a PBS job asks for: `select` and `place` of PBS Pro and OpenPBS, `nodes=2:ppn=8:feature` of Torque, and what comes with them.

Each function takes attributes by name, as an accounting record has them (`Resource_List.select`) or `qstat -f -F json` does
(`flat_attributes`). Syntax: Altair PBS Professional User's Guide, "Allocating Resources & Placing Jobs"; Torque Administrator Guide,
"Requesting Resources".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from traces.pbs.rules import duration_s, kilobytes

ARRANGEMENTS = ("free", "pack", "scatter", "vscatter")
SHARINGS = ("shared", "excl", "exclhost")
_NO_PROJECT = "_pbs_project_default"
_GPU_WORDS = ("ngpus", "gpus", "gpu")
_MEMORY_WORDS = ("mem", "memory")
_CPU_WORDS = ("ncpus", "ppn", "lprocs")
_OUTSIDE_QUOTES = r'(?=(?:[^"]*"[^"]*")*[^"]*$)'
_PLUS, _COLON = re.compile(rf"\+{_OUTSIDE_QUOTES}"), re.compile(rf":{_OUTSIDE_QUOTES}")
_WHOLE_JOB = ("ncpus", "mem", "nodect", "select", "place", "nodes", "neednodes", "walltime", "mpiprocs", *_GPU_WORDS)
"""Of Resource_List: sums that the server makes of the chunks, and what has a field of its own."""
_SIZE = re.compile(r"[0-9]+(?:\.[0-9]+)?(?:[kmgtpKMGTP][bBwW]?|[bBwW])")


@dataclass(frozen=True)
class Chunk:
    """`count` equal pieces that each lie on one node. ncpus, ngpus, memory_kb: of one piece, memory_kb None where it is not asked for.

    processes: MPI ranks of a piece, 0 where it does not say. words: what a node must have, `fast` in Torque, `key=value` in PBS.
    amounts: further resources that are counted, sizes in KiB.
    """

    count: int = 1
    ncpus: int = 1
    memory_kb: int | None = None
    ngpus: int = 0
    processes: int = 0
    words: tuple[str, ...] = ()
    amounts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class JobPlacement:
    """arrangement: one of ARRANGEMENTS. sharing: one of SHARINGS, "" where the nodes decide. group: the resource whose value all
    nodes of the job must share."""

    arrangement: str = "free"
    sharing: str = ""
    group: str = ""


@dataclass(frozen=True)
class PbsRequest:
    """What one job asks for. walltime_s: None for none. whole_job: further resources of the job as a whole, such as licences.

    memory_kb: of the whole job, None for none. dependency: as PBS spells it (`afterok:19.pbs3`). array: indices such as `1-10:2`, "" for a
    job that is none. most_tasks: how many tasks of the array may run at a time, None for all. priority: as given by hand.
    """

    chunks: tuple[Chunk, ...]
    placement: JobPlacement = JobPlacement()
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
    memory_kb = _kilobytes("Resource_List.mem", listed["mem"]) if "mem" in listed else sum(of_chunks) or None
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


def chunks_of_select(text: str) -> tuple[Chunk, ...]:
    """The chunks of `2:ncpus=8:mem=12gb+1:ncpus=2:ngpus=2`. Raises ValueError for a text that is none."""
    return tuple(_chunk("select", part) for part in _PLUS.split(text))


def chunks_of_nodes(text: str) -> tuple[Chunk, ...]:
    """The chunks of Torque's `2:ppn=8:fast+node07:ppn=4`; words that stand alone are features or names of nodes.

    Raises ValueError for a text that is none."""
    return tuple(_chunk("nodes", part) for part in _PLUS.split(text.partition("#")[0]))


def place_of(text: str) -> JobPlacement:
    """The placement of `scatter:excl:group=switch`. Raises ValueError for a word that PBS does not have."""
    arrangement, sharing, group = "free", "", ""
    for word in text.split(":"):
        if word in ARRANGEMENTS:
            arrangement = word
        elif word in SHARINGS:
            sharing = word
        elif word.startswith("group="):
            group = word.removeprefix("group=")
        else:
            expected = ", ".join((*ARRANGEMENTS, *SHARINGS, "group=RESOURCE"))
            raise ValueError(f"place: expected words of {expected}, found {text!r}")
    return JobPlacement(arrangement, sharing, group)


def flat_attributes(job: Mapping[str, Any]) -> dict[str, str]:
    """Attributes of a job as `qstat -f -F json` prints them, with Resource_List and the like as `Resource_List.ncpus`."""
    flat: dict[str, str] = {}
    for key, value in job.items():
        if isinstance(value, Mapping):
            flat |= {f"{key}.{name}": str(amount) for name, amount in value.items()}
        else:
            flat[key] = str(value)
    return flat


def _chunks(listed: Mapping[str, str], attributes: Mapping[str, str]) -> tuple[Chunk, ...]:
    """Of select, else of a Cray's width, else of Torque's nodes and procs (the larger), else of Torque's tasks, else of ncpus."""
    if listed.get("select"):
        return chunks_of_select(listed["select"])
    if width := _count("mppwidth", listed.get("mppwidth", "0")):
        return (Chunk(width, _count("mppdepth", listed.get("mppdepth", "1")) or 1),)
    if of_nodes := _listed_nodes(listed):
        return of_nodes
    if procs := _count("procs", listed.get("procs", "0")):
        return (Chunk(procs),)
    if attributes.get("tasks"):
        return tuple(_chunk("tasks", part.partition(" ")[0]) for part in _PLUS.split(attributes["tasks"]))
    gpus = next((_count(word, listed[word]) for word in _GPU_WORDS if word in listed), 0)
    memory_kb = _kilobytes("Resource_List.mem", listed["mem"]) if "mem" in listed else None
    return (Chunk(1, _count("ncpus", listed.get("ncpus", "1")), memory_kb, gpus),)


def _listed_nodes(listed: Mapping[str, str]) -> tuple[Chunk, ...]:
    """Torque's nodes. () for none, and where they are the server's default of one beside a request for more procs."""
    chunks = chunks_of_nodes(listed["nodes"]) if listed.get("nodes") and not listed.get("select") else ()
    procs = _count("procs", listed.get("procs", "0"))
    return chunks if sum(chunk.count * chunk.ncpus for chunk in chunks) >= procs else ()


def _chunk(key: str, text: str) -> Chunk:
    """One chunk. The number at its beginning may be missing."""
    parts = [part.strip() for part in _COLON.split(text)]
    if not all(parts):
        raise ValueError(f"{key}: expected chunks such as 2:{_CPU_WORDS[key == 'nodes']}=8, found {text!r}")
    counted = re.fullmatch(r"[0-9]{1,9}", parts[0]) is not None
    amounts: dict[str, int] = {}
    words = []
    for part in parts[1:] if counted else parts:
        name, equals, value = part.partition("=")
        amount = _amount(f"{key}: {name}", name, value.strip("\"'")) if equals else None
        if amount is None:
            words.append(part)
        else:
            amounts[name] = amount
    memory = [amounts.pop(word) for word in _MEMORY_WORDS if word in amounts]
    gpus = [amounts.pop(word) for word in _GPU_WORDS if word in amounts]
    ncpus = [amounts.pop(word) for word in _CPU_WORDS if word in amounts]
    return Chunk(
        int(parts[0]) if counted else 1,
        ncpus[0] if ncpus else 1,
        memory[0] if memory else None,
        max(gpus, default=0),
        amounts.pop("mpiprocs", 0),
        tuple(words),
        amounts,
    )


def _amount(where: str, name: str, value: str) -> int | None:
    """The number of a resource that is counted, a size in KiB, None for a word."""
    if name in (*_CPU_WORDS, *_GPU_WORDS, "mpiprocs", "ompthreads"):
        return _count(where, value)
    if name in _MEMORY_WORDS or _SIZE.fullmatch(value):
        return _kilobytes(where, value)
    return int(value) if re.fullmatch(r"[0-9]{1,18}", value) else None


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
    return array.partition("%")[0], _count("max_run_subjobs", most) if most else None


def _walltime_s(listed: Mapping[str, str]) -> int | None:
    if not listed.get("walltime"):
        return None
    try:
        return duration_s(listed["walltime"])
    except ValueError:
        raise ValueError(f"Resource_List.walltime: expected H:M:S or seconds, found {listed['walltime']!r}") from None


def _kilobytes(key: str, text: str) -> int:
    size = kilobytes(text)
    if size is None:
        raise ValueError(f"{key}: expected a size such as 4gb, found {text!r}")
    return size


def _count(key: str, text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise ValueError(f"{key}: expected a whole number of up to 9 digits, found {text!r}")
    return int(text)


def placed_chunks(text: str) -> Iterator[tuple[str, Chunk]]:
    """Node and piece of `(n1:ncpus=2:mem=1024kb+n2:ncpus=1)+(n3:ncpus=4)`, exec_vnode of a job or nodes of a reservation.

    Raises ValueError where a piece has no node."""
    for part in filter(None, (piece.strip() for piece in re.split(r"[+()]", text))):
        node, _, rest = part.partition(":")
        if not node or "=" in node:
            raise ValueError(f"exec_vnode: expected pieces such as (n1:ncpus=2), found {part!r}")
        yield node, _chunk("exec_vnode", rest) if rest else Chunk(ncpus=0)
