"""How far a replay can be trusted: the scheduler that fits a log best, and how well its replay gives back what happened."""

import math
import re
from dataclasses import asdict
from typing import Any

import dagster as dg
import numpy as np
import polars as pl
from numpy.typing import NDArray

from assets.common.describe import plot, table, table_metadata
from assets.common.partitions import OWNERS, SOURCES
from assets.common.progress import progress_bar
from assets.common.trace import Trace, load_trace
from assets.evaluation import plots
from assets.ingest.core_jobs import jobs
from models.judging.configurations import (
    LoggedJobs,
    SchedulerConfiguration,
    replays_of_search,
    search_configuration,
)
from models.judging.fidelity import MEANING, agreement_of
from simulator.engine.replay import replay
from simulator.jobs.jobs import Jobs
from simulator.metrics.metrics import SEMANTICS, SIZE_CLASSES, size_classes
from traces.catalogue.catalogue import load_catalogue
from warehouse import Warehouse, replace_partition

IntArray = NDArray[np.int64]

MADE_UP = re.compile(r"\b(?:simulat(?:ed|ion|or)|synthetic)\b", re.IGNORECASE)
"""What the header of a log says whose waits no real cluster has seen."""
SHOWN = ("part", "value", "jobs", "grade", "logged_wait_s", "replayed_wait_s", "rank_correlation", "alike", "distance")


@dg.asset(
    key=["replay", "fidelity"],
    deps=[jobs],
    partitions_def=SOURCES,
    group_name="evaluation",
    owners=OWNERS,
    kinds={"numba", "duckdb"},
    metadata=table_metadata("replay.fidelity"),
)
def fidelity(context: dg.AssetExecutionContext, warehouse: dg.ResourceParam[Warehouse]) -> dg.MaterializeResult:
    """Which scheduler fits the log best, and a grade for how well its replay gives back the waits that users really had.

    Rules, backfilling and weights of priorities are searched on the first half of the log, and graded on the second."""
    source = context.partition_key
    trace = load_trace(warehouse, source)
    why_not = _no_real_waits(warehouse, trace)
    if why_not:
        ranked, rows = [], [no_grade(trace, why_not)]
    else:
        ranked = fitted(trace)
        rows = graded(trace, ranked[0])
    whole = pl.DataFrame(rows, infer_schema_length=None)
    with warehouse.write() as connection:
        replace_partition(connection, "replay.configurations", source, configuration_rows(ranked))
        replace_partition(connection, "replay.fidelity", source, whole)
    of_all = rows[0]
    said = f"grade {of_all['grade']}: {MEANING[of_all['grade']]}" if of_all["grade"] else of_all["no_grade_because"]
    context.log.info(said)
    metadata: dict[str, Any] = {"dagster/row_count": len(rows), "grade": said}
    if ranked:
        metadata["configurations"] = table(configuration_rows(ranked))
        metadata["parts"] = table(whole.select(SHOWN))
        metadata["waits"] = plot(plots.logged_and_replayed(*waits_of(trace, ranked[0])))
    return dg.MaterializeResult(metadata=metadata)


def logged_waits(trace: Trace) -> IntArray:
    """The wait of each row of the trace by the log, int64 seconds; -1 where the log does not know."""
    return trace.rows.select(pl.col("start_s") - pl.col("submit_s")).to_series().fill_null(-1).to_numpy()


def fitted(trace: Trace) -> list[SchedulerConfiguration]:
    """Schedulers that may have written the log, best first, by the first half of its jobs."""
    logged = LoggedJobs(trace.jobs(), logged_waits(trace)).first(cut_of(trace))
    sizes = _sizes(trace, logged)
    with progress_bar(f"which scheduler wrote {trace.source}", replays_of_search(len(logged.jobs), len(sizes))) as bar:
        return search_configuration(logged, sizes, bar.update)


def cut_of(trace: Trace) -> int:
    """Position of the first job that is graded."""
    return trace.rows.height // 2


def waits_of(trace: Trace, configuration: SchedulerConfiguration) -> tuple[IntArray, IntArray]:
    """Waits of the graded jobs, seconds: in the log, and in a replay of the whole log."""
    waits, scored = logged_waits(trace), _scored(trace)
    return waits[scored], _replayed(trace, configuration)[scored]


def graded(trace: Trace, configuration: SchedulerConfiguration) -> list[dict[str, Any]]:
    """Rows of replay.fidelity: all jobs of the second half, then size classes and months."""
    jobs, waits, replayed = trace.jobs(), logged_waits(trace), _replayed(trace, configuration)
    scored = _scored(trace)
    classes = size_classes(jobs.procs, trace.cluster_procs)
    parts = [("all", "", scored)]
    parts += [("size", name, scored & (classes == k)) for k, name in enumerate(SIZE_CLASSES)]
    months = _months(trace)
    parts += [("month", month, scored & (months == month)) for month in np.unique(months[scored]).tolist() if month]
    rows = [_row(part, value, waits[of], replayed[of], jobs.runtime[of]) for part, value, of in parts if of.any()]
    for name, starts in (("logged", waits + jobs.submit), ("replayed", replayed + jobs.submit)):
        rows[0][f"{name}_utilisation"] = _utilisation(jobs, starts, scored, waits >= 0, trace.cluster_procs)
    return rows


