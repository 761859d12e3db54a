"""Maui's `maui.cfg`: parameters, limits of credentials, and standing reservations, which schedule in place of Torque's own scheduler.

Maui's standing reservations, `SRCFG[name] PERIOD=DAY DAYS=MON,FRI STARTTIME=8:00:00 ENDTIME=17:00:00 HOSTLIST=n1,n2`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from zoneinfo import ZoneInfo

from traces.cluster.accounts import Limit, ServiceQuality
from traces.cluster.description import AdvanceReservation, Node, Setting
from traces.cluster.notes import MODELLED, UNKNOWN_KEY, ConfigurationError, Entry, KnownKey, Notes, TextFile, integer_of
from traces.common.log import LARGEST_S
from traces.pbs.configuration.files import seconds_of, setting_of
from traces.pbs.configuration.maui_keys import (
    CHOICES,
    CREDENTIAL_KEYS,
    CREDENTIALS,
    GLOBAL_LIMITS,
    KEPT_FORMS,
    MAUI_LIMITS,
    PARAMETER_KEYS,
    RESERVATION_KEYS,
    THROTTLES,
)

_DAYS = {"SUN": "SU", "MON": "MO", "TUE": "TU", "WED": "WE", "THU": "TH", "FRI": "FR", "SAT": "SA"}
_DAY, _WEEK = 86_400, 604_800
_PERIODS = {"DAY": _DAY, "WEEK": _WEEK, "INFINITY": 0}
_MONDAY = (1970, 1, 5)
_SUNDAY = (1970, 1, 4)


def standing_reservation(
    name: str, attributes: Mapping[str, Entry], nodes: Sequence[Node], time_zone: str
) -> AdvanceReservation:
    """The reservation of these attributes. It repeats from the first week of 1970, or holds for ever with PERIOD=INFINITY.

    Raises ConfigurationError for a word that Maui does not have, and for hosts and features that no node has.
    """
    period = attributes.get("PERIOD")
    length_s = _PERIODS.get(period.value.upper() if period else "DAY")
    if period and length_s is None:
        raise period.refuse(f"one of {', '.join(_PERIODS)}")
    begin_s, end_s, repeats = _times(attributes, length_s or 0, time_zone)
    names = _nodes(attributes, nodes)
    cpus = _cpus(attributes) if not names else 0
    return AdvanceReservation(
        name,
        begin_s,
        end_s,
        nodes=names,
        cpus=cpus,
        users=_list(attributes, "USERLIST"),
        accounts=_list(attributes, "ACCOUNTLIST"),
        groups=_list(attributes, "GROUPLIST"),
        flags=tuple(flag.lower() for flag in _list(attributes, "FLAGS")),
        repeats=repeats,
        partitions=_list(attributes, "CLASSLIST"),
        qos=_list(attributes, "QOSLIST"),
        timezone=time_zone,
    )


def _times(attributes: Mapping[str, Entry], length_s: int, time_zone: str) -> tuple[int, int, str]:
    """Begin and end of the first span, and how it repeats."""
    if not length_s:
        return 0, LARGEST_S, ""
    anchor = datetime(*(_SUNDAY if length_s == _WEEK else _MONDAY), tzinfo=ZoneInfo(time_zone))
    start, end = attributes.get("STARTTIME"), attributes.get("ENDTIME")
    from_s = seconds_of(start) if start else 0
    to_s = seconds_of(end) if end else length_s
    if to_s <= from_s:
        to_s += _DAY
    begin_s = int(anchor.timestamp()) + from_s
    days = attributes.get("DAYS")
    if length_s == _WEEK:
        return begin_s, begin_s + to_s - from_s, "weekly"
    if days is None or days.value.upper() == "ALL":
        return begin_s, begin_s + to_s - from_s, "daily"
    words = [word.strip()[:3].upper() for word in re.split(r"[,|]", days.value)]
    if any(word not in _DAYS for word in words):
        raise days.refuse(f"days of {', '.join(_DAYS)}, or ALL")
    week = list(_DAYS)
    first = min((week.index(word) - week.index("MON")) % 7 for word in words)
    begin_s += first * _DAY
    return begin_s, begin_s + to_s - from_s, f"FREQ=WEEKLY;BYDAY={','.join(_DAYS[word] for word in words)}"


def _nodes(attributes: Mapping[str, Entry], nodes: Sequence[Node]) -> tuple[str, ...]:
    hosts, features = attributes.get("HOSTLIST"), attributes.get("NODEFEATURES")
    chosen = list(nodes)
    if hosts and hosts.value.upper() != "ALL":
        expressions = [text for text in re.split(r"[,\s]+(?![^\[]*\])", hosts.value) if text]
        try:
            patterns = [re.compile(text) for text in expressions]
        except re.error:
            raise hosts.refuse("names of nodes, or regular expressions") from None
        chosen = [node for node in chosen if any(pattern.fullmatch(node.name) for pattern in patterns)]
        if not chosen:
            raise hosts.refuse("names of nodes that the cluster has", "Take all files from the same time")
    if features:
        words = set(re.split(r"[,:]", features.value.strip("[]")))
        chosen = [node for node in chosen if words <= set(node.features)]
        if not chosen:
            raise features.refuse("features that a node of the cluster has", "Take all files from the same time")
    if len(chosen) < len(nodes):
        return tuple(node.name for node in chosen)
    return tuple(node.name for node in chosen) if hosts else ()


def _cpus(attributes: Mapping[str, Entry]) -> int:
    """TASKCOUNT times PROCS of RESOURCES, 0 for all that there is."""
    tasks = attributes.get("TASKCOUNT")
    if tasks is None:
        return 0
    resources = attributes.get("RESOURCES")
    procs = re.search(r"PROCS[:=](-?[0-9]+)", resources.value, re.IGNORECASE) if resources else None
    return integer_of(tasks) * max(int(procs.group(1)) if procs else 1, 1)


def _list(attributes: Mapping[str, Entry], key: str) -> tuple[str, ...]:
    """Names of a list, without the signs that say how strongly each is meant."""
    if key not in attributes:
        return ()
    return tuple(word for text in re.split(r"[,:\s]+", attributes[key].value) if (word := text.strip("=&+*-!^")))


# --- maui


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
    _remark(MAUI_LIMITS, entry, entry.key, f"limits.{entry.key}", notes)
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
    if name in KEPT_FORMS:
        if name in CHOICES and entry.value.upper() not in CHOICES[name]:
            raise entry.refuse(f"one of {', '.join(CHOICES[name])}")
        values[entry.key] = setting_of(entry, KEPT_FORMS[name])
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
            _remark(MAUI_LIMITS, entry, base, f"limits.{entry.key.replace(' ', '.')}", notes)
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
