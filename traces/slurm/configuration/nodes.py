"""Nodes of a description, from NodeName lines and from what `scontrol show node` says.

gres.conf: the GPUs and other resources of nodes, by type and number.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from zoneinfo import ZoneInfo

from traces.cluster.description import Absence, Node
from traces.cluster.hostlists import expand_hostlist
from traces.cluster.notes import NO_EFFECT, NOT_MODELLED, Entry, Notes, TextFile, integer_of
from traces.slurm.configuration.keys import left_out, without_effect
from traces.slurm.configuration.lines import Finder, conf_lines
from traces.slurm.configuration.parts import Attributes, NodeGroup, SlurmParts, hosts_place, named_hosts, slurm_key
from traces.slurm.configuration.units import counted, gres_amounts, is_unset, mib_of, words_of

GPU_KEYS = ("nodename", "name", "type", "count", "file")
"""Of lines of GPUs in gres.conf, which say their types."""
DOWN_KEYS = ("downnodes", "state", "reason")
"""Of DownNodes lines."""
_KEYS = without_effect("nodename name type count file multiplefiles autodetect flags links") | left_out(
    {
        "cores": "jobs would get these resources together with these cores",
        "cpus": "jobs would get these resources together with these CPUs",
    }
)


@dataclass
class GresLines:
    """What gres.conf says. gpus: of each node, how many by type, "" for those without one."""

    gpus: dict[str, dict[str, int]] = field(default_factory=dict)
    entries: dict[str, Entry] = field(default_factory=dict)
    everywhere: dict[str, int] = field(default_factory=dict)

    def refine(self, node: Node, notes: Notes) -> Node:
        """The node with the types of its GPUs, where slurm.conf has their number only. slurm.conf holds where they differ."""
        listed = self.gpus.get(node.name, self.everywhere if node.gpus else {})
        if not listed or listed == node.gpus:
            return node
        total = sum(listed.values())
        if set(node.gpus) == {""} and total == node.num_gpus:
            return replace(node, gpus=listed)
        if total != node.num_gpus and (entry := self.entries.get(node.name)) is not None:
            text = f"{node.name} has {node.num_gpus} GPUs, as its line of nodes says, and not {total}"
            notes.assumed(entry, text)
        return node


def read_gres_conf(file: TextFile, finder: Finder, notes: Notes) -> GresLines:
    """The lines of gres.conf. Raises ConfigurationError, with file, line and what was expected."""
    gres = GresLines()
    for line in conf_lines(file, finder):
        of = {slurm_key(entry): entry for entry in line.entries}
        names = named_hosts(of["nodename"]) if "nodename" in of else ()
        is_gpu = "name" in of and of["name"].value.lower() == "gpu"
        for key, entry in of.items():
            if is_gpu and key in GPU_KEYS:
                notes.modelled(entry, f"nodes.{of['nodename'].value}.gpus" if names else "nodes")
            elif key == "autodetect" and entry.value.lower() not in ("off", "none"):
                notes.assumed(entry, "nodes find their GPUs themselves; the lines of nodes say how many there are")
            elif key in ("name", "count", "type") and not is_gpu:
                notes.add(entry, NO_EFFECT, "the lines of nodes say how many there are")
            else:
                notes.by_table(_KEYS, entry, key)
        if is_gpu:
            _add_gpus(gres, names, of)
    return gres


def _add_gpus(gres: GresLines, names: tuple[str, ...], of: Mapping[str, Entry]) -> None:
    kind = of["type"].value if "type" in of else ""
    count = counted(of["count"], of["count"].value) if "count" in of else _files(of)
    for counts in [gres.gpus.setdefault(name, {}) for name in names] or [gres.everywhere]:
        counts[kind] = counts.get(kind, 0) + count
    gres.entries |= dict.fromkeys(names, of["name"])


def _files(of: Mapping[str, Entry]) -> int:
    """How many devices `File=/dev/nvidia[0-3]` names, 1 without it."""
    if "file" not in of:
        return 1
    try:
        return max(1, len(expand_hostlist(re.sub(r"[^\[\],\w-]", "", of["file"].value))))
    except ValueError as error:
        raise of["file"].refuse(f"files such as /dev/nvidia[0-3] ({error})") from error


# --- nodes


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
            if key in DOWN_KEYS:
                notes.modelled(entry, f"{hosts_place(listed)}.absences")
            else:
                notes.by_table({}, entry)
        spans = _absences({"state": state} | {k: e for k, e in attributes.items() if k == "reason"}, time_zone)
        if not spans:
            notes.add(state, NO_EFFECT, "with this value")
        absent |= dict.fromkeys(listed, spans)
    return tuple(replace(node, absences=absent[node.name]) if absent.get(node.name) else node for node in nodes)
