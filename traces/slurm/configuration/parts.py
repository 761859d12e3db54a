"""What slurm.conf and scontrol say of nodes, partitions and settings, before a description is made of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from traces.cluster.hostlists import compress_names, expand_hostlist
from traces.cluster.notes import MODELLED, NO_EFFECT, Entry, KnownKey, Notes
from traces.slurm.configuration.keys import OLD_SPELLINGS, OVERSUBSCRIBE
from traces.slurm.configuration.units import uncounted

Attributes = dict[str, Entry]
"""Entries by the key of today in lower case."""


@dataclass(frozen=True)
class NodeGroup:
    """Nodes of one line. attributes: of the line, and of the defaults before it."""

    names: tuple[str, ...]
    attributes: Attributes


@dataclass
class SlurmParts:
    """groups: in the order of the files. partitions, nodesets: by name. settings: by key in lower case. downs: lines DownNodes=.
    listed_nodes: names of all groups."""

    groups: list[NodeGroup] = field(default_factory=list)
    partitions: dict[str, Attributes] = field(default_factory=dict)
    nodesets: dict[str, Attributes] = field(default_factory=dict)
    settings: Attributes = field(default_factory=dict)
    downs: list[Attributes] = field(default_factory=list)
    listed_nodes: set[str] = field(default_factory=set)

    def merge_nodes(self, shown: list[NodeGroup]) -> None:
        """Takes over what scontrol shows of nodes. Nodes of both have the entries of both, and those that are shown count."""
        by_name = {name: group.attributes for group in shown for name in group.names}
        merged: list[NodeGroup] = []
        for group in self.groups:
            alike: dict[int, list[str]] = {}
            for name in group.names:
                alike.setdefault(id(by_name.get(name)), []).append(name)
            for names in alike.values():
                merged.append(NodeGroup(tuple(names), group.attributes | by_name.get(names[0], {})))
        for group in shown:
            new = tuple(name for name in group.names if name not in self.listed_nodes)
            if new:
                merged.append(NodeGroup(new, group.attributes))
                self.listed_nodes.update(new)
        self.groups = merged


def slurm_key(entry: Entry) -> str:
    """The key in lower case, in the spelling of today."""
    key = entry.key.lower()
    return OLD_SPELLINGS.get(key, key)


def named_hosts(entry: Entry) -> tuple[str, ...]:
    """The names of a hostlist. Raises ConfigurationError for a text that is none."""
    try:
        return tuple(expand_hostlist(entry.value))
    except ValueError as error:
        raise entry.refuse(f"a list of names such as n[01-16] ({error})") from error


def note_line(
    table: Mapping[str, KnownKey],
    attributes: Mapping[str, Entry],
    fields: Mapping[str, str],
    place: str,
    notes: Notes,
) -> None:
    """A remark on each entry of a node or partition. fields: key -> where it goes in the part of the description at `place`."""
    for key, entry in attributes.items():
        row = _row_of(table, key, entry)
        if row is not None and row.kind == MODELLED:
            name = fields.get(key, "")
            notes.modelled(entry, f"{place}.{name}" if name else place)
            if key == "tresbillingweights":
                note_weights(entry, notes)
        else:
            notes.by_table({} if row is None else {key: row}, entry, key)


def note_weights(entry: Entry, notes: Notes) -> None:
    """A remark on weights of resources that no replay counts."""
    if amounts := uncounted(entry):
        notes.unmodelled(
            replace(entry, value=amounts), "these resources would weigh, too; a replay does not count them"
        )


def _row_of(table: Mapping[str, KnownKey], key: str, entry: Entry) -> KnownKey | None:
    """The row of a key. Of OverSubscribe it depends on the word, and a node with one job at a time is not shared."""
    if key != "oversubscribe":
        return table.get(key)
    word, _, jobs = entry.value.strip().lower().partition(":")
    return OVERSUBSCRIBE.get("no" if jobs == "1" else word)


def note_unused(defaults: Mapping[int, Entry], used: set[int], notes: Notes) -> None:
    """A remark on each entry of a line of defaults that no later line takes. defaults: by identity."""
    for identity, entry in defaults.items():
        if identity not in used:
            notes.add(entry, NO_EFFECT, "no line after it takes this default")


def hosts_place(names: tuple[str, ...]) -> str:
    """The dotted place of nodes in a description: `nodes.n[01-16]`."""
    return f"nodes.{compress_names(names)}"
