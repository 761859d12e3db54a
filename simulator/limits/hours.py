"""Hours of gates and repeated reservations as seconds of a log's clock. Rules: docs/reference/limits.md."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from traces.cluster.reservations import AdvanceReservation, Gate

IntArray = NDArray[np.int64]

DAY_MINUTES = 1440
KNOWN_AFTER_S = 3653 * 86_400
"""How long after the last submission gates and repeated reservations come back, ten years. Then gates are open."""
REPEATS = {"daily": range(7), "weekly": None, "weekday": range(5), "weekend": range(5, 7)}
"""Days on which a reservation repeats, None for the day of its beginning. 0 is Monday."""


def gate_changes(gate: Gate, zero_s: int, first: int, last: int) -> IntArray:
    """When a gate closes and opens, in turns, seconds of the log's clock.

    zero_s: UTC second of the log's second 0. first, last: seconds of the first and of the last submission."""
    zone = ZoneInfo(gate.timezone)
    day = datetime.fromtimestamp(zero_s + first, zone).date() - timedelta(days=2)
    end = datetime.fromtimestamp(zero_s + last + KNOWN_AFTER_S, zone).date()
    length = (gate.end_minute - gate.begin_minute - 1) % DAY_MINUTES + 1
    spans: list[list[int]] = []
    while day <= end:
        if day.weekday() in gate.days:
            close, opens = (
                second_of_day(day, minute, zone) - zero_s for minute in (gate.begin_minute, gate.begin_minute + length)
            )
            if spans and close <= spans[-1][1]:
                spans[-1][1] = max(spans[-1][1], opens)
            elif opens > close:
                spans.append([close, opens])
        day += timedelta(days=1)
    return np.array([second for pair in spans for second in pair], dtype=np.int64)


def second_of_day(day: date, minute: int, zone: ZoneInfo) -> int:
    """The UTC second of a minute of a day by the clock on the wall, which may be one of the next day."""
    moment = datetime(day.year, day.month, day.day) + timedelta(minutes=minute)
    return int(moment.replace(tzinfo=zone).timestamp())


def occurrences(reservation: AdvanceReservation, first: int, last: int) -> Iterator[tuple[int, int]]:
    """Begin and end, UTC seconds, of each time that is not over before `first` and begins by `last`."""
    begin, length = reservation.begin_s, reservation.end_s - reservation.begin_s
    if not reservation.repeats:
        if begin + length > first and begin <= last:
            yield begin, begin + length
        return
    zone = ZoneInfo(reservation.timezone)
    moment = datetime.fromtimestamp(begin, zone).replace(tzinfo=None)
    days = REPEATS[reservation.repeats] or (moment.weekday(),)
    while begin <= last:
        if begin + length > first and moment.weekday() in days:
            yield begin, begin + length
        moment += timedelta(days=1)
        begin = int(moment.replace(tzinfo=zone).timestamp())


def wall_clock(seconds: IntArray, timezone: str) -> tuple[IntArray, IntArray]:
    """Minute of the day and day of the week (0 is Monday) of UTC seconds, by the clock on the wall. All int64 of the same shape."""
    zone = ZoneInfo(timezone)
    hours, place = np.unique(seconds // 3600, return_inverse=True)
    shift = [datetime.fromtimestamp(int(hour) * 3600, UTC).astimezone(zone).utcoffset() for hour in hours.tolist()]
    local = seconds + np.array([each.total_seconds() if each else 0 for each in shift], dtype=np.int64)[place]
    return local // 60 % DAY_MINUTES, (local // 86_400 + 3) % 7
