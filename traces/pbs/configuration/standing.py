"""Maui's standing reservations, `SRCFG[name] PERIOD=DAY DAYS=MON,FRI STARTTIME=8:00:00 ENDTIME=17:00:00 HOSTLIST=n1,n2`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from traces.cluster.nodes import Node
from traces.cluster.notes import Entry, integer_of
from traces.cluster.reservations import AdvanceReservation
from traces.common.log import LARGEST_S
from traces.pbs.configuration.notes import seconds_of

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
