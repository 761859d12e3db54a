"""How far a replay can be trusted: the scheduler that fits a log best, and how well its replay gives back what happened."""

import json
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import dagster as dg
import numpy as np
import polars as pl
from numpy.typing import NDArray

from assets.common.asset import asset
from assets.common.describe import plot, table
from assets.common.progress import progress_bar
from assets.common.trace import Trace, load_trace
from assets.core.jobs import jobs
from assets.replay import policy_plots
from assets.replaying.running.grade import DESCRIBED, reacting_users, why_made_up
from assets.replaying.running.replayers import choose_policy
from assets.replaying.running.run import replay_run
from assets.replaying.running.settings import LIMIT_LABELS, REQUEST_LABELS, RunSettings, own_policy_of
from assets.replaying.site import SiteScheduler, declared_scheduler, undeclared_scheduler
from models.judging.configurations import (
    LoggedJobs,
    SchedulerConfiguration,
    replays_of_search,
    search_configuration,
)
from models.judging.fidelity import (
    ALIKE_S,
    FEWEST_WAITING,
    NO_FIGURES,
    NO_REACTION,
    Agreement,
    Reacting,
    agreement_of,
    error_of,
    promise_of,
    waited_with_room_s,
)
from models.judging.machine import Machine, in_use, sizes_in_use
from models.runtime.scores import USER_CLASSES, user_classes
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs
from simulator.jobs.schedule import Schedule
from simulator.metrics.metrics import SEMANTICS, SIZE_CLASSES, size_classes
from traces.catalogue.catalogue import load_catalogue
from warehouse import Warehouse, replace_partitions

IntArray = NDArray[np.int64]
GRADED_LABELS = tuple(dict.fromkeys([*REQUEST_LABELS, *LIMIT_LABELS]))
"""Columns that the replay of any described cluster needs."""
Held = tuple[IntArray, IntArray, IntArray]
"""Start, end and processors, each int64, of what holds processors, as `Trace.held` has them."""

SHOWN = ("part", "value", "jobs", "grade", "logged_wait_s", "replayed_wait_s", "rank_correlation", "alike", "distance")


@asset("replay.fidelity", group_name="evaluation", deps=[jobs], kinds={"numba", "duckdb"})
def fidelity(context: dg.AssetExecutionContext, warehouse: dg.ResourceParam[Warehouse]) -> dg.MaterializeResult:
    """Which scheduler fits the log best, and a grade for how well its replay gives back the waits that users really had.

    Rules, backfilling, weights of priorities and machines are searched on the first half of the log. The second is graded. Where the
    source's cluster describes a scheduler that replays, or limits, declared or adopted, these are graded, and nothing is searched."""
    source = context.partition_key
    result = fidelity_of(warehouse, load_trace(warehouse, source, labels=GRADED_LABELS))
    whole = pl.DataFrame(result.rows, infer_schema_length=None)
    replace_partitions(
        warehouse,
        source,
        {
            "replay.configurations": configuration_rows(result.ranked),
            "replay.fidelity": whole,
        },
    )
    of_all = result.rows[0]
    said = (
        f"grade {of_all['grade']}: {promise_of(of_all['grade'], 'mean', result.reacting)}"
        if of_all["grade"]
        else of_all["no_grade_because"]
    )
    context.log.info(said)
    metadata: dict[str, Any] = {"dagster/row_count": len(result.rows), "grade": said}
    if result.replayed is not None:
        logged, scored = result.logged, _scored(result.logged)
        metadata["configurations"] = table(configuration_rows(result.ranked))
        metadata["parts"] = table(whole.select(SHOWN))
        metadata["waits"] = plot(policy_plots.logged_and_replayed(logged.waits[scored], result.replayed[scored]))
    return dg.MaterializeResult(metadata=metadata)


@dataclass(frozen=True)
class FidelityOfLog:
    """logged: the jobs with their waits in the log. ranked: schedulers that may have written it, best first; none without real waits.
    replayed: wait of each job, int64 (jobs,), seconds, in a replay of the best. rows: of replay.fidelity. reacting: the users, who cap
    all letters."""

    logged: LoggedJobs
    ranked: list[SchedulerConfiguration]
    replayed: IntArray | None
    rows: list[dict[str, Any]]
    reacting: Reacting = NO_REACTION


