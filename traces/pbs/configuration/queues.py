"""Queues of PBS and Torque as partitions of a cluster, with the nodes that they may use.

Limits of PBS's server and queues: `max_run = [u:PBS_GENERIC=4]`, the older `max_user_run = 4`, and `resources_max.mem = 64gb`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from traces.cluster.accounts import Limit
from traces.cluster.description import Partition
from traces.cluster.notes import MODELLED, ConfigurationError, Entry, Notes, boolean_of, integer_of
from traces.pbs.configuration.files import RESOURCE_NAMES, entry_amount, seconds_of, setting_of
from traces.pbs.configuration.keys import LIMIT_ATTRIBUTES, OF_GROUPS, QUEUE_KEYS
from traces.pbs.configuration.nodes import ListedNode
from traces.pbs.configuration.qmgr import Attributes, ServerState

_ELSEWHERE = (*LIMIT_ATTRIBUTES, "resources_available")
"""Read by `traces.pbs.configuration.queues`."""
_FIELDS = {
    "resources_default.walltime": "default_time_s",
    "Priority": "tier",
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
    if row is not None and row.kind == MODELLED and is_route:
        if key != "queue_type":  # the remark on the queue itself says it
            notes.unmodelled(entry, "jobs would have this on their way through the queue")
    elif row is None or row.kind != MODELLED:
        if is_route or base not in _ELSEWHERE or key == "resources_max.walltime":
            notes.by_table(QUEUE_KEYS, entry, base)
    elif base not in _ELSEWHERE:
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


# --- limits


_NEW_STYLE = {
    "max_run": ("running", False),
    "max_run_soft": ("running", True),
    "max_run_res": ("running", False),
    "max_run_res_soft": ("running", True),
    "max_queued": ("submitted", False),
    "max_queued_res": ("submitted", False),
}
"""What is counted, and whether it is a soft limit."""
_OLD_STYLE = {
    "max_running": ("running", "all", False),
    "max_user_run": ("running", "user", False),
    "max_user_run_soft": ("running", "user", True),
    "max_group_run": ("running", "group", False),
    "max_group_run_soft": ("running", "group", True),
    "max_user_res": ("running", "user", False),
    "max_user_res_soft": ("running", "user", True),
    "max_group_res": ("running", "group", False),
    "max_group_res_soft": ("running", "group", True),
    "max_queuable": ("submitted", "all", False),
    "max_user_queuable": ("submitted", "user", False),
}
_OF_A_JOB = {"resources_max": False, "resources_min": True}
_EACH = {"o": "all", "u": "user", "g": "group", "p": "project"}
_SPECIFICATION = re.compile(r'\s*\[?\s*([ougp]):\s*("[^"]*"|[^=\]]+?)\s*=\s*([^\]\s]+)\s*\]?\s*')
_GENERIC, _ALL = "PBS_GENERIC", "PBS_ALL"
_REMEDY = "Write limits as qmgr prints them, [u:PBS_GENERIC=4]"


def attribute_limits(attributes: Attributes, owner: str, owner_name: str, notes: Notes) -> tuple[Limit, ...]:
    """The limits of a server (owner "cluster") or of a queue ("partition"). `resources_max.walltime` of a queue is not among them: it is
    the time limit of the partition.

    Raises ConfigurationError for a limit that cannot be read.
    """
    limits: list[Limit] = []
    for key, entry in attributes.items():
        base, _, resource = key.partition(".")
        if owner == "partition" and key == "resources_max.walltime":
            continue
        is_counted = resource in RESOURCE_NAMES and resource != "nodes"
        if base in _OF_A_JOB and not is_counted and not _is_amount(entry.value):
            notes.unmodelled(entry, "jobs that ask for more, or for another one, are refused")
            continue
        of_key = [
            Limit(owner, owner_name, counts, each, what, bound, who, is_least, is_soft, entry.source)
            for counts, each, who, what, bound, is_least, is_soft in _amounts(entry, base, resource)
        ]
        if of_key and QUEUE_KEYS[base].kind != MODELLED:
            notes.by_table(QUEUE_KEYS, entry, base)
        elif any(limit.each == "group" for limit in of_key):
            notes.unmodelled(entry, OF_GROUPS)
        elif of_key:
            notes.modelled(entry, f"limits.{owner_name or owner}.{key}")
        limits += of_key
    return tuple(limits)


def server_wide_limits(attributes: Attributes, owner: str, owner_name: str, notes: Notes) -> tuple[Limit, ...]:
    """Limits that `resources_available` of a queue, or of processors, memory and nodes at the server, put on all jobs that run."""
    limits = []
    for key, entry in attributes.items():
        base, _, resource = key.partition(".")
        if base == "resources_available" and (owner == "partition" or resource in RESOURCE_NAMES):
            name = RESOURCE_NAMES.get(resource, resource)
            bound = entry_amount(entry, resource)
            limits.append(Limit(owner, owner_name, "running", "all", name, bound, source=entry.source))
            notes.modelled(entry, f"limits.{owner_name or owner}.{key}")
    return tuple(limits)


def _is_amount(text: str) -> bool:
    """Whether a value begins with a number. Torque's `resources_max.nodes` is a list of nodes, and others may be words."""
    return re.fullmatch(r"[0-9][0-9.:]*[a-zA-Z]{0,2}", text.strip()) is not None and ":ppn" not in text


def _amounts(entry: Entry, base: str, resource: str) -> Iterator[tuple[str, str, str, str, int, bool, bool]]:
    """(counts, each, who, resource, bound, is least, is soft) of an entry. Nothing where it is no limit."""
    what = RESOURCE_NAMES.get(resource, resource) if resource else "jobs"
    if base in _NEW_STYLE:
        counts, is_soft = _NEW_STYLE[base]
        for each, who, bound in _specifications(entry, resource):
            yield counts, each, who, what, bound, False, is_soft
    elif base in _OLD_STYLE:
        counts, each, is_soft = _OLD_STYLE[base]
        bound = entry_amount(entry, resource) if resource else integer_of(entry)
        yield counts, each, "", what, bound, False, is_soft
    elif base in _OF_A_JOB and resource:
        yield "job", "job", "", what, entry_amount(entry, resource), _OF_A_JOB[base], False


def _specifications(entry: Entry, resource: str) -> Iterator[tuple[str, str, int]]:
    """(each, who, bound) of `[u:PBS_GENERIC=4],[o:PBS_ALL=128]`."""
    for text in re.split(r",(?=\s*\[?\s*[ougp]:)", entry.value):
        parts = _SPECIFICATION.fullmatch(text)
        if parts is None:
            raise entry.refuse("limits such as [u:PBS_GENERIC=4]", _REMEDY)
        letter, name, amount = parts.group(1), parts.group(2).strip('"'), parts.group(3)
        if (letter == "o") != (name == _ALL):
            raise entry.refuse(f"o with {_ALL}, or u, g or p with a name or {_GENERIC}", _REMEDY)
        part = Entry(entry.file, entry.line, entry.key, amount)
        try:
            bound = entry_amount(part, resource) if resource else integer_of(part)
        except ConfigurationError:
            raise entry.refuse("limits such as [u:PBS_GENERIC=4]", _REMEDY) from None
        yield _EACH[letter], "" if name in (_GENERIC, _ALL) else name, bound
