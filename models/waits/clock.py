"""How times of a log are said: as dates, or as seconds of its own clock, but never as both."""

from __future__ import annotations

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

    def hour_and_weekday(self, moment: float) -> tuple[int, int]:
        """The hour of the day and the weekday, which is 1 on Monday, of a moment by the clock on the wall."""
        local = self._local(moment)
        return local.hour, local.isoweekday()

    def second_of(self, local: datetime) -> int | None:
        """The second of a time of day, local unless it has a zone; None where there are no dates."""
        if not self.has_dates:
            return None
        zoned = local if local.tzinfo else local.replace(tzinfo=ZoneInfo(self.time_zone))
        return round((zoned - self.zero.replace(tzinfo=UTC)).total_seconds())

    def _local(self, moment: float) -> datetime:
        utc = self.zero + timedelta(seconds=round(moment))
        return utc.replace(tzinfo=UTC).astimezone(ZoneInfo(self.time_zone))
