"""Edits of a described cluster: what readers of configuration made of single lines goes to the places that their remarks name."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from typing import Any, TypeVar

from traces.cluster.accounts import Account, AccountUser, Limit, ServiceQuality
from traces.cluster.description import AdvanceReservation, ClusterDescription, Node, Partition, Setting
from traces.cluster.hostlists import expand_hostlist
from traces.cluster.notes import MODELLED, NO_EFFECT, NOT_MODELLED, UNKNOWN_KEY, Entry, Remark

EDIT = "edit"
"""The file of which edits are lines, as remarks and errors name it."""
_WITH = {
    "cpus": ("cores", "sockets", "threads_per_core"),
    "cores": ("cpus", "sockets", "threads_per_core"),
    "sockets": ("cpus", "cores", "threads_per_core"),
    "threads_per_core": ("cpus", "cores", "sockets"),
    "gpus": ("resources",),
    "default_memory_mib": ("default_memory_per",),
    "max_memory_mib": ("max_memory_per",),
}
"""Field -> those that come of the same key."""
_Part = TypeVar("_Part", Node, Partition, Account, ServiceQuality)


@dataclass
class ReadParts:
    """What a reader made of edits. values, licences: of the scheduler. touched: says of a limit whether an edit replaces or clears it."""

    nodes: tuple[Node, ...] = ()
    partitions: tuple[Partition, ...] = ()
    accounts: tuple[Account, ...] = ()
    members: tuple[AccountUser, ...] = ()
    qualities: tuple[ServiceQuality, ...] = ()
    limits: tuple[Limit, ...] = ()
    reservations: tuple[AdvanceReservation, ...] = ()
    values: dict[str, Setting] = field(default_factory=dict)
    licences: dict[str, int] = field(default_factory=dict)
    cleared: set[str] = field(default_factory=set)
    touched: Callable[[Limit], bool] = lambda limit: False


def edit_entry(text: str, number: int) -> tuple[Entry, bool]:
    """KEY=VALUE as an entry, and whether it adds to a list (`+=`). number: of the edit, from 1. Raises ValueError for another text."""
    parts = re.fullmatch(r"\s*([\w./\[\],@-]+?)\s*(\+?=)\s*(.*?)\s*", text)
    if parts is None:
        raise ValueError(f"{text!r}: expected KEY=VALUE as in the scheduler's configuration, or an existing file of it")
    return Entry(EDIT, number, parts[1], parts[3]), parts[2] == "+="


def of_owners(text: str, entry: Entry, owners: Iterable[str]) -> str:
    """What to write for an edit that does not say whose key it gives. owners: kinds of parts of a cluster that have it."""
    forms = " or ".join(f"{owner}.NAME.{entry.key}={entry.value}" for owner in owners)
    return f"{text!r}: it does not say whose {entry.key} this is: write {forms}"


def named_part(what: str, name: str, names: Iterable[str]) -> str:
    """The name. Raises ValueError, with names that are near, where the cluster has no such part."""
    names = list(names)
    if name not in names:
        near = get_close_matches(name, names, n=1)
        have = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(names[:8]) or 'none'}"
        raise ValueError(f"the cluster has no {what} {name!r}; {have}")
    return name


def check_remarks(remarks: Iterable[Remark], edits: tuple[str, ...], keys: Collection[str]) -> None:
    """Raises ValueError for an edit whose key is unknown, is not modelled, or changes no schedule. keys: all, for names that are near."""
    for remark in remarks:
        if remark.file != EDIT or remark.kind not in (UNKNOWN_KEY, NOT_MODELLED, NO_EFFECT):
            continue
        said = edits[remark.line - 1].strip()
        if remark.kind == NO_EFFECT:
            if remark.effect != "it is not set":
                raise ValueError(f"{said!r}: {remark.key} changes no schedule: leave it out")
        elif remark.kind == NOT_MODELLED:
            raise ValueError(f"{said!r}: no replay models {remark.key} ({remark.effect}): leave it out")
        else:
            last = remark.key.rpartition(" ")[2].lower()
            if last in keys:
                raise ValueError(f"{said!r}: unknown word {remark.value!r} of {remark.key}")
            near = get_close_matches(last, keys, n=1)
            raise ValueError(f"{said!r}: unknown key {last!r}" + (f"; did you mean {near[0]!r}?" if near else ""))


def with_read_parts(base: ClusterDescription, parts: ReadParts, remarks: Iterable[Remark]) -> ClusterDescription:
    """The cluster with what was read at the places that the remarks on edits name. What it does not have yet comes whole.

    Raises ValueError where the parts do not fit together."""
    places = list(_places(remarks))
    nodes = _merged(base.nodes, parts.nodes, places, "nodes")
    partitions = _merged(base.partitions, parts.partitions, places, "partitions")
    defaults = {name for kind, name, key in places if (kind, key) == ("partitions", "is_default")}
    if any(each.is_default for each in partitions if each.name in defaults):
        partitions = tuple(replace(each, is_default=each.is_default and each.name in defaults) for each in partitions)
    for node in nodes[len(base.nodes) :]:
        if all(part.nodes and node.name not in part.nodes for part in partitions):
            raise ValueError(f"node {node.name} is in no partition: add partition.NAME.Nodes+={node.name}")
    reservations = {each.name: each for each in (*base.reservations, *parts.reservations)}
    values = {key: value for key, value in base.scheduler.values.items() if key not in parts.cleared}
    return replace(
        base,
        nodes=nodes,
        partitions=partitions,
        accounts=_merged(base.accounts, parts.accounts, places, "accounts"),
        members=_merged_members(base.members, parts.members, places),
        qualities=_merged(base.qualities, parts.qualities, places, "qualities"),
        limits=(*(each for each in base.limits if not parts.touched(each)), *parts.limits),
        reservations=tuple(reservations.values()),
        licences=parts.licences or base.licences,
        scheduler=replace(base.scheduler, values={**values, **parts.values}),
    )


def _places(remarks: Iterable[Remark]) -> Iterator[tuple[str, str, str]]:
    """Part, name and field of each place that an edit changes. Of nodes a row for each."""
    for remark in remarks:
        if remark.file != EDIT or remark.kind != MODELLED or not remark.place:
            continue
        kind, _, rest = remark.place.partition(".")
        if kind == "partitions" and "." in remark.key:  # a key of PBS such as resources_default.mem
            name, _, key = rest.partition(".")
        else:
            name, _, key = rest.rpartition(".")
        if kind == "nodes":
            for each in _expanded(name):
                yield kind, each, key
        else:
            yield kind, name, key


def _expanded(name: str) -> list[str]:
    try:
        return expand_hostlist(name)
    except ValueError:
        return [name]


def _merged(
    base: tuple[_Part, ...], read: tuple[_Part, ...], places: list[tuple[str, str, str]], kind: str
) -> tuple[_Part, ...]:
    of_kind: dict[str, set[str]] = {}
    for place, name, key in places:
        if place == kind:
            of_kind.setdefault(name, set()).add(key)
    new = {each.name: each for each in read}
    merged: list[_Part] = [
        _copied(each, new[each.name], of_kind.get(each.name, set())) if each.name in new else each for each in base
    ]
    have = {each.name for each in base}
    merged += [each for each in read if each.name not in have]
    return tuple(merged)


def _merged_members(
    base: tuple[AccountUser, ...], read: tuple[AccountUser, ...], places: list[tuple[str, str, str]]
) -> tuple[AccountUser, ...]:
    def key(member: AccountUser) -> str:
        return f"{member.account}/{member.user}/{member.partition}".rstrip("/")

    new = {key(each): each for each in read}
    of_member: dict[str, set[str]] = {}
    for place, name, field_name in places:
        if place == "members":
            of_member.setdefault(name, set()).add(field_name)
    return tuple(
        _copied(each, new[key(each)], of_member.get(key(each), set())) if key(each) in new else each for each in base
    )


def _copied(old: Any, new: Any, changed: set[str]) -> Any:
    """The old part with these fields of the new one, and those that come of the same keys."""
    names = {each.name for each in fields(old)}
    taken = {name for key in changed for name in (key, *_WITH.get(key, ())) if name in names and name != "name"}
    values: dict[str, Any] = {name: getattr(new, name) for name in taken}
    if isinstance(old, Partition) and new.extra:
        extra: Mapping[str, Setting] = {**old.extra, **new.extra}
        values["extra"] = extra
    return replace(old, **values)
