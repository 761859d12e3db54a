"""Two periods of one log side by side: what got worse, for whom, and since when. These are the waits of the log, nothing is replayed."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

import sql
from assets.common.trace import load_clock, load_extent
from models.waits.clock import DAY_S, LogClock, partial_text, period_span, span_before
from traces.common.ends import FAULTS
from warehouse import Warehouse, first_row

GROUPED_BY = {"queue": "queue", "account": "account", "user": "user_name", "size": "size_class"}
"""What jobs are grouped by, and the columns of marts.job_facts."""
_HOUR_S = 3600
_GROUP_SCHEMA = {
    **{"kind": pl.Utf8, "value": pl.Utf8, "jobs_before": pl.Int64, "jobs": pl.Int64},
    **dict.fromkeys(("mean_wait_h_before", "mean_wait_h", "contribution_h"), pl.Float64),
}
FEWEST_DAYS = 3
"""Days before and behind the day since when waits differ."""


@dataclass(frozen=True)
class Span:
    """A period: its first second, the second behind its last, and how it is said. covered_from, covered_to: what the log covers."""

    begin: int
    end: int
    words: str
    covered_from: float
    covered_to: float

    @property
    def covered_days(self) -> float:
        """Above 0, also where the log covers nothing."""
        return max(self.covered_to - self.covered_from, 1) / DAY_S


@dataclass(frozen=True)
class TwoPeriods:
    """A period beside an earlier one. earlier: None where the log has no job before the later one; then there are no groups.

    whole: a row each, the earlier one first: jobs, known_waits, mean_wait_h, median_wait_h, p95_wait_h, started_in_1h, started_in_24h,
    offered_load (of the time that the log covers), failed_share (FAULTS, null where no end is known). Besides
    left_jobs, which left the queue without a start, and left_after_h, their mean time there.
    groups: rows of `kind` and `value`: jobs, mean_wait_h and both for the earlier period, and
    contribution_h, hours of the change of the mean wait that come from this group. Contributions of a kind add up to that change.
    since: the day since which waits differ most, None where there are too few days. before_h, after_h: mean waits before and from
    that day on.
    """

    earlier: Span | None
    later: Span
    whole: pl.DataFrame
    groups: pl.DataFrame
    since: str | None
    before_h: float | None
    after_h: float | None


def compare_periods(
    warehouse: Warehouse, source: str, later: str = "last-month", earlier: str | None = None
) -> TwoPeriods:
    """What changed from the earlier period to the later one.

    earlier: by default the month before, or as many days before, if the log has jobs then. Raises ValueError for a period without jobs with
    a known wait, for periods that overlap, and as models.waits.clock.period_span.
    """
    clock = load_clock(warehouse, source)
    with warehouse.read() as connection:
        facts = connection.sql(sql.load("marts.jobs_of_periods"), params={"source": source}).pl()
        row = first_row(connection, "SELECT cluster_procs FROM core.sources WHERE source = ?", [source])
    if facts.is_empty() or row is None:
        raise ValueError(f"source {source!r} has no jobs: load it with `tracehouse run {source}`")
    first, complete, last = covered = load_extent(warehouse, source)
    after = _span(*period_span(later, clock, first, last, complete), clock, covered)
    before = (
        _span(*span_before(after.begin, after.end, clock), "", clock, covered)
        if earlier is None
        else _span(*period_span(earlier, clock, first, last, complete), clock, covered)
    )
    if before.begin > after.begin:
        before, after = after, before
    if before.end > after.begin:
        raise ValueError(f"the periods overlap ({before.words}, and {after.words}): choose two that do not")
    later_jobs = _part(facts, after, clock, first, last)  # first: it is what was asked for where both are empty
    if earlier is None and not _has_waits(_submitted_in(facts, before)):
        none = pl.DataFrame(schema=_GROUP_SCHEMA)
        return TwoPeriods(None, after, _summary(later_jobs, after, row[0]), none, None, None, None)
    parts = [_part(facts, before, clock, first, last), later_jobs]
    whole = pl.concat([_summary(part, span, row[0]) for part, span in zip(parts, (before, after), strict=True)])
    since, before_h, after_h = _since(facts, before, after, clock)
    return TwoPeriods(before, after, whole, _groups(*parts), since, before_h, after_h)


def _span(begin: int, end: int, name: str, clock: LogClock, covered: tuple[int, float, int]) -> Span:
    """covered: the log's first submission, from which second on it has all jobs, and its last submission."""
    first, complete, last = covered
    is_outside = end <= first or begin > last
    partial = "" if is_outside else partial_text(begin, end, clock, complete, last)
    covered_by_log = (max(begin, complete), min(end, last + 1)) if partial else (begin, end)
    words = ", ".join(filter(None, (name, clock.span(begin, end), partial)))
    return Span(begin, end, words, *covered_by_log)


