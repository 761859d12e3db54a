"""What-if replays: the jobs that the settings leave, one run of them, and its results."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.metadata import version

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assets.common.trace import Trace, trace_sha256, waiting_at
from assets.replaying.configuring.outages import outages_of
from assets.replaying.limits.holds import missing_processors
from assets.replaying.limits.way import clock_zero_s, named_cluster
from assets.replaying.own.clusters import own_cluster
from assets.replaying.own.way import sized_cluster
from assets.replaying.running.at_load import rows_at_load, settings_at_load
from assets.replaying.running.on_nodes import Ground, ground_of, placement_metrics
from assets.replaying.running.policies import ChosenPolicy
from assets.replaying.running.replayers import Asked, check_settings, replayer_of, way_of
from assets.replaying.running.settings import NodeSettings, RunSettings
from assets.replaying.running.users import UsersPace
from models.judging.machine import partitions_of
from simulator.compiled import SOURCE_HASH
from simulator.engine.replay import NeverStarts
from simulator.jobs.cluster import Cluster, RunningJobs, joined_outages
from simulator.jobs.followers import NEVER_SUBMITTED, NO_JOB
from simulator.jobs.jobs import NEVER, Jobs
from simulator.jobs.schedule import Placement, Schedule
from simulator.limits.rules import KNOWN_AFTER_S
from simulator.metrics.bound import hindsight_bound
from simulator.metrics.metrics import METRICS, measured_jobs, metrics, metrics_by_class
from simulator.partitions import shares_of
from simulator.published import RLSCHEDULER_RULES, paper_part
from simulator.replayer import JobNodes, Outcome
from traces.cluster.description import ClusterDescription

IntArray = NDArray[np.int64]
SETTINGS_GIVE_PROCS = "command line"
"""`procs_from` of a run whose settings say the cluster's size, as the command line's --procs does."""
MOST_NAMED = 20
"""Queues that a message lists."""


@dataclass(frozen=True)
class ReplayRun:
    """settings: in their usual form. all_rows: of Trace.rows, the jobs to replay, in replay order. Those with an index below 0 never
    started in the log (assets/replaying/scenarios/freed.py): they take part, and no wait is of them. all_jobs, cluster: what the simulator
    took. all_starts: what it returned. The first `cluster.waiting` of all_jobs are the queue of a warm start, the others are those of
    all_rows. counts: jobs, faults of the log (docs/reference/semantics.md) and counts that the settings add.
    ground, placement: the nodes, and those of each of all_jobs, where jobs were placed. held: the nodes of all_jobs on a cluster under its
    own scheduler. others: further runs of a scheduler that is not deterministic, as all_starts."""

    settings: RunSettings
    trace: Trace
    policy: ChosenPolicy
    all_rows: pl.DataFrame
    all_jobs: Jobs
    cluster: Cluster
    all_starts: Schedule
    counts: dict[str, int]
    ground: Ground | None = None
    placement: Placement | None = None
    others: tuple[Schedule, ...] = ()
    held: JobNodes | None = None

    @cached_property
    def rows(self) -> pl.DataFrame:
        """The jobs of the log, in replay order."""
        return self.all_rows.filter(~pl.Series(self.freed)) if self.freed.any() else self.all_rows

    @cached_property
    def freed(self) -> NDArray[np.bool_]:
        """Which of all_rows never started in the log, bool (all_rows,)."""
        return (self.all_rows["job_index"] < 0).to_numpy()

    @cached_property
    def of_rows(self) -> IntArray | slice:
        """Where the jobs of `rows` are among all_jobs."""
        waiting = self.cluster.waiting
        return waiting + np.flatnonzero(~self.freed) if self.freed.any() else slice(waiting, len(self.all_jobs))

    @cached_property
    def jobs(self) -> Jobs:
        """The jobs of `rows`."""
        place = self.of_rows
        return (
            self.all_jobs.window(place.start, self.rows.height)
            if isinstance(place, slice)
            else self.all_jobs.only(place)
        )

    @cached_property
    def schedule(self) -> Schedule:
        """Of the jobs of `rows`."""
        return self.all_starts.part(self.of_rows)

    @property
    def mean_waits_s(self) -> list[float]:
        """Mean wait of the started jobs in each run of a scheduler that is not deterministic, the first run first."""
        schedules, counted = [self.all_starts, *self.others], np.ones(len(self.all_jobs), dtype=np.bool_)
        counted[self.cluster.waiting :] = ~self.freed
        return [float((each.start - self.all_jobs.submit)[each.started & counted].mean()) for each in schedules]

    @property
    def logged_rows(self) -> pl.DataFrame:
        """`rows`, submitted when the log says. So a period is one of the log, also under another load, and where users keep their pace."""
        if self.settings.load == 1 and not self.settings.is_closed:
            return self.rows
        logged = self.trace.rows.select("job_index", "submit_s")
        return self.rows.drop("submit_s").join(logged, on="job_index", how="left", maintain_order="left")

    @property
    def procs_from(self) -> str:
        """Where the number of processors comes from."""
        if self.settings.procs:
            return SETTINGS_GIVE_PROCS
        if self.settings.cluster is None and self.settings.is_on_cluster:
            return f"cluster {own_cluster(self.trace, self.rows, self.settings).name}"
        return f"cluster {self.settings.cluster}" if self.settings.cluster else self.trace.cluster_procs_from

    @property
    def engine(self) -> str:
        """`engine_version`, and which rules of a paper where those replayed."""
        rules = way_of(self.settings).rules
        return f"{engine_version()}+{rules}" if rules else engine_version()

    @property
    def estimates(self) -> str:
        """The run times that the scheduler used, as tables hold them."""
        return str(self.settings.believed)

    @property
    def trace_sha256(self) -> str:
        """Hash of the jobs replayed, see assets.common.trace.trace_sha256."""
        return trace_sha256(self.rows)

    def metrics(self, scored: NDArray[np.bool_] | None = None) -> dict[str, float]:
        """All metrics of simulator.metrics.metrics.METRICS over all jobs of `rows`, or the scored ones, bool (rows,). Raises
        ValueError where none of them started."""
        if scored is None and not self.freed.any():
            return metrics(self.all_jobs, self.all_starts, self.cluster)
        of_all = np.zeros(len(self.all_jobs), dtype=np.bool_)
        of_all[self.of_rows] = True if scored is None else scored
        return metrics(self.all_jobs, self.all_starts, self.cluster, of_all)

    def trimmed_metrics(self) -> dict[str, float] | None:
        """The same over the jobs between warm-up and cool-down. None where the settings trim nothing."""
        return self.metrics(measured_jobs(self.jobs, self.settings.trim)) if self.settings.trim else None

    def rlscheduler_metrics(self) -> dict[str, float | None]:
        """The figures that only the RLScheduler code has. Empty under the standard rules."""
        if self.settings.is_standard:
            return {}
        figures = paper_part(RLSCHEDULER_RULES).rlscheduler_metrics(self.jobs, self.schedule, self.cluster.procs)
        return {name: None if math.isnan(x) else x for name, x in figures.items() if name not in METRICS}

    def hindsight(self) -> dict[str, float]:
        """hindsight_least_average_wait_s and hindsight_least_average_turnaround_s. No schedule has less. Empty where the schedule decides
        when jobs come."""
        if self.settings.is_closed:
            return {}
        jobs = self.jobs if self.freed.any() else self.all_jobs
        return {f"hindsight_{name}": value for name, value in hindsight_bound(jobs, self.cluster).items()}

    def placement_metrics(self) -> dict[str, float]:
        """The cost of the jobs' nodes, see assets.replaying.running.on_nodes. Empty where jobs were not placed."""
        if self.ground is None or self.placement is None:
            return {}
        return placement_metrics(self.ground.units, self.placement, self.all_jobs, self.cluster.waiting)

    def by_class(self, scored: NDArray[np.bool_] | None = None) -> list[dict[str, str | int | float]]:
        """Scored jobs and their waits by size and run time, as simulator.metrics.metrics.metrics_by_class returns them."""
        return metrics_by_class(self.jobs, self.schedule, self.cluster.procs, scored)


