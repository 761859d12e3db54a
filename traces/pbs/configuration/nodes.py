"""Nodes as `pbsnodes -av` prints them, as text and as JSON, of PBS and of Torque, and Torque's file `server_priv/nodes`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from traces.cluster.description import Absence, Node
from traces.cluster.notes import MODELLED, NO_EFFECT, ConfigurationError, Entry, Notes, TextFile, integer_of
from traces.pbs.configuration.files import entry_amount, kib_of
from traces.pbs.configuration.keys import VNODE_KEYS
from traces.pbs.configuration.qmgr import Attributes, ServerState
from traces.pbs.requests import flat_attributes

_OUT = {
    "down": "down",
    "offline": "drain",
    "stale": "down",
    "unresolvable": "down",
    "maintenance": "drain",
    "sleep": "drain",
}
"""States in which nothing starts on a node, as states of a description. Words of a pair such as `state-unknown,down` are looked up by
themselves; `state-unknown` alone says only that the server has just begun."""
_STATES = (
    *_OUT,
    "free",
    "job-busy",
    "job-exclusive",
    "job-sharing",
    "resv-exclusive",
    "busy",
    "reserve",
    "time-shared",
    "state-unknown",
    "provisioning",
    "wait-provisioning",
    "wait-provision",
    "initializing",
    "running",
)
_SHARINGS = (
    "default_shared",
    "default_excl",
    "default_exclhost",
    "ignore_excl",
    "force_excl",
    "force_exclhost",
)
_LABELS = ("host", "vnode")
_FIELDS = {
    "mem": "memory_mib",
    "ncpus": "cores",
    "np": "cores",
    "ngpus": "gpus",
    "properties": "features",
    "Priority": "weight",
}
"""Attributes that are a field of a node by another name."""
_MEMORY_OF_TORQUE = re.compile(r"\bphysmem=([0-9]+[kmgt]?b)")


@dataclass(frozen=True)
class ListedNode:
    """A node and what orders and queues need of it. queue: the only one that it serves, "" for all. priority: of node_sort_key."""

    node: Node
    queue: str = ""
    priority: int = 0


def read_nodes(file: TextFile, state: ServerState, time_zone: str, notes: Notes) -> tuple[ListedNode, ...]:
    """The nodes of `pbsnodes -av`, in its order. time_zone: of the cluster, in which it writes dates.

    A node without processors, such as the host of the server, is left out with a remark. Raises ConfigurationError for a file that is
    none of pbsnodes, and for a value that cannot be read.
    """
    blocks = _json_blocks(file) if file.text.lstrip().startswith("{") else _text_blocks(file)
    listed = []
    for name, attributes in blocks:
        node = _listed_node(name, attributes, state, ZoneInfo(time_zone), notes)
        if node:
            listed.append(node)
    if not listed:
        raise ConfigurationError(
            file.name,
            0,
            "nodes with processors",
            "Write the output of `pbsnodes -av` (Torque: `pbsnodes -a`) into the file",
        )
    return tuple(listed)


def read_torque_nodes(file: TextFile, notes: Notes) -> tuple[ListedNode, ...]:
    """The nodes of Torque's `server_priv/nodes`: `node01 np=8 gpus=2 fast`. Raises ConfigurationError for a value that is no number."""
    listed = []
    for number, line in file.lines():
        name, *words = line.split()
        features = [word for word in words if "=" not in word]
        counts = {}
        for word in words:
            key, equals, value = word.partition("=")
            entry = Entry(file.name, number, key, value)
            if key in ("np", "gpus"):
                counts[key] = integer_of(entry)
                notes.modelled(entry, f"nodes.{name}.{key}")
            elif equals:
                notes.by_table(VNODE_KEYS, entry)
        gpus = {"": counts["gpus"]} if counts.get("gpus") else {}
        listed.append(ListedNode(Node(name, max(counts.get("np", 1), 1), gpus=gpus, features=tuple(features))))
    return tuple(listed)


def _text_blocks(file: TextFile) -> Iterator[tuple[str, Attributes]]:
    """Name and attributes of each node: a line that begins at the margin, and indented `key = value` below it."""
    name, attributes = "", Attributes()
    for number, line in file.lines():
        if not line[0].isspace():
            if name:
                yield name, attributes
            name, attributes = line.strip(), {}
            if len(name.split()) > 1:
                expected = f"the name of a node, found {name[:60]!r}"
                raise ConfigurationError(
                    file.name, number, expected, "Write the output of `pbsnodes -av` into the file"
                )
            continue
        key, equals, value = (part.strip() for part in line.partition("="))
        if not equals or not name:
            expected = f"an attribute such as `state = free` below a node, found {line.strip()[:60]!r}"
            raise ConfigurationError(file.name, number, expected, "Write the output of `pbsnodes -av` into the file")
        attributes[key] = Entry(file.name, number, key, value)
    if name:
        yield name, attributes


def _json_blocks(file: TextFile) -> Iterator[tuple[str, Attributes]]:
    try:
        nodes = json.loads(file.text, strict=False).get("nodes")
    except (json.JSONDecodeError, AttributeError) as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else 1
        remedy = "Run `pbsnodes -av -F json` again, or take the text of `pbsnodes -av`"
        raise ConfigurationError(file.name, line, "a JSON document of pbsnodes", remedy) from error
    for name, values in (nodes or {}).items():
        flat = flat_attributes(values)
        yield name, {key: Entry(file.name, 0, key, value) for key, value in flat.items()}


