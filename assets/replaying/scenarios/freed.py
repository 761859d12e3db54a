"""Jobs that a limit kept for their whole wait, so that they never started: in a scenario that lets them start, they take part.

A job is one of them where two things hold. By the log's own starts a limit kept it all the time, from its submission, or from when it was
eligible, until it left the queue or the log ended (`tracehouse why`). And it does not start in the base's replay. So a job that its user
cancelled while it waited for nodes is none. They run for predicted times. Of those that a scenario would start only after they were
cancelled, none takes part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assets.common.progress import warn
from assets.common.storage import open_warehouse
from assets.common.trace import Trace, cancelled_rows, waiting_jobs
from assets.predictions.runtimes_now import predicted_at_end
from assets.replaying.limits.way import clock_zero_s
from assets.replaying.own.clusters import cluster_of_replay
from assets.replaying.own.wait_causes import MOST_EXPLAINED_JOBS, causes_of, jobs_and_nodes
from assets.replaying.running.loading import is_loaded
from assets.replaying.running.policies import ChosenPolicy
from assets.replaying.running.replayers import choose_policy
from assets.replaying.running.run import ReplayRun, procs_of_cluster, replay_run
from assets.replaying.running.settings import RunSettings
from assets.replaying.running.users import UsersPace
from assets.replaying.scenarios.planning import PlannedReplay
from assets.replaying.site import site_of
from models.runtime.predictor import QUANTILE_COLUMNS
from simulator.jobs.jobs import NEVER
from traces.catalogue.catalogue import load_catalogue
from traces.cluster.description import ClusterDescription
from warehouse import Warehouse

MOST_ROUNDS = 10
"""Each leaves out jobs that would start too late, until the others do not."""
COUNTS_UNSTARTED = ("jobs_left_before_start", "jobs_still_waiting")
_NOT_ELIGIBLE = ("dependency", "begin_time", "held")
"""Causes of `tracehouse why` that keep a job before any limit does."""
_UNKNOWN_SHARES = ("memory_share", "user_place", "group_place", "executable_place")


def replay_changed(trace: Trace, settings: RunSettings, policy: ChosenPolicy) -> ReplayRun:
    """One replay of a source or a log, with the jobs that a limit of its site kept and that start under these settings."""
    site = site_of(trace.source)
    is_of_site = site.is_described and set(site.settings.labels) <= set(trace.rows.columns)
    if not is_of_site or settings.window or settings.load != 1:
        return replay_run(trace, settings, policy)
    base = PlannedReplay("", site.settings, choose_policy(site.settings, open_warehouse(), trace.source), ())
    planned = PlannedReplay("", settings, policy, ())
    return replay_with_freed(trace, planned, held_jobs(trace, base, [planned]))


def held_jobs(trace: Trace, base: PlannedReplay, scenarios: Sequence[PlannedReplay]) -> pl.DataFrame:
    """Rows of these jobs, with the columns of the trace's, by submission. Their job_index is below 0, since no replay of the log has them.
    Empty where nothing of the base's cluster limits jobs, or no scenario is of another cluster, where users keep their pace, which no such
    job has, and for a log that is too long to say what kept each job."""
    warehouse, none = open_warehouse(), trace.rows.clear()
    is_any = any(trace.log_faults[name] for name in COUNTS_UNSTARTED) and trace.rows.height <= MOST_EXPLAINED_JOBS
    if (
        base.settings.is_closed
        or not is_any
        or trace.source not in load_catalogue(may_be_missing=True).sources
        or not is_loaded(trace.source, warehouse)
        or not _may_free(trace, base, scenarios)
    ):
        return none
    try:
        kept = _kept_by_limits(warehouse, trace)
    except ValueError as error:
        warn(f"jobs that never started come into no scenario, since nobody knows what kept them: {error}")
        return none
    kept = kept.filter(pl.col("procs") <= procs_of_cluster(trace, trace.rows, base.settings))
    if kept.is_empty():
        return none
    rows = _with_run_times(warehouse, trace, kept)
    return rows.filter(~_starts(rows, _replay(trace, base, rows, None, own_runs=1)))


def _may_free(trace: Trace, base: PlannedReplay, scenarios: Sequence[PlannedReplay]) -> bool:
    """Whether a limit of the base's cluster may keep jobs that a scenario of another cluster lets start."""

    def place(planned: PlannedReplay) -> tuple[ClusterDescription | None, int]:
        of_replay = trace, trace.rows, planned.settings
        return cluster_of_replay(*of_replay), procs_of_cluster(*of_replay)

    cluster, procs = place(base) if _has_limits(base) else (None, 0)
    limited = [each for each in scenarios if _has_limits(each)] if cluster is not None and cluster.limits else []
    return any(place(each) != (cluster, procs) for each in limited)


def replay_with_freed(
    trace: Trace, scenario: PlannedReplay, held: pl.DataFrame, pace: UsersPace | None = None
) -> ReplayRun:
    """The replay of a scenario with those of the held jobs that start in it, which have a job_index below 0. pace: of users who keep it."""
    freed = held.clear()
    if held.height and _has_limits(scenario):
        freed = held.filter(pl.col("procs") <= procs_of_cluster(trace, trace.rows, scenario.settings))
    for _ in range(MOST_ROUNDS if freed.height else 0):
        starts = _starts(freed, _replay(trace, scenario, freed, pace, own_runs=1))
        if starts.all():
            return _replay(trace, scenario, freed, pace)
        freed = freed.filter(starts)
    return _replay(trace, scenario, freed.clear(), pace)


