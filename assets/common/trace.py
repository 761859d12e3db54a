"""The replayable jobs of a source, in the form that the simulator takes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
from numpy.typing import NDArray

import sql
from assets.common.learnable import why_no_model
from models.runtime.estimates import Estimates
from models.waits.clock import LogClock, complete_from
from simulator.jobs.cluster import RunningJobs
from simulator.jobs.jobs import NEVER, Jobs, LazyFacts, jobs_from_log
from simulator.policies.observation import log_seconds
from traces.common.columns import Columns
from traces.common.log import LARGEST_S
from traces.swf.reader import header_value
from warehouse import Warehouse, first_row

IntArray = NDArray[np.int64]
JOB_COLUMNS = ("submit_s", "runtime_s", "procs", "requested_walltime_s")
HASHED_COLUMNS = (*JOB_COLUMNS, "user_number", "cancel_s")
NO_CANCELLED_WAITS = pl.DataFrame(schema=dict.fromkeys(("user_number", "procs", "wait_s"), pl.Int64))
NO_SUSPENSIONS = pl.DataFrame(schema={"job_index": pl.Int64, "from_s": pl.Int64, "to_s": pl.Int64})
SLICE_JOBS = 500_000
"""How many jobs are taken out of the warehouse at a time. Besides the result, only one such slice is in memory."""
TRACE_MEMORY = "512MiB"
"""DuckDB's limit of memory meanwhile."""


@dataclass(frozen=True)
class Trace:
    """What a replay needs to know of a source.

    rows: replayable jobs in replay order (`core.replayable_jobs` in sql/queries/core/jobs.sql). cluster_procs: processors of the cluster.
    cluster_procs_from: where that number comes from. origin: see simulator.jobs.jobs.Jobs. jobs_left_out: canonical jobs that are not
    in `rows`.
    test_position: position of the first held-out job, among the rows that were not cancelled. None before
    a run-time model exists.
    clock_zero: UTC time of the log's second 0, without zone. has_calendar: whether that is known. time_zone: of the cluster.
    procs_per_node: MaxProcs by MaxNodes of the log's header where it has both, else 1.
    node_procs: processors of a node by the header, or as core.clusters has it. None where neither has it.
    log_faults: jobs_out_of_order, repeated_job_ids, jobs_wider_than_cluster (rejected on reading), and of jobs that never started and are
    not in `rows`, jobs_left_before_start (among jobs_left_out) and jobs_still_waiting, see docs/reference/semantics.md.
    suspensions: job_index, from_s and to_s of each time in which a job of `rows` was suspended, in seconds of the log's clock.
    cancelled_waits: user_number, procs and wait_s of the jobs that were cancelled before they started, whether in `rows` or not.
    nodes: job_index, node_name and procs of the nodes that jobs of `rows` held, None for those of core.job_nodes.
    """

    source: str
    rows: pl.DataFrame
    cluster_procs: int
    cluster_procs_from: str
    origin: int
    jobs_left_out: int
    test_position: int | None
    clock_zero: datetime
    has_calendar: bool
    time_zone: str
    procs_per_node: float
    log_faults: dict[str, int]
    node_procs: int | None = None
    suspensions: pl.DataFrame = field(default_factory=NO_SUSPENSIONS.clone)
    cancelled_waits: pl.DataFrame = field(default_factory=NO_CANCELLED_WAITS.clone)
    nodes: pl.DataFrame | None = None

    @property
    def clock(self) -> LogClock:
        """How times of the log are written."""
        return LogClock(self.clock_zero, self.time_zone, self.has_calendar)

    def jobs(self, estimates: Estimates | str = "requested") -> Jobs:
        """All jobs in `rows`. Raises ValueError for predicted estimates when a job has no prediction."""
        return self.jobs_of(self.rows, estimates)

    def jobs_of(
        self,
        rows: pl.DataFrame,
        estimates: Estimates | str = "requested",
        reserve_by: str = "estimate",
        admit_by: str = "estimate",
    ) -> Jobs:
        """The simulator's jobs for some of the rows, in their order. Raises as `jobs` does."""
        believed, predicted = Estimates.of(estimates), None
        if believed.is_predicted:
            if rows[believed.column].null_count():
                raise ValueError(
                    f"source {self.source!r} has no predicted run times yet: make them with "
                    f"`tracehouse run {self.source}`"
                )
            predicted = rows[believed.column].to_numpy()
        submit, runtime, procs, requested = (rows[name].to_numpy() for name in JOB_COLUMNS)
        user, cancel = rows["user_number"].to_numpy(), rows["cancel_s"].fill_null(NEVER).to_numpy()
        return jobs_from_log(
            submit,
            runtime,
            procs,
            requested,
            believed.at_submission,
            predicted,
            reserve_by,
            admit_by=admit_by,
            origin=self.origin,
            user=user,
            cancel=cancel,
            facts=logged_facts(rows, believed),
        )

    def running_at(
        self,
        rows: pl.DataFrame,
        moment: int,
        estimates: Estimates | str = "requested",
        reserve_by: str = "estimate",
    ) -> RunningJobs:
        """The jobs of `running_rows` as a cluster has them. Raises as `jobs`."""
        running = self.running_rows(rows, moment)
        jobs = self.jobs_of(running, estimates, reserve_by)
        return RunningJobs(
            running["start_s"].to_numpy(), jobs.runtime, jobs.procs, jobs.estimate, jobs.limit, jobs.user, jobs.hold
        )

    def running_rows(self, rows: pl.DataFrame, moment: int) -> pl.DataFrame:
        """Jobs among `rows` that by the log's own times were running at `moment`, a second of the log's clock, and had started before.
        A job whose start the log does not have is not among them, nor one that was suspended then. One that was suspended before counts as
        started so much later, in the column start_s, too."""
        paused = self.suspensions.filter(pl.col("from_s") <= moment)
        past = paused.group_by("job_index").agg(
            (pl.col("to_s") - pl.col("from_s")).sum().alias("gap_s"), pl.col("to_s").max().alias("resumed_s")
        )
        return (
            rows.join(past, on="job_index", how="left", maintain_order="left")
            .with_columns(pl.col("start_s") + pl.col("gap_s").fill_null(0))
            .filter(
                pl.col("cancel_s").is_null(),
                pl.col("start_s") < moment,
                pl.col("start_s") + pl.col("runtime_s") > moment,
                pl.col("resumed_s").fill_null(moment) <= moment,
            )
            .select(rows.columns)
        )

    def held(self, rows: pl.DataFrame) -> tuple[IntArray, IntArray, IntArray]:
        """Start, end and processors of each of `rows` by the log's own times, all int64, and after them of each suspension, whose
        processors are negative. Jobs whose start the log does not have are left out."""
        rows = rows.filter(pl.col("cancel_s").is_null(), pl.col("start_s").is_not_null())
        paused = self.suspensions.join(rows.select("job_index", "procs"), on="job_index")
        gaps = paused.group_by("job_index").agg((pl.col("to_s") - pl.col("from_s")).sum().alias("gap_s"))
        gap = rows.select("job_index").join(gaps, on="job_index", how="left", maintain_order="left")["gap_s"]
        end = rows["start_s"] + rows["runtime_s"] + gap.fill_null(0)
        return (
            np.concatenate([rows["start_s"], paused["from_s"]]).astype(np.int64),
            np.concatenate([end, paused["to_s"]]).astype(np.int64),
            np.concatenate([rows["procs"], -paused["procs"]]).astype(np.int64),
        )


