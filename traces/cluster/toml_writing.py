"""A cluster description as one TOML file that people read and edit. `traces.cluster.toml_reading` reads it back.

Nodes that are alike are one table, values that are the default are left out, and a comment behind a value names its file and line.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, fields, replace
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

from traces.cluster.accounts import AccountUser, Limit
from traces.cluster.description import AdvanceReservation, ClusterDescription, Gate, Node
from traces.cluster.hostlists import compress_names, expand_hostlist
from traces.cluster.notes import (
    ASSUMED,
    MODELLED,
    NO_EFFECT,
    NOT_MODELLED,
    UNKNOWN_KEY,
    DescribedCluster,
    Remark,
    sources_by_place,
)

LEFT_OUT_KINDS = (NOT_MODELLED, UNKNOWN_KEY, ASSUMED)
"""Kinds of remarks that are in the file."""
HOST_FIELDS = ("nodes",)
"""Fields that are written as lists of hosts, n[1-3]."""
_MOST_SOURCES = 3
_WORDS = {MODELLED: "in this file", NO_EFFECT: "without effect on schedules", NOT_MODELLED: "not modelled"}


def cluster_toml(described: DescribedCluster) -> str:
    """The text of the file, with remarks on what is left out, unknown or assumed at its end."""
    cluster = described.description
    sources = _Sources(described.remarks, cluster)
    blocks = ["\n".join(_head(cluster, described.remarks, sources)), "\n".join(_scheduler(cluster, sources))]
    blocks += [_table("nodes", _node_lines(names, node, sources)) for names, node in _groups(cluster.nodes)]
    for section, parts in (
        ("partitions", cluster.partitions),
        ("qualities", cluster.qualities),
        ("accounts", cluster.accounts),
    ):
        blocks += [_table(section, _lines(part, sources, f"{section}.{part.name}")) for part in parts]
    blocks += [_table("members", _member_lines(group, sources)) for group in _member_groups(cluster.members)]
    blocks += [_table("limits", _lines(limit, sources, "")) for limit in cluster.limits]
    for section, others in (("reservations", cluster.reservations), ("switches", cluster.switches)):
        blocks += [_table(section, _lines(part, sources, f"{section}.{part.name}")) for part in others]
    blocks += [_table("gates", _lines(gate, sources, "gates")) for gate in cluster.gates]
    blocks += [
        _table("left_out", _remark_lines(remark)) for remark in described.remarks if remark.kind in LEFT_OUT_KINDS
    ]
    return "\n\n".join(blocks) + "\n"


def rules_toml(cluster: ClusterDescription) -> str:
    """The tables of a cluster's order, limits, reservations and gates alone, as they are appended to a file."""
    sources = _Sources((), cluster)
    parts = [*cluster.limits, *cluster.reservations, *cluster.gates]
    sections = {Limit: "limits", AdvanceReservation: "reservations", Gate: "gates"}
    tables = ["\n".join(_order_lines(cluster))] if cluster.scheduler.order else []
    return "\n\n".join([*tables, *(_table(sections[type(part)], _lines(part, sources, "")) for part in parts)]) + "\n"


class _Sources:
    """File and line of each value, by its dotted place."""

    def __init__(self, remarks: Iterable[Remark], cluster: ClusterDescription) -> None:
        self.places = sources_by_place(remarks)
        self.of_nodes: dict[str, dict[str, str]] = {}
        names = {field.name for field in fields(Node)}
        for place, where in self.places.items():
            if not place.startswith("nodes."):
                continue
            hosts, _, field = place.removeprefix("nodes.").rpartition(".")
            if field not in names:
                hosts, field = place.removeprefix("nodes."), "name"
            for name in [hosts] if hosts in cluster.node_index else _expanded(hosts):
                self.of_nodes.setdefault(name, {})[field] = where

    def comment(self, *places: str) -> str:
        """The comment behind a value that one of these places has, "" without a source."""
        wheres = dict.fromkeys(self.places[place] for place in places if place in self.places)
        return _comment(wheres)

    def of_hosts(self, names: Iterable[str], field: str) -> str:
        """The comment behind a value of nodes."""
        wheres = (self.of_nodes.get(name, {}).get(field, "") for name in names)
        return _comment(dict.fromkeys(filter(None, wheres)))


def _expanded(hosts: str) -> list[str]:
    try:
        return expand_hostlist(hosts)
    except ValueError:
        return []


def _comment(wheres: Mapping[str, None]) -> str:
    listed = list(wheres)
    text = ", ".join(listed[:_MOST_SOURCES]) + (" and others" if len(listed) > _MOST_SOURCES else "")
    return f"  # {text}" if text else ""


def _head(cluster: ClusterDescription, remarks: tuple[Remark, ...], sources: _Sources) -> Iterator[str]:
    yield f"# The cluster {cluster.name}, as tracehouse reads it. Comments name the file and line that a value comes from."
    yield '# The page "The cluster file" of the documentation has the meaning of each key. Edit it freely.'
    if remarks:
        keys = {(remark.file, remark.line, remark.key): remark.kind for remark in remarks if remark.line}
        counts = Counter(keys.values())
        parts = ", ".join(f"{count} {_WORDS.get(kind, kind)}" for kind, count in counts.most_common())
        yield f"# Of {len(keys)} keys that were read, there are: {parts}."
    yield ""
    yield f"name = {toml_value(cluster.name)}"
    if cluster.valid_from_s is not None:
        moment = datetime.fromtimestamp(cluster.valid_from_s, UTC)
        yield f"valid_from = {moment:%Y-%m-%dT%H:%M:%SZ}"
    if cluster.licences:
        yield f"licences = {toml_value(cluster.licences)}{sources.comment('licences')}"


