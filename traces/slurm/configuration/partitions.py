"""Partitions of a description, from PartitionName lines and from what `scontrol show partition` says."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from traces.cluster.description import Node, Partition, Setting
from traces.cluster.hostlists import compress_names
from traces.cluster.notes import NO_EFFECT, NOT_MODELLED, Entry, Notes, integer_of
from traces.slurm.configuration.parts import Attributes, SlurmParts, named_hosts
from traces.slurm.configuration.units import is_unset, mib_of, plain_seconds, span_s, tres_weights, words_of, yes_or_no

PARTITION_FIELDS = {
    "partitionname": "name",
    "nodes": "nodes",
    "default": "is_default",
    "state": "state",
    "maxtime": "max_time_s",
    "defaulttime": "default_time_s",
    "priority": "tier",
    "prioritytier": "tier",
    "priorityjobfactor": "factor",
    "allowaccounts": "allow_accounts",
    "denyaccounts": "deny_accounts",
    "allowgroups": "allow_groups",
    "allowqos": "allow_qos",
    "denyqos": "deny_qos",
    "qos": "qos",
    "oversubscribe": "oversubscribe",
    "minnodes": "min_nodes",
    "maxnodes": "max_nodes",
    "maxcpuspernode": "max_cpus_per_node",
    "defmempercpu": "default_memory_mib",
    "defmempernode": "default_memory_mib",
    "defmempergpu": "default_memory_mib",
    "maxmempercpu": "max_memory_mib",
    "maxmempernode": "max_memory_mib",
    "defcpupergpu": "default_cpus_per_gpu",
    "jobdefaults": "default_cpus_per_gpu",
    "tresbillingweights": "billing",
    "preemptmode": "preempt_mode",
    "gracetime": "grace_s",
}
"""Key of a partition -> field of `Partition`."""
NODE_SET_KEYS = ("nodeset", "feature", "nodes")
"""Of NodeSet lines."""
_STATES = ("up", "down", "drain", "inactive")
_OF_JOBS = ("defmempergpu", "defcpupergpu")


def partitions_of_parts(parts: SlurmParts, nodes: tuple[Node, ...], notes: Notes) -> tuple[Partition, ...]:
    """The partitions, in the order of the files. What they do not say holds as the cluster's settings have it.

    Raises ConfigurationError, with file and line, for values that cannot be used."""
    sets = _node_sets(parts, nodes, notes)
    names = {node.name for node in nodes}
    partitions = []
    for name, of in parts.partitions.items():
        listed = _nodes_of_partition(of, sets, names, parts.listed_nodes, notes)
        if listed is None:
            notes.add(of["partitionname"], NOT_MODELLED, "the partition has no nodes, and is left out")
        else:
            partitions.append(_partition(name, of, parts.settings, listed))
    return tuple(_as_slurm_takes_them(partitions, parts, notes))


def _as_slurm_takes_them(partitions: list[Partition], parts: SlurmParts, notes: Notes) -> Iterator[Partition]:
    """The last of several defaults is the only one, and a default time over the longest time does not hold."""
    default = next((each.name for each in reversed(partitions) if each.is_default), "")
    for each in partitions:
        of = parts.partitions[each.name]
        if each.is_default and each.name != default:
            notes.add(of["default"], NO_EFFECT, f"{default} is the default partition, since it comes later")
            each = replace(each, is_default=False)
        if each.max_time_s is not None and each.default_time_s is not None and each.default_time_s > each.max_time_s:
            notes.add(of["defaulttime"], NO_EFFECT, f"it is over MaxTime of {each.name}, and Slurm drops it")
            each = replace(each, default_time_s=None)
        yield each


def _partition(name: str, of: Attributes, settings: Attributes, nodes: tuple[str, ...]) -> Partition:
    of = _with_job_defaults(of)
    cluster_wide = _with_job_defaults(settings)
    both = _factor(of)
    memory, memory_per, extra = _default_memory(of, cluster_wide)
    most_memory, most_per = _memory(of, cluster_wide, "maxmemper")
    share = of["oversubscribe"].value.lower().partition(":") if "oversubscribe" in of else ("no", "", "")
    if share[0] not in ("no", "exclusive", "yes", "force"):
        raise of["oversubscribe"].refuse("NO, EXCLUSIVE, YES or FORCE, as YES:4 with a number of jobs")
    if share[2]:
        extra["oversubscribe_jobs"] = integer_of(Entry(*_place(of["oversubscribe"]), share[2]), least=1)
    state = of["state"].value.lower() if "state" in of else "up"
    if state not in _STATES:
        raise of["state"].refuse("UP, DOWN, DRAIN or INACTIVE")
    return Partition(
        name,
        nodes,
        "default" in of and yes_or_no(of["default"]),
        state,
        _span(of, "maxtime"),
        _span(of, "defaulttime"),
        _int(of, "prioritytier", both),
        _int(of, "priorityjobfactor", both),
        _words(of, "allowaccounts"),
        _words(of, "denyaccounts"),
        _words(of, "allowqos"),
        _words(of, "denyqos"),
        _words(of, "allowgroups"),
        qos=next(iter(_words(of, "qos")), ""),
        oversubscribe=share[0],
        min_nodes=_int(of, "minnodes", 0),
        max_nodes=_int_or_none(of, "maxnodes"),
        max_cpus_per_node=_int_or_none(of, "maxcpuspernode"),
        default_memory_mib=memory,
        default_memory_per=memory_per,
        max_memory_mib=most_memory,
        max_memory_per=most_per,
        default_cpus_per_gpu=_int_or_none(of, "defcpupergpu")
        if "defcpupergpu" in of
        else _int_or_none(cluster_wide, "defcpupergpu"),
        billing=tres_weights(of["tresbillingweights"]) if "tresbillingweights" in of else {},
        preempt_mode=_preempt_mode(of, settings),
        grace_s=(plain_seconds(of["gracetime"]) or 0) if "gracetime" in of else 0,
        extra=extra,
    )


def _factor(of: Attributes) -> int:
    """Priority= of older versions, which is both tier and factor. 1 without it."""
    return _int(of, "priority", 1)


def _preempt_mode(of: Attributes, settings: Attributes) -> str:
    if "preemptmode" not in of:
        return ""
    mode = of["preemptmode"].value.lower()
    whole = settings["preemptmode"].value.lower() if "preemptmode" in settings else "off"
    return "" if mode == whole else mode


def _with_job_defaults(of: Attributes) -> Attributes:
    """The entries with those that JobDefaults=DefCpuPerGPU=4,DefMemPerGPU=8000 has between commas."""
    entry = of.get("jobdefaults")
    if entry is None or is_unset(entry.value):
        return of
    inner: Attributes = {}
    for word in words_of(entry.value):
        key, equals, text = word.partition("=")
        if not equals or key.lower() not in _OF_JOBS:
            raise entry.refuse("DefCpuPerGPU=4 or DefMemPerGPU=8000, with commas between")
        inner[key.lower()] = Entry(*_place(entry), text)
    return inner | of


def _place(entry: Entry) -> tuple[str, int, str]:
    return entry.file, entry.line, entry.key


def _memory(of: Attributes, cluster_wide: Attributes, prefix: str) -> tuple[int | None, str]:
    """MiB and what they are for, "cpu" or "node". None where neither the partition nor the cluster says."""
    for entries in (of, cluster_wide):
        for per in ("cpu", "node"):
            entry = entries.get(prefix + per)
            if entry is not None and not is_unset(entry.value) and entry.value.strip() != "0":
                return mib_of(entry), per
    return None, "cpu"


def _default_memory(of: Attributes, cluster_wide: Attributes) -> tuple[int | None, str, dict[str, Setting]]:
    """As `_memory`, also for a GPU. Where there are both, that for a GPU is an extra setting."""
    memory, per = _memory(of, cluster_wide, "defmemper")
    entry = of.get("defmempergpu", cluster_wide.get("defmempergpu"))
    if entry is None or is_unset(entry.value):
        return memory, per, {}
    if memory is None:
        return mib_of(entry), "gpu", {}
    return memory, per, {"default_memory_mib_per_gpu": mib_of(entry)}


def _int(of: Attributes, key: str, default: int) -> int:
    return default if key not in of or is_unset(of[key].value) else integer_of(of[key])


def _int_or_none(of: Attributes, key: str) -> int | None:
    return None if key not in of or is_unset(of[key].value) else integer_of(of[key])


def _span(of: Attributes, key: str) -> int | None:
    return span_s(of[key]) if key in of else None


def _words(of: Attributes, key: str) -> tuple[str, ...]:
    return words_of(of[key].value) if key in of else ()


def _node_sets(parts: SlurmParts, nodes: tuple[Node, ...], notes: Notes) -> dict[str, tuple[str, ...]]:
    """Nodes by the name of their set."""
    sets: dict[str, tuple[str, ...]] = {}
    for name, of in parts.nodesets.items():
        members: list[str] = []
        if "feature" in of:
            members += [node.name for node in nodes if of["feature"].value in node.features]
        if "nodes" in of:
            members += named_hosts(of["nodes"])
        sets[name] = tuple(dict.fromkeys(members))
        for key, entry in of.items():
            if key in NODE_SET_KEYS:
                notes.modelled(entry, "partitions")
            else:
                notes.by_table({}, entry)
    return sets


def _nodes_of_partition(
    of: Attributes,
    sets: Mapping[str, tuple[str, ...]],
    names: Collection[str],
    listed_nodes: Collection[str],
    notes: Notes,
) -> tuple[str, ...] | None:
    """The names of a partition's nodes, () where it has all. None where it has none."""
    entry = of.get("nodes")
    if entry is None or entry.value.lower() in ("", "(null)", "none"):
        return None
    if entry.value.upper() == "ALL":
        return ()
    members: list[str] = []
    for word in re.split(r",(?![^\[]*\])", entry.value):
        if word.strip() in sets:
            members += sets[word.strip()]
        elif word.strip():
            members += named_hosts(Entry(*_place(entry), word))
    later = [name for name in members if name not in names and name in listed_nodes]
    if later:
        notes.assumed(entry, f"{compress_names(later)} would come later and are left out")
    for name in members:
        if name not in names and name not in listed_nodes:
            remedy = "Add its NodeName line, or take it out"
            raise entry.refuse(f"nodes or sets of nodes that are defined, but {name} is none,", remedy)
    existing = tuple(dict.fromkeys(name for name in members if name in names))
    return () if len(existing) == len(names) else existing or None
