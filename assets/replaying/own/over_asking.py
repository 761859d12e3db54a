"""What was requested and not used, by user and account, and what that costs: the waits if requests had been right.

The sums are those of the log. The waits are those of replays under the source's own scheduler, or under its base scheduler. One replay
has the requested times of the log, one has requests that are 20 % better, and one has right ones. Who asks for most in vain gets a
further one, with only their requests right. A replay changes by accident, too. So each is repeated on copies of the log in which jobs
are submitted up to a minute later.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assets.common.progress import progress
from assets.common.trace import Trace, load_trace
from assets.replaying.own.way import number_of_own_runs
from assets.replaying.running.replayers import choose_policy
from assets.replaying.running.run import replay_run
from assets.replaying.running.settings import REQUEST_LABELS, RunSettings
from assets.replaying.site import site_of
from warehouse import Warehouse

BETTER = {"better": 0.2, "right": 1.0}
"""Shares of the time requested in vain that a replay leaves out: 20 % better requests, and right ones."""
SHIFT_S = 60
MINUTE_S = 60
WASTED = ("time_core_hours", "time_gpu_hours", "idle_core_hours", "memory_gib_hours")
"""Columns of what was not used, each beside what it is a part of, with `of_` before its name."""
_COLUMNS = {"user": "user_name", "account": "account"}
_SUMS = """
SELECT
    {value} AS value, count(*) AS jobs,
    sum(unused_core_hours) AS time_core_hours, sum(requested_core_hours) AS of_time_core_hours,
    sum(CASE WHEN requested_core_hours IS NOT NULL AND gpu_hours IS NOT NULL
        THEN gpu_hours / runtime_s * greatest(requested_walltime_s - runtime_s, 0) END) AS time_gpu_hours,
    sum(CASE WHEN requested_core_hours IS NOT NULL THEN gpu_hours / runtime_s * requested_walltime_s END) AS of_time_gpu_hours,
    sum(idle_core_hours) AS idle_core_hours, sum(measured_core_hours) AS of_idle_core_hours,
    sum(unused_memory_gib_hours) AS memory_gib_hours, sum(requested_memory_gib_hours) AS of_memory_gib_hours,
    count(*) - count(requested_core_hours) AS jobs_without_time,
    count(*) - count(measured_core_hours) AS jobs_without_cpu, count(*) - count(unused_memory_gib_hours) AS jobs_without_memory
