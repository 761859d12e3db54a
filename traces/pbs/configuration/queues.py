"""Queues of PBS and Torque as partitions of a cluster, with the nodes that they may use."""

from __future__ import annotations

from collections.abc import Sequence

from traces.cluster.nodes import Partition
from traces.cluster.notes import Entry, Notes, boolean_of, integer_of
from traces.cluster.remarks import MODELLED
from traces.pbs.configuration.keys import LIMIT_ATTRIBUTES, QUEUE_KEYS
from traces.pbs.configuration.nodes import ListedNode
from traces.pbs.configuration.notes import seconds_of, setting_of
from traces.pbs.configuration.qmgr import Attributes, ServerState

_ELSEWHERE = (*LIMIT_ATTRIBUTES, "resources_available")
"""Read by `traces.pbs.configuration.limits`."""
_FIELDS = {
    "resources_max.walltime": "max_time_s",
    "resources_default.walltime": "default_time_s",
    "Priority": "tier",
    "enabled": "state",
    "started": "state",
    "acl_groups": "allow_groups",
    "acl_users": "allow_users",
}
"""Attributes that are a field of a partition by another name."""
_DEFAULT_NODES = ("default_chunk", "resources_default")


def partitions_of_queues(state: ServerState, nodes: Sequence[ListedNode], notes: Notes) -> tuple[Partition, ...]:
    """The execution queues, in the order of the file, each with a remark on every attribute. A routing queue is none: jobs only pass it.

    nodes: () of a partition means all. A queue has the nodes that name it, and where none does, those that name no queue. A default for
    chunks that is a word of some nodes, such as `default_chunk.Qlist = big`, leaves those. Raises ConfigurationError.
    """
    server = state.of("server")
    partitions = []
    for name, attributes in state.objects["queue"].items():
        kind = attributes.get("queue_type")
        is_route = kind is not None and kind.value.strip().lower().startswith("r")
        for key, entry in attributes.items():
            _remark(name, key, entry, is_route, notes)
        if is_route:
            first = kind or next(iter(attributes.values()))
            notes.unmodelled(
                Entry(first.file, first.line, f"queue {name}", "Route"), "jobs only pass it; logs have where they ended"
            )
        else:
            partitions.append(_partition(name, attributes, server, nodes, notes))
    return tuple(partitions)


def _remark(queue: str, key: str, entry: Entry, is_route: bool, notes: Notes) -> None:
    base = key.partition(".")[0]
    row = QUEUE_KEYS.get(base)
    if row is None or row.kind != MODELLED:
        notes.by_table(QUEUE_KEYS, entry, base)
    elif is_route:
        if key != "queue_type":  # the remark on the queue itself says it
            notes.unmodelled(entry, "jobs would have this on their way through the queue")
    elif base not in _ELSEWHERE or key == "resources_max.walltime":
        setting_of(entry, row.form)
        notes.modelled(entry, f"partitions.{queue}.{_FIELDS.get(key, key)}")


def _partition(
    name: str, attributes: Attributes, server: Attributes, nodes: Sequence[ListedNode], notes: Notes
) -> Partition:
    def is_true(key: str) -> bool:
        return key in attributes and boolean_of(attributes[key])

    limit = attributes.get("resources_max.walltime")
    usual = attributes.get("resources_default.walltime") or server.get("resources_default.walltime")
    default = server.get("default_queue")
    states = {(True, True): "up", (True, False): "down", (False, True): "drain", (False, False): "inactive"}
    depth = attributes.get("backfill_depth")
    extra = {
        key: entry.value
        for key, entry in attributes.items()
        if key.partition(".")[0] in ("resources_default", "default_chunk") and key != "resources_default.walltime"
    }
    usable = _nodes(name, attributes, nodes, notes)
    return Partition(
        name,
        usable,
        is_default=default is not None and default.value.partition("@")[0] == name,
        state=states[is_true("enabled"), is_true("started")],
        max_time_s=seconds_of(limit) if limit else None,
        default_time_s=seconds_of(usual) if usual else None,
        tier=integer_of(attributes["Priority"], None) if "Priority" in attributes else 0,
        allow_groups=_names(attributes, "acl_groups", "acl_group_enable", notes),
        allow_users=_names(attributes, "acl_users", "acl_user_enable", notes),
        extra=extra | ({"backfill_depth": integer_of(depth)} if depth else {}),
    )


def _names(attributes: Attributes, key: str, switch: str, notes: Notes) -> tuple[str, ...]:
    """Who may use the queue, () for everybody. Names of hosts are cut off. A name with a minus is refused, which is left out."""
    entry, enabled = attributes.get(key), attributes.get(switch)
    if entry is None or enabled is None or not boolean_of(enabled):
        return ()
    names = [name.strip().partition("@")[0] for name in entry.value.split(",")]
    for name in names:
        if name.startswith("-"):
            notes.unmodelled(Entry(entry.file, entry.line, key, name), f"{name[1:]} could not use the queue")
    return tuple(name.removeprefix("+") for name in names if name and not name.startswith("-"))


def _nodes(queue: str, attributes: Attributes, nodes: Sequence[ListedNode], notes: Notes) -> tuple[str, ...]:
    if nodes and all(listed.queue not in ("", queue) for listed in nodes):
        entry = next(iter(attributes.values()))
        notes.assumed(
            Entry(entry.file, entry.line, f"queue {queue}", ""), "all nodes are of other queues; it may use any here"
        )
        return ()
    own = [listed.node for listed in nodes if listed.queue == queue]
    usable = own or [listed.node for listed in nodes if not listed.queue]
    for key, entry in attributes.items():
        base, _, resource = key.partition(".")
        if base not in (*_DEFAULT_NODES, "features_required"):
            continue
        plain = base == "features_required" or resource in ("neednodes", "nodes")
        word = entry.value if plain else f"{resource}={entry.value}"
        narrowed = [node for node in usable if word in node.features]
        if narrowed and len(narrowed) < len(usable):
            usable = narrowed
            notes.assumed(entry, f"jobs of {queue} run on nodes with it alone: {len(narrowed)} of {len(nodes)}")
    return () if len(usable) == len(nodes) else tuple(node.name for node in usable)