def no_grade(trace: Trace, why: str) -> dict[str, Any]:
    """The row of replay.fidelity of a source that has no grade."""
    return {"part": "all", "value": "", "jobs": 0, "grade": None, "no_grade_because": why}


def configuration_rows(ranked: list[SchedulerConfiguration]) -> pl.DataFrame:
    """Rows of replay.configurations."""
    rows = [
        {"place": place, "policy": each.policy, "backfill": each.backfill, "procs": each.procs, "jobs": each.jobs}
        | {"factor": math.exp(each.error), "semantics": SEMANTICS}
        for place, each in enumerate(ranked, 1)
    ]
    columns = {"place": pl.Int64, "policy": pl.Utf8, "backfill": pl.Utf8, "procs": pl.Int64, "jobs": pl.Int64}
    return pl.DataFrame(rows, schema=columns | {"factor": pl.Float64, "semantics": pl.Int64})


def _row(part: str, value: str, logged: IntArray, replayed: IntArray, runtime: IntArray) -> dict[str, Any]:
    agreement = agreement_of(logged, replayed, runtime)
    few = None if agreement.grade else "hardly any of these jobs waited: a replay of them says nothing"
    return {"part": part, "value": value, "grade": agreement.grade, "no_grade_because": few} | asdict(agreement)


def _no_real_waits(warehouse: Warehouse, trace: Trace) -> str | None:
    """Why no replay of the log can be graded, None where one can."""
    declared = load_catalogue(may_be_missing=True).sources.get(trace.source)
    if declared is not None and declared.generator:
        return "the log is generated: no real cluster has seen these jobs"
    with warehouse.read() as connection:
        header = connection.execute(
            "SELECT key, value FROM raw.log_headers WHERE source = ? ORDER BY file, position", [trace.source]
        ).fetchall()
    for key, value in header:
        if MADE_UP.search(value):
            return f"the log's header says under {key!r} that its waits are not those of a real cluster"
    logged = LoggedJobs(trace.jobs(), logged_waits(trace)).first(cut_of(trace))
    if not logged.scored.any() or not _scored(trace).any():
        return "the log does not say when its jobs started"
    return None


def _scored(trace: Trace) -> NDArray[np.bool_]:
    return (np.arange(trace.rows.height) >= cut_of(trace)) & (logged_waits(trace) >= 0)


def _sizes(trace: Trace, logged: LoggedJobs) -> list[int]:
    """Sizes that the cluster may have had: the declared one, and the most processors that were in use at one time."""
    has_wait = logged.waits >= 0
    start = (logged.jobs.submit + logged.waits)[has_wait]
    width = logged.jobs.procs[has_wait]
    moments = np.concatenate([start, start + logged.jobs.runtime[has_wait]])
    changes = np.concatenate([width, -width])
    order = np.lexsort((changes, moments))  # who ends leaves before who starts
    most = int(np.cumsum(changes[order]).max(initial=0))
    widest = int(trace.rows["procs"].max())  # type: ignore[arg-type]
    return [trace.cluster_procs] + ([most] if widest <= most < trace.cluster_procs else [])


def _replayed(trace: Trace, configuration: SchedulerConfiguration) -> IntArray:
    jobs = trace.jobs()
    return replay(jobs, configuration.procs, configuration.policy, configuration.backfill).start - jobs.submit


def _months(trace: Trace) -> NDArray[np.str_]:
    """The month of each job's submission, empty where the log has no dates."""
    if not trace.has_calendar:
        return np.full(trace.rows.height, "")
    utc = pl.lit(trace.clock_zero) + pl.duration(seconds=pl.col("submit_s"))
    local = utc.dt.replace_time_zone("UTC").dt.convert_time_zone(trace.time_zone)
    return trace.rows.select(local.dt.strftime("%Y-%m")).to_series().to_numpy().astype(str)


def _utilisation(
    jobs: Jobs, start: IntArray, scored: NDArray[np.bool_], has_wait: NDArray[np.bool_], cluster_procs: int
) -> float:
    """Share of the cluster that jobs with a start used between the first and the last submission of a scored one."""
    begin, end = jobs.submit[scored].min(), jobs.submit[scored].max()
    inside = np.minimum(start + jobs.runtime, end) - np.maximum(start, begin)
    return float((np.maximum(inside, 0) * jobs.procs)[has_wait].sum() / max((end - begin) * cluster_procs, 1))