def engine_version() -> str:
    """Version of tracehouse and hash of the engine's source. If both are equal, equal settings give equal schedules."""
    return f"{version('tracehouse')}+{SOURCE_HASH}"


def replay_run(
    trace: Trace,
    settings: RunSettings,
    policy: ChosenPolicy,
    nodes: NodeSettings | None = None,
    own_runs: int | range | None = None,
    pace: UsersPace | None = None,
    described: ClusterDescription | None = None,
) -> ReplayRun:
    """Replays a trace. trace: loaded with the cancelled jobs if the settings want them. nodes: where jobs are placed, if they are.
    own_runs: of a scheduler that is not deterministic, how many or their numbers, None for as many as are usual. pace: of the users, where
    they keep it. described: the cluster of the settings, as the caller has edited it. Jobs that are too wide for it never start.

    Raises ValueError with the remedy for what cannot be replayed, and where a formula or a plug-in fails.
    """
    settings = settings_at_load(trace, check_settings(settings, nodes))
    rows = changed_rows(trace, settings)
    of_queues = rows.height
    if not settings.is_standard:
        rows = rows.with_columns(procs=pl.max_horizontal("procs", "requested_procs"))
    cluster_procs = procs_of_cluster(trace, rows, settings) if described is None else described.num_cpus
    shares = partition_shares(rows, settings.partitions, cluster_procs)
    rows, dropped = (rows, 0) if described else _without_wider(trace, rows, cluster_procs, settings, shares)
    first, length = settings.window_of(rows.height)
    replayed = rows[first : first + length]
    ahead, begin = rows[: first if settings.warm_start else 0], replayed["submit_s"][0]
    waiting = waiting_at(ahead, begin)
    simulated = pl.concat([waiting, replayed])
    jobs = trace.jobs_of(simulated, settings.believed, settings.reserve_by, settings.admit_by)
    cluster = _cluster(trace, ahead, begin, waiting.height, cluster_procs, settings)
    if settings.cluster and not settings.is_on_cluster:
        cluster = _with_missing(trace, jobs, cluster, described or named_cluster(settings.cluster, trace.source))
    counts = {
        **_counts(trace, rows, replayed, policy),
        "jobs_wider_than_cluster": trace.log_faults["jobs_wider_than_cluster"] + dropped,
        "jobs_of_queues_left_out": trace.rows.height - of_queues,
        "running_jobs": len(cluster.running),
        "waiting_jobs": cluster.waiting,
        "outages": len(cluster.outages),
    }
    ground = None if nodes is None else ground_of(nodes, cluster_procs, trace.procs_per_node)
    if settings.is_closed:
        assert pace is not None
        jobs = pace.closed(jobs, simulated)
    before = (ahead, begin) if settings.warm_start else None
    outcome = _outcome(Asked(trace, settings, policy, simulated, cluster, ground, before, own_runs, described), jobs)
    jobs, of_outcome = as_submitted(jobs, outcome, simulated) if settings.is_closed else (jobs, dict(outcome.counts))
    if settings.is_closed:
        replayed = replayed.with_columns(submit_s=pl.Series(jobs.submit))
    return ReplayRun(
        *(settings, trace, policy, replayed, jobs, cluster, outcome.schedule, counts | of_outcome, ground),
        *(outcome.placement, outcome.others, outcome.held),
    )