def fidelity_of(warehouse: Warehouse, trace: Trace) -> FidelityOfLog:
    """How far replays of a log can be trusted, or the row that says why that cannot be said. warehouse: holds the log's header."""
    logged = LoggedJobs(trace.jobs(), logged_waits(trace), job_queues(trace))
    why_not = _no_real_waits(warehouse, trace, logged)
    if why_not:
        return FidelityOfLog(logged, [], None, [no_grade(why_not)])
    declared = declared_scheduler(warehouse, trace.source)
    if declared is None or declared.described is None:
        ranked = fitted(trace, logged, declared)
        schedule = fitted_replay(trace, ranked[0])
    else:  # which scheduler wrote the log is no question then, and the search would take a minute
        own = _described_configuration(declared, len(logged.jobs))
        schedule = fitted_replay(trace, own)
        half, waits = _first_half(logged), schedule.start - logged.jobs.submit
        scored = half.scored & schedule.started[: len(half.jobs)]
        error = error_of(half.waits[scored], waits[: len(half.jobs)][scored]) if scored.any() else math.inf
        ranked = [replace(own, error=error)]
        logged = replace(logged, waits=np.where(schedule.started, logged.waits, -1))
    reacting = reacting_users(warehouse, trace.source)

    def judged(configuration: SchedulerConfiguration, schedule: Schedule) -> FidelityOfLog:
        waits = schedule.start - logged.jobs.submit
        rows = graded(trace, logged, waits, configuration.machine.cluster, reacting)
        return FidelityOfLog(logged, ranked, waits, rows, reacting)

    best = judged(ranked[0], schedule)
    if declared is not None or best.rows[0]["grade"] != NO_FIGURES:
        return best
    # no order gives the log back, and answers begin with what a stranger would assume: so that is graded
    usual = undeclared_scheduler(warehouse, trace.source)
    if (usual.policy, usual.backfill) == (ranked[0].policy, ranked[0].backfill):
        return best
    machine, half = Machine(trace.cluster_procs), _first_half(logged)
    error = half.error(usual.policy, usual.backfill, machine)
    plain = SchedulerConfiguration(error, usual.policy, usual.backfill, machine, len(half.jobs))
    ranked = [plain, *ranked]
    return judged(plain, fitted_replay(trace, plain))


def _described_configuration(declared: SiteScheduler, jobs: int) -> SchedulerConfiguration:
    """What the cluster describes, among schedulers that may have written the log."""
    assert declared.machine is not None
    fitted_on = jobs if declared.is_own else DESCRIBED
    return SchedulerConfiguration(
        math.inf, declared.policy, declared.backfill, declared.machine, fitted_on, declared.cluster
    )


def logged_waits(trace: Trace) -> IntArray:
    """The wait of each row of the trace by the log, int64 seconds; -1 where the log does not know."""
    return trace.rows.select(pl.col("start_s") - pl.col("submit_s")).to_series().fill_null(-1).to_numpy()


def fitted(trace: Trace, logged: LoggedJobs, named: SiteScheduler | None = None) -> list[SchedulerConfiguration]:
    """Schedulers that may have written the log, best first, by the first half of its jobs. named: the one that it was, whose machine is
    searched."""
    half = _first_half(logged)
    machines = _machines(trace, half)
    rule = None if named is None else (named.policy, named.backfill)
    most = replays_of_search(len(half.jobs), len(machines), rule is not None)
    with progress_bar(f"which scheduler wrote {trace.source}", most) as bar:
        return search_configuration(half, machines, bar.update, rule)


def fitted_replay(trace: Trace, configuration: SchedulerConfiguration) -> Schedule:
    """All jobs of a log under a scheduler that may have written it. trace: with GRADED_LABELS for one that a cluster describes.

    Raises ValueError where a job is wider than the cluster, than its partition, or than what is left of a cluster that shrank.
    """
    own = own_policy_of(configuration.policy) is not None
    if own or configuration.cluster is not None:
        order = {} if own else {"backfill": configuration.backfill, "cluster": configuration.cluster}
        settings = RunSettings.model_validate({"policy": configuration.policy, **order})
        return replay_run(trace, settings, choose_policy(settings, None, trace.source)).schedule
    return configuration.machine.replay(trace.jobs(), configuration.policy, configuration.backfill, job_queues(trace))


def job_queues(trace: Trace) -> pl.Series | None:
    """The queue of each row of the trace, None where the trace was loaded without the column."""
    return trace.rows["queue"] if "queue" in trace.rows.columns else None


