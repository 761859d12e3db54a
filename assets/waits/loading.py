"""What questions about waits and wall times need of a source, read from the warehouse."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assets.common.learnable import LEAST_JOBS, what_learning_lacks
from assets.common.trace import NO_SUSPENSIONS, Trace, load_trace
from assets.features.tables import similar_features_in_parts
from assets.replaying.own.wait_causes import logged_nodes
from assets.replaying.running.settings import RunSettings
from assets.replaying.starts import NO_ORDER, OnSite, on_site
from models.runtime.predictor import QUANTILE_COLUMNS, SIMILAR_COLUMNS, WITHOUT_HISTORY_S
from models.waits.history import WaitSource, history_of, user_number_in
from models.waits.replays import QueueStarts
from models.waits.scoring import WaitsUnknown
from models.waits.walltime_advice import EndedJobs, ended_jobs_of, executable_number
from traces.cluster.description import ClusterDescription
from warehouse import Warehouse

BY_JOBS_ALIKE = "by jobs of the same user and others alike that have ended, or by what jobs request"
"""Where run times come from without a model."""


NEW_JOB = "a new job"


class SiteWaits(NamedTuple):
    """log: of the source. replays: of its queues, by its site or an order there. trace, place: what these read, as SiteStarts has it."""

    log: WaitSource
    replays: OnSite
    trace: Trace
    place: NDArray[np.int64]

    @property
    def starts(self) -> QueueStarts:
        """Replays of the queues of the log."""
        return self.replays.starts(self.trace, self.place)


class NewJob(NamedTuple):
    """A job that is submitted at a moment. request: seconds, below 1 for none. What is None is as in the user's last job."""

    procs: int
    request: int
    user: str | None = None
    queue: str | None = None
    gpus: int | None = None
    account: str | None = None
    qos: str | None = None


def load_site_waits(warehouse: Warehouse, source: str, order: Mapping[str, str] = NO_ORDER) -> SiteWaits:
    """A source with predicted run times, and the replays of its queues. order: as `on_site` takes it. One without a model has its run times
    from jobs alike, and `basis` says so.

    Raises ValueError, with the remedy, where the source is not loaded, and for an order that the site does not take."""
    replays = on_site(warehouse, source, order)
    return site_waits(warehouse, load_trace_with_nodes(warehouse, source, replays.settings), replays)


def load_trace_with_nodes(warehouse: Warehouse, source: str, *settings: RunSettings) -> Trace:
    """The trace of a source for replays from any moment on, with what these settings read. A job that was suspended counts as one that ran.
    Raises ValueError as `load_trace`."""
    labels = [label for each in settings for label in each.labels]
    trace = load_trace(warehouse, source, cancelled=True, labels=labels)
    trace = replace(trace, suspensions=NO_SUSPENSIONS.clone())
    has_nodes = any(each.is_on_cluster for each in settings)
    return replace(trace, nodes=logged_nodes(warehouse, source)) if has_nodes else trace


def site_waits(warehouse: Warehouse, trace: Trace, replays: OnSite) -> SiteWaits:
    """As `load_site_waits`. trace: of the source, of `load_trace_with_nodes`."""
    source, rows, basis = trace.source, trace.rows, None
    unpredicted = rows[QUANTILE_COLUMNS[0]].null_count()
    if unpredicted:
        lacking = what_learning_lacks(warehouse, source, LEAST_JOBS)
        basis = f"run times are {BY_JOBS_ALIKE}: {lacking or f'a model is trained by `tracehouse run {source} --job train`'}"
        rows = _with_jobs_alike(warehouse, source, rows)
    if rows["start_s"].null_count() == rows.height:
        raise WaitsUnknown(f"source {source!r}: the log does not say when jobs started, so that waits cannot be told")
    trace = replace(trace, rows=rows)
    history = history_of(rows, replays.procs or trace.cluster_procs)
    place = np.searchsorted(rows["job_index"].to_numpy(), history.job_index)
    return SiteWaits(WaitSource(source, rows, history, trace.clock, basis), replays, trace, place)


