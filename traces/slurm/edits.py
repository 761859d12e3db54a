"""Edits of a described cluster of Slurm: lines of slurm.conf, options of sacctmgr and reservations, read as when a cluster is imported."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from traces.cluster.accounts import Limit
from traces.cluster.description import ClusterDescription
from traces.cluster.editing import EDIT, ReadParts, check_remarks, edit_entry, named_part, of_owners, with_read_parts
from traces.cluster.hostlists import compress_names, expand_hostlist
from traces.cluster.notes import NO_EFFECT, Entry, Notes, TextFile, read_text_file
from traces.slurm.configuration import folder
from traces.slurm.configuration.accounts.options import LIMIT_FORMS, QOS_KEYS, Options, option_of
from traces.slurm.configuration.accounts.saved import shows_parents
from traces.slurm.configuration.accounts.tree import AccountTree, shared_cluster
from traces.slurm.configuration.folder import read_slurm_cluster, slurm_role_of
from traces.slurm.configuration.keys import GENERAL_KEYS, PARTITION_KEYS, SLURM_NODE_KEYS
from traces.slurm.configuration.lines import conf_lines
from traces.slurm.configuration.nodes import NODE_FIELDS, GresLines, nodes_of_parts
from traces.slurm.configuration.partitions import PARTITION_FIELDS, partitions_of_parts
from traces.slurm.configuration.parts import (
    Attributes,
    NodeGroup,
    SlurmParts,
    hosts_place,
    named_hosts,
    note_line,
    slurm_key,
)
from traces.slurm.configuration.settings import (
    DEFAULTS,
    OLD_PARAMETERS,
    SCHEDULER_PARAMETERS,
    add_enforcement,
    scheduler_values,
)
from traces.slurm.configuration.shown import read_shown_reservations
from traces.slurm.configuration.units import is_unset, tres_amounts
from traces.slurm.state.cycles import MEASURED_TEST_US

_DOTTED = re.compile(r"(partition|node|qos|account|user)\.(.+)\.(\w+)", re.IGNORECASE)
_LINES = ("nodename", "partitionname", "reservationname")
_INHERITED = ("qos", "defaultqos", "parent")
_OF_PARTITIONS = ("defmempercpu", "defmempernode", "defmempergpu", "maxmempercpu", "maxmempernode", "defcpupergpu")
_OF_ACCOUNTS_AND_QOS = ("fairshare", "priority", "preempt")
_ALL_KEYS = frozenset(
    (*GENERAL_KEYS, *SCHEDULER_PARAMETERS, *PARTITION_KEYS, *SLURM_NODE_KEYS, *LIMIT_FORMS, *QOS_KEYS)
) | {*_OF_ACCOUNTS_AND_QOS}
SLURM_EDIT_KEYS = _ALL_KEYS | {*_LINES}
"""Every key of an edit, in lower case."""
SLURM_SETTINGS = frozenset((*GENERAL_KEYS, *SCHEDULER_PARAMETERS))
"""Those that need no name of a part of the cluster before them."""


@dataclass
class _Asked:
    """The edits by the reader that takes them. limits: of each owner, its options. is_whole_list: whether the whole SchedulerParameters
    are given, which replace those that the cluster has."""

    is_whole_list: bool = False
    settings: list[Entry] = field(default_factory=list)
    partitions: dict[str, Attributes] = field(default_factory=dict)
    nodes: dict[tuple[str, ...], Attributes] = field(default_factory=dict)
    tree: AccountTree = field(default_factory=AccountTree)
    reservations: list[str] = field(default_factory=list)
    limits: list[tuple[str, str, Options]] = field(default_factory=list)


def edited_slurm_cluster(base: ClusterDescription, edits: Sequence[str], time_zone: str) -> ClusterDescription:
    """The cluster with these edits, in their order. Each is `PriorityWeightAge=1000`, a word of SchedulerParameters such as
    `bf_max_job_test=1000`, `partition.NAME.KEY=VALUE`, the same of node, qos, account and user, or a whole line that begins with
    NodeName, PartitionName or ReservationName. time_zone: in which dates of reservations are.

    Raises ValueError, with the edit and the remedy, for an unknown key, one that no replay models, and a name that the cluster has not."""
    asked, notes = _Asked(), Notes()
    for number, text in enumerate(edits, 1):
        _take(asked, base, text, number)
    parts = ReadParts()
    if asked.is_whole_list:
        parts.cleared |= {name for name in base.scheduler.values if name in SCHEDULER_PARAMETERS}
    for entry in asked.settings:
        _read_setting(parts, base, entry, notes)
    names = {node.name for node in base.nodes}
    groups = [NodeGroup(listed, of) for listed, of in asked.nodes.items()]
    for group in groups:
        note_line(SLURM_NODE_KEYS, group.attributes, NODE_FIELDS, hosts_place(group.names), notes)
        names.update(group.names)
    parts.nodes = nodes_of_parts(SlurmParts(groups), GresLines(), time_zone, notes)
    parts.partitions = _read_partitions(asked, base, parts, notes)
    shared = shared_cluster(asked.tree, notes)
    parts.members, parts.qualities, parts.limits = shared.members, shared.qualities, shared.limits
    parts.accounts = tuple(each for each in shared.accounts if each.name in {one.name for one in base.accounts})
    parts.touched = _touched_by(asked.limits)
    if asked.reservations:
        file = TextFile(EDIT, "\n".join(asked.reservations))
        own = Notes()
        parts.reservations = read_shown_reservations(file, names, time_zone, own)
        # a line of scontrol says much that changes nothing
        notes.remarks += [remark for remark in own.remarks if remark.kind != NO_EFFECT]
    check_remarks(notes.remarks, tuple(edits), _ALL_KEYS)
    return with_read_parts(base, parts, notes.remarks)


def _take(asked: _Asked, base: ClusterDescription, text: str, number: int) -> None:
    """Puts one edit where its reader takes it."""
    first = text.strip().partition("=")[0].strip().lower()
    if first in _LINES:
        _take_line(asked, base, text, number, first)
        return
    entry, adds = edit_entry(text, number)
    dotted = _DOTTED.fullmatch(entry.key)
    if dotted is None:
        key = slurm_key(entry)
        word = OLD_PARAMETERS.get(key, key)
        if word in SCHEDULER_PARAMETERS:
            entry = Entry(EDIT, number, "SchedulerParameters", f"{word}={entry.value}")
        elif key in _OF_PARTITIONS:
            raise ValueError(f"{text!r}: give it of each partition, as partition.NAME.{entry.key}=...")
        elif key not in GENERAL_KEYS and (owners := _owners_of(option_of(entry)[0], key)):
            raise ValueError(of_owners(text, entry, owners))
        asked.is_whole_list |= key == "schedulerparameters"
        asked.settings.append(entry)
        return
    kind, name = dotted[1].lower(), dotted[2]
    entry = Entry(EDIT, number, dotted[3], entry.value)
    if kind == "partition":
        named_part("partition", name, [each.name for each in base.partitions])
        of = asked.partitions.setdefault(name, {})
        if adds and slurm_key(entry) == "nodes":
            former = base.nodes_of(base.partition_named(name))
            entry = replace(entry, value=compress_names([*former, *named_hosts(entry)]))
        elif adds:
            raise ValueError(f"{text!r}: += is for Nodes alone: write the whole value with =")
        tier = slurm_key(entry) == "priority"  # of older versions: both the tier and the factor
        keys = ("PriorityTier", "PriorityJobFactor") if tier else (entry.key,)
        of |= {slurm_key(each): each for each in (replace(entry, key=key) for key in keys)}
    elif kind == "node":
        listed = tuple(expand_hostlist(name))
        for each in listed:
            named_part("node", each, base.node_index)
        of = asked.nodes.setdefault(listed, {"nodename": Entry("", 0, "NodeName", name)})
        of[slurm_key(entry)] = entry
    else:
        _take_option(asked, base, kind, name, entry)


def _owners_of(option: str, key: str) -> list[str]:
    """Which parts of a cluster have a key. option: as sacctmgr calls it."""
    of_accounts = option in LIMIT_FORMS or option in _OF_ACCOUNTS_AND_QOS
    owners = ["qos"] if of_accounts or option in QOS_KEYS else []
    owners += ["account", "user"] if of_accounts else []
    owners += ["partition"] if key in PARTITION_KEYS else []
    return owners + (["node"] if key in SLURM_NODE_KEYS else [])


def _take_line(asked: _Asked, base: ClusterDescription, text: str, number: int, first: str) -> None:
    """A whole line of slurm.conf, or one that scontrol shows of a reservation."""
    if first == "reservationname":
        every = f"Nodes={compress_names(list(base.node_index))}"
        line = re.sub(r"\bNodes=ALL\b", every, text.strip(), flags=re.IGNORECASE)
        asked.reservations += [""] * (number - 1 - len(asked.reservations)) + [line]
        return
    whole = next(iter(conf_lines(TextFile(EDIT, "\n" * (number - 1) + text))))
    attributes = {slurm_key(entry): entry for entry in whole.entries}
    if first == "nodename":
        asked.nodes.setdefault(named_hosts(attributes["nodename"]), {}).update(attributes)
    else:
        asked.partitions.setdefault(attributes["partitionname"].value, {}).update(attributes)


def _take_option(asked: _Asked, base: ClusterDescription, kind: str, name: str, entry: Entry) -> None:
    """An option of a QOS, an account or a user, who may be named as ACCOUNT/USER."""
    option, entry = option_of(entry)
    if kind == "qos":
        named_part("QOS", name, [each.name for each in base.qualities])
        options = asked.tree.qualities.setdefault(name, {})
        owners = [("qos", name)]
    elif kind == "account":
        if option in _INHERITED:
            raise ValueError(f"account.{name}.{entry.key}: users below it inherit it: give a new sacctmgr dump")
        named_part("account", name, [each.name for each in base.accounts])
        options = asked.tree.accounts.setdefault(name, {})
        owners = [("account", name)]
    else:
        account, _, user = name.rpartition("/")
        of_user = [each for each in base.members if each.user == user and account in ("", each.account)]
        if not of_user:
            named_part("user", user, [each.user for each in base.members])
            raise ValueError(f"user {user} is not in account {account}")
        for each in of_user:
            options = asked.tree.users.setdefault((each.user, each.account, each.partition), {})
            options[option] = entry
        owners = [("user", f"{m.account}/{m.user}/{m.partition}".rstrip("/")) for m in of_user] + [("user", user)]
    options[option] = entry
    asked.limits += [(*owner, {option: entry}) for owner in owners]


def _read_setting(parts: ReadParts, base: ClusterDescription, entry: Entry, notes: Notes) -> None:
    """An empty value takes the setting out, so that Slurm's default holds."""
    key = slurm_key(entry)
    word = entry.value.partition("=")[0] if key == "schedulerparameters" else key
    if not entry.value.rpartition("=")[2].strip():
        if word not in base.scheduler.values:
            raise ValueError(f"{word} is not set in the cluster: there is nothing to take out")
        parts.cleared.add(word)
        parts.values.pop(word, None)
        return
    values, licences = scheduler_values({key: entry}, notes)
    parts.values |= values
    parts.licences |= licences
    for name in [name for name, value in values.items() if value is False and name in SCHEDULER_PARAMETERS]:
        del parts.values[name]  # a word that is off is not in the list
        parts.cleared.add(name)


