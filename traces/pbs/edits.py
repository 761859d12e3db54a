"""Edits of a described cluster of PBS: attributes of server, queues and nodes, and lines of sched_config, read as when it is imported."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from traces.cluster.accounts import Limit
from traces.cluster.description import ClusterDescription, Node, Partition, Setting
from traces.cluster.editing import EDIT, ReadParts, check_remarks, edit_entry, named_part, of_owners, with_read_parts
from traces.cluster.hostlists import expand_hostlist
from traces.cluster.notes import Entry, Notes, TextFile, read_text_file
from traces.pbs.configuration import files as roles
from traces.pbs.configuration.files import role_of
from traces.pbs.configuration.folder import read_pbs_cluster, sched_settings, server_settings
from traces.pbs.configuration.keys import (
    LIMIT_ATTRIBUTES,
    QUEUE_KEYS,
    SCHED_CONFIG_KEYS,
    SCHED_KEYS,
    SERVER_KEYS,
    VNODE_KEYS,
)
from traces.pbs.configuration.nodes import read_nodes
from traces.pbs.configuration.qmgr import ServerState
from traces.pbs.configuration.queues import partitions_of_queues
from traces.pbs.configuration.scheduler_files import NON_PRIME, read_sched_config

_DOTTED = re.compile(r"(?:(server|sched)|(queue|node)\.([^.]+))\.(.+)")
_ALL_KEYS = frozenset((*SERVER_KEYS, *QUEUE_KEYS, *SCHED_KEYS, *SCHED_CONFIG_KEYS, *VNODE_KEYS))
PBS_EDIT_KEYS = _ALL_KEYS
"""Every key of an edit."""
PBS_SETTINGS = frozenset((*SERVER_KEYS, *SCHED_CONFIG_KEYS))
"""Those that need no name of a part of the cluster before them."""
_OF_NODES = ("default_chunk", "features_required")
_STATES = {"up": (True, True), "down": (True, False), "drain": (False, True), "inactive": (False, False)}


@dataclass
class _Asked:
    """The edits by the reader that takes them. state: of server, queues and schedulers, with what the cluster has already where one
    attribute does not say all. limits: owner, its name and attribute of each limit that is given or cleared."""

    state: ServerState = field(default_factory=ServerState)
    sched_config: list[Entry] = field(default_factory=list)
    nodes: dict[str, list[Entry]] = field(default_factory=dict)
    limits: list[tuple[str, str, str]] = field(default_factory=list)


def edited_pbs_cluster(base: ClusterDescription, edits: Sequence[str], time_zone: str) -> ClusterDescription:
    """The cluster with these edits, in their order. Each is a line of sched_config such as `strict_ordering=False`, an attribute of the
    server such as `job_sort_formula=...` or `server.backfill_depth=5`, or `sched.KEY=VALUE`, `queue.NAME.KEY=VALUE` and
    `node.NAME.KEY=VALUE`. Nodes that the cluster has not are added.

    Raises ValueError, with the edit and the remedy, for an unknown key, one that no replay models, and a name that the cluster has not."""
    asked, notes, parts = _Asked(), Notes(), ReadParts()
    for number, text in enumerate(edits, 1):
        _take(asked, base, text, number)
    parts.partitions = partitions_of_queues(asked.state, (), notes)
    parts.limits, parts.licences, parts.values = server_settings(asked.state, notes)
    parts.values |= sched_settings(asked.state, notes)
    if parts.licences:
        parts.licences = {**base.licences, **parts.licences}
    for entry in asked.sched_config:
        quoted = f'"{entry.value}"' if " " in entry.value else entry.value
        text = "\n" * (entry.line - 1) + f"{entry.key}: {quoted} all"
        parts.values |= read_sched_config(TextFile(EDIT, text), notes)
        parts.cleared.add(f"{entry.key}.{NON_PRIME}")
    parts.nodes = _read_nodes(asked, base, time_zone, notes)
    check_remarks(notes.remarks, tuple(edits), _ALL_KEYS)

    def touched(limit: Limit) -> bool:
        last = limit.source.rpartition(" ")[2]
        return any((limit.owner, limit.owner_name, last) == each for each in asked.limits)

    parts.touched = touched
    return with_read_parts(base, parts, notes.remarks)


def _take(asked: _Asked, base: ClusterDescription, text: str, number: int) -> None:
    """Puts one edit where its reader takes it."""
    entry, adds = edit_entry(text, number)
    if adds:
        raise ValueError(f"{text!r}: write the whole value with =")
    dotted = _DOTTED.fullmatch(entry.key)
    if dotted is None:
        if entry.key in SCHED_CONFIG_KEYS and entry.key not in SERVER_KEYS:
            asked.sched_config.append(entry)
            return
        owners = [kind for kind, keys in (("queue", QUEUE_KEYS), ("node", VNODE_KEYS)) if entry.key in keys]
        if owners and entry.key not in SERVER_KEYS:
            raise ValueError(of_owners(text, entry, owners))
        kind, name, key = "server", "", entry.key
    else:
        kind, name, key = dotted[1] or dotted[2], dotted[3] or "", dotted[4]
    entry = Entry(EDIT, number, key, entry.value.strip("\"'"))
    if kind == "node":
        for each in expand_hostlist(name):
            asked.nodes.setdefault(each, []).append(entry)
        return
    if kind == "queue":
        named_part("queue", name, [each.name for each in base.partitions])
        if key.partition(".")[0] in _OF_NODES:
            raise ValueError(f"{text!r}: it says which nodes the queue has: give all files of the configuration")
        if name not in asked.state.objects["queue"]:
            asked.state.objects["queue"][name] = _usual_queue(base.partition_named(name))
    base_key = key.partition(".")[0]
    if kind in ("server", "queue") and base_key in (*LIMIT_ATTRIBUTES, "resources_available"):
        asked.limits.append(("cluster" if kind == "server" else "partition", name, key))
        if not entry.value:
            return
    asked.state.of(kind, name)[key] = entry


def _usual_queue(partition: Partition) -> dict[str, Entry]:
    """What a queue has already of attributes that count together."""
    enabled, started = _STATES[partition.state]
    values = {"queue_type": "Execution", "enabled": str(enabled), "started": str(started)}
    for key, names in (("user", partition.allow_users), ("group", partition.allow_groups)):
        values |= {f"acl_{key}_enable": "True", f"acl_{key}s": ",".join(names)}
    return {key: Entry("", 0, key, value) for key, value in values.items()}


def _read_nodes(asked: _Asked, base: ClusterDescription, time_zone: str, notes: Notes) -> tuple[Node, ...]:
    """Nodes that are changed or added. Those that are added have the rank of the first node with as many CPUs."""
    read: list[Node] = []
    for name, entries in asked.nodes.items():
        of = {entry.key: entry for entry in entries}
        former = base.nodes[base.node_index[name]] if name in base.node_index else None
        usual = f"    resources_available.ncpus = {former.cores}\n" if former is not None else ""
        lines = {entry.line: f"    {entry.key} = {entry.value}" for entry in of.values()}
        head = f"{name}\n{usual}"
        if former is None and not {"resources_available.ncpus", "np"} & of.keys():
            raise ValueError(
                f"the cluster has no node {name!r}: a new one needs node.{name}.resources_available.ncpus=..."
            )
        own = Notes()
        listed = read_nodes(TextFile(EDIT, head + "\n".join(lines.values())), asked.state, time_zone, own)
        place = {key: entry.line for key, entry in of.items()}
        notes.remarks += [replace(each, line=place[each.key]) for each in own.remarks if each.key in place]
        ranks = [each.weight for each in base.nodes if each.cpus == listed[0].node.cpus]
        read.append(replace(listed[0].node, weight=ranks[0] if ranks else 1))
    return tuple(read)


def changed_pbs_cluster(base: ClusterDescription, paths: Sequence[Path], time_zone: str) -> ClusterDescription:
    """The cluster as new files have it. What none of them says, such as queues where there is only a sched_config, stays.

    Raises ConfigurationError as `read_pbs_cluster`, and ValueError where no file is a configuration of PBS."""
    given = {role_of(read_text_file(path)) for path in paths} - {None}
    if not given:
        raise ValueError(f"{paths[0]}: no configuration of PBS; expected what qmgr or pbsnodes print, or sched_config")
    has_nodes = bool(given & {roles.NODES, roles.TORQUE_NODES})
    with tempfile.TemporaryDirectory() as folder:
        usual = Path(folder) / "pbsnodes.txt"
        usual.write_text("".join(f"{node.name}\n    resources_available.ncpus = {node.cores}\n" for node in base.nodes))
        new = read_pbs_cluster([*paths, *([] if has_nodes else [usual])], base.name, time_zone).description
    kept: dict[str, Any] = {"valid_from_s": base.valid_from_s}
    kept |= {name: getattr(base, name) for role, names in _SAID_BY.items() if role not in given for name in names}
    if not has_nodes:
        former = {each.name: each.nodes for each in base.partitions}
        kept["nodes"] = base.nodes
        if roles.SERVER in given:
            kept["partitions"] = tuple(replace(each, nodes=former.get(each.name, ())) for each in new.partitions)
    values: dict[str, Setting] = {
        key: value for key, value in base.scheduler.values.items() if _roles_of_setting(key) - given
    }
    version = new.scheduler.version or base.scheduler.version
    scheduler = replace(base.scheduler, version=version, values={**values, **new.scheduler.values})
    return replace(new, **kept, scheduler=scheduler)


_SAID_BY = {
    roles.SERVER: ("partitions", "limits", "licences"),
    roles.SHARES: ("accounts", "members"),
    roles.HOLIDAYS: ("gates",),
    roles.DEDICATED: ("reservations",),
}
"""File -> the parts of a description that it says."""


def _roles_of_setting(key: str) -> set[str]:
    """The files that may say a setting. It is gone where none of them says it any more, so that a file which never had it takes nothing
    out."""
    base = key.partition(".")[0]
    if base in SERVER_KEYS:
        return {roles.SERVER}
    of_config = {roles.SCHED_CONFIG} if base in SCHED_CONFIG_KEYS else set()
    return of_config | ({roles.SCHED} if base in SCHED_KEYS or not of_config else set())
