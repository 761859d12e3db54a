"""The clock on the wall; tests/assets/replay/limits/test_limits.py has gates and reservations in a replay."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import numpy as np

from simulator.limits.hours import gate_changes, occurrences, second_of_day, wall_clock
from traces.cluster.reservations import AdvanceReservation, Gate

BERLIN = ZoneInfo("Europe/Berlin")


def second(*parts: int) -> int:
    return int(datetime(*parts, tzinfo=BERLIN).timestamp())  # type: ignore[arg-type]


def test_minutes_and_days_follow_summer_time() -> None:
    moments = [(2026, 3, 27, 8, 30), (2026, 3, 29, 12, 0), (2026, 7, 6, 0, 5)]
    minute, day = wall_clock(np.array([second(*each) for each in moments]), "Europe/Berlin")
    assert minute.tolist() == [510, 720, 5] and day.tolist() == [4, 6, 0]
    assert second_of_day(datetime(2026, 3, 29).date(), 720, BERLIN) == second(2026, 3, 29, 12)


def test_nights_are_one_span_and_reservations_repeat() -> None:
    zero = second(2026, 1, 5, 0)
    changes = gate_changes(Gate((0, 1), 22 * 60, 6 * 60, timezone="Europe/Berlin"), zero, 0, 0)
    assert changes[changes > 0][:4].tolist() == [79_200, 108_000, 165_600, 194_400]
    weekday = AdvanceReservation("b", zero + 3600, zero + 3601, repeats="weekday", timezone="Europe/Berlin")
    begins = [begin - zero for begin, _ in occurrences(weekday, zero, zero + 8 * 86_400)]
    assert begins == [day * 86_400 + 3600 for day in (0, 1, 2, 3, 4, 7)]