def graded(
    trace: Trace, logged: LoggedJobs, replayed: IntArray, cluster: Cluster, reacting: Reacting
) -> list[dict[str, Any]]:
    """Rows of replay.fidelity: all jobs of the second half, then size classes, months, classes of users, and queues in which enough jobs
    waited.

    replayed: wait of each job, int64 (jobs,), seconds, in a replay of the whole log. cluster: of the replay. reacting: the
    users of the source, who cap all letters.
    """
    jobs, waits, scored = logged.jobs, logged.waits, _scored(logged)
    classes = size_classes(jobs.procs, trace.cluster_procs)
    parts = [("all", "", scored)]
    parts += [("size", name, scored & (classes == k)) for k, name in enumerate(SIZE_CLASSES)]
    months = _months(trace)
    parts += [("month", month, scored & (months == month)) for month in np.unique(months[scored]).tolist() if month]
    users = user_classes(trace.rows["user_number"].to_numpy())
    parts += [("user class", name, scored & (users == k)) for k, name in enumerate(USER_CLASSES)]
    parts += [part for part in _by_queue(trace, scored) if int((waits[part[2]] > ALIKE_S).sum()) >= FEWEST_WAITING]
    has_wait = waits >= 0
    held = trace.held(trace.rows.filter(has_wait))
    every = np.ones_like(has_wait)
    with_room = {
        "logged": np.zeros(len(jobs), np.int64),
        "replayed": _with_room(jobs.submit, _held_in_replay(jobs, replayed, every), cluster),
    }
    with_room["logged"][has_wait] = _with_room(jobs.submit[has_wait], held, cluster)
    rows = []
    for part, value, of in parts:
        if of.any():
            row = {"part": part, "value": value} | _row(waits[of], replayed[of], jobs.runtime[of], reacting)
            for name, of_jobs in (("logged", waits), ("replayed", replayed)):
                waited = int(of_jobs[of].sum())
                row[f"{name}_room_share"] = float(with_room[name][of].sum() / waited) if waited else None
            rows.append(row)
    span = int(jobs.submit[scored].min()), int(jobs.submit[scored].max())
    rows[0]["logged_utilisation"] = _utilisation(held, span, trace.cluster_procs)
    held = _held_in_replay(jobs, replayed, has_wait)
    rows[0]["replayed_utilisation"] = _utilisation(held, span, trace.cluster_procs)
    return rows


def _by_queue(trace: Trace, scored: NDArray[np.bool_]) -> Iterator[tuple[str, str, NDArray[np.bool_]]]:
    queues = job_queues(trace)
    for queue in () if queues is None else queues.drop_nulls().unique().sort():
        yield "queue", queue, scored & (queues == queue).fill_null(False).to_numpy()


def no_grade(why: str) -> dict[str, Any]:
    """The row of replay.fidelity of a source that has no grade."""
    return {"part": "all", "value": "", "jobs": 0, "grade": None, "no_grade_because": why}


def configuration_rows(ranked: list[SchedulerConfiguration]) -> pl.DataFrame:
    """Rows of replay.configurations."""
    rows = [
        {"place": place, "policy": each.policy, "backfill": each.backfill, **_machine_row(each.machine)}
        | {"jobs": each.jobs, "factor": math.exp(each.error), "semantics": SEMANTICS}
        for place, each in enumerate(ranked, 1)
    ]
    columns = {"place": pl.Int64, "policy": pl.Utf8, "backfill": pl.Utf8, "procs": pl.Int64}
    columns |= {"size_over_time": pl.Utf8, "partitions": pl.Utf8}
    return pl.DataFrame(rows, schema=columns | {"jobs": pl.Int64, "factor": pl.Float64, "semantics": pl.Int64})


def _machine_row(machine: Machine) -> dict[str, Any]:
    sizes = machine.size_over_time
    return {
        "procs": machine.procs,
        "size_over_time": sizes.text if sizes is not None else None,
        "partitions": json.dumps(dict(machine.partitions)) if machine.partitions else None,
    }


def _row(logged: IntArray, replayed: IntArray, runtime: IntArray, reacting: Reacting) -> dict[str, Any]:
    agreement = agreement_of(logged, replayed, runtime, reacting)
    few = None if agreement.grade else _too_few_text(agreement)
    figures = asdict(agreement)
    del figures["reacting"]  # of the source, not of a part
    return {"grade": agreement.grade, "no_grade_because": few} | figures


def _too_few_text(agreement: Agreement) -> str:
    """Why so few jobs have no grade."""
    waited = f"{agreement.waited:,} of these {agreement.jobs:,} jobs waited longer than a minute"
    return f"{waited}, and a grade needs {FEWEST_WAITING} that did"


