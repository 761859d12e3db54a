"""slurm.conf: lines of nodes, partitions, sets of nodes and settings, with what DEFAULT lines say."""

from __future__ import annotations

from traces.cluster.notes import NO_EFFECT, Entry, Notes, TextFile
from traces.slurm.configuration.keys import PARTITION_KEYS, SLURM_NODE_KEYS
from traces.slurm.configuration.lines import ConfLine, Finder, conf_lines
from traces.slurm.configuration.nodes import NODE_FIELDS
from traces.slurm.configuration.partitions import PARTITION_FIELDS
from traces.slurm.configuration.parts import (
    Attributes,
    NodeGroup,
    SlurmParts,
    hosts_place,
    named_hosts,
    note_line,
    note_unused,
    slurm_key,
)

_DEFAULT = "DEFAULT"
_OF_LINES = ("nodename", "partitionname", "nodeset", "downnodes", "frontendname")
"""Keys that say what a whole line is about."""


def read_slurm_conf(file: TextFile, finder: Finder, notes: Notes) -> SlurmParts:
    """The parts of slurm.conf and the files that it includes. A DEFAULT line holds for the lines after it, and adds to earlier ones.

    Remarks of nodes and partitions are made here, those of settings where they are used.
    Raises ConfigurationError, with file, line and what was expected.
    """
    parts = SlurmParts()
    of_nodes, of_partitions = _Defaults(), _Defaults()
    for line in conf_lines(file, finder):
        attributes = {slurm_key(entry): entry for entry in line.entries}
        first = next((key for key in _OF_LINES if key in attributes), slurm_key(line.entries[0]))
        if first == "nodename":
            _add_nodes(parts, attributes, of_nodes, notes)
        elif first == "partitionname":
            _add_partition(parts, attributes, of_partitions, notes)
        elif first == "nodeset":
            parts.nodesets[attributes["nodeset"].value] = attributes
        elif first == "downnodes":
            parts.downs.append(attributes)
        elif first == "frontendname":
            for entry in line.entries:
                notes.add(entry, NO_EFFECT, "the daemon of the nodes runs there")
        else:
            _add_settings(parts, line, notes)
    note_unused(of_nodes.entries, of_nodes.used, notes)
    note_unused(of_partitions.entries, of_partitions.used, notes)
    return parts


class _Defaults:
    """What DEFAULT lines have said so far. entries: all of them, by identity. used: those that a line has taken."""

    def __init__(self) -> None:
        self.now: Attributes = {}
        self.entries: dict[int, Entry] = {}
        self.used: set[int] = set()

    def add(self, attributes: Attributes) -> None:
        self.now |= attributes
        self.entries |= {id(entry): entry for entry in attributes.values()}

    def below(self, attributes: Attributes) -> Attributes:
        whole = self.now | attributes
        self.used |= {id(entry) for entry in whole.values()}
        return whole


def _add_nodes(parts: SlurmParts, attributes: Attributes, defaults: _Defaults, notes: Notes) -> None:
    name = attributes["nodename"]
    if name.value.upper() == _DEFAULT:
        notes.add(name, NO_EFFECT, "its line has the defaults of the lines after it")
        defaults.add({key: entry for key, entry in attributes.items() if key != "nodename"})
        return
    names = named_hosts(name)
    if not names:
        raise name.refuse("names of nodes such as n[01-16]")
    for each in names:
        if each in parts.listed_nodes:
            raise name.refuse(f"each node once, but {each} is in an earlier line too", "Take one of them out")
    parts.listed_nodes.update(names)
    whole = defaults.below(attributes)
    parts.groups.append(NodeGroup(names, whole))
    note_line(SLURM_NODE_KEYS, whole, NODE_FIELDS, hosts_place(names), notes)


def _add_partition(parts: SlurmParts, attributes: Attributes, defaults: _Defaults, notes: Notes) -> None:
    name = attributes["partitionname"]
    if name.value.upper() == _DEFAULT:
        notes.add(name, NO_EFFECT, "its line has the defaults of the lines after it")
        defaults.add({key: entry for key, entry in attributes.items() if key != "partitionname"})
        return
    whole = defaults.below(attributes)
    for each in name.value.split(","):
        if each in parts.partitions:
            raise name.refuse(f"each partition once, but {each} is in an earlier line too", "Take one of them out")
        parts.partitions[each] = whole
        note_line(PARTITION_KEYS, whole, PARTITION_FIELDS, f"partitions.{each}", notes)


def _add_settings(parts: SlurmParts, line: ConfLine, notes: Notes) -> None:
    for entry in line.entries:
        key = slurm_key(entry)
        if key in parts.settings and key not in ("slurmctldhost",):
            notes.add(parts.settings[key], NO_EFFECT, f"line {entry.line} says it again, and the last one holds")
        parts.settings[key] = entry
