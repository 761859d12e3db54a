"""Periods as people write them."""

from __future__ import annotations

from datetime import datetime

import pytest

from models.waits.clock import LogClock
from models.waits.periods import DAY_S, period_span, second_in_log, span_before

CLOCK = LogClock(datetime(2026, 1, 1), "UTC")
BERLIN = LogClock(datetime(2025, 12, 31, 23), "Europe/Berlin")
UNDATED = LogClock(datetime(1970, 1, 1), "UTC", has_dates=False)


def test_days_and_months() -> None:
    assert period_span("2026-01-03..2026-01-05", CLOCK, 0, 9) == (2 * DAY_S, 4 * DAY_S, "")
    assert period_span(" 2026-02 ", CLOCK, 0, 9) == (31 * DAY_S, 59 * DAY_S, "the month 2026-02")
    assert period_span("last-2-days", CLOCK, 0, 5 * DAY_S)[:2] == (3 * DAY_S + 1, 5 * DAY_S + 1)
    assert period_span("2026-01-02T12:00..2026-01-02T13:00", CLOCK, 0, 9)[:2] == (DAY_S * 3 // 2, DAY_S * 3 // 2 + 3600)


def test_a_month_has_the_month_before_also_where_clocks_change() -> None:
    begin, end, _ = period_span("2026-04", BERLIN, 0, 9)
    march = span_before(begin, end, BERLIN)
    assert march == period_span("2026-03", BERLIN, 0, 9)[:2] and march[1] - march[0] == 31 * DAY_S - 3600


def test_other_spans_have_one_as_long_before() -> None:
    assert span_before(10, 15, CLOCK) == (5, 10)
    assert span_before(0, 31 * DAY_S, UNDATED) == (-31 * DAY_S, 0)


def test_without_dates_seconds_say_it() -> None:
    assert period_span("100..200", UNDATED, 0, 999) == (100, 200, "")
    assert second_in_log("--from", "-5", UNDATED) == -5
    with pytest.raises(ValueError, match="does not say which day it is"):
        period_span("2026-01", UNDATED, 0, 9)
    with pytest.raises(ValueError, match="--to 2026-01-01: the log does not say which day it is"):
        second_in_log("--to", "2026-01-01", UNDATED)