def _no_real_waits(warehouse: Warehouse, trace: Trace, logged: LoggedJobs) -> str | None:
    """Why no replay of the log can be graded, None where one can."""
    if made_up := why_made_up(warehouse, trace.source):
        return made_up
    if not _first_half(logged).scored.any() or not _scored(logged).any():
        return "the log does not say when its jobs started"
    return None


def _first_half(logged: LoggedJobs) -> LoggedJobs:
    return logged.first(len(logged.jobs) // 2)


def _scored(logged: LoggedJobs) -> NDArray[np.bool_]:
    """Which jobs are graded: those of the second half whose waits are known."""
    return (np.arange(len(logged.jobs)) >= len(logged.jobs) // 2) & (logged.waits >= 0)


def _held_in_replay(jobs: Jobs, waits: IntArray, of: NDArray[np.bool_]) -> Held:
    start = (jobs.submit + waits)[of]
    return start, start + jobs.runtime[of], jobs.procs[of]


def _with_room(submit: IntArray, held: Held, cluster: Cluster) -> IntArray:
    """Seconds of each job's wait in which enough processors were idle, int64 (jobs,). held: by jobs in the order of `submit`, and by what
    never waited."""
    (start, end, procs), missing = held, cluster.outages
    # processors that are missing are as little idle as those of a job that never waited
    return waited_with_room_s(
        np.concatenate([submit, start[len(submit) :], missing.start]),
        np.concatenate([start, missing.start]),
        np.concatenate([end - start, missing.end - missing.start]),
        np.concatenate([procs, missing.procs]),
        cluster.procs,
    )[: len(submit)]


def _machines(trace: Trace, logged: LoggedJobs) -> list[Machine]:
    """What the cluster may have been: the declared processors, the most that were in use at one time, a size over time that explains
    what was, and queues that own processors. Each has room for the widest job of the whole log, but for the first."""
    running = trace.held(trace.rows.head(len(logged.jobs)).filter(logged.waits >= 0))
    most = int(in_use(*running)[1].max(initial=0))
    widest = int(trace.rows["procs"].max())  # type: ignore[arg-type]
    over_time = sizes_in_use(*running, until=int(logged.jobs.submit.max(initial=0)))
    machines = [Machine(trace.cluster_procs)]
    if widest <= most < trace.cluster_procs:
        machines.append(Machine(most))
    if over_time is not None and widest <= over_time.procs[-1] and over_time.most <= trace.cluster_procs:
        machines.append(Machine(over_time.most, over_time))
    partitions = _partitions(trace, logged)
    return [*machines, Machine(trace.cluster_procs, None, tuple(partitions.items()))] if partitions else machines


def _partitions(trace: Trace, logged: LoggedJobs) -> dict[str, int]:
    """Processors by the queue that may own them: as the catalogue says, else the most that the jobs of each queue had in use at one time.
    Empty where these do not fit the cluster, or a job does not fit them, and where the log has one queue alone."""
    declared = load_catalogue(may_be_missing=True).sources.get(trace.source)
    if logged.queues is None:
        return {}
    owned = dict(declared.partitions) if declared is not None else {}
    if not owned:
        for queue in sorted(logged.queues.drop_nulls().unique()):
            of = (logged.queues == queue).fill_null(False).to_numpy() & (logged.waits >= 0)
            owned[queue] = int(in_use(*trace.held(trace.rows.head(len(of)).filter(of)))[1].max(initial=0))
        if len(owned) < 2:
            return {}
    rest = trace.cluster_procs - sum(owned.values())
    widest = trace.rows.group_by("queue").agg(pl.col("procs").max()).iter_rows()
    fits = all(procs <= owned.get(queue, rest) for queue, procs in widest)
    return owned if rest >= 0 and fits else {}


def _months(trace: Trace) -> NDArray[np.str_]:
    """The month of each job's submission, empty where the log has no dates."""
    if not trace.has_calendar:
        return np.full(trace.rows.height, "")
    utc = pl.lit(trace.clock_zero) + pl.duration(seconds=pl.col("submit_s"))
    local = utc.dt.replace_time_zone("UTC").dt.convert_time_zone(trace.time_zone)
    return trace.rows.select(local.dt.strftime("%Y-%m")).to_series().to_numpy().astype(str)


def _utilisation(held: Held, span: tuple[int, int], cluster_procs: int) -> float:
    """Share of the cluster that was in use between two times."""
    (start, end, procs), (first, last) = held, span
    inside = np.maximum(np.minimum(end, last) - np.maximum(start, first), 0)
    return float((inside * procs).sum() / max((last - first) * cluster_procs, 1))
