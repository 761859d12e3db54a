"""A folder of files of a Slurm cluster as one cluster description.

The files of a Slurm configuration: which is which, by name or by what is in it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from traces.cluster.description import AdvanceReservation, ClusterDescription, SchedulerSettings, Setting, Switch
from traces.cluster.notes import (
    ASSUMED,
    NO_EFFECT,
    ConfigurationError,
    DescribedCluster,
    Entry,
    Notes,
    Remark,
    TextFile,
    read_text_file,
    with_left_out,
)
from traces.slurm.configuration.accounts.commands import read_sacctmgr_commands
from traces.slurm.configuration.accounts.options import Options
from traces.slurm.configuration.accounts.saved import read_accounts_dump, read_assoc_table, read_qos_table
from traces.slurm.configuration.accounts.tree import AccountTree, SharedCluster, shared_cluster
from traces.slurm.configuration.lines import Finder
from traces.slurm.configuration.nodes import GresLines, nodes_of_parts, read_gres_conf
from traces.slurm.configuration.partitions import partitions_of_parts
from traces.slurm.configuration.parts import SlurmParts
from traces.slurm.configuration.settings import add_enforcement, assumed_settings, merged_settings, scheduler_values
from traces.slurm.configuration.shown import (
    add_shown_nodes,
    add_shown_partitions,
    read_shown_config,
    read_shown_reservations,
)
from traces.slurm.configuration.slurm_conf import read_slurm_conf
from traces.slurm.configuration.switches import read_topology_conf, read_topology_yaml
from traces.slurm.state.cycles import note_cycles

SLURM_CONF, GRES_CONF, TOPOLOGY_CONF, TOPOLOGY_YAML = "slurm.conf", "gres.conf", "topology.conf", "topology.yaml"
SHOWN_CONFIG, SHOWN_PARTITIONS, SHOWN_NODES = "show config", "show partition", "show node"
SHOWN_RESERVATIONS = "show reservation"
ACCOUNTS_DUMP, QOS_TABLE, ASSOC_TABLE = "sacctmgr dump", "sacctmgr show qos", "sacctmgr show assoc"
SACCTMGR_COMMANDS = "sacctmgr commands"
DIAGNOSIS, SHARES_NOW, PRIORITIES_NOW = "sdiag", "sshare", "sprio"

_BY_NAME = {
    SLURM_CONF: r"slurm\.conf",
    GRES_CONF: r"gres\.conf",
    TOPOLOGY_CONF: r"topology\.conf",
    TOPOLOGY_YAML: r"topology\.ya?ml",
    SHOWN_CONFIG: r"(?:scontrol[-_.])?(?:show[-_.])?config\.txt",
    SHOWN_PARTITIONS: r"(?:scontrol[-_.])?(?:show[-_.])?partitions?\.txt",
    SHOWN_NODES: r"(?:scontrol[-_.])?(?:show[-_.])?nodes?\.txt",
    SHOWN_RESERVATIONS: r"(?:scontrol[-_.])?(?:show[-_.])?reservations?\.txt",
    ACCOUNTS_DUMP: r"sacctmgr\.dump",
    QOS_TABLE: r"(?:sacctmgr[-_.])?(?:show[-_.])?qos\.(?:txt|psv)",
    ASSOC_TABLE: r"(?:sacctmgr[-_.])?(?:show[-_.])?assoc(?:iation)?s?\.(?:txt|psv)",
    SACCTMGR_COMMANDS: r"sacctmgr\.script",
    DIAGNOSIS: r"sdiag\.(?:txt|out)",
    SHARES_NOW: r"sshare\.(?:txt|psv|out)",
    PRIORITIES_NOW: r"sprio\.(?:txt|psv|out)",
}
"""The usual names. Where another file is of the same kind too, the one with the usual name is taken."""
_BY_CONTENT = {
    ACCOUNTS_DUMP: r"(?m)^(?:Cluster|Parent|Account) - '",
    QOS_TABLE: r"\AName\|Priority\|",
    ASSOC_TABLE: r"\ACluster\|Account\|User\|",
    SHOWN_CONFIG: r"\A\s*Configuration data as of",
    SHOWN_NODES: r"(?m)\A\s*NodeName=\S+ Arch=",
    SHOWN_PARTITIONS: r"(?m)\A\s*PartitionName=\S+\s+AllowGroups=",
    SHOWN_RESERVATIONS: r"\A\s*(?:ReservationName=\S+\s+StartTime=|No reservations in the system)",
    DIAGNOSIS: r"(?m)^sdiag output at",
    SHARES_NOW: r"(?m)\A.*\bAccount\|.*\bUser\|RawShares\|",
    PRIORITIES_NOW: r"\A\s*JOBID[ |].*\bPRIORITY\b",
    SACCTMGR_COMMANDS: r"(?im)^\s*(?:sacctmgr\s+(?:-\w+\s+)*)?(?:add|create|modify)\s+(?:user|account|qos|cluster)\b",
    TOPOLOGY_CONF: r"(?im)^\s*SwitchName=",
    TOPOLOGY_YAML: r"(?m)^\s*-\s+topology:\s*\S",
    GRES_CONF: r"(?im)^\s*(?:NodeName=\S+\s+)?Name=(?:gpu|mps|shard|nic)\b",
    SLURM_CONF: r"(?im)^\s*(?:ClusterName|SlurmctldHost|ControlMachine|SelectType|PartitionName|NodeName)\s*=",
}


def slurm_role_of(file: TextFile) -> str | None:
    """What a file is, such as "slurm.conf", by its name, else by what is in it. None for a file that is no configuration of Slurm."""
    for role, pattern in _BY_NAME.items():
        if re.fullmatch(pattern, file.name):
            return role
    if re.search(r"\.(?:log|json|psv|csv|events|trace|key|lua|py|sh)$", file.name):
        return None
    return next((role for role, pattern in _BY_CONTENT.items() if re.search(pattern, file.text)), None)


def slurm_files_by_role(files: Iterable[TextFile], notes: Notes) -> dict[str, TextFile]:
    """The files by their role. Those that are included or no configuration are left out, with a remark on each of the latter.

    Raises ConfigurationError where two files have the same role, and none of them the usual name of it."""
    files = list(files)
    included = _included(files)
    candidates: dict[str, list[TextFile]] = {}
    for file in files:
        role = slurm_role_of(file)
        if file.name in included and (role in (SLURM_CONF, None) or not re.fullmatch(_BY_NAME[role], file.name)):
            continue
        if role is None:
            effect = "the file was not read: it is no configuration that this reader knows"
            notes.add(Entry(file.name, 0, "file", ""), NO_EFFECT, effect)
        else:
            candidates.setdefault(role, []).append(file)
    return {role: _chosen(role, of_role, notes) for role, of_role in candidates.items()}


def _chosen(role: str, files: Sequence[TextFile], notes: Notes) -> TextFile:
    usual = [file for file in files if re.fullmatch(_BY_NAME[role], file.name)]
    if len(files) > 1 and len(usual) != 1:
        names = " and ".join(file.name for file in files)
        raise ConfigurationError(files[1].name, 0, f"one file of {role}, found {names}", "Leave one of them out")
    chosen = usual[0] if len(files) > 1 else files[0]
    for file in files:
        if file is not chosen:
            effect = f"the file was not read, since {chosen.name} is of the same kind. Name the files one by one to take this one"
            notes.add(Entry(file.name, 0, "file", ""), ASSUMED, effect)
    return chosen


def _included(files: Iterable[TextFile]) -> set[str]:
    """Last parts of the paths that some file includes."""
    files = list(files)
    paths = [match for file in files for match in re.findall(r"(?im)^\s*include\s+(\S+)", file.text)]
    return {_of_cluster(path, files).rpartition("/")[2] for path in paths}


def _of_cluster(path: str, files: Iterable[TextFile]) -> str:
    """A path with the cluster's name in lower case in place of %c."""
    names = (re.search(r'(?im)^\s*ClusterName\s*=\s*"?([^\s"#]+)', file.text) for file in files) if "%c" in path else ()
    return next((path.replace("%c", name.group(1).lower()) for name in names if name), path)