def waiting_at(rows: pl.DataFrame, moment: int) -> pl.DataFrame:
    """Those of `rows` that by the log's own times waited at `moment`, a second of the log's clock. They were submitted by then, and
    started then or later, or left the queue later. A job whose start the log does not have is not among them."""
    return rows.filter(
        pl.col("submit_s") <= moment,
        pl.when(pl.col("cancel_s").is_null()).then(pl.col("start_s") >= moment).otherwise(pl.col("cancel_s") > moment),
    )


KNOWN_COLUMNS = {
    "memory": "memory_share",
    "user": "user_place",
    "group": "group_place",
    "executable": "executable_place",
}
PREDICTED_COLUMNS = {f"predicted_{percent}": f"runtime_{percent}_s" for percent in ("p10", "p50", "p90")}


def logged_facts(rows: pl.DataFrame, estimates: Estimates) -> LazyFacts:
    """What learned policies may read of these rows of a trace, in the form of simulator.jobs.jobs.Jobs.facts.

    There are no predictions where a job has none. A job without a request counts as having requested its run time. With predicted
    estimates it counts as having requested the longest time instead.
    """

    def known(column: str) -> NDArray[np.float64]:
        return np.minimum(rows[column].to_numpy(), 1.0)

    def request_share() -> NDArray[np.float64]:
        request, longest = rows["requested_walltime_s"].to_numpy(), rows["longest_runtime_s"].to_numpy()
        instead = longest if estimates.is_predicted else rows["runtime_s"].to_numpy()
        return np.minimum(np.where(request < 1, instead, request) / longest, 1.0)

    def request() -> NDArray[np.float64]:
        return log_seconds(np.maximum(rows["requested_walltime_s"].to_numpy(), 0))

    facts: dict[str, Callable[[], NDArray[Any]]] = {
        name: partial(known, column) for name, column in KNOWN_COLUMNS.items()
    }
    facts |= {"request_share": request_share, "request": request}
    for name, column in PREDICTED_COLUMNS.items():
        if not rows[column].null_count():
            facts[name] = partial(lambda column: log_seconds(rows[column].to_numpy()), column)
    return LazyFacts(facts)