FROM marts.job_facts WHERE source = $source AND runtime_s > 0
GROUP BY ALL ORDER BY time_core_hours DESC NULLS LAST, value
"""


@dataclass(frozen=True)
class OverAsking:
    """unused: by kind (all, user, account), a row each with value, jobs that ran, WASTED with their wholes (null where the log does not say
    it), and the jobs of which it does not: jobs_without_time, _cpu and _memory.

    waits: by kind, with value, jobs and mean waits in hours as asked, better and right, over all copies. It is empty without requests.
    culprits: kind, value, others_hours (that all others would have waited less), and low and high over the copies. copies: how many.
    basis: the scheduler, in words. saved: least and most hours, over the copies, by which right requests shorten the mean wait."""

    unused: dict[str, pl.DataFrame]
    waits: dict[str, pl.DataFrame]
    culprits: pl.DataFrame
    copies: int = 0
    basis: str = ""
    saved: tuple[float, float] = (0.0, 0.0)


def over_asking(
    warehouse: Warehouse,
    source: str,
    most: int = 5,
    kinds: Sequence[str] = ("user", "account"),
    copies: int | None = None,
) -> OverAsking:
    """What was asked for in vain. most: of each kind, how many of those who ask for most get a replay of their own. copies: of the log, by
    default as many as fit.

    Raises ValueError where the source has no job that ran, and as a replay does."""
    unused = _unused(warehouse, source)
    if unused["all"].is_empty():
        raise ValueError(f"source {source!r} has no job that ran: load it with `tracehouse run {source}`")
    nobody = OverAsking(unused, {}, pl.DataFrame())
    if not unused["all"]["time_core_hours"].sum():
        return nobody
    trace = load_trace(warehouse, source, labels=REQUEST_LABELS)
    site = site_of(source, warehouse)
    base, procs = site.scheduler, None if site.is_described else site.procs
    settings = site.settings.model_copy(update={"procs": procs, "drop_wider": False})
    number = number_of_own_runs(trace.rows.height) if copies is None else copies
    groups = {kind: _groups(trace, kind) for kind in ("user", "account")}
    wanted = [
        (kind, value)
        for kind in kinds
        for value in unused[kind]["value"].to_list()[:most]
        if unused[kind].height > 1 and value in set(groups[kind].unique())
    ]
    runs = _Runs(warehouse, trace, settings, number, len(BETTER) + 1 + len(wanted))
    everybody = np.ones(trace.rows.height, dtype=np.bool_)
    waits = {
        "asked": runs.waits(everybody, 0.0),
        **{name: runs.waits(everybody, share) for name, share in BETTER.items()},
    }
    by_kind = {"all": pl.Series(["all"] * trace.rows.height), **groups}
    rows = []
    for kind, value in wanted:
        theirs = (groups[kind] == value).to_numpy()
        saved = (waits["asked"] - runs.waits(theirs, 1.0))[:, ~theirs].sum(axis=1) / 3600
        rows.append(
            {"kind": kind, "value": value, "others_hours": saved.mean(), "low": saved.min(), "high": saved.max()}
        )
    saved_h = np.nanmean(waits["asked"] - waits["right"], axis=1) / 3600
    return OverAsking(
        unused,
        {kind: _mean_waits(group, waits) for kind, group in by_kind.items()},
        pl.DataFrame(rows),
        number,
        f"{base.policy}{'' if base.policy in ('slurm', 'pbs') else f' with backfilling {base.backfill}'}, {base.why}",
        (float(saved_h.min()), float(saved_h.max())),
    )


def better_requests(rows: pl.DataFrame, chosen: NDArray[np.bool_], share: float) -> pl.DataFrame:
    """Rows of a trace in which the chosen jobs request less: by this share of what they did not use, in whole minutes and never less than
    they ran. Requests below the run time stay."""
    asked, ran = rows["requested_walltime_s"].to_numpy(), rows["runtime_s"].to_numpy()
    less = asked - share * (asked - ran)
    whole = np.minimum(np.ceil(less / MINUTE_S).astype(np.int64) * MINUTE_S, asked)
    return rows.with_columns(requested_walltime_s=pl.Series(np.where(chosen & (asked > ran), whole, asked)))


class _Runs:
    """Replays of a trace with other requests, each on the same copies."""

    def __init__(self, warehouse: Warehouse, trace: Trace, settings: RunSettings, copies: int, times: int) -> None:
        self.trace, self.settings = trace, settings
        self.policy = choose_policy(settings, warehouse, trace.source)
        self.shifts = [
            np.random.default_rng(copy).integers(0, SHIFT_S + 1 if copy else 1, trace.rows.height)
            for copy in range(copies)
        ]
        first, *others = self.shifts * times
        # the first replay may take a minute more than the others to compile: the time left is not estimated by it
        self.parts: Iterator[NDArray[np.int64]] = chain([first], progress(others, "replays"))

    def waits(self, chosen: NDArray[np.bool_], share: float) -> NDArray[np.float64]:
        """Waits of the jobs in order of `trace.rows`, seconds, (copies, jobs)."""
        rows = better_requests(self.trace.rows, chosen, share).with_row_index("row_of_log")
        waits = np.empty((len(self.shifts), rows.height))
        for copy in range(len(self.shifts)):
            shift = pl.Series(next(self.parts))
            moved = rows.with_columns(submit_s=pl.col("submit_s") + shift).sort("submit_s", "row_of_log")
            asked = replace(self.trace, rows=moved.drop("row_of_log"))
            run = replay_run(asked, self.settings, self.policy, own_runs=1)  # copies differ, as further runs would
            wait = np.where(run.schedule.started, run.schedule.start - run.jobs.submit, np.nan)
            waits[copy, moved["row_of_log"].to_numpy()] = wait
        return waits


def _unused(warehouse: Warehouse, source: str) -> dict[str, pl.DataFrame]:
    with warehouse.read() as connection:
        return {
            kind: connection.sql(_SUMS.format(value=column), params={"source": source}).pl()
            for kind, column in {"all": "'all'", **_COLUMNS}.items()
        }


def _groups(trace: Trace, kind: str) -> pl.Series:
    """The user or account of each job, as marts.job_facts has it."""
    return trace.rows[_COLUMNS[kind]].fill_null("unknown")


def _mean_waits(group: pl.Series, waits: dict[str, NDArray[np.float64]]) -> pl.DataFrame:
    means = {name: pl.Series(seconds.mean(axis=0) / 3600).fill_nan(None) for name, seconds in waits.items()}
    table = (
        pl.DataFrame({"value": group, **means})
        .group_by("value")
        .agg(jobs=pl.len(), **{name: pl.col(name).mean() for name in means})
    )
    return table.sort("jobs", "value", descending=[True, False])
