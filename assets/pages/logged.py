"""What the log of a source says of the real system: waits, backlog, use, how jobs ended, requests. Read from the warehouse."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import numpy as np
import polars as pl

import sql
from assets.pages.words import DAY_S, HOUR_S, MINUTE_S, duration_text
from assets.usage.habits import Habits, habits
from assets.usage.waits_and_waste import WaitsAndWaste, left_text, waits_and_waste
from models.waits.clock import LogClock, complete_from
from traces.common.ends import FAULTS
from warehouse import Warehouse, first_row

BACKLOG_STEPS_S = (HOUR_S, 3 * HOUR_S, 6 * HOUR_S, 12 * HOUR_S, DAY_S, 2 * DAY_S, 7 * DAY_S, 30 * DAY_S)
FEWEST_BACKLOG_STEPS, MOST_BACKLOG_STEPS = 20, 500
"""Steps of the backlog: the shortest of BACKLOG_STEPS_S of which there are no more. Where all are too short, a multiple of the longest, and
where all are too long, equal parts."""
PAYERS = {"account": "account", "group_name": "group", "user_name": "user"}
"""Columns of core.jobs that tell who used the cluster, the best one first, and what a row is called."""

_STATUSES = """
SELECT month, status, count(*) AS jobs, coalesce(sum(core_hours), 0) AS core_hours, coalesce(sum(requeued_core_hours), 0) AS requeued
FROM marts.job_facts WHERE source = $source GROUP BY ALL ORDER BY ALL
"""
_REQUESTS = """
SELECT least(floor(20 * runtime_s / requested_walltime_s), 20)::BIGINT AS step, count(*) AS jobs
FROM core.jobs WHERE source = $source AND runtime_s > 0 AND requested_walltime_s > 0 GROUP BY step ORDER BY step
"""


@dataclass(frozen=True)
class LogExtent:
    """jobs: all of the log. first_s, last_s: first and last submission, epoch, UTC. first_end_s: when the
    first job ended, None where the log does not say. cluster_procs_from: as in core.sources. called: what has
    these jobs, for people."""

    source: str
    description: str
    jobs: int
    first_s: float
    last_s: float
    first_end_s: float | None
    cluster_procs: int
    cluster_procs_from: str
    clock: LogClock
    called: str = "the log"

    def moments(self, seconds: list[float]) -> list[datetime]:
        """Local times of the cluster. seconds: epoch, UTC."""
        zone, zero = ZoneInfo(self.clock.time_zone), datetime(1970, 1, 1, tzinfo=UTC)
        return [(zero + timedelta(seconds=second)).astimezone(zone) for second in seconds]

    @property
    def complete_from_s(self) -> float:
        """From when on the log has all jobs, epoch, UTC: whoever ended before the first one that it has is not in it. An accounting tool
        that is asked for some days leaves such jobs out, and gives older ones that still ran."""
        return complete_from(self.first_s, self.first_end_s, self.last_s)

    @property
    def unfinished_months(self) -> dict[date, str]:
        """First days of the months that the log covers in part, and which part, such as "to 12 Dec". Those are the first and the last,
        where it has no submission in more than a day of them, and all before it has all jobs. Empty for a log without dates."""
        if not self.clock.has_dates:
            return {}
        first, begin, last = self.moments([self.first_s, self.complete_from_s, self.last_s])
        months: dict[date, str] = {}
        month = first.date().replace(day=1)
        while month < begin.date().replace(day=1):
            months[month] = f"before {begin:%-d %b}"
            month = (month + timedelta(days=32)).replace(day=1)
        if begin.day > 1:
            months[month] = f"from {begin:%-d %b}"
        if (last + timedelta(days=1)).month == last.month:
            month = last.date().replace(day=1)
            months[month] = f"{months[month]} to {last:%-d %b}" if month in months else f"to {last:%-d %b}"
        return months

    @property
    def submitted(self) -> str:
        """When, such as "5 Jan 2026 to 21 Jan 2027"."""
        if not self.clock.has_dates:
            return f"over {duration_text(self.last_s - self.first_s)}, without dates"
        first, last = self.moments([self.first_s, self.last_s])
        return f"{first:%-d %b %Y} to {last:%-d %b %Y}"


@dataclass(frozen=True)
class LoggedSystem:
    """What the log of a source says, in rows.

    waits: of the statement marts.started_waits. curve: of marts.wait_curve. use: who, core_hours, jobs, failed. payer: what `who` is,
    None where the log names nobody. months: month, who, core_hours. statuses: month, status, jobs, core_hours, requeued. requests: step
    (share used of the request in twentieths, 20 is all and more), jobs. asked: see `_asked_of`. backlog: see `_backlog_of`. groups: waits
    and waste by user and account. habits: of the users.
    """

    extent: LogExtent
    waits: pl.DataFrame
    curve: pl.DataFrame
    use: pl.DataFrame
    payer: str | None
    months: pl.DataFrame
    statuses: pl.DataFrame
    requests: pl.DataFrame
    asked: dict[str, float] | None
    backlog: pl.DataFrame
    groups: WaitsAndWaste
    habits: Habits

    @property
    def all_waits(self) -> dict[str, Any] | None:
        """Of all jobs that started; None where the log does not say when they did."""
        rows = self.waits.filter(part="all")
        return rows.row(0, named=True) if rows.height else None

    @property
    def nobody_waited(self) -> bool:
        """Whether no job waited longer than a minute."""
        waits = self.all_waits
        return waits is not None and waits["longest_s"] <= MINUTE_S

    @property
    def utilisation(self) -> float | None:
        """Share of the cluster in use until the last submission, from when on the log has all jobs. None where it does not say."""
        used = self.complete_backlog["used"].to_numpy() if self.backlog.height else np.zeros(0)
        return float(used.mean()) / self.extent.cluster_procs if len(used) else None

    @property
    def complete_backlog(self) -> pl.DataFrame:
        """Steps of the backlog from when on the log has all jobs."""
        begin = self.extent.complete_from_s
        later = self.backlog if begin == self.extent.first_s else self.backlog.filter(pl.col("at_s") >= begin)
        return later if later.height else self.backlog

    @property
    def core_hours(self) -> float:
        """Of all jobs."""
        return float(self.statuses["core_hours"].sum())


def read_logged(warehouse: Warehouse, source: str) -> LoggedSystem:
    """What the warehouse holds of the log. Raises ValueError where it holds no job of the source."""
    parameters = {"source": source}
    with warehouse.read() as connection:
        extent = _extent_of(connection, source)
    groups, users = waits_and_waste(warehouse, source), habits(warehouse, source)
    with warehouse.read() as connection:

        def rows(query: str) -> pl.DataFrame:
            return connection.sql(query, params=parameters).pl()

        payer, use, months = _use_of(connection, source)
        waits = rows(sql.load("marts.started_waits"))
        return LoggedSystem(
            extent,
            waits=waits,
            curve=rows(sql.load("marts.wait_curve")),
            use=use,
            payer=payer,
            months=months,
            statuses=rows(_STATUSES),
            requests=rows(_REQUESTS),
            asked=_asked_of(connection, source),
            backlog=_backlog_of(connection, extent) if waits.height else pl.DataFrame(),
            groups=groups,
            habits=users,
        )


def left_sentence(logged: LoggedSystem) -> str:
    """What figures of waits do not count: jobs that left the queue without a start. Empty where there are none."""
    whole = logged.groups.whole
    if not whole["left_jobs"]:
        return ""
    return f"{left_text(whole['left_jobs'], duration_text(HOUR_S * whole['left_hours'] / whole['left_jobs']))}."


def read_backlog(warehouse: Warehouse, extent: LogExtent, begin_s: float, end_s: float) -> pl.DataFrame:
    """Backlog and use of a part of a log, between two seconds, epoch, UTC. Jobs that were submitted earlier and still waited or ran then
    count, too. Columns as those of `LoggedSystem.backlog`."""
    with warehouse.read() as connection:
        return _backlog_of(connection, replace(extent, first_s=begin_s, last_s=end_s))


def _extent_of(connection: duckdb.DuckDBPyConnection, source: str) -> LogExtent:
    about = first_row(connection, sql.load("core.source_facts"), {"source": source})
    jobs = first_row(
        connection,
        "SELECT any_value(sources.description), count(*), epoch(min(submit_time)), epoch(max(submit_time)), "
        "epoch(min(start_time + to_seconds(coalesce(runtime_s, 0)))) FROM core.jobs AS jobs "
        "INNER JOIN core.sources AS sources ON jobs.source = sources.source WHERE jobs.source = ?",
        [source],
    )
    if about is None or jobs is None or not jobs[1]:
        raise ValueError(f"source {source!r} has no job in the warehouse: `tracehouse run {source}`")
    procs, procs_from, _, zero, time_zone, has_dates = about
    description, count, first_s, last_s, first_end_s = jobs
    clock = LogClock(zero, time_zone, has_dates)
    return LogExtent(source, description or "", count, first_s, last_s, first_end_s, procs, procs_from, clock)


def _asked_of(connection: duckdb.DuckDBPyConnection, source: str) -> dict[str, float] | None:
    """median: share of the request that was used. little: share of jobs that used less than a quarter. unused: share of the requested
    core-hours that was not used. None where no job has a request."""
    row = first_row(
        connection,
        "SELECT median(runtime_s / requested_walltime_s), avg((runtime_s < 0.25 * requested_walltime_s)::INTEGER), "
        "1 - sum(procs * least(runtime_s, requested_walltime_s)) / sum(procs * requested_walltime_s) "
        "FROM core.jobs WHERE source = ? AND runtime_s > 0 AND requested_walltime_s > 0 AND procs > 0",
        [source],
    )
    return dict(zip(("median", "little", "unused"), row, strict=True)) if row and row[0] is not None else None


def _use_of(connection: duckdb.DuckDBPyConnection, source: str) -> tuple[str | None, pl.DataFrame, pl.DataFrame]:
    """LoggedSystem.payer, use and months."""
    counts = ", ".join(f"count(DISTINCT {column})" for column in PAYERS)
    named = first_row(connection, f"SELECT {counts} FROM core.jobs WHERE source = ?", [source])
    assert named is not None
    # one account for all tells nothing, if there are users
    column = next(
        (column for least in (2, 1) for column, names in zip(PAYERS, named, strict=True) if names >= least), None
    )
    if column is None:
        return None, pl.DataFrame(), pl.DataFrame()
    whole = connection.sql(
        f"SELECT coalesce(jobs.{column}, 'not in the log') AS who, facts.month, count(*) AS jobs, "
        "coalesce(sum(facts.core_hours), 0) AS core_hours, count(*) FILTER (jobs.status IN $faults) AS failed FROM core.jobs AS jobs "
        "INNER JOIN marts.job_facts AS facts ON jobs.source = facts.source AND jobs.job_index = facts.job_index "
        "WHERE jobs.source = $source GROUP BY ALL ORDER BY ALL",
        params={"source": source, "faults": list(FAULTS)},
    ).pl()
    use = whole.group_by("who").agg(pl.col("jobs", "core_hours", "failed").sum())
    largest_first = use.sort("core_hours", "who", descending=[True, False])
    return PAYERS[column], largest_first, whole.select("month", "who", "core_hours")


def _backlog_of(connection: duckdb.DuckDBPyConnection, extent: LogExtent) -> pl.DataFrame:
    """Means over steps of equal length between the first and the last submission.

    at_s (begin of the step, epoch, UTC), waiting (jobs), work (core-hours of the jobs that wait), used (processors).
    """
    span_s = extent.last_s - extent.first_s
    longest_s = max(1, math.ceil(span_s / (MOST_BACKLOG_STEPS * BACKLOG_STEPS_S[-1]))) * BACKLOG_STEPS_S[-1]
    step_s = next((step for step in BACKLOG_STEPS_S if span_s / step <= MOST_BACKLOG_STEPS), longest_s)
    step_s = max(1, min(step_s, int(span_s) // FEWEST_BACKLOG_STEPS))
    parameters = {"source": extent.source, "zero_s": extent.first_s, "step_s": step_s}
    changes = connection.sql(sql.load("marts.backlog"), params=parameters).pl()
    steps = int(span_s // step_s) + 1
    earlier, within = changes.filter(pl.col("step") < 0), changes.filter(pl.col("step").is_between(0, steps - 1))
    at = within["step"].to_numpy()
    values: dict[str, Any] = {"at_s": extent.first_s + step_s * np.arange(steps)}
    for name in ("waiting", "work", "used"):
        before, mean = np.zeros(steps + 1), np.zeros(steps)
        before[at + 1] = within[name].to_numpy()
        before[0] = earlier[name].sum()
        mean[at] = within[f"mean_{name}"].to_numpy()
        values[name] = np.maximum(np.cumsum(before)[:-1] + mean, 0).round(6)
    return pl.DataFrame(values)
