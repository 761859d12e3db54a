"""Which jobs of a replay are scored: a period, a queue, a user, an account. A period is scored, not cut: the replay begins with the
first job of the log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from models.runtime.scores import USER_CLASSES, user_classes
from models.waits.clock import PERIODS, LogClock, complete_from, partial_text, period_span, second_in_log
from traces.common.pseudonyms import pseudonym_hint

LABELS = {"queue": "queue", "user": "user_name", "account": "account"}
"""Options, and the columns of the jobs that they choose by."""


class PartOptions(BaseModel):
    """What is scored, as it is written on the command line. Nothing given: all jobs."""

    period: str | None = Field(default=None, description=f"Score jobs submitted in a period: {PERIODS}")
    begin: str | None = Field(
        default=None, description="Score jobs submitted then or later: 2026-03-01, or 2026-03-01T14:30"
    )
    end: str | None = Field(default=None, description="Score jobs submitted before then")
    queue: str | None = Field(default=None, description="Score jobs of this queue, or partition")
    user: str | None = Field(default=None, description="Score jobs of this user, as the warehouse names users")
    account: str | None = Field(default=None, description="Score jobs of this account")

    @property
    def is_all(self) -> bool:
        """Whether every job is scored."""
        return not self.model_dump(exclude_none=True)

    @property
    def labels(self) -> list[str]:
        """Columns that the jobs need for this."""
        return [column for name, column in LABELS.items() if getattr(self, name) is not None]


@dataclass(frozen=True)
class ScoredPart:
    """mask: bool (jobs,), which jobs are scored. words: which these are, for people."""

    mask: NDArray[np.bool_]
    words: str


def part_of(jobs: pl.DataFrame, clock: LogClock, options: PartOptions, complete: float | None = None) -> ScoredPart:
    """The part of the jobs that the options choose.

    jobs: submit_s and the columns that the options name, in replay order. complete: from which second on the log has all jobs, None where
    the jobs' start_s and runtime_s tell, or where their first submission does. Raises ValueError that names the option, what it takes, and
    what there is instead.
    """
    submit = jobs["submit_s"]
    first, last = int(submit.min()), int(submit.max())  # type: ignore[arg-type]
    if complete is None and {"start_s", "runtime_s"} <= set(jobs.columns):
        complete = complete_from(first, jobs.select((pl.col("start_s") + pl.col("runtime_s")).min()).item(), last)
    begin, end, words = span_of(options, clock, (first, last), complete)
    chosen = (submit >= begin) & (submit < end)
    if not chosen.any():
        between = clock.span(first, last)
        raise ValueError(f"no job was submitted in this time ({words[0]}): jobs were submitted from {between}")
    for name, column in LABELS.items():
        value = getattr(options, name)
        if value is None:
            continue
        chosen &= (jobs[column] == value).fill_null(False)
        words.append(f"{name} {value}")
        if not chosen.any():
            raise ValueError(f"no job {', '.join(words)}: {_instead(jobs, name, value)}")
    return ScoredPart(chosen.to_numpy(), ", ".join(words))


def graded_part(jobs: pl.DataFrame, options: PartOptions) -> tuple[str, str] | None:
    """The part of replay.fidelity whose grade holds for what the options choose: a queue, or the class of a user. None for all jobs.

    jobs: as for `part_of`."""
    if options.queue is not None:
        return "queue", options.queue
    if options.user is not None:
        mine = (jobs["user_name"] == options.user).fill_null(False).to_numpy()
        return "user class", USER_CLASSES[int(user_classes(np.zeros(mine.sum()))[0])]
    return None


def span_of(
    options: PartOptions, clock: LogClock, submissions: tuple[int, int], complete: float | None = None
) -> tuple[int, int, list[str]]:
    """First second, the second behind the last, and words for both; without words where no time is asked for. The words say where the log
    covers the time in part only.

    submissions: the first and the last, seconds. complete: from which second on the log has all jobs, None for the first. Raises
    ValueError that names the option and what it takes.
    """
    begin, end, words = _span_in_words(options, clock, submissions, complete)
    first, last = submissions
    partial = partial_text(begin, end, clock, first if complete is None else complete, last) if words else ""
    return begin, end, [*words, partial] if partial else words


def _span_in_words(
    options: PartOptions, clock: LogClock, submissions: tuple[int, int], complete: float | None
) -> tuple[int, int, list[str]]:
    first, last = submissions
    if options.period is not None:
        if options.begin is not None or options.end is not None:
            raise ValueError("--period says from when to when: leave --from and --to out, or --period")
        begin, end, name = period_span(options.period, clock, first, last, complete)
        return begin, end, [f"{name}, {clock.span(begin, end)}" if name else clock.span(begin, end)]
    begin = first if options.begin is None else second_in_log("--from", options.begin, clock)
    end = last + 1 if options.end is None else second_in_log("--to", options.end, clock)
    if end <= begin and options.end is None:
        raise ValueError(
            f"no job was submitted in this time (--from {options.begin}): jobs were submitted from {clock.span(first, last)}"
        )
    if end <= begin:
        raise ValueError(f"--to {options.end} is not after --from {options.begin or clock.text(first)}")
    if options.begin is None and options.end is None:
        return begin, end, []
    return begin, end, [f"submitted {clock.span(begin, end)}"]


def _instead(jobs: pl.DataFrame, name: str, value: str) -> str:
    """The values that there are in place of this one, the commonest first."""
    counts: list[dict[str, Any]] = jobs[LABELS[name]].drop_nulls().value_counts(sort=True).head(8).to_dicts()
    if not counts:
        return f"the log knows no {name} of its jobs"
    names = [str(row[LABELS[name]]) for row in counts]
    return f"the commonest are {', '.join(names)}{pseudonym_hint(name, value, names)}"