# --- folder


_ACCOUNTS_MISSING = (
    "no file has accounts and their limits. Run `sacctmgr dump CLUSTER file=sacctmgr.dump` and "
    "`sacctmgr show qos -P > qos.txt`"
)
_QOS_MISSING = "no file has the QOS and their limits. Run `sacctmgr show qos -P > qos.txt`"
_ORDER = (
    SHOWN_CONFIG, SHOWN_PARTITIONS, SHOWN_NODES, SLURM_CONF, GRES_CONF, TOPOLOGY_CONF, TOPOLOGY_YAML,
    ASSOC_TABLE, SACCTMGR_COMMANDS, ACCOUNTS_DUMP, QOS_TABLE, SHOWN_RESERVATIONS, DIAGNOSIS, SHARES_NOW, PRIORITIES_NOW,
)  # fmt: skip
"""Of remarks. Of two files that say the same, the second one is the source."""


def is_slurm_configuration(paths: Iterable[Path]) -> bool:
    """Whether one of the files has nodes or settings of Slurm, or its accounts."""
    return any(slurm_role_of(read_text_file(path)) is not None for path in paths)


def read_slurm_cluster(paths: Iterable[Path], name: str, time_zone: str = "UTC") -> DescribedCluster:
    """The cluster of these files, plain or packed, each known by its name or by what is in it (`traces.slurm.configuration.folder`).

    name: of the description, "" for the cluster's own. time_zone: of the cluster (an IANA name), in which its files write dates.
    Raises ConfigurationError, with file, line, what was expected and what to do, where a file cannot be used or no file has nodes.
    """
    notes = Notes()
    paths = sorted(paths)
    files = [read_text_file(path) for path in paths]
    finder = _finder(files, paths)
    by_role = slurm_files_by_role(files, notes)
    parts, version = _parts(by_role, finder, notes)
    gres = read_gres_conf(by_role[GRES_CONF], finder, notes) if GRES_CONF in by_role else GresLines()
    nodes = nodes_of_parts(parts, gres, time_zone, notes)
    if not nodes:
        file = by_role[SLURM_CONF].name if SLURM_CONF in by_role else "slurm.conf"
        raise ConfigurationError(
            file, 0, "a file with the nodes, found none", "Copy slurm.conf, or run `scontrol show node > nodes.txt`"
        )
    names = {node.name for node in nodes}
    partitions = partitions_of_parts(parts, nodes, notes)
    values, licences = scheduler_values(parts.settings, notes)
    assumed_settings(values, notes, "slurm.conf")
    _note_moment(by_role, values, version, notes)
    switches = _network(by_role, names, finder, values, notes)
    reservations: tuple[AdvanceReservation, ...] = ()
    if SHOWN_RESERVATIONS in by_role:
        reservations = read_shown_reservations(by_role[SHOWN_RESERVATIONS], names, time_zone, notes)
    shared = _shared(by_role, notes)
    if shared.limits and {SLURM_CONF, SHOWN_CONFIG} & by_role.keys():
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
    _note_missing(by_role, values, bool(shared.qualities), notes)
    return with_left_out(DescribedCluster(description, _in_order(notes.remarks, by_role)))


