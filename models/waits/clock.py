"""How times of a log are said: as dates, or as seconds of its own clock, but never as both.

Spans of time on the clock of a log, as people write them: last-month, 2026-03, last-30-days, 2026-03-01..2026-03-15.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

OF_ITS_OWN = "the log's own clock"


@dataclass(frozen=True)
class LogClock:
    """The clock of one log. Moments are seconds since its second 0.

    zero: UTC time of second 0, without zone. time_zone: of the cluster, in which dates are said. has_dates: whether the log tells
    `zero`. Otherwise it is 1970, which nobody should read.
    """

    zero: datetime
    time_zone: str
    has_dates: bool = True

    @property
    def zone(self) -> str | None:
        """The time zone of the dates, None where there are none."""
        return self.time_zone if self.has_dates else None

    @property
    def name(self) -> str:
        """What the times are of: a time zone, or the log's own clock."""
        return self.zone or OF_ITS_OWN

    def text(self, moment: float) -> str:
        """A moment as local time of the cluster, to the minute; as a second where there are no dates."""
        return f"second {round(moment)}" if not self.has_dates else f"{self._local(moment):%a %Y-%m-%d %H:%M}"

    def day(self, moment: float) -> str:
        """The day of a moment, or the second where there are no dates."""
        return f"second {round(moment)}" if not self.has_dates else f"{self._local(moment):%Y-%m-%d}"

    def full(self, moment: float) -> str:
        """A moment with what it is of, such as "Sat 2026-01-10 08:00 (Europe/Berlin)" or "second 90 of the log's own clock"."""
        return f"{self.text(moment)} of {self.name}" if not self.has_dates else f"{self.text(moment)} ({self.name})"

    def span(self, first: float, last: float, in_seconds: bool = False) -> str:
        """From a moment to another, in dates. in_seconds, and where there are none: in seconds."""
        if in_seconds or not self.has_dates:
            return f"seconds {round(first)} to {round(last)} of {OF_ITS_OWN}"
        return f"{self.text(first)} to {self.text(last)} ({self.name})"

    def second_of(self, local: datetime) -> int | None:
        """The second of a time of day, local unless it has a zone; None where there are no dates."""
        if not self.has_dates:
            return None
        zoned = local if local.tzinfo else local.replace(tzinfo=ZoneInfo(self.time_zone))
        return round((zoned - self.zero.replace(tzinfo=UTC)).total_seconds())

    def _local(self, moment: float) -> datetime:
        utc = self.zero + timedelta(seconds=round(moment))
        return utc.replace(tzinfo=UTC).astimezone(ZoneInfo(self.time_zone))


# --- periods


DAY_S = 86_400
LEAD_IN = 0.05
"""Share of a log, at least a day, by which its first submission may lie before it has all jobs."""
PERIODS = (
    "last-month, a month such as 2026-03, the last days such as last-30-days, or days such as 2026-03-01..2026-03-15"
)


def period_span(
    text: str, clock: LogClock, first: int, last: int, complete: float | None = None
) -> tuple[int, int, str]:
    """First second, the second behind the last, and what the period is called, empty where its dates say it.

    text: one of PERIODS. first, last: seconds of the log's first and last submission. complete: from which second on it
    has all jobs, None for its first. Raises ValueError, with what is expected.
    """
    text = text.strip().lower()
    days = re.fullmatch(r"last-(\d{1,5})-days?", text)
    if days and int(days[1]) > 0:
        return last + 1 - int(days[1]) * DAY_S, last + 1, f"the last {int(days[1])} days of the log"
    begin_text, dots, end_text = text.partition("..")
    if dots:
        begin, end = (second_in_log("period", each, clock) for each in (begin_text, end_text))
        if end <= begin:
            raise ValueError(f"period {text}: it ends before it begins; expected {PERIODS}")
        return begin, end, ""
    month = re.fullmatch(r"(\d{4})-(\d{2})", text)
    if text != "last-month" and not (month and 1 <= int(month[2]) <= 12):
        raise ValueError(f"unknown period {text!r}: expected {PERIODS}")
    if not clock.has_dates:
        raise ValueError(
            f"period {text}: the log does not say which day it is: give the last days, such as last-30-days, or seconds of {clock.name}, "
            "such as 0..864000"
        )
    if month:
        start = datetime(int(month[1]), int(month[2]), 1)
        return *_seconds(clock, start, _next_month(start)), f"the month {text}"
    this = _month_of(clock, last)
    start = month_before(this)
    if _seconds(clock, start, this)[1] <= first:  # nothing was submitted before this month
        return *_seconds(clock, this, _next_month(this)), f"the only month that there is, {this:%Y-%m}"
    begin, end = _seconds(clock, start, this)
    called = (
        "the month before the log's last"
        if complete is not None and complete - begin > DAY_S
        else "the last complete month"
    )
    return begin, end, f"{called}, {start:%Y-%m}"