def with_new_job(waits: SiteWaits, job: NewJob, moment: int) -> tuple[QueueStarts, int]:
    """(replays that know one more job, its number). Raises ValueError for what the cluster does not have, or a row of processors."""
    replays, rows = waits.replays, waits.trace.rows
    cluster = replays.site.own_cluster if replays.settings.is_on_cluster else None
    asked = {name: value for name in ("queue", "gpus", "account", "qos") if (value := getattr(job, name)) is not None}
    if cluster is None and asked:
        raise ValueError(
            f"{waits.log.name} is replayed under {replays.order_words}, which knows processors and time alone: leave "
            f"--{next(iter(asked))} out, or describe its cluster (`tracehouse cluster import`)"
        )
    if cluster is not None:
        _check_names(cluster, asked)
    last = rows.filter(pl.col("user_name").eq(pl.lit(job.user, pl.Utf8)), pl.col("submit_s") <= moment)[-1:]
    of_user = {name: last[name][0] for name in ("account", "qos", "queue") if name in rows.columns and last.height}
    row = dict.fromkeys(rows.columns) | of_user | asked
    row |= {"procs": job.procs, "requested_procs": job.procs, "requested_walltime_s": job.request, "submit_s": moment}
    at = waits.trace.clock.zero + timedelta(seconds=moment)
    row |= {name: at for name in ("submit_time", "eligible_time") if name in rows.columns}
    row |= {
        "job_id": NEW_JOB,
        "user_name": job.user,
        "job_index": 1 + max(rows["job_index"].to_list()),
        "runtime_s": 0,
        "user_number": last["user_number"][0] if last.height else 1 + max(rows["user_number"].to_list()),
    }
    row |= {"longest_runtime_s": rows["longest_runtime_s"][0]}
    row |= dict.fromkeys(("memory_share", "user_place", "group_place", "executable_place"), 1.0)
    trace = replace(waits.trace, rows=pl.concat([rows, pl.DataFrame([row], schema=rows.schema)]))
    place = np.append(waits.place, rows.height)
    return replays.starts(trace, place), len(place) - 1


def _check_names(cluster: ClusterDescription, asked: Mapping[str, Any]) -> None:
    """Raises ValueError for a queue, an account, a QOS or GPUs that the cluster does not have."""
    there = {
        "queue": [each.name for each in cluster.queues],
        "account": [each.name for each in cluster.accounts],
        "qos": [each.name for each in cluster.qualities],
    }
    for name, names in there.items():
        if name in asked and asked[name] not in names:
            listed = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
            raise ValueError(f"the cluster {cluster.name} has no {name} {asked[name]!r}: it has {listed or 'none'}")
    if asked.get("gpus") and not any(node.num_gpus for node in cluster.nodes):
        raise ValueError(f"the cluster {cluster.name} has no GPUs: leave --gpus out")


def _with_jobs_alike(warehouse: Warehouse, source: str, rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with QUANTILE_COLUMNS of the jobs alike that had ended when each was submitted, else of its request."""
    with warehouse.read() as connection:
        alike = pl.concat(similar_features_in_parts(connection, source))
    alike = alike.select("job_index", *SIMILAR_COLUMNS)
    request = pl.when(pl.col("requested_walltime_s") >= 1).then("requested_walltime_s").otherwise(WITHOUT_HISTORY_S)
    joined = rows.drop(QUANTILE_COLUMNS).join(alike, on="job_index", how="left", maintain_order="left")
    return joined.with_columns(
        pl.max_horizontal(pl.coalesce(similar, request.cast(pl.Float64)), 1.0).alias(name)
        for name, similar in zip(QUANTILE_COLUMNS, SIMILAR_COLUMNS, strict=True)
    )


def load_wait_scores(warehouse: Warehouse, source: str) -> list[dict[str, Any]]:
    """Rows of predictions.wait_scores of a source, empty before predictions/wait_times has scored it."""
    with warehouse.read() as connection:
        return connection.sql(
            "SELECT * EXCLUDE (source) FROM predictions.wait_scores WHERE source = $source ORDER BY predictor",
            params={"source": source},
        ).pl().to_dicts()  # fmt: skip


def load_walltime_jobs(
    warehouse: Warehouse, source: str, user: str, executable: str | None
) -> tuple[EndedJobs, int, int | None]:
    """(jobs that ran, number of the user, number of the executable) of a source. Raises ValueError for names that none of them
    has."""
    rows = load_trace(warehouse, source).rows
    if rows["start_s"].null_count() == rows.height:  # one time for each job: timed_jobs in sql/fragments.sql
        rows = rows.with_columns(start_s=pl.col("submit_s"))
    rows = rows.filter(pl.col("start_s").is_not_null())
    user_number = user_number_in(rows, source, user)
    number = None if executable is None else executable_number(rows, source, user, executable)
    return ended_jobs_of(rows), user_number, number
