"""Users' habits, read off a log: who submits jobs after own ones have ended, how soon, in which sessions, and at which hours, and who
cancels jobs that still wait.

Sessions and batches: Zakay and Feitelson, "Preserving user behavior characteristics in trace-based simulation of parallel job scheduling",
MASCOTS 2014. Who follows whom: docs/reference/semantics/followers.md, here by the ends of the log.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

import sql
from assets.common.trace import load_clock
from simulator.jobs.followers import (
    LINE_KINDS,
    NO_JOB,
    WITHIN_S,
    JobLines,
    array_ends,
    follow_lines,
    followers_of,
    longest_think,
)
from traces.common.arrays import arrays_of_jobs
from traces.common.dependencies import named_jobs
from warehouse import Warehouse

IntArray = NDArray[np.int64]

THINK_QUANTILES = (0.10, 0.25, 0.50, 0.75, 0.90)
"""Of think times."""
GIVING_UP_QUANTILES = (0.25, 0.50, 0.75)
"""Of the waits after which jobs were cancelled."""
SOON_S = (60, 300, WITHIN_S)
"""Seconds after an own end within which shares of jobs are counted."""
NIGHT_HOURS = (22, 23, 0, 1, 2, 3, 4, 5)


class SessionsAndBatches(NamedTuple):
    """Of each job the numbers of its session and of its batch, int64 (jobs,)."""

    session: IntArray
    batch: IntArray


@dataclass(frozen=True)
class Habits:
    """jobs: with a user. unnamed: the others, which nothing else counts. depending: jobs that name others which must leave before them.
    by_name: those of them that came after these and follow them, which think_s leaves out.

    lines: how many users there are of each of LINE_KINDS, within which their jobs follow each other. longest_think_s: seconds after an end
    up to which jobs follow, None where none does. think_s: the THINK_QUANTILES of think times, seconds, empty where no job follows. soon:
    the share of all jobs that were submitted within each of SOON_S after an own end. gave_up: how many were cancelled while they waited.
    gave_up_s: the GIVING_UP_QUANTILES of their waits, seconds, empty for none. by_user: user, line (its kind), jobs, core_hours, following,
    share, median_think_s, sessions, batches, gave_up and median_gave_up_s, most core-hours first. by_hour, by_day: hour (0 to 23) or day
    (1 on Monday), jobs, share of all, following, and following_share of all that follow. night_share, night_share_following: of jobs and of
    those that follow, submitted in NIGHT_HOURS. time_zone: of the hours. The last five are None for a log without dates."""

    jobs: int
    unnamed: int
    depending: int
    by_name: int
    lines: dict[str, int]
    following: int
    longest_think_s: int | None
    think_s: tuple[float, ...]
    soon: tuple[float, ...]
    gave_up: int
    gave_up_s: tuple[float, ...]
    sessions: int
    batches: int
    by_user: pl.DataFrame
    by_hour: pl.DataFrame | None
    by_day: pl.DataFrame | None
    night_share: float | None
    night_share_following: float | None
    time_zone: str | None

    @property
    def median_think_s(self) -> float:
        """0 where no job follows."""
        return self.think_s[THINK_QUANTILES.index(0.5)] if self.think_s else 0.0


def habits(warehouse: Warehouse, source: str) -> Habits:
    """The habits of a source's users. Raises ValueError for a source without jobs."""
    clock, rows = load_clock(warehouse, source), submitted_jobs(warehouse, source)
    if rows.is_empty():
        raise ValueError(f"source {source!r} has no jobs: load it with `tracehouse run {source}`")
    return habits_of(rows, clock.zone)


def submitted_jobs(warehouse: Warehouse, source: str) -> pl.DataFrame:
    """The jobs of a source in the order of submission, as `habits_of` and `jobs_that_follow` take them, with job_index."""
    with warehouse.read() as connection:
        return connection.sql(sql.load("features.submitted_jobs"), params={"source": source}).pl()


