"""Reports of a period: what happened to the jobs that were submitted then, and how schedulers would have served these."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, timedelta
from pathlib import Path

from assets.common.trace import load_clock, load_extent
from assets.pages.logged import LoggedSystem, read_backlog, read_logged
from assets.replaying.running.scored_part import PartOptions, span_of
from warehouse import Warehouse, first_row, replace_partition


@dataclass(frozen=True)
class ReportPeriod:
    """begin, end: first second, and the one behind the last, of the log's clock and within the log. words: which time was asked for, for
    people. name: of the page."""

    begin: int
    end: int
    words: str
    name: str


def period_of(warehouse: Warehouse, source: str, options: PartOptions) -> ReportPeriod:
    """The period of a source that the options name. Raises ValueError, with the remedy, where no job was submitted then."""
    clock = load_clock(warehouse, source)
    first, complete, last = load_extent(warehouse, source)
    begin, end, words = span_of(options, clock, (first, last), complete)
    begin, end = max(begin, first), min(end, last + 1)  # so long is the log
    name = options.period or "_".join(
        filter(None, (options.begin and f"from-{options.begin}", options.end and f"to-{options.end}"))
    )
    period = ReportPeriod(begin, end, ", ".join(words), re.sub(r"[^A-Za-z0-9_.-]+", "-", name))
    with warehouse.read() as connection:
        jobs = first_row(
            connection,
            "SELECT count(*) FROM core.jobs WHERE source = ? AND submit_time >= ? AND submit_time < ?",
            [source, *(clock.zero + timedelta(seconds=second) for second in (begin, end))],
        )
    if jobs is None or not jobs[0]:
        raise ValueError(
            f"no job was submitted in this time ({period.words}): jobs were submitted from {clock.span(first, last)}"
        )
    return period


@contextmanager
def jobs_of_period(warehouse: Warehouse, source: str, period: ReportPeriod) -> Iterator[Warehouse]:
    """A warehouse for as long as it is needed, which holds the jobs of the period alone. So the statements that tell of a log tell of
    these."""
    zero = load_clock(warehouse, source).zero
    begin, end = (zero + timedelta(seconds=second) for second in (period.begin, period.end))
    parameters = {"source": source, "begin": begin, "end": end}
    with warehouse.read() as connection:
        about = connection.sql("FROM core.sources WHERE source = $source", params={"source": source}).pl()
        jobs = connection.sql(
            "FROM core.jobs WHERE source = $source AND submit_time >= $begin AND submit_time < $end", params=parameters
        ).pl()
    with tempfile.TemporaryDirectory(prefix="tracehouse-") as folder:
        part = Warehouse(Path(folder) / "period.duckdb")
        with part.write() as connection:
            replace_partition(connection, "core.sources", source, about.drop("source"))
            replace_partition(connection, "core.jobs", source, jobs.drop("source"))
        yield part


def logged_in_period(warehouse: Warehouse, source: str, period: ReportPeriod) -> LoggedSystem:
    """What the log says of a period: waits, ends and requests of the jobs that were submitted then, and all that ran or waited then."""
    clock = load_clock(warehouse, source)
    zero_s = clock.zero.replace(tzinfo=UTC).timestamp()
    with jobs_of_period(warehouse, source, period) as part:
        logged = read_logged(part, source)
    # the log knows what came before
    extent = replace(logged.extent, first_end_s=None, called="this time")
    if not logged.backlog.height:
        return replace(logged, extent=extent)
    begin_s, end_s = zero_s + period.begin, zero_s + period.end - 1
    return replace(logged, extent=extent, backlog=read_backlog(warehouse, extent, begin_s, end_s))
