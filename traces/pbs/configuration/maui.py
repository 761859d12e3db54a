"""Maui's `maui.cfg`: parameters, limits of credentials, and standing reservations, which schedule in place of Torque's own scheduler."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from traces.cluster.accounts import Limit, ServiceQuality
from traces.cluster.description import Setting
from traces.cluster.files import TextFile
from traces.cluster.nodes import Node
from traces.cluster.notes import Entry, KnownKey, Notes, integer_of
from traces.cluster.remarks import MODELLED, UNKNOWN_KEY, ConfigurationError
from traces.cluster.reservations import AdvanceReservation
from traces.pbs.configuration.maui_keys import (
    CHOICES,
    CREDENTIAL_KEYS,
    CREDENTIALS,
    GLOBAL_LIMITS,
    PARAMETER_KEYS,
    RESERVATION_KEYS,
    THROTTLES,
)
from traces.pbs.configuration.notes import seconds_of, setting_of
from traces.pbs.configuration.standing import standing_reservation

_PARAMETER = re.compile(r"([A-Za-z][\w%]*)(?:\[([^\]]*)\])?\s*(.*)")
_ATTRIBUTE = re.compile(r"([\w.]+)(?:\[([\w:]+)\])?=(\"[^\"]*\"|\S*)")
_DEFAULT = "DEFAULT"
_EACH = {"USER": "user", "GROUP": "group", "ACCOUNT": "account"}


@dataclass(frozen=True)
class MauiConfiguration:
    """values: parameters, names in capitals. priorities: factor of the partitions that have one."""

    values: Mapping[str, Setting] = field(default_factory=dict)
    limits: tuple[Limit, ...] = ()
    qualities: tuple[ServiceQuality, ...] = ()
    reservations: tuple[AdvanceReservation, ...] = ()
    priorities: Mapping[str, int] = field(default_factory=dict)


def read_maui(
    file: TextFile, nodes: Sequence[Node], classes: Sequence[str], time_zone: str, notes: Notes
) -> MauiConfiguration:
    """The configuration of a file. nodes, classes: of the cluster, which reservations and limits for each class speak of.

    Raises ConfigurationError for a line without a parameter, and for a value that decides and cannot be read.
    """
    values: dict[str, Setting] = {}
    credentials: dict[str, dict[str, list[Entry]]] = {kind: {} for kind in CREDENTIALS}
    reservations: dict[str, dict[str, Entry]] = {}
    overall: list[Limit] = []
    for number, line in file.lines():
        text = line.partition(" #")[0].strip()
        parts = _PARAMETER.fullmatch(text)
        if parts is None:
            expected = f"a parameter such as `RESERVATIONDEPTH 2`, found {text[:60]!r}"
            raise ConfigurationError(file.name, number, expected, "Write a comment with # at its beginning")
        name, index, value = parts.group(1).upper(), parts.group(2), parts.group(3)
        if name in CREDENTIALS:
            credentials[name].setdefault(index or "", []).extend(_attributes(file, number, name, index, value))
        elif name == "SRCFG":
            entries = _attributes(file, number, name, index, value)
            reservations.setdefault(index or "", {}).update({_key(entry): entry for entry in entries})
        elif name in GLOBAL_LIMITS:
            overall += _overall_limits(Entry(file.name, number, name, value), notes)
        else:
            _parameter(
                Entry(file.name, number, f"{name}[{index}]" if index else name, value.strip('"')), name, values, notes
            )
    standing = []
    for name, attributes in reservations.items():
        for key, entry in attributes.items():
            _remark(RESERVATION_KEYS, entry, key, f"reservations.{name}.{key}", notes)
        standing.append(standing_reservation(name, attributes, nodes, time_zone))
    limits = overall + [limit for kind in CREDENTIALS for limit in _limits(kind, credentials[kind], classes, notes)]
    priorities = {kind: _priorities(credentials[kind]) for kind in CREDENTIALS}
    values |= _targets(credentials)
    qualities = tuple(
        ServiceQuality(name, max(priorities["QOSCFG"].get(name, 0), 0))
        for name in credentials["QOSCFG"]
        if name != _DEFAULT
    )
    return MauiConfiguration(values, tuple(limits), qualities, tuple(standing), priorities["CLASSCFG"])


def _overall_limits(entry: Entry, notes: Notes) -> list[Limit]:
    """The limit for everybody that a parameter is, a soft and a hard one where it has two values. 0 and -1 are none."""
    counts, each, resource = GLOBAL_LIMITS[entry.key]
    notes.modelled(entry, f"limits.{entry.key}")
    values = ",".join(text for text in entry.value.split(",") if text.strip() not in ("", "0", "-1"))
    key = "MAXWC" if resource == "time" or entry.key.startswith("MAXWC") else entry.key
    bounds = _bounds(replace(entry, value=values), key) if values else ()
    return [
        Limit("cluster", "", counts, each, resource, bound, is_soft=is_soft, source=entry.source)
        for bound, is_soft in bounds
    ]


def _attributes(file: TextFile, number: int, name: str, index: str | None, text: str) -> list[Entry]:
    """The attributes of `USERCFG[john] MAXJOB=4 MAXPROC=64,128`, with keys such as `USERCFG[john] MAXJOB`."""
    head = f"{name}[{index}]" if index else name
    rest = _ATTRIBUTE.sub("", text).replace(",", "").strip()
    if rest:
        remedy = "Write KEY=VALUE without blanks, several with blanks between them"
        raise ConfigurationError(
            file.name, number, f"attributes of {head} such as MAXJOB=4, found {rest[:60]!r}", remedy
        )
    return [
        Entry(
            file.name, number, f"{head} {key.upper()}" + (f"[{of.upper()}]" if of else ""), value.strip('"').strip(",")
        )
        for key, of, value in _ATTRIBUTE.findall(text)
    ]


def _key(entry: Entry) -> str:
    return entry.key.rpartition(" ")[2]


def _remark(table: Mapping[str, KnownKey], entry: Entry, name: str, place: str, notes: Notes) -> None:
    row = table.get(name)
    if row is not None and row.kind == MODELLED:
        notes.modelled(entry, place)
    else:
        notes.by_table(table, entry, name)


def _parameter(entry: Entry, name: str, values: dict[str, Setting], notes: Notes) -> None:
    row = PARAMETER_KEYS.get(name)
    if row is not None and row.kind == MODELLED:
        if name in CHOICES and entry.value.upper() not in CHOICES[name]:
            raise entry.refuse(f"one of {', '.join(CHOICES[name])}")
        values[entry.key] = setting_of(entry, row.form)
    _remark(PARAMETER_KEYS, entry, name, f"scheduler.{entry.key}", notes)


def _limits(kind: str, by_name: Mapping[str, list[Entry]], classes: Sequence[str], notes: Notes) -> Iterator[Limit]:
    """The limits of credentials of one kind, with a remark on every attribute."""
    owner, each = CREDENTIALS[kind]
    for name, entries in by_name.items():
        for entry in entries:
            key, _, of = _key(entry).partition("[")
            word = of.rstrip("]")
            base = key.removesuffix("PERUSER")
            whose = "user" if base != key else _EACH.get(word, each)
            if base not in THROTTLES:
                _remark(CREDENTIAL_KEYS, entry, key, f"scheduler.{entry.key.replace(' ', '.')}", notes)
                continue
            owners = _owners(owner, name, [other for other, listed in by_name.items() if _has(listed, entry)], classes)
            if (word and word not in _EACH) or not owners:
                notes.add(entry, UNKNOWN_KEY, "no limit of ours counts by this, or for each QOS")
                continue
            notes.modelled(entry, f"limits.{entry.key.replace(' ', '.')}")
            counts, resource = THROTTLES[base]
            who = "" if owner != "cluster" or name in ("", _DEFAULT) else name
            for bound, is_soft in _bounds(entry, base):
                for owner_name in owners:
                    yield Limit(
                        owner, owner_name, counts, whose, resource, bound, who, is_soft=is_soft, source=entry.source
                    )


def _owners(owner: str, name: str, with_own: Sequence[str], classes: Sequence[str]) -> tuple[str, ...]:
    """Names of the owners of a limit: for DEFAULT all classes without one of their own. () where we do not know them."""
    if owner == "cluster":
        return ("",)
    if name != _DEFAULT:
        return (name,)
    return tuple(other for other in classes if other not in with_own) if owner == "partition" else ()


def _has(entries: Sequence[Entry], entry: Entry) -> bool:
    return any(_key(other) == _key(entry) for other in entries)


def _bounds(entry: Entry, key: str) -> Iterator[tuple[int, bool]]:
    """The soft and the hard bound of `MAXPS=100000,200000`; one alone is both, so it is hard."""
    texts = [text.strip() for text in entry.value.split(",")]
    if len(texts) > 2:
        raise entry.refuse("a number, or a soft and a hard one such as 4,8")
    for place, text in enumerate(texts):
        part = Entry(entry.file, entry.line, entry.key, text)
        is_soft = len(texts) == 2 and place == 0
        yield (seconds_of(part) if key == "MAXWC" else integer_of(part)), is_soft


def _priorities(by_name: Mapping[str, list[Entry]]) -> dict[str, int]:
    return {
        name: integer_of(entry, None)
        for name, entries in by_name.items()
        for entry in entries
        if _key(entry) == "PRIORITY"
    }


def _targets(credentials: Mapping[str, Mapping[str, list[Entry]]]) -> dict[str, Setting]:
    """Priorities and fair-share targets of credentials as settings, `USERCFG[john].FSTARGET`."""
    targets: dict[str, Setting] = {}
    for kind, by_name in credentials.items():
        for name, entries in by_name.items():
            for entry in entries:
                key = _key(entry)
                if key == "PRIORITY" and kind not in ("CLASSCFG", "QOSCFG"):
                    targets[f"{kind}[{name}].{key}"] = integer_of(entry, None)
                elif key == "FSTARGET":
                    number = re.match(r"[0-9]+(?:\.[0-9]*)?", entry.value)
                    if number is None:
                        raise entry.refuse("a percentage such as 25.0, 25.0+ or 25.0-")
                    targets[f"{kind}[{name}].{key}"] = entry.value
    return targets
