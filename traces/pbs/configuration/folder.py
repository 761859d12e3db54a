"""A folder of files of a PBS cluster, or of Torque with Maui, as one cluster description."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from traces.cluster.accounts import Limit
from traces.cluster.description import (
    AdvanceReservation,
    ClusterDescription,
    Gate,
    Node,
    Partition,
    SchedulerSettings,
    Setting,
)
from traces.cluster.notes import (
    ASSUMED,
    MODELLED,
    NOT_MODELLED,
    ConfigurationError,
    DescribedCluster,
    Entry,
    KnownKey,
    Notes,
    Remark,
    TextFile,
    read_text_file,
    with_left_out,
)
from traces.pbs.configuration import files as roles
from traces.pbs.configuration.files import RESOURCE_NAMES, entry_amount, files_by_role, setting_of
from traces.pbs.configuration.keys import LIMIT_ATTRIBUTES, SCHED_KEYS, SERVER_KEYS
from traces.pbs.configuration.maui import MauiConfiguration, read_maui
from traces.pbs.configuration.nodes import ListedNode, read_nodes, read_torque_nodes
from traces.pbs.configuration.qmgr import Attributes, ServerState, read_qmgr
from traces.pbs.configuration.queues import attribute_limits, partitions_of_queues, server_wide_limits
from traces.pbs.configuration.scheduler_files import (
    gates_of_prime_time,
    prime_time_settings,
    read_dedicated_time,
    read_prime_time,
    read_sched_config,
    read_shares,
)

_LEFT_OUT = {
    roles.SERVER: 'queues and limits. Run `qmgr -c "print server" > qmgr.txt`',
    roles.SCHED_CONFIG: "the order of jobs and backfilling, so PBS's defaults hold. Copy sched_priv/sched_config",
    roles.SCHED: 'preemption, so PBS\'s defaults hold. Run `qmgr -c "print sched" > qmgr_sched.txt`',
    roles.SHARES: "shares. Copy sched_priv/resource_group",
}
"""What is missing without a file, and how to get it."""
_USUAL_RESOURCES = "ncpus, mem, arch, host, vnode, aoe, eoe"


def is_pbs_configuration(paths: Iterable[Path]) -> bool:
    """Whether one of the files is of PBS, Torque or Maui."""
    return any(roles.role_of(read_text_file(path)) for path in paths)


def read_pbs_cluster(paths: Iterable[Path], name: str, time_zone: str = "UTC") -> DescribedCluster:
    """The cluster of these files, plain or packed, each known by its name or by what is in it (`traces.pbs.configuration.files`).

    time_zone: of the cluster (an IANA name), in which its files write dates. Files of other kinds are left out.
    Raises ConfigurationError, with file, line, what was expected and what to do, where a file cannot be used or no file has nodes.
    """
    by_role = files_by_role(read_text_file(path) for path in sorted(paths))
    notes = Notes()
    state = ServerState()
    for role in (roles.SERVER, roles.SCHED):
        if role in by_role:
            read_qmgr(by_role[role], state, notes)
    nodes = _nodes(by_role, state, time_zone, notes)
    partitions = partitions_of_queues(state, nodes, notes)
    limits, licences, values = server_settings(state, notes)
    if roles.SCHED_CONFIG in by_role:
        values |= read_sched_config(by_role[roles.SCHED_CONFIG], notes)
    values |= sched_settings(state, notes)
    accounts, members = read_shares(by_role[roles.SHARES], notes) if roles.SHARES in by_role else ((), ())
    if roles.SCHED_CONFIG in by_role:
        _remark_unscheduled(by_role[roles.SCHED_CONFIG].name, values, nodes, notes)
    gates, reservations, hours = _hours(by_role, values, partitions, time_zone, notes)
    values |= hours
    in_order = _in_order(nodes, values, notes)
    maui = MauiConfiguration()
    if roles.MAUI in by_role:
        maui = read_maui(by_role[roles.MAUI], in_order, [part.name for part in partitions], time_zone, notes)
    version = _version(by_role)
    scheduler = SchedulerSettings("maui" if roles.MAUI in by_role else "pbs", version, values | dict(maui.values))
    missing = [Remark(role, 0, role, "", ASSUMED, f"no file has {text}") for role, text in _missing(by_role)]
    try:
        description = ClusterDescription(
            name,
            in_order,
            tuple(replace(part, factor=maui.priorities.get(part.name, part.factor)) for part in partitions),
            accounts,
            members,
            maui.qualities,
            limits + maui.limits,
            reservations + maui.reservations,
            gates,
            licences,
            scheduler,
        )
    except ValueError as error:
        remedy = "Take all files from the same time"
        raise ConfigurationError(name, 0, f"files that fit together, but {error}", remedy) from error
    order = {file.name: place for place, file in enumerate(by_role.values())}
    remarks = sorted(notes.remarks, key=lambda remark: (order.get(remark.file, -1), remark.line))
    return with_left_out(DescribedCluster(description, (*missing, *remarks)))


def _missing(by_role: Mapping[str, TextFile]) -> list[tuple[str, str]]:
    if roles.MAUI in by_role:
        return []
    return [(role, text) for role, text in _LEFT_OUT.items() if role not in by_role]


def _nodes(by_role: Mapping[str, TextFile], state: ServerState, time_zone: str, notes: Notes) -> tuple[ListedNode, ...]:
    if roles.NODES in by_role:
        return read_nodes(by_role[roles.NODES], state, time_zone, notes)
    if roles.TORQUE_NODES in by_role:
        return read_torque_nodes(by_role[roles.TORQUE_NODES], notes)
    raise ConfigurationError(
        "pbsnodes.txt",
        0,
        "a file with the nodes, found none",
        "Run `pbsnodes -av > pbsnodes.txt` (Torque: `pbsnodes -a`)",
    )


def server_settings(state: ServerState, notes: Notes) -> tuple[tuple[Limit, ...], dict[str, int], dict[str, Setting]]:
    """Limits of the server and of all queues, licences, and settings of the server."""
    server = state.of("server")
    limits = attribute_limits(server, "cluster", "", notes) + server_wide_limits(server, "cluster", "", notes)
    for name, attributes in state.objects["queue"].items():
        kind = attributes.get("queue_type")
        if kind is None or not kind.value.lower().startswith("r"):
            limits += attribute_limits(attributes, "partition", name, notes)
            limits += server_wide_limits(attributes, "partition", name, notes)
    licences: dict[str, int] = {}
    for key, entry in server.items():
        base, _, resource = key.partition(".")
        if base == "resources_available" and resource not in RESOURCE_NAMES:
            licences[resource] = entry_amount(entry, resource)
            notes.unmodelled(entry, "jobs would wait for it")
    others = {
        key: entry
        for key, entry in server.items()
        if key.partition(".")[0] not in (*LIMIT_ATTRIBUTES, "resources_available")
    }
    return limits, licences, _settings(others, SERVER_KEYS, notes)


def sched_settings(state: ServerState, notes: Notes) -> dict[str, Setting]:
    """Settings of the default scheduler. Others serve partitions of their own, which are left out."""
    values: dict[str, Setting] = {}
    for name, attributes in state.objects["sched"].items():
        if name in ("", "default"):
            values |= _settings(attributes, SCHED_KEYS, notes)
        else:
            for entry in attributes.values():
                notes.unmodelled(entry, f"the scheduler {name} would serve a partition of its own")
    return values


def _settings(attributes: Attributes, table: Mapping[str, KnownKey], notes: Notes) -> dict[str, Setting]:
    values: dict[str, Setting] = {}
    for key, entry in attributes.items():
        base = key.partition(".")[0]
        row = table.get(base)
        if row is None or row.kind != MODELLED:
            notes.by_table(table, entry, base)
        else:
            values[key] = setting_of(entry, row.form)
            notes.modelled(entry, f"scheduler.{key}")
    return values


def _remark_unscheduled(file: str, values: Mapping[str, Setting], nodes: Sequence[ListedNode], notes: Notes) -> None:
    """Resources of nodes that `resources:` of sched_config does not name: PBS does not look at them, a replay does."""
    scheduled = {name.strip() for name in str(values.get("resources", _USUAL_RESOURCES)).split(",")}
    amounts = {name for listed in nodes for name in listed.node.resources}
    if any(listed.node.gpus for listed in nodes):
        amounts.add("ngpus")
    for name in sorted(amounts - scheduled):
        notes.unmodelled(
            Entry(file, 0, "resources", name), f"PBS does not look at {name}, which is not in this list; replays do"
        )


def _hours(
    by_role: Mapping[str, TextFile],
    values: Mapping[str, Setting],
    partitions: Sequence[Partition],
    time_zone: str,
    notes: Notes,
) -> tuple[tuple[Gate, ...], tuple[AdvanceReservation, ...], dict[str, Setting]]:
    """Hours in which queues are closed, dedicated time, and prime time as settings."""
    names = [partition.name for partition in partitions]
    gates: tuple[Gate, ...] = ()
    hours: dict[str, Setting] = {}
    if roles.HOLIDAYS in by_role:
        spans, dates = read_prime_time(by_role[roles.HOLIDAYS], notes)
        gates = gates_of_prime_time(spans, values, names, time_zone)
        hours = prime_time_settings(spans, dates, time_zone)
    reservations: tuple[AdvanceReservation, ...] = ()
    if roles.DEDICATED in by_role:
        prefix = str(values.get("dedicated_prefix", "ded"))
        queues = tuple(name for name in names if prefix and name.startswith(prefix))
        reservations = read_dedicated_time(by_role[roles.DEDICATED], queues, time_zone, notes)
    return gates, reservations, hours


def _version(by_role: Mapping[str, TextFile]) -> str:
    """PBS's version, as its nodes have it."""
    if roles.NODES not in by_role:
        return ""
    for line in by_role[roles.NODES].text.splitlines():
        key, _, value = line.replace('"', "").replace(":", "=").partition("=")
        if key.strip() == "pbs_version":
            return value.strip(" ,")
    return ""


