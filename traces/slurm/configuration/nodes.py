"""Nodes of a description, from NodeName lines and from what `scontrol show node` says."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from zoneinfo import ZoneInfo

from traces.cluster.nodes import Absence, Node
from traces.cluster.notes import Entry, Notes, integer_of
from traces.cluster.remarks import NO_EFFECT, NOT_MODELLED
from traces.slurm.configuration.gres import GresLines
from traces.slurm.configuration.parts import Attributes, NodeGroup, SlurmParts, hosts_place, named_hosts
from traces.slurm.configuration.units import gres_amounts, is_unset, mib_of, words_of

NODE_FIELDS = {
    "nodename": "name",
    "cpus": "cpus",
    "boards": "sockets",
    "sockets": "sockets",
    "socketsperboard": "sockets",
    "corespersocket": "cores",
    "threadspercore": "threads_per_core",
    "corespeccount": "cores",
    "realmemory": "memory_mib",
    "memspeclimit": "memory_mib",
    "gres": "gpus",
    "feature": "features",
    "weight": "weight",
    "tmpdisk": "resources",
    "state": "absences",
    "reason": "absences",
}
"""Key of a node -> field of `Node`."""
_ABSENT = {
    "down": "down",
    "drain": "drain",
    "draining": "drain",
    "drained": "drain",
    "fail": "drain",
    "failing": "drain",
}
_STAMP = re.compile(r"@(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\]?$")


def nodes_of_parts(parts: SlurmParts, gres_lines: GresLines, time_zone: str, notes: Notes) -> tuple[Node, ...]:
    """The nodes, in the order of the files. time_zone: in which dates are written.

    Raises ConfigurationError, with file and line, for values that cannot be used."""
    nodes: list[Node] = []
    for group in parts.groups:
        state = group.attributes.get("state")
        if state is not None and "future" in state.value.lower():
            notes.add(state, NOT_MODELLED, f"{len(group.names)} nodes would come later; they are left out")
            continue
        nodes += _nodes_of(group, gres_lines, time_zone, notes)
    return _with_downs(nodes, parts.downs, time_zone, notes)


def _nodes_of(group: NodeGroup, gres_lines: GresLines, time_zone: str, notes: Notes) -> list[Node]:
    of = group.attributes
    sockets, cores, threads, cpus = _processors(group, notes)
    gpus, resources = gres_amounts(of["gres"]) if "gres" in of and not is_unset(of["gres"].value) else ({}, {})
    if _count(of, "tmpdisk"):
        resources["tmpdisk"] = _count(of, "tmpdisk")
    memory = mib_of(of["realmemory"]) if "realmemory" in of else 0
    if memory == 0:
        notes.assumed(of["nodename"], "its memory is not said, and no job is refused for memory")
    elif "memspeclimit" in of and not is_unset(of["memspeclimit"].value):
        memory = max(0, memory - mib_of(of["memspeclimit"]))
    features = of.get("feature")
    model = Node(
        "node",
        cores,
        memory,
        gpus,
        () if features is None else words_of(features.value.replace("(null)", "")),
        _count(of, "weight", 1),
        sockets,
        threads,
        cpus,
        resources,
        _absences(of, time_zone),
    )
    return [gres_lines.refine(replace(model, name=name), notes) for name in group.names]


def _processors(group: NodeGroup, notes: Notes) -> tuple[int, int, int, int]:
    """Sockets, cores, threads of a core and CPUs of a node, as Slurm counts them."""
    of = group.attributes
    boards, threads = max(1, _count(of, "boards", 1)), max(1, _count(of, "threadspercore", 1))
    sockets = boards * _count(of, "socketsperboard") or _count(of, "sockets")
    per_socket, cpus = _count(of, "corespersocket"), _count(of, "cpus")
    place = of.get("cpus", of["nodename"])
    if not sockets and not per_socket:
        if not cpus:
            notes.assumed(of["nodename"], "its CPUs are not said, and it has 1, as Slurm assumes")
            cpus = threads
        cores = max(1, cpus // threads)
    else:
        cores = max(1, sockets or max(1, cpus // (per_socket * threads))) * max(1, per_socket)
        if not per_socket and cpus:
            cores = max(1, cpus // threads)
        if cpus not in (0, cores, cores * threads):
            text = f"{cores * threads} CPUs, from sockets, cores and threads, where {cpus} do not fit"
            notes.assumed(place, text)
            cpus = 0
    kept = _count(of, "corespeccount")
    cpus = (cpus or cores * threads) - kept * ((cpus or cores * threads) // cores)
    if cores - kept < 1 or cpus < 1:
        raise of["corespeccount"].refuse("fewer cores than the node has")
    return sockets, cores - kept, threads, cpus


def _count(of: Attributes, key: str, default: int = 0) -> int:
    entry = of.get(key)
    return default if entry is None or is_unset(entry.value) else integer_of(entry)


def _absences(of: Attributes, time_zone: str) -> tuple[Absence, ...]:
    entry = of.get("state")
    if entry is None:
        return ()
    words = re.split(r"[+*~#!%$@^-]+", entry.value.lower())
    states = [_ABSENT[word] for word in words if word in _ABSENT]
    if not states:
        return ()
    stamp = _STAMP.search(of["reason"].value) if "reason" in of else None
    return (Absence(_second(stamp.group(1), time_zone) if stamp else 0, None, states[-1]),)


def _second(text: str, time_zone: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(time_zone)).timestamp())


def local_second(entry: Entry, time_zone: str) -> int:
    """UTC second of a local time such as 2024-03-01T08:00:00. Raises ConfigurationError for another text."""
    try:
        return _second(entry.value.strip(), time_zone)
    except ValueError:
        raise entry.refuse("a time such as 2024-03-01T08:00:00") from None


def _with_downs(
    nodes: Sequence[Node], downs: Sequence[Mapping[str, Entry]], time_zone: str, notes: Notes
) -> tuple[Node, ...]:
    """The nodes with the states of DownNodes= lines."""
    absent: dict[str, tuple[Absence, ...]] = {}
    names = {node.name for node in nodes}
    for attributes in downs:
        listed = named_hosts(attributes["downnodes"])
        for name in listed:
            if name not in names:
                raise attributes["downnodes"].refuse(f"nodes of NodeName lines, but {name} is none")
        state = attributes.get("state", Entry("", 0, "State", "DOWN"))
        for key, entry in attributes.items():
            if key in ("downnodes", "state", "reason"):
                notes.modelled(entry, f"{hosts_place(listed)}.absences")
            else:
                notes.by_table({}, entry)
        spans = _absences({"state": state} | {k: e for k, e in attributes.items() if k == "reason"}, time_zone)
        if not spans:
            notes.add(state, NO_EFFECT, "with this value")
        absent |= dict.fromkeys(listed, spans)
    return tuple(replace(node, absences=absent[node.name]) if absent.get(node.name) else node for node in nodes)
