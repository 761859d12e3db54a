"""What a PBS job asks for: `select` and `place` of PBS Pro and OpenPBS.

Syntax: Altair PBS Professional User's Guide, "Allocating Resources & Placing Jobs"; Torque Administrator Guide,
"Requesting Resources".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from traces.pbs.rules import kilobytes

ARRANGEMENTS = ("free", "pack", "scatter", "vscatter")
SHARINGS = ("shared", "excl", "exclhost")
GPU_WORDS = ("ngpus", "gpus", "gpu")
_MEMORY_WORDS = ("mem", "memory")
_CPU_WORDS = ("ncpus", "ppn", "lprocs")
_OUTSIDE_QUOTES = r'(?=(?:[^"]*"[^"]*")*[^"]*$)'
PLUS, _COLON = re.compile(rf"\+{_OUTSIDE_QUOTES}"), re.compile(rf":{_OUTSIDE_QUOTES}")
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


def chunks_of_select(text: str) -> tuple[Chunk, ...]:
    """The chunks of `2:ncpus=8:mem=12gb+1:ncpus=2:ngpus=2`. Raises ValueError for a text that is none."""
    return tuple(chunk_of("select", part) for part in PLUS.split(text))


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


def chunk_of(key: str, text: str) -> Chunk:
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
    gpus = [amounts.pop(word) for word in GPU_WORDS if word in amounts]
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
    if name in (*_CPU_WORDS, *GPU_WORDS, "mpiprocs", "ompthreads"):
        return number_of_text(where, value)
    if name in _MEMORY_WORDS or _SIZE.fullmatch(value):
        return kilobytes_of(where, value)
    return int(value) if re.fullmatch(r"[0-9]{1,18}", value) else None


def kilobytes_of(key: str, text: str) -> int:
    """A size in KiB. Raises ValueError, which names the key, for a text that is none."""
    size = kilobytes(text)
    if size is None:
        raise ValueError(f"{key}: expected a size such as 4gb, found {text!r}")
    return size


def number_of_text(key: str, text: str) -> int:
    """A number of up to 9 digits. Raises ValueError, which names the key, for a text that is none."""
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
        yield node, chunk_of("exec_vnode", rest) if rest else Chunk(ncpus=0)