def _counts(trace: Trace, rows: pl.DataFrame, replayed: pl.DataFrame, policy: ChosenPolicy) -> dict[str, int]:
    """Jobs of the log that are replayed, its faults, and how many of the jobs a learned policy was trained on. rows: of the trace, that the
    settings leave."""
    of_log = replayed.filter(pl.col("job_index") >= 0)
    below = pl.col("requested_walltime_s").is_between(1, pl.col("runtime_s"), closed="left")
    seen = {}
    if policy.policy is not None and policy.policy.weights is not None:
        unseen = _jobs_from_position(trace, replayed, policy.trained_jobs)
        seen = {"jobs_seen_in_training": replayed["cancel_s"].null_count() - unseen}
    return {
        "jobs": of_log.height,
        "jobs_left_out": trace.jobs_left_out,
        "requests_below_runtime": rows.filter(below).height,
        "equal_submit_times": rows.filter(pl.col("submit_s").diff() == 0).height,
        **trace.log_faults,
        "cancelled_jobs": of_log.height - of_log["cancel_s"].null_count(),
        **seen,
    }


def procs_of_cluster(trace: Trace, rows: pl.DataFrame, settings: RunSettings) -> int:
    """The processors of a replay's cluster. rows: of the trace."""
    if settings.is_on_cluster:
        return sized_cluster(trace, rows, settings).num_cpus
    if settings.cluster and not settings.procs:
        return named_cluster(settings.cluster, trace.source).num_cpus
    return settings.procs or trace.cluster_procs