def trace_sha256(rows: pl.DataFrame) -> str:
    """Hash over what makes a replay's jobs (HASHED_COLUMNS of Trace.rows, in replay order), in hexadecimal.

    Two replays with the same hash had the same jobs, whatever their policy, estimates or cluster.
    """
    digest = hashlib.sha256(f"{','.join(HASHED_COLUMNS)} {rows.height}".encode())
    for name in HASHED_COLUMNS:
        digest.update(rows[name].cast(pl.Int64).fill_null(-1).to_numpy().astype("<i8").tobytes())
    return digest.hexdigest()


def load_trace(warehouse: Warehouse, source: str, cancelled: bool = False, labels: Sequence[str] = ()) -> Trace:
    """cancelled: whether jobs that were cancelled before they started are among the rows. labels: further columns of core.jobs, or of
    raw.pbs_records, that the rows should have.

    Raises ValueError when the source is not in the warehouse or has no job that can be replayed.
    """
    with warehouse.read() as connection:
        about = first_row(connection, sql.load("core.source_facts"), {"source": source})
        if about is None:
            raise ValueError(f"source {source!r} is not in the warehouse yet: load it with `tracehouse run {source}`")
        connection.execute(f"SET memory_limit = '{TRACE_MEMORY}'")
        rows = with_labels(
            connection, source, _replayable_jobs(connection, source, cancelled, warehouse.staging), labels
        )
        faults = connection.sql(sql.load("core.log_faults"), params={"source": source}).pl().row(0, named=True)
        faults["jobs_left_before_start"] -= rows["cancel_s"].count()
        faults["jobs_still_waiting"] = waiting_jobs(connection, source).height
        split = first_row(
            connection, "SELECT test_job_index FROM predictions.training_splits WHERE source = ?", [source]
        )
        header = connection.execute(
            "SELECT key, value FROM raw.log_headers WHERE source = ? AND key IN ('MaxProcs', 'MaxNodes') "
            "ORDER BY file, position",
            [source],
        ).fetchall()
        nodes = first_row(connection, "SELECT procs_per_node FROM core.clusters WHERE source = ?", [source])
        suspensions = connection.sql(sql.load("core.suspensions_of_jobs"), params={"source": source}).pl()
        bounds = {"source": source, "cancelled": True, "from_index": 0, "to_index": LARGEST_S}
        cancelled_waits = connection.sql(sql.load("core.cancelled_waits"), params=bounds).pl()
    if rows.is_empty():
        raise ValueError(f"source {source!r} has no job with a known run time and processor count: nothing to replay")
    procs, procs_from, origin, clock_zero, time_zone, has_dates = about
    replayable = rows.filter(pl.col("cancel_s").is_null())
    return Trace(
        source,
        rows,
        procs,
        procs_from,
        origin,
        jobs_left_out=faults.pop("records") - rows.height,
        test_position=int(np.searchsorted(replayable["job_index"].to_numpy(), split[0])) if split else None,
        clock_zero=clock_zero,
        has_calendar=has_dates,
        time_zone=time_zone,
        procs_per_node=_procs_per_node(header),
        log_faults=faults,
        node_procs=_node_procs(header) or (nodes[0] if nodes else None),
        suspensions=suspensions.cast(NO_SUSPENSIONS.schema),
        cancelled_waits=cancelled_waits.cast(NO_CANCELLED_WAITS.schema),
    )