def _read_partitions(asked: _Asked, base: ClusterDescription, read: ReadParts, notes: Notes) -> tuple[Any, ...]:
    mode = base.scheduler.values.get("preemptmode")
    settings = {"preemptmode": Entry("", 0, "PreemptMode", str(mode))} if mode else {}
    have = {node.name for node in base.nodes}
    nodes = (*base.nodes, *(node for node in read.nodes if node.name not in have))
    parts = SlurmParts(settings=settings, listed_nodes={node.name for node in nodes})
    for name, of in asked.partitions.items():
        note_line(PARTITION_KEYS, of, PARTITION_FIELDS, f"partitions.{name}", notes)
        whole = {"partitionname": Entry("", 0, "PartitionName", name), "nodes": Entry("", 0, "Nodes", "ALL")}
        parts.partitions[name] = whole | of
    return partitions_of_parts(parts, nodes, notes)


def _touched_by(options: Iterable[tuple[str, str, Options]]) -> Any:
    """Whether an edit replaces or clears a limit: one of the same owner and form, and of a resource that the edit names."""
    forms = []
    for owner, name, of in options:
        for option, entry in of.items():
            form = LIMIT_FORMS.get(option)
            if form is not None:
                has_list = not form.resource and not is_unset(entry.value)
                forms.append((owner, name, form, set(tres_amounts(entry)) if has_list else None))

    def touched(limit: Limit) -> bool:
        return any(
            (limit.owner, limit.owner_name, limit.counts, limit.each, limit.is_least)
            == (owner, name, form.counts, form.each, form.is_least)
            and (limit.resource in resources if resources is not None else form.resource in ("", limit.resource))
            for owner, name, form, resources in forms
        )

    return touched