def jobs_that_follow(rows: pl.DataFrame) -> tuple[pl.DataFrame, int | None]:
    """The jobs with a user, and the longest think time, seconds, None where none follows. rows: as for `habits_of`.

    Further columns of each job, NULL where there is no such job: line (its kind, of LINE_KINDS), follows (the place among these of the job
    that it follows), think_s, is_by_name (whether it names that one), session and batch. soon_s: the seconds after an own end, at most the
    last of SOON_S."""
    named = rows.filter(pl.col("user").is_not_null()).with_columns(user_name="user")
    submit, end = named["submit_s"].to_numpy(), named["end_s"].to_numpy()
    ends = array_ends(end, arrays_of_jobs(named))
    user = named["user"].rank("dense").cast(pl.Int64).to_numpy()
    line, kind = lines_of_rows(named, submit, ends, user)
    longest = longest_think(submit, ends, line)
    after, think, is_by_name = followers_of_rows(named, submit, end, line, longest)
    near, since = followers_of(submit, ends, user, max(SOON_S))
    runs = sessions_and_batches(submit, user, after)
    is_one = pl.Series(after != NO_JOB)
    jobs = named.with_columns(
        line=pl.Series(LINE_KINDS, dtype=pl.String).gather(pl.Series(kind)),
        follows=pl.when(is_one).then(pl.Series(after)),
        think_s=pl.when(is_one).then(pl.Series(think)),
        is_by_name=pl.Series(is_by_name),
        session=pl.Series(runs.session),
        batch=pl.Series(runs.batch),
        soon_s=pl.when(pl.Series(near != NO_JOB)).then(pl.Series(since)),
    )
    return jobs, longest if longest >= 0 else None


def lines_of_rows(rows: pl.DataFrame, submit: IntArray, end: IntArray, user: IntArray) -> JobLines:
    """The lines of some jobs. rows: of the jobs, with account and executable. Unknown ones are one. Others as in `follow_lines`."""
    parts = (rows[name].rank("dense").fill_null(0).cast(pl.Int64).to_numpy() for name in LINE_KINDS[1:])
    return follow_lines(submit, end, user, *parts)


def followers_of_rows(
    rows: pl.DataFrame, submit: IntArray, end: IntArray, line: IntArray, within_s: int
) -> tuple[IntArray, IntArray, NDArray[np.bool_]]:
    """As `followers_of`, but that a job follows arrays and no single tasks of them, and that one which names jobs that had all left before
    it follows the last of them, whenever that was. Also whether each follows one that it names. rows: of the jobs, with what `named_jobs`
    needs."""
    array = arrays_of_jobs(rows)
    ends = array_ends(end, array)
    after, think = followers_of(submit, ends, line, within_s)
    is_by_name = np.zeros(len(submit), dtype=np.bool_)
    last_task = {int(array[job]): int(job) for job in np.flatnonzero((array >= 0) & (ends >= 0))}
    for job, others in named_jobs(rows).items():
        if min(end[other] for _, other in others) < 0:
            continue
        last = max((other for _, other in others), key=lambda other: (end[other], other))
        last = last_task.get(int(array[last]), last)
        if 0 <= ends[last] <= submit[job]:
            after[job], think[job], is_by_name[job] = last, submit[job] - ends[last], True
    return after, think, is_by_name


