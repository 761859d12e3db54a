"""Which nodes a PBS job held, and how much of each: what it asked for, or the whole node where it had it for itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from traces.cluster.description import Node
from traces.pbs.requests import JobPlacement, place_of, placed_chunks

_WHOLE_NODE = ("excl", "exclhost")


@dataclass(frozen=True)
class HeldNode:
    """A node that a job held. cpus, memory_kb, gpus: what nobody else could use."""

    node: str
    cpus: int
    memory_kb: int
    gpus: int


def held_nodes(attributes: Mapping[str, str], nodes: Mapping[str, Node]) -> tuple[HeldNode, ...]:
    """The nodes of a job that has started, in the order of exec_vnode, else of exec_host. () for a job that has neither.

    attributes: of a record or of qstat, as in `traces.pbs.requests`. nodes: of the cluster by name. With a node that is not in it, the job
    holds what it asked for there, and no more. A job has nodes for itself by `place`, or because they are for one job by themselves.
    With exclhost it holds all nodes of the same host. Raises ValueError for lists that cannot be read.
    """
    asked = _asked(attributes)
    place = attributes.get("Resource_List.place")
    placement = place_of(place) if place else JobPlacement()
    whole: dict[str, None] = {}
    for name in asked:
        level = _level(placement.sharing, nodes.get(name))
        if level == "exclhost":
            host = nodes[name].host or name if name in nodes else name
            whole |= {node.name: None for node in nodes.values() if (node.host or node.name) == host}
        elif level == "excl":
            whole[name] = None
    held = []
    for name in dict.fromkeys((*asked, *whole)):
        cpus, memory_kb, gpus = asked.get(name, (0, 0, 0))
        node = nodes.get(name) if name in whole else None
        if node is None:
            held.append(HeldNode(name, cpus, memory_kb, gpus))
        else:
            held.append(HeldNode(name, node.cpus, node.memory_mib * 1024, node.num_gpus))
    return tuple(held)


def host_slots(exec_host: str) -> dict[str, int]:
    """Slots by host of `n1/0*4+n2/0-3,7+n2/8`. Raises ValueError for a text that is none."""
    slots: dict[str, int] = {}
    for part in exec_host.split("+"):
        host, slash, where = part.strip().partition("/")
        if not host:
            raise ValueError(f"exec_host: expected hosts such as n1/0-3, found {exec_host[:60]!r}")
        slots[host] = slots.get(host, 0) + (_slots(where) if slash else 1)
    return slots


def _slots(where: str) -> int:
    try:
        if "*" in where:
            return int(where.partition("*")[2])
        ends = (part.partition("-") for part in where.split(","))
        return sum(int(last) - int(first) + 1 if dash else 1 for first, dash, last in ends)
    except ValueError:
        raise ValueError(f"exec_host: expected slots such as 0-3,7 or 0*4, found {where!r}") from None


def _asked(attributes: Mapping[str, str]) -> dict[str, tuple[int, int, int]]:
    """Node -> CPUs, memory in KiB and GPUs of its pieces."""
    if not attributes.get("exec_vnode"):
        slots = host_slots(attributes["exec_host"]) if attributes.get("exec_host") else {}
        return {host: (count, 0, 0) for host, count in slots.items()}
    asked: dict[str, tuple[int, int, int]] = {}
    for name, piece in placed_chunks(attributes["exec_vnode"]):
        cpus, memory_kb, gpus = asked.get(name, (0, 0, 0))
        asked[name] = (cpus + piece.ncpus, memory_kb + (piece.memory_kb or 0), gpus + piece.ngpus)
    return asked


def _level(sharing: str, node: Node | None) -> str:
    """What a job has of a node, where the job says `sharing` and the node has its own word: "", "excl" or "exclhost"."""
    own = node.sharing if node else ""
    if own.startswith("force_"):
        return own.removeprefix("force_")
    if own == "ignore_excl":
        return ""
    if sharing:
        return sharing if sharing in _WHOLE_NODE else ""
    return own.removeprefix("default_") if own in ("default_excl", "default_exclhost") else ""


def pbs_nodes_held(texts: pl.Series) -> pl.DataFrame:
    """One row a job and node: place (of the text in `texts`), node_name, procs, and gpus and memory_kb, null where the text does not tell.

    texts: `(n1:ncpus=4:mem=2gb+n2:ncpus=4)+(n1:ncpus=1)` (exec_vnode), or `n1/0*16+n2/0-3+n2/7` (exec_host). Texts that are neither have
    no row.
    """
    places: list[int] = []
    rows: list[tuple[str, int, int | None, int | None]] = []
    for place, text in enumerate(texts):
        for held in _nodes_of(text):
            places.append(place)
            gpus = held.gpus if text.startswith("(") else None
            rows.append((held.node, held.cpus, gpus, held.memory_kb or None))
    frame = pl.DataFrame(
        rows, {"node_name": pl.Utf8, "procs": pl.Int64, "gpus": pl.Int64, "memory_kb": pl.Int64}, orient="row"
    )
    return frame.insert_column(0, pl.Series("place", np.array(places, dtype=np.int64)))


def _nodes_of(text: str | None) -> tuple[HeldNode, ...]:
    if not text:
        return ()
    try:
        return held_nodes({"exec_vnode" if text.startswith("(") else "exec_host": text}, {})
    except ValueError:
        return ()
