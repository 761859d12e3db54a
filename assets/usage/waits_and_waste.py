"""Who waited, and who wasted: waits of the log, core-hours that were lost, and what was requested and not used."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import polars as pl

import sql
from assets.common.trace import load_clock, load_extent
from models.waits.clock import partial_text, period_span
from warehouse import Warehouse, first_row

KINDS = ("user", "account", "queue", "gpu")
"""What jobs are grouped by. gpu: by the GPUs that they had, their number or their number by type."""
UNKNOWN = "unknown"
"""The group of jobs of which the log does not say it."""
LOSSES = {
    "failed_core_hours": "failed",
    "cancelled_core_hours": "cancelled",
    "timeout_core_hours": "timed out",
    "out_of_memory_core_hours": "out of memory",
    "other_lost_core_hours": "other ends",
    "requeued_core_hours": "requeued",
}
"""Columns that add up to lost_core_hours, and what they are called."""
UNUSED = {
    "unused_core_hours": "requested_core_hours",
    "idle_core_hours": "measured_core_hours",
    "unused_memory_gib_hours": "requested_memory_gib_hours",
}
"""What was requested and not used, and what it is a part of: time, processors, memory. NULL where the log does not say it."""

OF_ONE_TASK = (
    "The memory used is that of the largest task of a job, since the log has neither TRESUsageInTot nor NTasks: jobs of many tasks left "
    "less unused."
)
_OF_ALL_TASKS = {"tresusageintot", "ntasks"}


@dataclass(frozen=True)
class WaitsAndWaste:
    """rows: of the statement marts.waits_and_waste. words: which jobs these are, empty for all of the source. memory: what is to be said
    of the memory used, see `memory_words`."""

    rows: pl.DataFrame
    words: str = ""
    memory: str = ""

    @property
    def whole(self) -> dict[str, Any]:
        """The row of all jobs."""
        return self.rows.row(by_predicate=pl.col("kind") == "all", named=True)

    def groups(self, kind: str, order: str = "core_hours") -> pl.DataFrame:
        """Rows of one of KINDS, those with most of `order` first."""
        return self.rows.filter(kind=kind).sort(order, "value", descending=[True, False], nulls_last=True)

    def are_named(self, kind: str) -> bool:
        """Whether the log names any group of this kind."""
        return self.rows.filter(pl.col("kind") == kind, pl.col("value") != UNKNOWN).height > 0

    def losses(self) -> dict[str, str]:
        """Those of LOSSES that there are. Empty where nothing was lost, or the log does not say how jobs ended."""
        whole = self.whole
        return {} if whole["lost_core_hours"] is None else {name: word for name, word in LOSSES.items() if whole[name]}

    def unused(self) -> dict[str, str]:
        """Those of UNUSED that the log tells."""
        whole = self.whole
        return {part: of for part, of in UNUSED.items() if whole[of]}


def waits_and_waste(warehouse: Warehouse, source: str, period: str | None = None) -> WaitsAndWaste:
    """Waits and waste of a source, or of the jobs that were submitted in a period (models.waits.clock.PERIODS).

    Raises ValueError where there is no such job, and as models.waits.clock.period_span.
    """
    begin, end, words = submitted_in(warehouse, source, period)
    parameters = {"source": source, "begin": begin, "end": end}
    with warehouse.read() as connection:
        rows = connection.sql(sql.load("marts.waits_and_waste"), params=parameters).pl()
    if rows.is_empty() and words:
        raise ValueError(f"no job of {source!r} was submitted in {words}")
    if rows.is_empty():
        raise ValueError(f"source {source!r} has no jobs: load it with `tracehouse run {source}`")
    return WaitsAndWaste(rows, words, memory_words(warehouse, source))


def memory_words(warehouse: Warehouse, source: str) -> str:
    """A sentence where a log of Slurm has the memory of the largest task alone, since no column says how many tasks there are. Else ""."""
    with warehouse.read() as connection:
        headers = connection.execute(
            "SELECT DISTINCT lower(value) FROM raw.log_headers WHERE source = ? AND key = 'Columns'", [source]
        ).fetchall()
    columns = [set(re.findall(r"\w+", value)) for (value,) in headers]
    return OF_ONE_TASK if any("maxrss" in names and not names & _OF_ALL_TASKS for names in columns) else ""


def submitted_in(warehouse: Warehouse, source: str, period: str | None) -> tuple[datetime | None, datetime | None, str]:
    """Begin and end (exclusive) of a period of a source in UTC without zone, and the period in words. Both are None without a period, and
    for a source without jobs. Raises as models.waits.clock.period_span."""
    if period is None:
        return None, None, ""
    clock = load_clock(warehouse, source)
    with warehouse.read() as connection:
        has_jobs = first_row(connection, "SELECT 1 FROM core.jobs WHERE source = ? LIMIT 1", [source])
    if has_jobs is None:
        return None, None, ""
    first, complete, last = load_extent(warehouse, source)
    begin, end, name = period_span(period, clock, first, last, complete)
    is_outside = end <= first or begin > last
    partial = "" if is_outside else partial_text(begin, end, clock, complete, last)
    words = ", ".join(filter(None, [name, clock.span(begin, end), partial]))
    return clock.zero + timedelta(seconds=begin), clock.zero + timedelta(seconds=end), words


def hours_text(hours: float) -> str:
    """Such as "3.8 h", and "12 s" for what would be 0.0 h."""
    return f"{hours:,.1f} h" if hours >= 0.05 or hours == 0 else f"{3600 * hours:.0f} s"


def left_text(jobs: int, waited: str) -> str:
    """Words for the jobs that no figure of waits counts: those that left the queue without a start. Empty for none. waited: for how long on
    average, in words."""
    if not jobs:
        return ""
    return f"{jobs:,} {'job' if jobs == 1 else 'jobs'} left the queue before a start, after {waited} on average"


def part_of_whole(part: float | None, whole: float | None) -> float | None:
    """A part of a whole, None where one of them is unknown or the whole is nothing."""
    return part / whole if part is not None and whole else None