def _replayable_jobs(connection: duckdb.DuckDBPyConnection, source: str, cancelled: bool, folder: Path) -> pl.DataFrame:
    """Trace.rows, from the statements core.replay_names, core.replay_extremes and core.replayable_jobs. folder: for the columns of a
    long log, see `traces.common.columns`."""
    names = sql.load("core.replay_names")
    connection.execute(f"CREATE OR REPLACE TEMP TABLE replay_names AS {names}", {"source": source})
    bounds: dict[str, object] = {"source": source, "cancelled": cancelled, "from_index": 0, "to_index": LARGEST_S}
    extremes = sql.load("core.replay_extremes")
    connection.execute(f"CREATE OR REPLACE TEMP TABLE replay_extremes AS {extremes}", bounds)
    last = first_row(connection, "SELECT last_index, jobs FROM replay_extremes")
    assert last is not None
    columns = Columns(last[1], folder)
    for begin in range(0, max(last[0], 0) + 1, SLICE_JOBS):
        bounds |= {"from_index": begin, "to_index": begin + SLICE_JOBS}
        rows = connection.sql(sql.load("core.replayable_jobs"), params=bounds).pl(batch_size=SLICE_JOBS // 4 + 1)
        if rows.height:
            columns.add(rows)
    return columns.frame() if columns.height else rows


def cancelled_rows(connection: duckdb.DuckDBPyConnection, trace: Trace, folder: Path) -> pl.DataFrame:
    """Rows, with the columns of the trace's, of jobs that were cancelled before they started and are not in the trace. folder: as for
    `Columns`."""
    rows = _replayable_jobs(connection, trace.source, True, folder).filter(pl.col("cancel_s").is_not_null())
    rows = rows.filter(~pl.col("job_index").is_in(trace.rows["job_index"].implode()))
    return with_labels(connection, trace.source, rows, trace.rows.columns)


def waiting_jobs(connection: duckdb.DuckDBPyConnection, source: str) -> pl.DataFrame:
    """Jobs of a source that had not started when its log was printed last, with the columns of core.jobs. Only a log of Slurm has any."""
    clock = first_row(connection, "SELECT clock_zero FROM core.sources WHERE source = ? AND format = 'slurm'", [source])
    params = {"source": source, "clock_zero": clock[0] if clock else datetime(1970, 1, 1), "first_index": 0}
    return connection.sql(sql.load("core.waiting_slurm"), params=params).pl()


def with_labels(
    connection: duckdb.DuckDBPyConnection, source: str, rows: pl.DataFrame, labels: Sequence[str]
) -> pl.DataFrame:
    """Jobs of a source with these columns of core.jobs and raw.pbs_records. rows: with job_index; columns that are there stay."""
    missing = [name for name in dict.fromkeys(labels) if name not in rows.columns]
    columns_of_jobs = connection.table("core.jobs").columns
    of_jobs = [name for name in missing if name in columns_of_jobs]
    of_records = [name for name in missing if name not in columns_of_jobs]
    queries = []
    if of_jobs:
        queries.append(f"SELECT job_index, {', '.join(of_jobs)} FROM core.jobs WHERE source = $source")
    if of_records:
        values = ", ".join(f"any_value(records.{name}) AS {name}" for name in of_records)
        queries.append(
            f"SELECT jobs.job_index, {values} FROM core.jobs AS jobs INNER JOIN raw.pbs_records AS records ON jobs.source = records.source "
            "AND jobs.job_id = records.job_id AND epoch(jobs.submit_time)::BIGINT = records.ctime_s "
            "WHERE jobs.source = $source AND records.selected_chunks IS NOT NULL GROUP BY jobs.job_index"
        )
    for query in queries:
        columns = connection.sql(query, params={"source": source}).pl()
        rows = rows.join(columns, on="job_index", how="left", maintain_order="left")
    return rows


def load_clock(warehouse: Warehouse, source: str) -> LogClock:
    """How times of a source are written. Raises ValueError for one that is not in the warehouse."""
    with warehouse.read() as connection:
        row = first_row(connection, sql.load("core.source_facts"), {"source": source})
    if row is None:
        raise ValueError(f"source {source!r} is not in the warehouse: load it with `tracehouse run {source}`")
    return LogClock(*row[3:])


def load_extent(warehouse: Warehouse, source: str) -> tuple[int, float, int]:
    """First submission, from when on the log has all jobs, and last submission, in seconds of the log's clock. Raises ValueError for a
    source without jobs."""
    with warehouse.read() as connection:
        row = first_row(
            connection,
            "SELECT epoch(min(submit_time - clock_zero)), epoch(min(start_time + to_seconds(coalesce(runtime_s, 0)) - clock_zero)), "
            "epoch(max(submit_time - clock_zero)) FROM core.jobs AS jobs "
            "INNER JOIN core.sources AS sources ON jobs.source = sources.source WHERE jobs.source = ?",
            [source],
        )
    if row is None or row[0] is None:
        raise ValueError(f"source {source!r} has no job in the warehouse: load it with `tracehouse run {source}`")
    first, first_end, last = row
    return int(first), complete_from(first, first_end, last), int(last)


def load_trained_trace(warehouse: Warehouse, source: str) -> tuple[Trace, int]:
    """The trace and its test position. Raises ValueError before there is a run-time model."""
    trace = load_trace(warehouse, source)
    if trace.test_position is None:
        raise ValueError(f"source {source!r} has no run-time model: {why_no_model(warehouse, source)}")
    return trace, trace.test_position


def _node_procs(header: list[tuple[str, str]]) -> int | None:
    """MaxProcs by MaxNodes, where the header has both, and all nodes are alike."""
    procs, nodes = header_value(header, "MaxProcs"), header_value(header, "MaxNodes")
    return procs // nodes if procs and nodes and procs > 0 and nodes > 0 and procs % nodes == 0 else None


def _procs_per_node(header: list[tuple[str, str]]) -> float:
    procs, nodes = header_value(header, "MaxProcs"), header_value(header, "MaxNodes")
    return procs / nodes if procs and nodes and procs > 0 and nodes > 0 else 1.0