def habits_of(rows: pl.DataFrame, time_zone: str | None) -> Habits:
    """The habits in some jobs. rows: in the order of submission, with submit_s and end_s (UTC seconds, end_s below 0 for a job that never
    left), user, account, executable, job_id, dependency and core_hours. Their gave_up_s is the wait of a job that was cancelled before it
    started, null for others. time_zone: of hours and days, None for seconds that are no dates."""
    jobs, longest = jobs_that_follow(rows)
    by_user = _by_user(jobs)
    think = jobs.filter(~pl.col("is_by_name"))["think_s"].drop_nulls().to_numpy()
    by_hour, by_day = (None, None) if time_zone is None else _by_hour_and_day(jobs, time_zone)
    gave_up_s = jobs["gave_up_s"].drop_nulls().to_numpy()
    night = None if by_hour is None else by_hour.filter(pl.col("hour").is_in(NIGHT_HOURS))
    return Habits(
        jobs=jobs.height,
        unnamed=rows.height - jobs.height,
        depending=jobs["dependency"].count(),
        by_name=jobs["follows"].count() - len(think),
        lines={kind: int((by_user["line"] == kind).sum()) for kind in LINE_KINDS},
        following=jobs["follows"].count(),
        longest_think_s=longest,
        think_s=tuple(np.quantile(think, THINK_QUANTILES).tolist()) if len(think) else (),
        soon=tuple(float((jobs["soon_s"] <= seconds).sum() / jobs.height) for seconds in SOON_S) if jobs.height else (),
        gave_up=len(gave_up_s),
        gave_up_s=tuple(np.quantile(gave_up_s, GIVING_UP_QUANTILES).tolist()) if len(gave_up_s) else (),
        sessions=jobs["session"].n_unique(),
        batches=jobs["batch"].n_unique(),
        by_user=by_user,
        by_hour=by_hour,
        by_day=by_day,
        night_share=None if night is None else float(night["share"].sum()),
        night_share_following=None if night is None else float(night["following_share"].sum()),
        time_zone=time_zone,
    )


def sessions_and_batches(submit: IntArray, user: IntArray, after: IntArray) -> SessionsAndBatches:
    """Sessions and batches. submit: ascending. after: whom each job follows, NO_JOB for none.

    A job goes on with its user's session if it follows another or comes at most 20 minutes after the user's job before it. Within a session
    a batch ends where a job follows one of the batch itself."""
    session, batch = np.zeros((2, len(submit)), dtype=np.int64)
    first: dict[int, int] = {}  # of a user, the first place of the batch
    place: IntArray = np.empty(len(submit), dtype=np.int64)  # among jobs by user, then by submission
    order = np.argsort(user, kind="stable")
    place[order] = np.arange(len(order))
    sessions = batches = -1
    before = NO_JOB
    for job in order.tolist():
        owner, whom = int(user[job]), int(after[job])
        goes_on = before != NO_JOB and user[before] == owner
        if not goes_on or (whom == NO_JOB and submit[job] - submit[before] > WITHIN_S):
            sessions, batches = sessions + 1, batches + 1
            first[owner] = place[job]
        elif whom != NO_JOB and place[whom] >= first[owner]:
            batches += 1
            first[owner] = place[job]
        session[job], batch[job] = sessions, batches
        before = job
    return SessionsAndBatches(session, batch)


def _by_user(jobs: pl.DataFrame) -> pl.DataFrame:
    return (
        jobs.group_by("user")
        .agg(
            line=pl.col("line").first(),
            jobs=pl.len(),
            core_hours=pl.col("core_hours").sum(),
            following=pl.col("follows").count(),
            share=pl.col("follows").is_not_null().mean(),
            median_think_s=pl.col("think_s").median(),
            sessions=pl.col("session").n_unique(),
            batches=pl.col("batch").n_unique(),
            gave_up=pl.col("gave_up_s").count(),
            median_gave_up_s=pl.col("gave_up_s").median(),
        )
        .sort("core_hours", "user", descending=[True, False])
    )


def _by_hour_and_day(jobs: pl.DataFrame, time_zone: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Jobs by the hour and the day of their submissions, by the clock on the wall."""
    local = pl.from_epoch("submit_s").dt.replace_time_zone("UTC").dt.convert_time_zone(time_zone)
    timed = jobs.with_columns(hour=local.dt.hour().cast(pl.Int64), day=local.dt.weekday().cast(pl.Int64))

    def table(kind: str, values: range) -> pl.DataFrame:
        counted = timed.group_by(kind).agg(jobs=pl.len(), following=pl.col("follows").count())
        every = pl.DataFrame({kind: list(values)}, schema={kind: pl.Int64})
        return every.join(counted, on=kind, how="left", maintain_order="left").select(
            kind,
            pl.col("jobs").fill_null(0),
            (pl.col("jobs").fill_null(0) / max(timed.height, 1)).alias("share"),
            pl.col("following").fill_null(0),
            (pl.col("following").fill_null(0) / max(int(timed["follows"].count()), 1)).alias("following_share"),
        )

    return table("hour", range(24)), table("day", range(1, 8))
