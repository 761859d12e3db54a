"""When reservations hold, and when queues are closed: again and again, at the same hour of their time zone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from simulator.compiled import referring
from simulator.pbs.state import BEGINS, OVER
from traces.cluster.reservations import AdvanceReservation, Gate

_DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_WORKING, _FREE = (0, 1, 2, 3, 4), (5, 6)
_NAMED = {"daily": "FREQ=DAILY", "weekly": "FREQ=WEEKLY"}
_ON = {"weekday": _WORKING, "weekend": _FREE}


class Occurrence(NamedTuple):
    """entry: place of its reservation among those of the cluster. Times in seconds."""

    begin_s: int
    end_s: int
    entry: int


def occurrences_between(
    reservations: Sequence[AdvanceReservation], first_s: int, last_s: int, clock_s: int = 0
) -> list[Occurrence]:
    """All occurrences that hold at some time between two seconds, in the order of their begins. clock_s: UTC second of second 0.

    A reservation with a rule that is neither daily nor weekly holds once."""
    each = [
        Occurrence(begin_s, begin_s + one.end_s - one.begin_s, entry)
        for entry, one in enumerate(reservations)
        for begin_s in _begins(one, first_s, last_s, clock_s)
    ]
    return sorted(each)


def closed_spans(gates: Sequence[Gate], first_s: int, last_s: int, clock_s: int = 0) -> list[tuple[int, int, str]]:
    """Begin, end and queue ("" for all) of the spans between two seconds in which no job starts, in the order of their begins.

    clock_s: UTC second of second 0. Gates for jobs of some sizes only, which PBS does not have, are left out."""
    spans = []
    for gate in gates:
        if gate.over_time_s is not None or gate.over_cpus is not None:
            continue
        zone = ZoneInfo(gate.timezone)
        day = datetime.fromtimestamp(first_s + clock_s, zone).date() - timedelta(days=1)
        last = datetime.fromtimestamp(last_s + clock_s, zone).date()
        until = gate.end_minute + (1440 if gate.end_minute <= gate.begin_minute else 0)
        while day <= last:
            if day.weekday() in gate.days:
                begin, end = (_minute_s(day, minute, zone) - clock_s for minute in (gate.begin_minute, until))
                spans.append((begin, end, gate.partition))
            day += timedelta(days=1)
    return sorted(spans)


def _minute_s(day: date, minute: int, zone: ZoneInfo) -> int:
    """UTC second of a minute of a local day, which may be in the next one."""
    local = day + timedelta(days=minute // 1440)
    return int(datetime(local.year, local.month, local.day, minute % 1440 // 60, minute % 60, tzinfo=zone).timestamp())


def _begins(one: AdvanceReservation, first_s: int, last_s: int, clock_s: int) -> Iterator[int]:
    rule = _rule(one)
    if not one.repeats or rule.get("FREQ") not in ("DAILY", "WEEKLY"):
        yield one.begin_s
        return
    zone = ZoneInfo(one.timezone)
    start = datetime.fromtimestamp(one.begin_s + clock_s, zone)
    until_s = min(_until_s(rule, zone) - clock_s, last_s)
    most = int(rule.get("COUNT", 1 << 40))
    for day in _days(rule, start.date(), _ON.get(one.repeats)):
        begin_s = int(datetime.combine(day, start.timetz()).timestamp()) - clock_s
        most -= 1
        if most < 0 or begin_s > until_s:
            return
        if begin_s + one.end_s - one.begin_s > first_s:
            yield begin_s


def _rule(one: AdvanceReservation) -> dict[str, str]:
    text = _NAMED.get(one.repeats, "FREQ=DAILY" if one.repeats in _ON else one.repeats)
    return dict(part.upper().split("=", 1) for part in text.removeprefix("RRULE:").split(";") if "=" in part)


def _days(rule: dict[str, str], start: date, named: tuple[int, ...] | None) -> Iterator[date]:
    """The days of a rule, from its first one on."""
    step, weekly = int(rule.get("INTERVAL", 1)), rule["FREQ"] == "WEEKLY"
    words = [word[-2:] for word in rule.get("BYDAY", "").split(",") if word]
    weekdays = named or tuple(_DAYS.index(word) for word in words) or ((start.weekday(),) if weekly else range(7))
    monday = start - timedelta(days=start.weekday())
    day = start
    while day.year < date.max.year:
        passed = (day - monday).days // 7 if weekly else (day - start).days
        if passed % step == 0 and day.weekday() in weekdays:
            yield day
        day += timedelta(days=1)


def _until_s(rule: dict[str, str], zone: ZoneInfo) -> int:
    text = rule.get("UNTIL", "")
    if not text:
        return 1 << 61
    form = "%Y%m%dT%H%M%S" if "T" in text else "%Y%m%d"
    return int(
        datetime.strptime(text.rstrip("Z"), form).replace(tzinfo=UTC if text.endswith("Z") else zone).timestamp()
    )


@referring
def is_queue_closed(site, queue, now):
    """Whether these are hours in which no job of the queue starts."""
    for row in range(site.closed_first[0], len(site.closed)):
        span = site.closed[row]
        if span[0] > now:
            break
        if now < span[1] and span[2] in (queue, -1):
            return True
    return False


@referring
def next_opening(site, after, now):
    """The first second after a second, and at most `now`, in which a queue opens."""
    for row in range(site.closed_first[0], len(site.closed)):
        if site.closed[row, 0] >= now:
            break
        if site.closed[row, 1] > after:
            now = min(now, site.closed[row, 1])
    return now


@referring
def held_entry(site, group, now):
    """The entry of the reservation that lasts now, else of its first occurrence to come. group: all occurrences of one name."""
    best = -1
    for row in range(len(site.reservation_times)):
        if site.reservation_group[row] == group:
            best = row
            if now < site.reservation_times[row, OVER]:
                break
    return site.reservation_entry[best]


@referring
def end_of_held(site, group, now):
    """The end of the occurrence that lasts now, -1 where none does."""
    for row in range(len(site.reservation_times)):
        times = site.reservation_times[row]
        if site.reservation_group[row] == group and times[BEGINS] <= now < times[OVER]:
            return times[OVER]
    return -1
