"""Standing reservations and hours of queues."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from simulator.pbs.occurrences import closed_spans, occurrences_between
from tests.simulator.pbs_site import asking, pbs_site, starts_on
from traces.cluster.reservations import AdvanceReservation, Gate

DAY = 86_400
MONDAY = int(datetime(2026, 3, 2, 8, tzinfo=UTC).timestamp())
"""Eight hours, and the hour at which the days below begin in UTC."""


@pytest.mark.parametrize(
    ("repeats", "days"),
    [
        ("", [0]),
        ("daily", [0, 1, 2, 3, 4, 5, 6, 7]),
        ("weekday", [0, 1, 2, 3, 4, 7]),
        ("weekend", [5, 6]),
        ("weekly", [0, 7]),
        ("FREQ=WEEKLY;BYDAY=TU,FR;COUNT=2", [1, 4]),
        ("RRULE:FREQ=DAILY;INTERVAL=3", [0, 3, 6]),
        ("FREQ=DAILY;UNTIL=20260304T090000Z", [0, 1, 2]),
        ("FREQ=YEARLY", [0]),
    ],
)
def test_a_standing_reservation_comes_again(repeats: str, days: list[int]) -> None:
    one = AdvanceReservation("S1", MONDAY, MONDAY + 3600, repeats=repeats)
    occurrences = occurrences_between([one], MONDAY, MONDAY + 7 * DAY)
    assert [(each.begin_s - MONDAY) / DAY for each in occurrences] == days
    assert all(each.end_s - each.begin_s == 3600 for each in occurrences)


def test_it_comes_at_the_same_hour_when_the_clocks_change() -> None:
    """On 29 March 2026 Berlin loses an hour. The log's clock begins with the reservation."""
    one = AdvanceReservation("S1", 0, 3600, repeats="daily", timezone="Europe/Berlin")
    begins = [each.begin_s for each in occurrences_between([one], 0, 28 * DAY, MONDAY)]
    assert begins[26] == 26 * DAY and begins[27] == 27 * DAY - 3600


def test_a_gate_is_closed_on_its_days_and_over_midnight() -> None:
    gates = [Gate((0,), 20 * 60, 6 * 60, partition="p_day"), Gate((0,), 0, 60, over_time_s=60)]
    assert closed_spans(gates, 0, 7 * DAY, MONDAY) == [
        (12 * 3600, 22 * 3600, "p_day"),
        (7 * DAY + 12 * 3600, 7 * DAY + 22 * 3600, "p_day"),
    ]


def test_jobs_of_a_standing_reservation_run_in_any_of_its_occurrences() -> None:
    """The second one waits for the next day. Others stay out of both."""
    standing = AdvanceReservation("S1", 100, 200, 5, ("n0", "n1"), repeats="daily", queue="S1")
    asked = [asking(10, 2, 500, reservation="S1"), asking(11, 2, 50, reservation="S1"), asking(60, 4, 50)]
    assert starts_on(pbs_site(reservations=(standing,)), asked, [500, 20, 10]) == [100, 100 + DAY, 230]


def test_jobs_wait_until_their_queue_opens() -> None:
    """Second 0 is midnight on a Thursday."""
    site = pbs_site(gates=(Gate((3,), 0, 10, partition="high"),))
    asked = [asking(5, 4, 60, queue="high"), asking(6, 4, 60)]
    assert starts_on(site, asked, [10, 10]) == [600, 6]