def as_submitted(jobs: Jobs, outcome: Outcome, rows: pl.DataFrame) -> tuple[Jobs, dict[str, int]]:
    """The jobs as a closed replay has had them, and what the outcome counts. Counts are also of jobs that follow others, that never come,
    and that are cancelled since they wait for too long, with the core-hours that these would have run. rows: of the jobs."""
    submit = jobs.submit if outcome.submit is None else outcome.submit
    absent = submit == NEVER_SUBMITTED
    waited = ~outcome.schedule.started & ~absent
    left = waited & (jobs.cancel < NEVER) if outcome.gave_up is None else outcome.gave_up
    gave_up = left & rows["cancel_s"].is_null().to_numpy()
    counts = dict(outcome.counts) | {
        "jobs_that_follow": int((jobs.after != NO_JOB).sum()),
        "jobs_never_submitted": int(absent.sum()),
        "jobs_that_gave_up": int(gave_up.sum()),
        "core_hours_given_up": round(float((jobs.procs * jobs.runtime)[gave_up].sum()) / 3600),
    }
    if "jobs_never_started" in counts:  # engines differ in whether those that never came are among them
        counts["jobs_never_started"] = int((waited & ~left).sum())
    return jobs if outcome.submit is None else jobs.submitted_at(submit), counts


def _without_wider(
    trace: Trace, rows: pl.DataFrame, cluster_procs: int, settings: RunSettings, shares: pl.Series
) -> tuple[pl.DataFrame, int]:
    """(rows that fit the cluster, how many were dropped). shares: processors that each may have. Raises ValueError where wider ones may
    not be dropped."""
    fits = rows["procs"] <= shares
    wide = rows.filter(~fits)
    if wide.is_empty():
        return rows, 0
    position = int(np.argmax(wide["procs"].to_numpy()))
    widest, share = wide.row(position, named=True), shares.filter(~fits)[position]
    if not settings.drop_wider:
        of = f"its partition has {share}" if settings.partitions else f"the cluster has {cluster_procs}"
        remedy = "correct the partitions" if settings.partitions else f"give --procs {widest['procs']} or more"
        raise ValueError(
            f"{trace.source}: job {widest['job_id']} needs {widest['procs']} processors, {of}: {remedy}, or leave the {wide.height} such "
            "job(s) out with --drop-wider"
        )
    rows = rows.filter(fits)
    if rows.is_empty():
        raise ValueError(
            f"{trace.source}: every job is wider than the cluster's {cluster_procs} processors: correct --procs"
        )
    return rows, wide.height


def _cluster(
    trace: Trace, ahead: pl.DataFrame, begin: int, waiting: int, cluster_procs: int, settings: RunSettings
) -> Cluster:
    """ahead: rows before the first job of the replay that a warm start looks at. waiting: how many of them wait at `begin`."""
    running = trace.running_at(ahead, begin, settings.believed, settings.reserve_by) if ahead.height else RunningJobs()
    held = int(running.procs.sum())
    if held > cluster_procs:
        raise ValueError(
            f"{trace.source}: by the log's own times {len(running)} jobs on {held} processors were running when the first "
            f"job of the replay was submitted ({trace.clock.full(begin)}), and the cluster has {cluster_procs}: give --procs {held} "
            "or more, choose another --window, or leave out --warm-start"
        )
    return Cluster(cluster_procs, running, outages_of(settings.outages, cluster_procs), waiting)


def _with_missing(trace: Trace, jobs: Jobs, cluster: Cluster, described: ClusterDescription) -> Cluster:
    """The cluster without the processors that reservations and absences of the described one take away."""
    longest_s = int(jobs.limit.max(initial=0))
    span = (int(jobs.submit[0]), int(jobs.submit[-1]) + KNOWN_AFTER_S)
    missing = missing_processors(described, cluster.procs, longest_s, clock_zero_s(trace), span)
    return replace(cluster, outages=joined_outages(cluster.outages, missing))