def _in_order(nodes: Sequence[ListedNode], values: Mapping[str, Setting], notes: Notes) -> tuple[Node, ...]:
    """The nodes with the weight that node_sort_key gives them. Weights are ranks from 1, the same for nodes that are alike."""
    keys = [words.split() for words in str(values.get("node_sort_key", "")).split(",") if words.strip()]
    ranks: list[tuple[int, ...]] = []
    for listed in nodes:
        ranks.append(tuple(_sorting(listed, *words[:2]) for words in keys if _is_static(words)))
    for words in keys:
        if not _is_static(words):
            for remark in [remark for remark in notes.remarks if remark.key == "node_sort_key"]:
                notes.remarks.remove(remark)
                effect = "nodes would come by how much of the resource is free or used at the moment"
                notes.remarks.append(replace(remark, kind=NOT_MODELLED, effect=effect, place=""))
    order = {rank: place for place, rank in enumerate(sorted(set(ranks)), 1)}
    return tuple(replace(listed.node, weight=order[rank]) for listed, rank in zip(nodes, ranks, strict=True))


def _is_static(words: Sequence[str]) -> bool:
    return len(words) < 3 or words[2].lower() == "total"


def _sorting(listed: ListedNode, resource: str, direction: str = "LOW") -> int:
    node = listed.node
    amounts = {"sort_priority": listed.priority, "ncpus": node.cpus, "mem": node.memory_mib, "ngpus": node.num_gpus}
    amount = amounts.get(resource, node.resources.get(resource, 0))
    return -amount if direction.upper() == "HIGH" else amount
