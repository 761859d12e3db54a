"""What changed from one description of a cluster to another, value by value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from traces.cluster.accounts import AccountUser, Limit
from traces.cluster.description import ClusterDescription
from traces.cluster.hostlists import listed

_FEW = 5
_NAMED = ("nodes", "partitions", "accounts", "qualities", "reservations", "switches")
_WORDS = {
    "nodes": "node",
    "partitions": "partition",
    "accounts": "account",
    "qualities": "QOS",
    "reservations": "reservation",
    "members": "user",
    "limits": "limit",
    "gates": "gate",
    "switches": "switch",
}


@dataclass(frozen=True)
class ChangedValue:
    """place: what it is of, such as `partition batch: max_time_s`, many equal nodes as one hostlist. before, after: "" for none."""

    place: str
    before: str
    after: str

    def __str__(self) -> str:
        if not self.before:
            return f"+ {self.place}: {self.after}"
        if not self.after:
            return f"- {self.place}: {self.before}"
        return f"~ {self.place}: {self.before} -> {self.after}"


def changed_values(before: ClusterDescription, after: ClusterDescription) -> tuple[ChangedValue, ...]:
    """Every value that differs, in the order of the description's parts. Nodes that changed alike are one row. The cluster's name, the
    order of partitions and of the nodes that they list, and the files that limits come from do not count. The order of the cluster's nodes
    does, since it decides ties."""
    rows: list[ChangedValue] = []
    for part in _NAMED:
        old, new = ({each.name: _sorted(each) for each in getattr(cluster, part)} for cluster in (before, after))
        changes = [(name, change) for name in {**old, **new} for change in _of_one(old.get(name), new.get(name))]
        rows += _grouped(_WORDS[part], changes) if part == "nodes" else _listed(_WORDS[part], changes)
    shared = set(before.node_index) & set(after.node_index)
    if [name for name in before.node_index if name in shared] != [name for name in after.node_index if name in shared]:
        rows.append(ChangedValue("order of nodes", "as before", "another one"))
    rows += _listed("user", _keyed({_member(x): x for x in before.members}, {_member(x): x for x in after.members}))
    rows += _of_limits(before, after)
    gates = {str(x): x for x in before.gates}, {str(x): x for x in after.gates}
    rows += _listed("gate", _keyed(*gates))
    rows += _of_mapping("licence", before.licences, after.licences)
    rows += _of_mapping("scheduler", _settings(before), _settings(after))
    rows += _of_mapping("cluster", {"valid_from_s": before.valid_from_s}, {"valid_from_s": after.valid_from_s})
    return tuple(rows)


_Change = tuple[str, str, str]
"""Field, "" for the whole, and its texts before and after."""


def _sorted(part: Any) -> Any:
    """A part with the nodes that it lists in the order of their names."""
    return replace(part, nodes=tuple(sorted(part.nodes))) if getattr(part, "nodes", ()) else part


def _of_one(old: Any, new: Any) -> Iterator[_Change]:
    if old is None or new is None:
        yield "", "" if old is None else _summary(old), "" if new is None else _summary(new)
        return
    for field in fields(old):
        was, is_now = getattr(old, field.name), getattr(new, field.name)
        if was != is_now:
            yield field.name, _text(was), _text(is_now)


def _keyed(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[tuple[str, _Change]]:
    return [(name, change) for name in {**old, **new} for change in _of_one(old.get(name), new.get(name))]


def _listed(word: str, changes: list[tuple[str, _Change]]) -> list[ChangedValue]:
    return [ChangedValue(_place(word, name, field), was, is_now) for name, (field, was, is_now) in changes]


def _grouped(word: str, changes: list[tuple[str, _Change]]) -> list[ChangedValue]:
    """Nodes with the same change in one row."""
    names: dict[_Change, list[str]] = {}
    for name, change in changes:
        names.setdefault(change, []).append(name)
    return [ChangedValue(_place(word, listed(of), field), was, is_now) for (field, was, is_now), of in names.items()]


def _place(word: str, name: str, field: str) -> str:
    return f"{word} {name}: {field}" if field else f"{word} {name}"


def _member(member: AccountUser) -> str:
    return f"{member.user} in {member.account}" + (f" ({member.partition})" if member.partition else "")


def _of_limits(before: ClusterDescription, after: ClusterDescription) -> list[ChangedValue]:
    old, new = ({_limit(each): str(each.bound) for each in cluster.limits} for cluster in (before, after))
    return _of_mapping("limit", old, new)


def _limit(limit: Limit) -> str:
    """What a limit is of, in words, without its bound."""
    words = [limit.owner, limit.owner_name, "least" if limit.is_least else "", "soft" if limit.is_soft else ""]
    words += [limit.counts, limit.resource, "" if limit.each == "all" else f"of each {limit.each}", limit.who]
    return " ".join(word for word in words if word)


def _of_mapping(word: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> list[ChangedValue]:
    return [
        ChangedValue(f"{word} {key}", _text(old.get(key)), _text(new.get(key)))
        for key in {**old, **new}
        if old.get(key) != new.get(key)
    ]


def _settings(cluster: ClusterDescription) -> dict[str, Any]:
    scheduler = cluster.scheduler
    order = {f"order.{key}": value for key, value in scheduler.order.items()}
    return {"name": scheduler.name, "version": scheduler.version or None} | dict(scheduler.values) | order


def _summary(part: Any) -> str:
    """A part that is new or gone: its values that are not the usual ones, without its name."""
    shown = []
    for field in fields(part):
        value = getattr(part, field.name)
        usual = field.default_factory() if callable(field.default_factory) else field.default
        if field.name not in ("name", "user") and value != usual:
            shown.append(f"{field.name} {_text(value)}")
    return ", ".join(shown) or "as usual"


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, Mapping):
        return ", ".join(f"{key or 'any'} {_text(each)}" for key, each in value.items()) or "none"
    if isinstance(value, tuple):
        if value and all(isinstance(each, str) for each in value):
            return _names(value)
        return ", ".join(str(each) for each in value) or "none"
    return str(value) if value != "" else "none"


def _names(names: tuple[str, ...]) -> str:
    """A long list of names as a hostlist, others as they are."""
    return ", ".join(names) if len(names) < _FEW else listed(names)