def _scheduler(cluster: ClusterDescription, sources: _Sources) -> Iterator[str]:
    yield "[scheduler]"
    yield f"name = {toml_value(cluster.scheduler.name)}"
    if cluster.scheduler.version:
        yield f"version = {toml_value(cluster.scheduler.version)}"
    yield ""
    yield "[scheduler.values]"
    for key, value in cluster.scheduler.values.items():
        yield f"{toml_key(key)} = {toml_value(value)}{sources.comment(f'scheduler.{key}')}"
    if cluster.scheduler.order:
        yield ""
        yield from _order_lines(cluster)


def _order_lines(cluster: ClusterDescription) -> Iterator[str]:
    yield "[scheduler.order]"
    for key, value in cluster.scheduler.order.items():
        yield f"{toml_key(key)} = {toml_value(value)}"


def _groups(nodes: tuple[Node, ...]) -> Iterator[tuple[list[str], Node]]:
    """Names of nodes that follow one another and are alike but for their names, and one of these nodes."""
    for node, group in groupby(nodes, key=lambda node: replace(node, name="")):
        yield [each.name for each in group], node


def _node_lines(names: list[str], node: Node, sources: _Sources) -> Iterator[str]:
    yield f"names = {toml_value(hosts_value(names))}{sources.of_hosts(names, 'name')}"
    if node.cpus == node.cores * node.threads_per_core:
        node = _with(node, cpus=0)
    for key, value in _own_values(node):
        if key == "gpus" and set(value) == {""}:
            value = value[""]
        if key != "name":
            yield f"{key} = {toml_value(value)}{sources.of_hosts(names, key)}"


def _with(node: Node, cpus: int) -> Node:
    """The node with this number, which `Node` itself would replace."""
    changed = replace(node)
    object.__setattr__(changed, "cpus", cpus)
    return changed


def _member_groups(members: tuple[AccountUser, ...]) -> Iterator[list[AccountUser]]:
    for _, group in groupby(members, key=lambda member: replace(member, user="")):
        yield list(group)


def _member_lines(group: list[AccountUser], sources: _Sources) -> Iterator[str]:
    places = [f"members.{member.account}/{member.user}" for member in group]
    yield f"users = {toml_value(tuple(member.user for member in group))}{sources.comment(*places)}"
    for key, value in _own_values(group[0]):
        if key != "user":
            yield f"{key} = {toml_value(value)}{sources.comment(*(f'{place}.{key}' for place in places))}"


def _lines(part: Any, sources: _Sources, place: str) -> Iterator[str]:
    for key, value in _own_values(part):
        comment = sources.comment(f"{place}.{key}", *([place] if key == "name" else []))
        yield f"{key} = {toml_value(hosts_value(value) if key in HOST_FIELDS else value)}{comment}{_hours(key, value, comment)}"


def _hours(key: str, value: Any, comment: str) -> str:
    """How long a number of seconds is, as a remark."""
    if not key.endswith("time_s") or not isinstance(value, int) or value < 60:
        return ""
    days, hours, minutes = value // 86400, value // 3600 % 24, value // 60 % 60
    text = f"{days}-{hours:02d}:{minutes:02d}" if days else f"{hours}:{minutes:02d} h"
    return f" ({text})" if comment else f"  # {text}"


def _own_values(part: Any) -> Iterator[tuple[str, Any]]:
    """Names and values of the fields that are not as they are by default."""
    for field in fields(part):
        value = getattr(part, field.name)
        default = field.default_factory() if field.default_factory is not MISSING else field.default
        if (field.default is MISSING and field.default_factory is MISSING) or value != default:
            yield field.name, value


def _remark_lines(remark: Remark) -> Iterator[str]:
    yield f"kind = {toml_value(remark.kind)}"
    yield f"file = {toml_value(remark.file)}"
    if remark.line:
        yield f"line = {remark.line}"
    yield f"key = {toml_value(remark.key)}"
    for key, value in (("value", remark.value), ("effect", remark.effect)):
        if value:
            yield f"{key} = {toml_value(value)}"


def _table(section: str, lines: Iterable[str]) -> str:
    return "\n".join([f"[[{section}]]", *lines])


def hosts_value(names: Iterable[str]) -> str | tuple[str, ...]:
    """Names as a list of hosts in the same order, n[1-3],m1. Names that such a list cannot have stay as they are."""
    listed = tuple(names)
    try:
        runs = [list(run) for _, run in groupby(listed, key=lambda name: re.sub(r"\d+", "#", name))]
        text = ",".join(_run(run) for run in runs)
        return text if tuple(expand_hostlist(text)) == listed else listed
    except ValueError:
        return listed


def _run(names: list[str]) -> str:
    text = compress_names(names)
    return text if expand_hostlist(text) == names else ",".join(names)


def toml_key(key: str) -> str:
    """A key, in quotes where TOML needs them."""
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else toml_value(key)


def toml_value(value: Any) -> str:
    """A text, number, truth value, list or table of such, or a dataclass as a table, on one line."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{toml_key(key)} = {toml_value(each)}" for key, each in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    if isinstance(value, tuple | list):
        return f"[{', '.join(toml_value(each) for each in value)}]"
    return toml_value({key: each for key, each in _own_values(value) if each is not None})