def changed_slurm_cluster(base: ClusterDescription, paths: Sequence[Path], time_zone: str) -> ClusterDescription:
    """The cluster as new files have it. What none of them says, such as accounts where there is only a slurm.conf, stays.

    Raises ConfigurationError as `read_slurm_cluster`, and ValueError where no file is a configuration of Slurm."""
    files = {slurm_role_of(file): file for file in map(read_text_file, paths)}
    given = files.keys() - {None}
    if not given:
        raise ValueError(
            f"{paths[0]}: no configuration of Slurm; expected slurm.conf, a sacctmgr dump, or what scontrol shows"
        )
    of_nodes = given & {folder.SLURM_CONF, folder.SHOWN_NODES}
    with tempfile.TemporaryDirectory() as place:
        usual = Path(place) / "slurm.conf"
        usual.write_text(_usual_conf(base))
        new = read_slurm_cluster([*paths, *([] if of_nodes else [usual])], base.name, time_zone).description
    kept: dict[str, Any] = {"valid_from_s": base.valid_from_s}
    if of_nodes:
        before = {node.name: node for node in base.nodes}
        nodes = tuple(
            replace(node, absences=node.absences or before[node.name].absences) if node.name in before else node
            for node in new.nodes
        )
        if folder.SLURM_CONF not in given:  # what scontrol shows is in the order of names
            nodes = tuple(sorted(nodes, key=lambda node: base.node_index.get(node.name, len(before))))
        kept["nodes"] = nodes
    kept |= {name: getattr(base, name) for names, said_by in _SAID_BY for name in names if not given & set(said_by)}
    if folder.QOS_TABLE not in given and not new.qualities:
        kept["qualities"] = base.qualities
        kept.setdefault("limits", (*(each for each in base.limits if each.owner == "qos"), *new.limits))
    if folder.QOS_TABLE in given and not given & _OF_ACCOUNTS:
        others = (each for each in base.limits if each.owner != "qos")
        kept["limits"] = (*others, *(each for each in new.limits if each.owner == "qos"))
    table = files.get(folder.ASSOC_TABLE)
    if table is not None and not given & (_OF_ACCOUNTS - {folder.ASSOC_TABLE}) and not shows_parents(table):
        parents = {account.name: account.parent for account in base.accounts}
        kept["accounts"] = tuple(replace(each, parent=parents.get(each.name, each.parent)) for each in new.accounts)
    scheduler = kept.get("scheduler", new.scheduler)
    values = dict(scheduler.values)
    if "scheduler" not in kept and folder.SHOWN_CONFIG not in given:
        # what `scontrol show config` has said before is not taken out where it is the default
        values = {key: value for key, value in base.scheduler.values.items() if value in DEFAULTS.get(key, ())} | values
    if folder.DIAGNOSIS not in given and MEASURED_TEST_US in base.scheduler.values:
        values.setdefault(MEASURED_TEST_US, base.scheduler.values[MEASURED_TEST_US])
    if kept.get("limits", new.limits) and "scheduler" not in kept:
        add_enforcement(values, Notes(), "slurm.conf")
    kept["scheduler"] = replace(scheduler, version=scheduler.version or base.scheduler.version, values=values)
    return replace(new, **kept)