def _finder(files: Sequence[TextFile], paths: Sequence[Path]) -> Finder:
    """Finds an included file below the folders of those that are given, by as much of the end of its path as leads to one, then among
    those that are given, by its last part."""
    given = dict(zip(paths, files, strict=True))
    by_name = {file.name: file for file in files}
    folders = tuple(dict.fromkeys(path.parent for path in paths))

    def find(path: str) -> TextFile | None:
        parts = _of_cluster(path, given.values()).lstrip("/").split("/")
        for first in range(len(parts)):
            name = "/".join(parts[first:])
            for candidate in (folder / f"{name}{end}" for folder in folders for end in ("", ".gz")):
                if candidate not in given and candidate.is_file():
                    given[candidate] = replace(read_text_file(candidate), name=name)
                if candidate in given:
                    return given[candidate]
        return by_name.get(parts[-1])

    return find


def _network(
    by_role: Mapping[str, TextFile],
    nodes: Collection[str],
    finder: Finder,
    values: dict[str, Setting],
    notes: Notes,
) -> tuple[Switch, ...]:
    """The switches. A topology.yaml counts alone, and its kind of topology in place of TopologyPlugin."""
    if TOPOLOGY_YAML in by_role:
        if TOPOLOGY_CONF in by_role:
            effect = f"the file was not read, since Slurm takes {by_role[TOPOLOGY_YAML].name} alone"
            notes.add(Entry(by_role[TOPOLOGY_CONF].name, 0, "file", ""), NO_EFFECT, effect)
        topology = read_topology_yaml(by_role[TOPOLOGY_YAML], nodes, notes)
        values["topologyplugin"] = f"topology/{topology.kind}"
        return topology.switches
    if TOPOLOGY_CONF in by_role:
        return read_topology_conf(by_role[TOPOLOGY_CONF], nodes, finder, notes)
    return ()


