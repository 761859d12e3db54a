"""Times of a log are dates or seconds, by what the log tells."""

from __future__ import annotations

from datetime import datetime

from models.waits.clock import LogClock

DATES = LogClock(datetime(2026, 1, 1), "Europe/Berlin")
SECONDS = LogClock(datetime(1970, 1, 1), "Europe/Berlin", has_dates=False)
NOON = 11 * 3600


def test_dates() -> None:
    assert DATES.text(NOON + 20.4) == "Thu 2026-01-01 12:00" and DATES.day(NOON) == "2026-01-01"
    assert DATES.full(NOON) == "Thu 2026-01-01 12:00 (Europe/Berlin)"
    assert DATES.span(0, NOON) == "Thu 2026-01-01 01:00 to Thu 2026-01-01 12:00 (Europe/Berlin)"
    assert DATES.span(0, NOON, in_seconds=True) == "seconds 0 to 39600 of the log's own clock"
    assert DATES.second_of(datetime(2026, 1, 1, 12)) == NOON
    assert DATES.second_of(datetime.fromisoformat("2026-01-01T12:00:00+00:00")) == NOON + 3600
    assert (DATES.zone, DATES.name) == ("Europe/Berlin", "Europe/Berlin")


def test_seconds_of_a_log_without_dates() -> None:
    assert SECONDS.text(1672445845.2) == SECONDS.day(1672445845) == "second 1672445845"
    assert SECONDS.full(90) == "second 90 of the log's own clock"
    assert SECONDS.span(0, 90) == "seconds 0 to 90 of the log's own clock"
    assert SECONDS.second_of(datetime(2026, 1, 1)) is None
    assert (SECONDS.zone, SECONDS.name) == (None, "the log's own clock")