def _outcome(asked: Asked, jobs: Jobs) -> Outcome:
    """What the replayer makes of the jobs. Faults name the job by its number in the log, and the line of a plug-in."""
    replayer, policy, cluster = replayer_of(asked), asked.policy.policy, asked.cluster
    if asked.ground is not None:
        jobs, cluster = asked.ground.rounded(jobs, cluster)
    try:
        return replayer.replay(jobs, cluster)
    except NeverStarts as error:
        job = asked.rows["job_id"][error.index]
        raise ValueError(f"{asked.trace.source}: job {job} {error.why}") from None
    except ValueError:
        raise
    except Exception as error:
        if policy is None or policy.plug_in is None:
            raise
        raise policy.plug_in.failure(error) from error


def _jobs_from_position(trace: Trace, replayed: pl.DataFrame, position: int | None) -> int:
    """Jobs of the replay from this position of the replayable jobs on. Cancelled jobs have no position and do not count."""
    replayable = trace.rows.filter(pl.col("cancel_s").is_null())["job_index"]
    if position is None or position >= len(replayable):
        return 0
    return replayed.filter(pl.col("cancel_s").is_null(), pl.col("job_index") >= replayable[position]).height


def changed_rows(trace: Trace, settings: RunSettings) -> pl.DataFrame:
    """Rows of a trace as the settings change them, in the same order. Without queues, the trace needs the column `queue`.

    Raises ValueError for a queue that no job is of, and where no job is left.
    """
    rows = rows_at_load(trace.rows, settings.load)
    if settings.without_queue:
        rows = _without_queues(trace, rows, settings.without_queue)
    requested = pl.col("requested_walltime_s")
    if settings.walltime_factor != 1:
        longer = (requested * settings.walltime_factor).round().cast(pl.Int64).clip(lower_bound=1)
        rows = rows.with_columns(requested_walltime_s=pl.when(requested >= 1).then(longer).otherwise(requested))
    if (step := settings.rounding_s) is not None:
        rounded = pl.when(requested >= 1).then((requested + step - 1) // step * step).otherwise(requested)
        rows = rows.with_columns(requested_walltime_s=rounded)
    return rows


def partition_shares(rows: pl.DataFrame, owned: Mapping[str, int], cluster_procs: int) -> pl.Series:
    """Processors that each job may have: those of its partition, or of the cluster where no queue owns any.

    rows: with the column `queue` where a queue owns processors. Raises ValueError where the queues own more than the cluster has.
    """
    if not owned:
        return pl.repeat(cluster_procs, rows.height, dtype=pl.Int64, eager=True)
    shares = np.array(shares_of(owned, cluster_procs))
    return pl.Series(shares[partitions_of(rows["queue"], owned)], dtype=pl.Int64)


def check_partitions(trace: Trace, owned: Mapping[str, int]) -> None:
    """Raises ValueError for a queue that no job of the log is of. The trace has the column `queue` where a queue owns processors."""
    queues = queues_of(trace.rows) if owned else []
    for queue in owned:
        if queue not in queues:
            raise ValueError(f"partitions: no job is of queue {queue!r}: {_instead(queues)}")


def queues_of(rows: pl.DataFrame) -> list[str]:
    """The queues of jobs, the commonest first. rows: with the column `queue`."""
    counts = rows["queue"].drop_nulls().value_counts().sort("count", "queue", descending=[True, False])
    return [str(queue) for queue in counts["queue"]]


def _without_queues(trace: Trace, rows: pl.DataFrame, left_out: list[str]) -> pl.DataFrame:
    queues = queues_of(trace.rows)
    for queue in left_out:
        if queue not in queues:
            raise ValueError(f"without_queue {queue!r}: {trace.source} has no job of this queue: {_instead(queues)}")
    rows = rows.filter(~pl.col("queue").is_in(left_out).fill_null(False))
    if rows.is_empty():
        raise ValueError(f"without_queue: no job of {trace.source} is left: leave fewer queues out")
    return rows


def _instead(queues: list[str]) -> str:
    more = f" and {len(queues) - MOST_NAMED} more" if len(queues) > MOST_NAMED else ""
    return f"the queues are {', '.join(queues[:MOST_NAMED])}{more}" if queues else "its jobs have no queue"
