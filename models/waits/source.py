"""A source in the form that questions about waits need: its history, its users and job numbers, and its clock."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl

from models.waits.clock import LogClock
from models.waits.history import History

GROWING = timedelta(days=2)
"""A log whose last submission is not older than this still grows, and its end is now."""


@dataclass(frozen=True)
class WaitSource:
    """rows: jobs in order of submission, with job_index, job_id, user_name and user_number. clock: how its times are written."""

    name: str
    rows: pl.DataFrame
    history: History
    clock: LogClock

    def user_number(self, user: str) -> int:
        """The number of a user in the history. Raises ValueError for one that never submitted a job that ran."""
        return user_number_in(self.rows, self.name, user)

    def job_number(self, job_id: str, moment: int) -> int:
        """The number of the job of this id that waits at a moment. If ids repeat, of the last one submitted. Raises ValueError."""
        rows = self.rows.filter(pl.col("job_id") == job_id)
        numbers = np.flatnonzero(np.isin(self.history.job_index, rows["job_index"].to_numpy()))
        numbers = numbers[self.history.submit[numbers] <= moment]
        if not len(numbers):
            raise ValueError(f"source {self.name!r}: no job {job_id!r} had been submitted by {self.clock.full(moment)}")
        number = int(numbers[-1])
        if self.history.leaves[number] <= moment:
            left = int(self.history.leaves[number])
            how = "started" if self.history.start[number] <= moment else "was cancelled"
            raise ValueError(
                f"source {self.name!r}: job {job_id!r} does not wait at {self.clock.text(moment)}, because it {how} at "
                f"{self.clock.full(left)}. Give an earlier --at, or leave --job out for a new job"
            )
        return number

    @property
    def span(self) -> tuple[int, int]:
        """First submission and last end in the log, seconds of its clock."""
        return int(self.history.submit[0]), int(self.history.latest_end[-1])

    def usual_moment(self, now: datetime, seed: int) -> tuple[int, str]:
        """The second of the log's clock that a question is about where the user names none, and why, in words.

        For a log that grows, it is the last submission: the latest moment at which the log says who runs and who waits. The end of another
        log is not a typical moment, so a submission of its second half that met a queue is drawn. now: the present, with its zone.
        """
        submit = self.history.submit
        last = int(submit[-1])
        if self.clock.has_dates:
            age = now.astimezone(UTC).replace(tzinfo=None) - self.clock.zero - timedelta(seconds=last)
            if timedelta(0) <= age <= GROWING:
                return last, "the last submission in the warehouse"
        waiting = np.arange(len(submit)) - np.searchsorted(np.sort(self.history.leaves), submit, side="right")
        busy = np.flatnonzero(waiting > 0)
        if not len(busy):
            return last, "the last submission: nobody waits in this log"
        later = busy[busy >= len(submit) // 2]
        drawn = np.random.default_rng(seed).choice(later if len(later) else busy)
        return int(submit[drawn]), f"a busy moment, drawn with seed {seed}"

    def moment_of_job(self, job_id: str) -> tuple[int, str]:
        """The moment that a question about a job is about where the user names none, and why. It is the last submission if the job waits
        then, else the job's own submission. Raises ValueError for a job that is not in the log."""
        last = int(self.history.submit[-1])
        rows = self.rows.filter(pl.col("job_id") == job_id)
        numbers = np.flatnonzero(np.isin(self.history.job_index, rows["job_index"].to_numpy()))
        if not len(numbers) or self.history.leaves[numbers[-1]] > last:
            return last, "the last submission in the warehouse"
        return int(self.history.submit[numbers[-1]]), "its submission"

    def moment(self, text: str) -> int:
        """The second of the log's clock that a user means: a second, or local time of the cluster in ISO form. Raises ValueError outside
        the log."""
        first, last = self.span
        is_second = text.strip().isdigit()
        moment = int(text) if is_second else self._second_of(text)
        if not first <= moment <= last:
            span = self.clock.span(first, last, in_seconds=is_second)
            raise ValueError(f"time {text!r} is outside the log of {self.name!r}, which has {span}")
        return moment

    def _second_of(self, text: str) -> int:
        """The second of the log's clock of a local time in ISO form. Raises ValueError."""
        try:
            local = datetime.fromisoformat(text.strip())
        except ValueError:
            raise ValueError(
                f"time {text!r}: expected local time of the cluster such as 2004-03-01 or '2004-03-01 08:00', or a second of "
                "the log's own clock"
            ) from None
        second = self.clock.second_of(local)
        if second is None:
            first, last = self.span
            raise ValueError(
                f"time {text!r}: the log of {self.name!r} does not say which day it began: give a second of its own "
                f"clock, {first} to {last}"
            )
        return second


def user_number_in(rows: pl.DataFrame, source: str, user: str) -> int:
    """The user_number of a user_name among jobs. Raises ValueError, with the way to list them, for a name that is not there."""
    numbers = rows.filter(pl.col("user_name") == user)["user_number"]
    if numbers.is_empty():
        raise ValueError(
            f'source {source!r} has no job of user {user!r} that ran: `tracehouse sql "SELECT user_name, count(*) FROM core.jobs '
            f"WHERE source = '{source}' GROUP BY ALL\"` lists its users"
        )
    return int(numbers[0])
