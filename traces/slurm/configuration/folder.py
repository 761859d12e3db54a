"""A folder of files of a Slurm cluster as one cluster description."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from traces.cluster.description import ClusterDescription, SchedulerSettings, Setting
from traces.cluster.files import TextFile, read_text_file
from traces.cluster.nodes import Switch
from traces.cluster.notes import Entry, Notes
from traces.cluster.remarks import ASSUMED, NO_EFFECT, ConfigurationError, DescribedCluster, Remark, with_left_out
from traces.cluster.reservations import AdvanceReservation
from traces.slurm.configuration import roles
from traces.slurm.configuration.accounts.commands import read_sacctmgr_commands
from traces.slurm.configuration.accounts.saved import read_accounts_dump, read_assoc_table, read_qos_table
from traces.slurm.configuration.accounts.tree import AccountTree, SharedCluster, shared_cluster
from traces.slurm.configuration.gres import GresLines, read_gres_conf
from traces.slurm.configuration.lines import Finder
from traces.slurm.configuration.nodes import nodes_of_parts
from traces.slurm.configuration.partitions import partitions_of_parts
from traces.slurm.configuration.parts import SlurmParts
from traces.slurm.configuration.roles import slurm_files_by_role, slurm_role_of
from traces.slurm.configuration.settings import add_enforcement, assumed_settings, merged_settings, scheduler_values
from traces.slurm.configuration.shown import (
    add_shown_nodes,
    add_shown_partitions,
    read_shown_config,
    read_shown_reservations,
)
from traces.slurm.configuration.slurm_conf import read_slurm_conf
from traces.slurm.configuration.switches import read_topology_conf

_ACCOUNTS_MISSING = (
    "no file has accounts and their limits. Run `sacctmgr dump CLUSTER file=sacctmgr.dump` and "
    "`sacctmgr show qos -P > qos.txt`"
)
_QOS_MISSING = "no file has the QOS and their limits. Run `sacctmgr show qos -P > qos.txt`"
_ORDER = (
    roles.SHOWN_CONFIG, roles.SHOWN_PARTITIONS, roles.SHOWN_NODES, roles.SLURM_CONF, roles.GRES_CONF, roles.TOPOLOGY_CONF,
    roles.ASSOC_TABLE, roles.SACCTMGR_COMMANDS, roles.ACCOUNTS_DUMP, roles.QOS_TABLE, roles.SHOWN_RESERVATIONS,
)  # fmt: skip
"""Of remarks. Of two files that say the same, the second one is the source."""


def is_slurm_configuration(paths: Iterable[Path]) -> bool:
    """Whether one of the files has nodes or settings of Slurm, or its accounts."""
    return any(slurm_role_of(read_text_file(path)) is not None for path in paths)


def read_slurm_cluster(paths: Iterable[Path], name: str, time_zone: str = "UTC") -> DescribedCluster:
    """The cluster of these files, plain or packed, each known by its name or by what is in it (`traces.slurm.configuration.roles`).

    name: of the description, "" for the cluster's own. time_zone: of the cluster (an IANA name), in which its files write dates.
    Raises ConfigurationError, with file, line, what was expected and what to do, where a file cannot be used or no file has nodes.
    """
    notes = Notes()
    paths = sorted(paths)
    files = [read_text_file(path) for path in paths]
    finder = _finder(files, paths)
    by_role = slurm_files_by_role(files, notes)
    parts, version = _parts(by_role, finder, notes)
    gres = read_gres_conf(by_role[roles.GRES_CONF], finder, notes) if roles.GRES_CONF in by_role else GresLines()
    nodes = nodes_of_parts(parts, gres, time_zone, notes)
    if not nodes:
        file = by_role[roles.SLURM_CONF].name if roles.SLURM_CONF in by_role else "slurm.conf"
        raise ConfigurationError(
            file, 0, "a file with the nodes, found none", "Copy slurm.conf, or run `scontrol show node > nodes.txt`"
        )
    names = {node.name for node in nodes}
    partitions = partitions_of_parts(parts, nodes, notes)
    values, licences = scheduler_values(parts.settings, notes)
    assumed_settings(values, notes, "slurm.conf")
    switches: tuple[Switch, ...] = ()
    if roles.TOPOLOGY_CONF in by_role:
        switches = read_topology_conf(by_role[roles.TOPOLOGY_CONF], names, finder, notes)
    reservations: tuple[AdvanceReservation, ...] = ()
    if roles.SHOWN_RESERVATIONS in by_role:
        reservations = read_shown_reservations(by_role[roles.SHOWN_RESERVATIONS], names, time_zone, notes)
    shared = _shared(by_role, notes)
    if shared.limits and {roles.SLURM_CONF, roles.SHOWN_CONFIG} & by_role.keys():
        add_enforcement(values, notes, "slurm.conf")
    own_name = parts.settings["clustername"].value if "clustername" in parts.settings else "slurm"
    try:
        description = ClusterDescription(
            name or own_name,
            nodes,
            partitions,
            shared.accounts,
            shared.members,
            shared.qualities,
            shared.limits,
            reservations,
            licences=licences,
            scheduler=SchedulerSettings("slurm", version, values),
            switches=switches,
        )
    except ValueError as error:
        raise ConfigurationError(
            name or own_name, 0, f"files that fit together, but {error}", "Take all files from the same time"
        ) from error
    _note_missing(by_role, values, notes)
    return with_left_out(DescribedCluster(description, _in_order(notes.remarks, by_role)))


def _finder(files: Sequence[TextFile], paths: Sequence[Path]) -> Finder:
    """Finds an included file among those that are given, by its last part, then next to them by its path."""
    by_name = {file.name: file for file in files}
    folders = tuple(dict.fromkeys(path.parent for path in paths))

    def find(path: str) -> TextFile | None:
        last = path.rpartition("/")[2]
        if last in by_name:
            return by_name[last]
        for folder in folders:
            for candidate in (folder / path.lstrip("/"), folder / last, folder / f"{last}.gz"):
                if candidate.is_file():
                    return read_text_file(candidate)
        return None

    return find


def _parts(by_role: Mapping[str, TextFile], finder: Finder, notes: Notes) -> tuple[SlurmParts, str]:
    """Nodes, partitions and settings of slurm.conf and of what scontrol shows, and Slurm's version."""
    parts, version = SlurmParts(), ""
    if roles.SLURM_CONF in by_role:
        parts = read_slurm_conf(by_role[roles.SLURM_CONF], finder, notes)
    if roles.SHOWN_CONFIG in by_role:
        shown, version = read_shown_config(by_role[roles.SHOWN_CONFIG])
        parts.settings = merged_settings(parts.settings, shown, notes)
    if roles.SHOWN_NODES in by_role:
        add_shown_nodes(parts, by_role[roles.SHOWN_NODES], notes)
    if roles.SHOWN_PARTITIONS in by_role:
        add_shown_partitions(parts, by_role[roles.SHOWN_PARTITIONS], notes)
    return parts, version