def _note_moment(by_role: Mapping[str, TextFile], values: dict[str, Setting], version: str, notes: Notes) -> None:
    """What the files say of a moment: the length of cycles, and remarks on the others, which are no part of a cluster."""
    if DIAGNOSIS in by_role:
        note_cycles(by_role[DIAGNOSIS], values, version, notes)
    for role in (SHARES_NOW, PRIORITIES_NOW):
        if role in by_role:
            effect = (
                "it is of one moment: `tracehouse queue SOURCE FOLDER --why` compares it with what is computed for then"
            )
            notes.add(Entry(by_role[role].name, 0, "file", ""), NO_EFFECT, effect)


def _parts(by_role: Mapping[str, TextFile], finder: Finder, notes: Notes) -> tuple[SlurmParts, str]:
    """Nodes, partitions and settings of slurm.conf and of what scontrol shows, and Slurm's version."""
    parts, version = SlurmParts(), ""
    if SLURM_CONF in by_role:
        parts = read_slurm_conf(by_role[SLURM_CONF], finder, notes)
    if SHOWN_CONFIG in by_role:
        shown, version = read_shown_config(by_role[SHOWN_CONFIG])
        parts.settings = merged_settings(parts.settings, shown, notes)
    if SHOWN_NODES in by_role:
        add_shown_nodes(parts, by_role[SHOWN_NODES], notes)
    if SHOWN_PARTITIONS in by_role:
        add_shown_partitions(parts, by_role[SHOWN_PARTITIONS], notes)
    return parts, version


def _shared(by_role: Mapping[str, TextFile], notes: Notes) -> SharedCluster:
    """Accounts, users, QOS and limits. A dump counts more than commands, and these more than a table of associations."""
    trees: dict[str, AccountTree] = {}
    if ACCOUNTS_DUMP in by_role:
        trees[ACCOUNTS_DUMP] = read_accounts_dump(by_role[ACCOUNTS_DUMP], notes)
    if SACCTMGR_COMMANDS in by_role:
        trees[SACCTMGR_COMMANDS] = read_sacctmgr_commands(by_role[SACCTMGR_COMMANDS], notes)
    if ASSOC_TABLE in by_role:
        trees[ASSOC_TABLE] = read_assoc_table(by_role[ASSOC_TABLE], Notes() if trees else notes)
    tree = next(iter(trees.values()), AccountTree())
    if QOS_TABLE in by_role:
        saved = dict(tree.qualities)
        read_qos_table(by_role[QOS_TABLE], tree)
        _note_replaced(saved, tree.qualities, by_role[QOS_TABLE].name, notes)
    shared = shared_cluster(tree, notes)
    for role, other in list(trees.items())[1:]:
        _note_differences(by_role[role].name, shared, shared_cluster(other, Notes()), notes)
    return shared


def _note_replaced(saved: Mapping[str, Options], taken: Mapping[str, Options], file: str, notes: Notes) -> None:
    """A remark on each option of a QOS that the table has too. saved, taken: before and after the table was read."""
    for name, options in saved.items():
        if taken[name] is not options:
            for entry in options.values():
                notes.add(entry, NO_EFFECT, f"{file} has the QOS {name} too, and counts")


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


def _note_missing(
    by_role: Mapping[str, TextFile], values: Mapping[str, Setting], has_qualities: bool, notes: Notes
) -> None:
    """Remarks on files that are missing, and on what holds without them."""
    if not {ACCOUNTS_DUMP, ASSOC_TABLE, SACCTMGR_COMMANDS} & by_role.keys():
        notes.add(Entry("sacctmgr.dump", 0, "accounts", ""), ASSUMED, _ACCOUNTS_MISSING)
    elif QOS_TABLE not in by_role and not has_qualities:
        notes.add(Entry("qos.txt", 0, "QOS", ""), ASSUMED, _QOS_MISSING)
    if values.get("topologyplugin") == "topology/tree" and not {TOPOLOGY_CONF, TOPOLOGY_YAML} & by_role.keys():
        effect = "no file has the switches, so all nodes are alike. Copy topology.conf"
        notes.add(Entry("topology.conf", 0, "switches", ""), ASSUMED, effect)


def _in_order(remarks: Iterable[Remark], by_role: Mapping[str, TextFile]) -> tuple[Remark, ...]:
    """By file and line. A key whose default several lines take is there once a place."""
    order = {by_role[role].name: place for place, role in enumerate(_ORDER) if role in by_role}
    ordered = sorted(dict.fromkeys(remarks), key=lambda remark: (order.get(remark.file, -1), remark.line))
    return tuple(ordered)