_OF_ACCOUNTS = {folder.ACCOUNTS_DUMP, folder.ASSOC_TABLE, folder.SACCTMGR_COMMANDS}
_SAID_BY: tuple[tuple[tuple[str, ...], Collection[str]], ...] = (
    (("nodes",), (folder.SLURM_CONF, folder.SHOWN_NODES)),
    (("partitions",), (folder.SLURM_CONF, folder.SHOWN_PARTITIONS)),
    (("scheduler", "licences"), (folder.SLURM_CONF, folder.SHOWN_CONFIG)),
    (("accounts", "members"), _OF_ACCOUNTS),
    (("limits",), (*_OF_ACCOUNTS, folder.QOS_TABLE)),
    (("qualities",), (folder.QOS_TABLE, folder.SACCTMGR_COMMANDS)),
    (("reservations",), (folder.SHOWN_RESERVATIONS,)),
    (("switches",), (folder.TOPOLOGY_CONF,)),
)
"""Parts of a description, and the files that say them."""


def _usual_conf(base: ClusterDescription) -> str:
    """A slurm.conf with the names of nodes and partitions, and what partitions inherit, for files that come without one."""
    lines = [
        f"NodeName={node.name} CPUs={max(node.cpus, 1)} RealMemory={max(node.memory_mib, 1)}" for node in base.nodes
    ]
    mode = base.scheduler.values.get("preemptmode")
    lines += [f"PreemptMode={mode}"] if mode else []
    return "\n".join([*lines, *(f"PartitionName={part.name} Nodes=ALL" for part in base.partitions)]) + "\n"