def _shared(by_role: Mapping[str, TextFile], notes: Notes) -> SharedCluster:
    """Accounts, users, QOS and limits. A dump counts more than commands, and these more than a table of associations."""
    trees: dict[str, AccountTree] = {}
    if roles.ACCOUNTS_DUMP in by_role:
        trees[roles.ACCOUNTS_DUMP] = read_accounts_dump(by_role[roles.ACCOUNTS_DUMP], notes)
    if roles.SACCTMGR_COMMANDS in by_role:
        trees[roles.SACCTMGR_COMMANDS] = read_sacctmgr_commands(by_role[roles.SACCTMGR_COMMANDS], notes)
    if roles.ASSOC_TABLE in by_role:
        trees[roles.ASSOC_TABLE] = read_assoc_table(by_role[roles.ASSOC_TABLE], Notes() if trees else notes)
    tree = next(iter(trees.values()), AccountTree())
    if roles.QOS_TABLE in by_role:
        read_qos_table(by_role[roles.QOS_TABLE], tree)
    shared = shared_cluster(tree, notes)
    for role, other in list(trees.items())[1:]:
        _note_differences(by_role[role].name, shared, shared_cluster(other, Notes()), notes)
    return shared


def _note_differences(file: str, taken: SharedCluster, other: SharedCluster, notes: Notes) -> None:
    """Remarks where another file says otherwise about the shares of an account or user, and one on those that it has alike."""
    ours = {(m.user, m.account, m.partition): (m.shares, m.qos) for m in taken.members}
    theirs = {(m.user, m.account, m.partition): (m.shares, m.qos) for m in other.members}
    ours |= {("", account.name, ""): (account.shares, account.qos) for account in taken.accounts}
    theirs |= {("", account.name, ""): (account.shares, account.qos) for account in other.accounts}
    differing = [key for key in ours | theirs if ours.get(key) != theirs.get(key)]
    for user, account, partition in differing:
        key = (user, account, partition)
        entry = Entry(file, 0, "/".join(filter(None, (account, user, partition))), str(theirs.get(key, "missing")))
        notes.assumed(entry, f"the other file has shares and QOS {ours.get(key, 'missing')}, which are taken")
    effect = f"{len(ours) - sum(key in ours for key in differing)} accounts and users are as in the file that is taken"
    notes.add(Entry(file, 0, "associations", ""), NO_EFFECT, effect)


def _note_missing(by_role: Mapping[str, TextFile], values: Mapping[str, Setting], notes: Notes) -> None:
    """Remarks on files that are missing, and on what holds without them."""
    if not {roles.ACCOUNTS_DUMP, roles.ASSOC_TABLE, roles.SACCTMGR_COMMANDS} & by_role.keys():
        notes.add(Entry("sacctmgr.dump", 0, "accounts", ""), ASSUMED, _ACCOUNTS_MISSING)
    elif not {roles.QOS_TABLE, roles.SACCTMGR_COMMANDS} & by_role.keys():
        notes.add(Entry("qos.txt", 0, "QOS", ""), ASSUMED, _QOS_MISSING)
    if values.get("topologyplugin") == "topology/tree" and roles.TOPOLOGY_CONF not in by_role:
        effect = "no file has the switches, so all nodes are alike. Copy topology.conf"
        notes.add(Entry("topology.conf", 0, "switches", ""), ASSUMED, effect)


def _in_order(remarks: Iterable[Remark], by_role: Mapping[str, TextFile]) -> tuple[Remark, ...]:
    """By file and line. A key whose default several lines take is there once a place."""
    order = {by_role[role].name: place for place, role in enumerate(_ORDER) if role in by_role}
    ordered = sorted(dict.fromkeys(remarks), key=lambda remark: (order.get(remark.file, -1), remark.line))
    return tuple(ordered)