def _listed_node(
    name: str, attributes: Attributes, state: ServerState, zone: ZoneInfo, notes: Notes
) -> ListedNode | None:
    processors = attributes.get("resources_available.ncpus") or attributes.get("np") or attributes.get("pcpus")
    if processors is None or not integer_of(processors):
        head = processors or next(iter(attributes.values()), Entry("pbsnodes", 0, name, ""))
        notes.assumed(Entry(head.file, head.line, name, ""), "the node has no processors and is left out")
        return None
    of_node = _Resources(name, state, notes)
    for key, entry in attributes.items():
        base, _, resource = key.partition(".")
        row = VNODE_KEYS.get(base)
        if base == "resources_available":
            of_node.take(entry, resource)
        elif key == "state" and not any(word.strip() in _OUT for word in entry.value.lower().split(",")):
            notes.add(entry, NO_EFFECT, "with this value")
        elif row and row.kind == MODELLED:
            notes.modelled(entry, f"nodes.{name}.{_FIELDS.get(base, base)}")
        else:
            notes.by_table(VNODE_KEYS, entry, base)
    if "gpus" in attributes and not of_node.gpus:
        of_node.gpus = {"": integer_of(attributes["gpus"])}
    if "properties" in attributes:
        of_node.features += [word.strip() for word in attributes["properties"].value.split(",")]
    physical = _MEMORY_OF_TORQUE.search(attributes["status"].value) if "status" in attributes else None
    if physical and not of_node.memory_mib:
        of_node.memory_mib = kib_of(Entry("", 0, "physmem", physical.group(1))) // 1024
    sharing = attributes.get("sharing")
    if sharing and sharing.value not in _SHARINGS:
        raise sharing.refuse(f"one of {', '.join(_SHARINGS)}")
    cpus = integer_of(processors)
    node = Node(
        name,
        cpus,
        of_node.memory_mib,
        {kind: count for kind, count in of_node.gpus.items() if count},
        tuple(of_node.features),
        resources=of_node.amounts,
        absences=_absences(attributes, zone, notes),
        host="" if of_node.host in ("", name) else of_node.host,
        sharing="" if sharing is None or sharing.value == "default_shared" else sharing.value,
    )
    queue, priority = attributes.get("queue"), attributes.get("Priority")
    return ListedNode(node, queue.value if queue else "", integer_of(priority, None) if priority else 0)


@dataclass
class _Resources:
    """The resources of a node, as they are read."""

    name: str
    state: ServerState
    notes: Notes

    def __post_init__(self) -> None:
        self.memory_mib, self.host = 0, ""
        self.gpus: dict[str, int] = {}
        self.amounts: dict[str, int] = {}
        self.features: list[str] = []

    def take(self, entry: Entry, resource: str) -> None:
        """Puts one of resources_available where it belongs."""
        self.notes.modelled(entry, f"nodes.{self.name}.{_FIELDS.get(resource, resource)}")
        if resource == "mem":
            self.memory_mib = kib_of(entry) // 1024
        elif resource in ("ngpus", "gpus"):
            self.gpus = {"": integer_of(entry)}
        elif resource == "host":
            self.host = entry.value
        elif resource not in ("ncpus", *_LABELS):
            self._other(entry, resource)

    def _other(self, entry: Entry, resource: str) -> None:
        kind = self.state.resource_type(resource)
        counted = kind in ("long", "size", "float") or (
            not kind and re.fullmatch(r"[0-9.]+(?:[kmgtp]?[bw])?", entry.value)
        )
        if counted:
            amount = entry_amount(entry, resource)
            if amount:
                self.amounts[resource] = amount
        else:
            self.features += [f"{resource}={word.strip()}" for word in entry.value.split(",") if word.strip()]


def _absences(attributes: Mapping[str, Entry], zone: ZoneInfo, notes: Notes) -> tuple[Absence, ...]:
    """While a node is down or offline, from when its state changed last. From always where that is not known."""
    entry = attributes.get("state")
    if entry is None:
        return ()
    words = [word.strip() for word in entry.value.lower().split(",")]
    for word in words:
        if word not in _STATES:
            raise entry.refuse(f"states of {', '.join(_STATES)}")
    states = [_OUT[word] for word in words if word in _OUT]
    if not states:
        return ()
    since = attributes.get("last_state_change_time")
    begin_s = _second(since.value, zone) if since else None
    if begin_s is None:
        notes.assumed(entry, "the node has been away from the beginning, since the file does not say from when")
    return (Absence(begin_s or 0, None, "down" if "down" in states else "drain"),)


def _second(text: str, zone: ZoneInfo) -> int | None:
    """Unix second of `Thu Nov 26 07:14:07 2026` in this zone, or of a plain number."""
    if text.isdigit():
        return int(text)
    try:
        return int(datetime.strptime(text, "%a %b %d %H:%M:%S %Y").replace(tzinfo=zone).timestamp())
    except ValueError:
        return None
