"""When reservations hold, and when jobs of a queue may start: again and again, at the same hour of their time zone.

Rules: docs/reference/pbs.md, "Reservations and hours".
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from typing import NamedTuple
from zoneinfo import ZoneInfo

from simulator.compiled import referring
from simulator.jobs.cluster import FOREVER
from simulator.pbs.settings import is_on, setting_seconds
from simulator.pbs.state import BEGINS, OVER, UNSET
from traces.cluster.description import AdvanceReservation, ClusterDescription, Gate, Setting

_DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_WORKING, _FREE = (0, 1, 2, 3, 4), (5, 6)
_NAMED = {"daily": "FREQ=DAILY", "weekly": "FREQ=WEEKLY"}
_ON = {"weekday": _WORKING, "weekend": _FREE}
_PRIME = re.compile(
    r"((?:MO|TU|WE|TH|FR|SA|SU)(?:,(?:MO|TU|WE|TH|FR|SA|SU))*) +([01][0-9][0-5][0-9]|2[0-3][0-5][0-9])-([0-2][0-9][0-5][0-9])"
)
_Span = tuple[int, int]
_WEEK_S = 8 * 86_400
"""Long enough for any day of the week to come again."""


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


def queue_windows(
    cluster: ClusterDescription, queue: str, first_s: int, last_s: int, clock_s: int = 0
) -> list[tuple[int, int, int]]:
    """Begin, end and latest end of the spans between two seconds in which jobs of a queue may start, in order. Those that start in a span
    have to be over at its latest end, by what PBS plans. [] where they may always start.

    clock_s: UTC second of second 0."""
    values, times = cluster.scheduler.values, (first_s, last_s, clock_s)
    prime = prime_spans(values, first_s, last_s + _WEEK_S, clock_s)  # the last border, too
    is_prime, is_other = (_has_prefix(queue, values, *pair) for pair in _PREFIXES)
    gates = [gate for gate in cluster.gates if gate.partition in (queue, "")]
    if prime is not None and (is_prime or is_other):
        gates = []  # the hours below also have holidays
    shut = [(begin, end) for begin, end, _ in closed_spans(gates, *times)]
    if prime is not None and (is_prime or is_other):
        shut += prime if is_other else _between(prime)
    borders: list[dict[int, int]] = []
    if prime and not (is_on(values, "prime_exempt_anytime_queues", False) and not (is_prime or is_other)):
        borders.append(_borders_of_prime_time(prime, values))
    if dedicated := [one for one in cluster.reservations if is_dedicated(one)]:
        own = _merged((one.begin_s, one.end_s) for one in dedicated if queue in one.partitions)
        of_all = _merged((one.begin_s, one.end_s) for one in dedicated)
        shut += _between(own) if own else of_all
        borders.append({end: end for _, end in own} if own else {begin: begin for begin, _ in of_all})
    return _windows(_merged(shut), borders, last_s)


_PREFIXES = (("primetime_prefix", "p_"), ("nonprimetime_prefix", "np_"))


def is_dedicated(one: AdvanceReservation) -> bool:
    """Whether a reservation is dedicated time, in which jobs of its queues alone run."""
    return "dedicated" in one.flags


def prime_spans(values: Mapping[str, Setting], first_s: int, last_s: int, clock_s: int = 0) -> list[_Span] | None:
    """The spans of prime time between two seconds, in order, without those that begin on a holiday. None where the settings have no hours.

    They are in `prime_time`, such as `MO,TU 0600-1730; SA 0000-2400`, with `prime_time_zone`, and dates in `holidays`.
    Raises ValueError for hours in another form."""
    if "prime_time" not in values:
        return None
    zone = str(values.get("prime_time_zone", "UTC"))
    gates = []
    for part in str(values["prime_time"]).split(";"):
        parts = _PRIME.fullmatch(part.strip())
        if parts is None and part.strip():
            raise ValueError(f"prime_time: expected days and hours such as `MO,TU 0600-1730`, got {part.strip()!r}")
        if parts:
            begin, end = (int(text[:2]) * 60 + int(text[2:]) for text in parts.groups()[1:])
            gates.append(Gate(tuple(_DAYS.index(day) for day in parts[1].split(",")), begin, end, timezone=zone))
    holidays = {_holiday(text) for text in str(values.get("holidays", "")).replace(",", " ").split()}
    spans = [(begin, end) for begin, end, _ in closed_spans(gates, first_s, last_s, clock_s)]
    local = ZoneInfo(zone)
    return _merged(span for span in spans if datetime.fromtimestamp(span[0] + clock_s, local).date() not in holidays)


def _holiday(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"holidays: expected dates such as 2026-12-25, got {text!r}") from None


def _borders_of_prime_time(prime: Sequence[_Span], values: Mapping[str, Setting]) -> dict[int, int]:
    """Where prime time begins and ends -> when jobs that started before have to be over, as far as `backfill_prime` holds then."""
    ends: dict[int, int] = {}
    for suffix, place in (("", 1), (".non_prime", 0)):
        holds, spill = (
            name + suffix if name + suffix in values else name for name in ("backfill_prime", "prime_spill")
        )
        if is_on(values, holds, False):
            ends |= {span[place]: span[place] + setting_seconds(str(values.get(spill, 0))) for span in prime}
    return dict(sorted(ends.items()))


def _has_prefix(queue: str, values: Mapping[str, Setting], key: str, usual: str) -> bool:
    prefix = str(values.get(key, usual))
    return bool(prefix) and queue.startswith(prefix)


def _merged(spans: Iterable[_Span]) -> list[_Span]:
    """The spans in order, those that meet as one."""
    merged: list[_Span] = []
    for begin, end in sorted(spans):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return merged


def _between(spans: Sequence[_Span]) -> list[_Span]:
    """All that is outside of spans."""
    edges = [-FOREVER, *(second for span in spans for second in span), FOREVER]
    return list(zip(edges[::2], edges[1::2], strict=True))


def _windows(shut: Sequence[_Span], borders: Sequence[dict[int, int]], last_s: int) -> list[tuple[int, int, int]]:
    """The spans outside of `shut`, cut at borders. borders: second -> when jobs that start before it have to be over; of each list only the
    next one counts. Nothing starts after last_s."""
    edges = sorted({second for span in shut for second in span} | {second for each in borders for second in each})
    if not edges:
        return []
    seconds = [list(each) for each in borders]
    windows: list[tuple[int, int, int]] = []
    for begin, end in pairwise(sorted({-FOREVER, *edges, last_s})):
        place = bisect_right(shut, (begin, FOREVER)) - 1
        if begin >= last_s or (place >= 0 and begin < shut[place][1]):
            continue
        ahead = [(each, bisect_right(each, begin)) for each in seconds]
        latest = [borders[k][each[next_one]] for k, (each, next_one) in enumerate(ahead) if next_one < len(each)]
        until = min(latest, default=FOREVER)
        if windows and windows[-1][1:] == (begin, until):
            begin = windows.pop()[0]
        windows.append((begin, end, until))
    return windows or [(-FOREVER, -FOREVER, -FOREVER)]


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
def latest_end(site, queue, when):
    """When a job of the queue that starts then has to be over, UNSET where none starts then."""
    if site.window_first[queue] == site.window_first[queue + 1]:
        return FOREVER
    for row in range(site.window_next[queue], site.window_first[queue + 1]):
        if when < site.windows[row, 1]:
            return site.windows[row, 2] if when >= site.windows[row, 0] else UNSET
    return UNSET


@referring
def has_hours_for(site, queue, begin, wall):
    """Whether there are hours of the queue from a second on that have room for so many seconds."""
    last = site.window_first[queue + 1]
    for row in range(site.window_next[queue], last):
        if site.windows[row, 1] > begin and site.windows[row, 2] - max(site.windows[row, 0], begin) >= wall:
            return True
    return site.window_first[queue] == last


@referring
def rewind_windows(site):
    """All windows are looked at again."""
    for queue in range(len(site.window_next)):
        site.window_next[queue] = site.window_first[queue]


@referring
def next_window(site, queue, after, moment):
    """The first second after a second, and at most `moment`, in which a window of the queue begins."""
    for row in range(site.window_next[queue], site.window_first[queue + 1]):
        if site.windows[row, 0] > after:
            return min(moment, site.windows[row, 0])
    return moment


@referring
def next_opening(site, after, now):
    """The first second after a second, and at most `now`, in which a window of any queue begins."""
    for queue in range(len(site.window_next)):
        now = next_window(site, queue, after, now)
    return now


@referring
def leave_windows(site, now):
    """Windows that are over are not looked at any more."""
    for queue in range(len(site.window_next)):
        last = site.window_first[queue + 1]
        while site.window_next[queue] < last and site.windows[site.window_next[queue], 1] <= now:
            site.window_next[queue] += 1


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
