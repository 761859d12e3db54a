"""Advance reservations as PBS's accounting has them: records U and Y (asked for, confirmed), B (begins), K and k (deleted), F (over).

Altair PBS Professional Administrator's Guide, "Accounting", names the records.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from traces.cluster.description import AdvanceReservation
from traces.cluster.notes import ASSUMED, MODELLED, DescribedCluster, Remark
from traces.common.blocks import LogStream, first_bytes
from traces.common.log import LogError
from traces.pbs.requests import placed_chunks
from traces.pbs.rules import record_pairs

_STAMP = rb"(\d\d/\d\d/\d{4} \d\d:\d\d:\d\d)"
_ANY_RECORD = re.compile(_STAMP + rb";\w;")
_RESERVED = re.compile(rb"^" + _STAMP + rb";([UYBKk]);([^;\n]*);(.*)$", re.MULTILINE)
_DELETED = ("K", "k")


@dataclass(frozen=True)
class ReservationRecord:
    """One record. kind: its letter. logged_s: UTC second of its stamp. name: such as R183.head. attributes: key to value."""

    kind: str
    logged_s: int
    name: str
    attributes: Mapping[str, str]


def reservations_of_records(records: Iterable[ReservationRecord]) -> tuple[AdvanceReservation, ...]:
    """The reservations that were confirmed or began, in the order of their first such record. One that was deleted while it lasted ends
    then, and one that was deleted before it began is none. Each occurrence of a standing reservation is one, with the same name.

    Raises ValueError where the nodes of a record cannot be read. A record without times, or with an end before its begin, counts as none.
    """
    reservations: dict[str, list[AdvanceReservation]] = {}
    owners: dict[str, str] = {}
    for record in records:
        name = record.name
        held = reservations.setdefault(name, [])
        earlier = held[-1] if held else None
        if record.kind == "U":
            owners[name] = record.attributes.get("requestor", "").partition("@")[0]
        elif record.kind in ("Y", "B"):
            reservation = _reservation(record, earlier, owners.get(name, ""))
            if reservation and earlier and reservation.begin_s < earlier.end_s:
                held.pop()  # the same occurrence, in more words or at other times
            if reservation:
                held.append(reservation)
        elif record.kind in _DELETED and earlier:
            if record.logged_s <= earlier.begin_s:
                held.pop()
            elif record.logged_s < earlier.end_s:
                held[-1] = replace(earlier, end_s=record.logged_s)
    return tuple(occurrence for held in reservations.values() for occurrence in held)


def is_accounting(path: Path) -> bool:
    """Whether a file, plain or packed, begins as an accounting log. One that cannot be read does not."""
    try:
        return _ANY_RECORD.match(first_bytes(path).lstrip()) is not None
    except LogError:
        return False


def with_accounted_reservations(described: DescribedCluster, logs: Sequence[Path], time_zone: str) -> DescribedCluster:
    """The cluster with the reservations of its accounting logs, by the time in them. Nodes that it does not have are left out, and so are
    reservations without any other; a remark says how many."""
    cluster, zone = described.description, ZoneInfo(time_zone)
    records = [record for path in logs for record in _records_of(path, zone)]
    listed = reservations_of_records(sorted(records, key=lambda record: record.logged_s))
    names = {node.name for node in cluster.nodes}
    kept = [replace(each, nodes=tuple(node for node in each.nodes if node in names)) for each in listed]
    held = tuple(each for each in kept if each.nodes)
    remarks = [Remark(logs[0].name, 0, "reservations", str(len(held)), MODELLED, "", "reservations")]
    if len(held) < len(kept):
        effect = "reservations of nodes that the cluster does not have are left out"
        remarks.append(Remark(logs[0].name, 0, "reservations", str(len(kept) - len(held)), ASSUMED, effect))
    described_before = {each.name for each in held}
    others = tuple(each for each in cluster.reservations if each.name not in described_before)
    return DescribedCluster(replace(cluster, reservations=others + held), (*described.remarks, *remarks))


def _records_of(path: Path, zone: ZoneInfo) -> Iterator[ReservationRecord]:
    for block in LogStream(path):
        for match in _RESERVED.finditer(block.content):
            stamp, kind, name, text = (part.decode("utf-8", "replace") for part in match.groups())
            moment = datetime.strptime(stamp, "%m/%d/%Y %H:%M:%S").replace(tzinfo=zone)
            yield ReservationRecord(kind, int(moment.timestamp()), name, record_pairs(text))


def _reservation(
    record: ReservationRecord, earlier: AdvanceReservation | None, owner: str
) -> AdvanceReservation | None:
    """The reservation of a record that confirms or begins it. Without times, and with an end before the begin, it is None."""
    begin, end = (record.attributes.get(key, "") for key in ("start", "end"))
    if not (begin.isdigit() and end.isdigit()) or int(end) <= int(begin):
        return None
    users, groups = (_names(record.attributes.get(key, "")) for key in ("Authorized_Users", "Authorized_Groups"))
    owner = record.attributes.get("owner", "").partition("@")[0] or owner
    nodes = tuple(dict.fromkeys(node for node, _ in placed_chunks(record.attributes.get("nodes", ""))))
    return AdvanceReservation(
        record.name,
        int(begin),
        int(end),
        earlier.announced_s if earlier else record.logged_s,
        nodes or (earlier.nodes if earlier else ()),
        users=users or ((owner,) if owner else ()),
        groups=groups,
        queue=record.attributes.get("queue") or record.name.partition(".")[0],
    )


def _names(text: str) -> tuple[str, ...]:
    """Names of a list without their hosts; those with a minus may not use it."""
    words = (word.strip().partition("@")[0] for word in re.split(r"[,\s]+", text) if word.strip())
    return tuple(word.removeprefix("+") for word in words if not word.startswith("-"))