def complete_from(first: float, first_end: float | None, last: float) -> float:
    """From which second on a log has all jobs: whoever ended before the first one that it has is not in it. An accounting tool that is
    asked for some days leaves such jobs out, and gives older ones that still ran.

    first, last: submissions. first_end: when the first job ended, None where the log does not say.
    """
    begin = first if first_end is None else max(first_end, first)
    return begin if max(LEAD_IN * (last - first), DAY_S) < begin - first < last - first else first


def partial_text(begin: int, end: int, clock: LogClock, complete: float, last: float) -> str:
    """That a log covers a period in part only, such as "of which the log covers 2 of 31 days, ...". Empty where it covers all, but for a
    day at each end at most.

    complete: from which second on the log has all jobs. last: its last submission.
    """
    if complete - begin <= DAY_S and end - 1 - last <= DAY_S:
        return ""
    since, until = max(begin, complete), min(end, last + 1)
    whole = max(1, round((end - begin) / DAY_S))
    days = min(whole, max(0.0, (until - since) / DAY_S))
    shown = f"{days:.0f}" if days >= 10 else f"{days:.1f}"
    return f"a partial period: the log covers {shown} of its {whole:,} days, {clock.span(since, max(since, until))}"


def span_before(begin: int, end: int, clock: LogClock) -> tuple[int, int]:
    """The span just before another: the month before a whole month, else one of the same length. Seconds."""
    if clock.has_dates:
        month = _month_of(clock, begin)
        if (begin, end) == _seconds(clock, month, _next_month(month)):
            return _seconds(clock, month_before(month), month)
    return 2 * begin - end, begin


def second_in_log(option: str, text: str, clock: LogClock) -> int:
    """The second of a moment: a day, a time of day, or a second of the log's own clock. Raises ValueError that names the option."""
    if re.fullmatch(r"-?\d{1,15}", text):
        return int(text)
    try:
        second = clock.second_of(datetime.fromisoformat(text.upper()))
    except ValueError:
        raise ValueError(
            f"{option} {text}: expected a day such as 2026-03-01, a time such as 2026-03-01T14:30, or a second of the log's own clock"
        ) from None
    if second is None:
        raise ValueError(f"{option} {text}: the log does not say which day it is: give a second of its own clock")
    return second


def month_before(month: datetime) -> datetime:
    """The first moment of the month before."""
    return (month - timedelta(days=1)).replace(day=1)


def _seconds(clock: LogClock, begin: datetime, end: datetime) -> tuple[int, int]:
    seconds = [clock.second_of(moment) for moment in (begin, end)]
    assert seconds[0] is not None and seconds[1] is not None
    return seconds[0], seconds[1]


def _month_of(clock: LogClock, second: int) -> datetime:
    utc = (clock.zero + timedelta(seconds=second)).replace(tzinfo=ZoneInfo("UTC"))
    return utc.astimezone(ZoneInfo(clock.time_zone)).replace(
        day=1, hour=0, minute=0, second=0, microsecond=0, tzinfo=None
    )


def _next_month(month: datetime) -> datetime:
    return (month + timedelta(days=32)).replace(day=1)