def _part(facts: pl.DataFrame, span: Span, clock: LogClock, first: int, last: int) -> pl.DataFrame:
    part = _submitted_in(facts, span)
    if not _has_waits(part):
        raise ValueError(
            f"no job with a known wait was submitted in {span.words}: jobs were submitted from {clock.span(first, last)}. "
            f"Name a period with as many days before it, such as last-{max(1, (last - first) // (2 * DAY_S))}-days"
        )
    return part


def _submitted_in(facts: pl.DataFrame, span: Span) -> pl.DataFrame:
    return facts.filter(pl.col("submit_s") >= span.begin, pl.col("submit_s") < span.end)


def _has_waits(part: pl.DataFrame) -> bool:
    return part["wait_s"].count() > 0


def _summary(part: pl.DataFrame, span: Span, cluster_procs: int) -> pl.DataFrame:
    wait, status = pl.col("wait_s"), pl.col("status")
    return part.select(
        jobs=pl.len(),
        known_waits=wait.count(),
        mean_wait_h=wait.mean() / _HOUR_S,
        median_wait_h=wait.median() / _HOUR_S,
        p95_wait_h=wait.quantile(0.95, "linear") / _HOUR_S,
        started_in_1h=(wait <= _HOUR_S).mean(),
        started_in_24h=(wait <= DAY_S).mean(),
        offered_load=pl.col("core_hours").filter(pl.col("submit_s") >= span.covered_from).sum()
        / (cluster_procs * span.covered_days * 24),
        failed_share=pl.when((status != "unknown").any()).then(status.is_in(FAULTS).mean()),
        left_jobs=pl.col("left_after_s").count(),
        left_after_h=pl.col("left_after_s").mean() / _HOUR_S,
    )


def _groups(before: pl.DataFrame, after: pl.DataFrame) -> pl.DataFrame:
    """Rows of TwoPeriods.groups, those that add most to the change first."""
    tables = []
    for kind, column in GROUPED_BY.items():
        sides = [
            part.drop_nulls("wait_s")
            .group_by(value=pl.col(column))
            .agg(jobs=pl.len(), mean_wait_h=pl.col("wait_s").mean() / _HOUR_S, share_h=pl.col("wait_s").sum() / _HOUR_S)
            .with_columns(pl.col("share_h") / part["wait_s"].count())
            for part in (before, after)
        ]
        joined = sides[1].join(sides[0], on="value", how="full", coalesce=True, suffix="_before")
        tables.append(
            joined.select(
                pl.lit(kind).alias("kind"),
                "value",
                pl.col("jobs_before").fill_null(0),
                pl.col("jobs").fill_null(0),
                "mean_wait_h_before",
                "mean_wait_h",
                contribution_h=pl.col("share_h").fill_null(0) - pl.col("share_h_before").fill_null(0),
            )
        )
    return pl.concat(tables).sort("kind", -pl.col("contribution_h").abs(), "value")


def _since(
    facts: pl.DataFrame, earlier: Span, later: Span, clock: LogClock
) -> tuple[str | None, float | None, float | None]:
    """The day that splits all jobs of both periods, and of the time between, into two halves whose mean waits differ most by the rule of
    cumulative sums (Page 1954), and the two means in hours."""
    waited_jobs = facts.drop_nulls("wait_s").filter(pl.col("submit_s") >= earlier.begin, pl.col("submit_s") < later.end)
    days = (
        waited_jobs.group_by(day=(pl.col("submit_s") - earlier.begin) // DAY_S)
        .agg(jobs=pl.len(), waited=pl.col("wait_s").sum())
        .sort("day")
    )
    if days.height < 2 * FEWEST_DAYS:
        return None, None, None
    jobs, waited = days["jobs"].cum_sum(), days["waited"].cum_sum()
    drift = (waited - jobs * (waited[-1] / jobs[-1])).abs()[FEWEST_DAYS - 1 : -FEWEST_DAYS]
    last_before = int(drift.arg_max() or 0) + FEWEST_DAYS - 1
    begin = earlier.begin + int(days["day"][last_before + 1]) * DAY_S
    before_h = waited[last_before] / jobs[last_before] / _HOUR_S
    after_h = (waited[-1] - waited[last_before]) / (jobs[-1] - jobs[last_before]) / _HOUR_S
    return clock.day(begin), float(before_h), float(after_h)