def freed_waits(run: ReplayRun) -> NDArray[np.int64]:
    """Waits of the held jobs that take part in a replay, in seconds."""
    freed = run.cluster.waiting + np.flatnonzero(run.freed)
    waits = run.all_starts.start[freed] - run.all_jobs.submit[freed]
    return waits[run.all_starts.started[freed]]


def freed_summary(run: ReplayRun) -> dict[str, int | float]:
    """How many held jobs take part in a replay, and their mean wait. Empty without any."""
    waits = freed_waits(run)
    return {"freed_jobs": len(waits), "freed_wait_s": float(waits.mean())} if len(waits) else {}


def _has_limits(planned: PlannedReplay) -> bool:
    """Whether a replay is under limits of a cluster, and not over a row of processors, where nothing holds any job."""
    return planned.settings.is_on_cluster or planned.settings.cluster is not None


def _replay(
    trace: Trace, planned: PlannedReplay, more: pl.DataFrame, pace: UsersPace | None, own_runs: int | None = None
) -> ReplayRun:
    if more.height:
        rows = pl.concat([trace.rows, more]).sort("submit_s", maintain_order=True)
        trace = replace(trace, rows=rows)
    return replay_run(trace, planned.settings, planned.policy, own_runs=own_runs, pace=pace)


def _starts(held: pl.DataFrame, run: ReplayRun) -> pl.Series:
    """Which of the held jobs start in a replay before they leave the queue, bool (held,)."""
    starts = run.all_starts.part(slice(run.cluster.waiting, None))
    in_time = starts.started & (starts.start < run.all_rows["cancel_s"].fill_null(NEVER).to_numpy())
    return held["job_index"].is_in(run.all_rows["job_index"].to_numpy()[run.freed & in_time])


def _kept_by_limits(warehouse: Warehouse, trace: Trace) -> pl.DataFrame:
    """Jobs that a limit kept all the time by the log, as far as they have a request. Those of a queue of no replayed job, such as a list of
    partitions, are left out. Raises ValueError as `causes_of`."""
    rows, nodes = jobs_and_nodes(warehouse, trace.source)
    with warehouse.read() as connection:
        left = cancelled_rows(connection, trace, warehouse.staging)
        waiting = waiting_jobs(connection, trace.source)
    first = -1 - left.height
    waiting = waiting.with_columns(
        job_index=first - pl.int_range(pl.len(), dtype=pl.Int64),
        submit_s=pl.col("submit_time").dt.epoch("s"),
        start_s=pl.lit(None, pl.Int64),
        end_s=pl.lit(None, pl.Int64),
        cancel_s=pl.lit(None, pl.Int64),
    )
    rows = pl.concat([rows, waiting.select(rows.columns).cast(rows.schema)])
    queues = trace.rows["queue"].unique().implode()
    rows = rows.filter(pl.col("start_s").is_not_null() | pl.col("queue").is_in(queues, nulls_equal=True))
    causes = causes_of(warehouse, trace.source, rows, nodes).jobs
    kept = sum((pl.col(f"{name}_s") for name in _NOT_ELIGIBLE), pl.col("limit_s"))
    index = causes.filter(pl.col("limit_s") > 0, kept == pl.col("wait_s"))["job_index"].implode()
    waiting = waiting.with_columns(pl.col("submit_s") - clock_zero_s(trace))
    both = [each.filter(pl.col("job_index").is_in(index)) for each in (left, waiting)]
    jobs = pl.concat(both, how="diagonal_relaxed").sort("submit_s", maintain_order=True)
    return jobs.with_columns(job_index=-1 - pl.int_range(pl.len(), dtype=pl.Int64))


def _with_run_times(warehouse: Warehouse, trace: Trace, held: pl.DataFrame) -> pl.DataFrame:
    """The jobs as rows of the trace, with predicted run times. A user whom no replayed job has gets a number of its own."""
    asked = held.with_columns(requested_walltime_s=_request())
    predicted = predicted_at_end(warehouse, trace.source, asked, trace.time_zone)
    longest = _request().fill_null(NEVER)
    times = {name: pl.Series(predicted.quantiles[:, k]) for k, name in enumerate(QUANTILE_COLUMNS)}
    numbers = dict(trace.rows.select("user_name", "user_number").unique().iter_rows())
    for user in held["user_name"].unique(maintain_order=True):
        numbers.setdefault(user, max(numbers.values()) + 1)
    missing = [name for name in trace.rows.columns if name not in held.columns]
    return (
        held.with_columns(pl.lit(None).alias(name) for name in missing)
        .with_columns(
            runtime_s=pl.min_horizontal(pl.Series(predicted.point).round().clip(lower_bound=1), longest),
            predicted_runtime_s=pl.Series(predicted.point),
            requested_walltime_s=_request().fill_null(-1),
            requested_procs=pl.col("requested_procs").fill_null(pl.col("procs")),
            user_number=pl.Series([numbers[user] for user in held["user_name"]], dtype=pl.Int64),
            longest_runtime_s=pl.lit(trace.rows["longest_runtime_s"].max()),
            **times,
            **{name: pl.col(name).fill_null(1.0) for name in _UNKNOWN_SHARES},
        )
        .select(trace.rows.columns)
        .cast(trace.rows.schema)
    )


def _request() -> pl.Expr:
    return pl.when(pl.col("requested_walltime_s") >= 1).then("requested_walltime_s")
