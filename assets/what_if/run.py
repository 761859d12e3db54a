"""What-if replays: one run of a trace under given settings, and its results."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.metadata import version
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assets.common.trace import Trace, trace_sha256, waiting_at
from assets.policies.registry import learned_policies
from assets.what_if.agents import choose_agent
from assets.what_if.changes.jobs_of_replay import changed_rows, partition_shares
from assets.what_if.on_nodes import Ground, NodeSettings, check_nodes, ground_of, placement_metrics
from assets.what_if.paper_agent import check_made_for, choose_placing
from assets.what_if.settings import RunSettings, check_settings, outages_of
from models.backfilling.placing_file import PlacingAgent
from models.judging.machine import partitions_of
from models.runtime.live import LiveSettings, replay_live
from models.scheduling.policy_file import load_policy
from simulator.compiled import SOURCE_HASH
from simulator.engine.replay import NeverStarts, replay
from simulator.jobs.cluster import Cluster, RunningJobs
from simulator.jobs.jobs import Jobs
from simulator.jobs.schedule import Schedule
from simulator.jobs.words import TOGETHER, unknown_word
from simulator.metrics.bound import hindsight_bound
from simulator.metrics.metrics import METRICS, measured_jobs, metrics, metrics_by_class
from simulator.partitions import replay_partitions, shares_of
from simulator.policies.plugins import plugin_file
from simulator.policies.registry import Policy, assisted, parse_policy
from simulator.published.rlscheduler import POLICIES, replay_rlscheduler, rlscheduler_metrics
from simulator.published.schedinspector import INSPECTOR_BASES, policy_of_base
from simulator.topology.placement import Placement
from warehouse import Warehouse

SETTINGS_GIVE_PROCS = "command line"
"""`procs_from` of a run whose settings say the cluster's size, as the command line's --procs does."""


@dataclass(frozen=True)
class ChosenPolicy:
    """text: as the user wrote it, names in their usual case. policy: in the form that the simulator takes, None for the RLScheduler
    rules, which take `text`. sha256: of the file of a plug-in or a learned policy, else None. trained_jobs: replayable jobs of
    this trace before this position were open to its training, or to that of an agent. agent_sha256: of the file of a learned agent.
    placing: the agent that decides all starts by itself, None where the policy decides."""

    text: str
    policy: Policy | None
    sha256: str | None = None
    trained_jobs: int = 0
    agent_sha256: str | None = None
    placing: PlacingAgent | None = None

    @property
    def portable_text(self) -> str:
        """The text without the folder of a file, as it is stored: rows hold no path of the machine."""
        head, colon, function = self.text.partition(":")
        if head.endswith((".py", ".json")):
            return Path(head).name + colon + function
        return self.text


@dataclass(frozen=True)
class ReplayRun:
    """settings: in their usual form. rows: of Trace.rows, the jobs to replay, in replay order. all_jobs, cluster: what the simulator
    took. all_starts: what it returned. The first `cluster.waiting` of all_jobs are the queue of a warm start, the others are those
    of `rows`. counts: jobs, faults of the log (docs/reference/semantics.md) and counts that the settings add.
    ground, placement: the nodes, and those of each of all_jobs, where jobs were placed."""

    settings: RunSettings
    trace: Trace
    policy: ChosenPolicy
    rows: pl.DataFrame
    all_jobs: Jobs
    cluster: Cluster
    all_starts: Schedule
    counts: dict[str, int]
    ground: Ground | None = None
    placement: Placement | None = None

    @cached_property
    def jobs(self) -> Jobs:
        """The jobs of `rows`."""
        return self.all_jobs.window(self.cluster.waiting, self.rows.height)

    @cached_property
    def schedule(self) -> Schedule:
        """Of the jobs of `rows`."""
        asked = slice(self.cluster.waiting, None)
        return Schedule(self.all_starts.start[asked], self.all_starts.backfilled[asked])

    @property
    def logged_rows(self) -> pl.DataFrame:
        """`rows`, submitted when the log says. So a period is one of the log, under another load too."""
        if self.settings.load == 1:
            return self.rows
        logged = self.trace.rows.select("job_index", "submit_s")
        return self.rows.drop("submit_s").join(logged, on="job_index", how="left", maintain_order="left")

    @property
    def procs_from(self) -> str:
        """Where the number of processors comes from."""
        return SETTINGS_GIVE_PROCS if self.settings.procs else self.trace.cluster_procs_from

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
        if scored is None:
            return metrics(self.all_jobs, self.all_starts, self.cluster)
        queue = np.zeros(self.cluster.waiting, dtype=np.bool_)
        return metrics(self.all_jobs, self.all_starts, self.cluster, np.concatenate([queue, scored]))

    def trimmed_metrics(self) -> dict[str, float] | None:
        """The same over the jobs between warm-up and cool-down. None where the settings trim nothing."""
        return self.metrics(measured_jobs(self.jobs, self.settings.trim)) if self.settings.trim else None

    def rlscheduler_metrics(self) -> dict[str, float | None]:
        """The figures that only the RLScheduler code has. Empty under the standard rules."""
        if self.settings.is_standard:
            return {}
        figures = rlscheduler_metrics(self.jobs, self.schedule, self.cluster.procs)
        return {name: None if math.isnan(x) else x for name, x in figures.items() if name not in METRICS}

    def hindsight(self) -> dict[str, float]:
        """hindsight_least_average_wait_s and hindsight_least_average_turnaround_s. No schedule has less."""
        return {f"hindsight_{name}": value for name, value in hindsight_bound(self.all_jobs, self.cluster).items()}

    def placement_metrics(self) -> dict[str, float]:
        """The cost of the jobs' nodes, see assets.what_if.on_nodes. Empty where jobs were not placed."""
        if self.ground is None or self.placement is None:
            return {}
        return placement_metrics(self.ground.units, self.placement, self.all_jobs, self.cluster.waiting)

    def by_class(self, scored: NDArray[np.bool_] | None = None) -> list[dict[str, str | int | float]]:
        """Scored jobs and their waits by size and run time, as simulator.metrics.metrics.metrics_by_class returns them."""
        return metrics_by_class(self.jobs, self.schedule, self.cluster.procs, scored)


def engine_version() -> str:
    """Version of tracehouse and hash of the engine's source. If both are equal, equal settings give equal schedules."""
    return f"{version('tracehouse')}+{SOURCE_HASH}"


def choose_policy(settings: RunSettings, warehouse: Warehouse | None, source: str) -> ChosenPolicy:
    """The policy of the settings, with the agents beside it. warehouse: holds the source's learned policies. None where there is
    none, for a bare log.

    Raises ValueError with the remedy.
    """
    placing = choose_placing(settings) if settings.is_standard else None
    if placing is not None:
        digest = hashlib.sha256(Path(settings.backfill).read_bytes()).hexdigest()
        return ChosenPolicy("FCFS", parse_policy("FCFS"), agent_sha256=digest, placing=placing)
    chosen = _choose_order(settings, warehouse, source)
    agent = choose_agent(settings, None if warehouse is None else source, warehouse)
    if agent is None or chosen.policy is None:
        return chosen
    return replace(
        chosen,
        policy=assisted(chosen.policy, agent.agent),
        trained_jobs=max(chosen.trained_jobs, agent.trained_jobs),
        agent_sha256=agent.sha256,
    )


def _choose_order(settings: RunSettings, warehouse: Warehouse | None, source: str) -> ChosenPolicy:
    """The policy that orders the queue."""
    text = settings.policy.strip()
    name = text.lower()
    if not settings.is_standard:
        if name.endswith(".json") and not name.startswith("formula:"):
            return _from_policy_file(text, None if warehouse is None else source)
        return _of_rlscheduler(text)
    if name == "learned":
        return _learned(warehouse, source)
    head, _, tail = text.partition(":")
    if name.endswith(".json") and not name.startswith("formula:"):
        return _from_policy_file(text, None if warehouse is None else source)
    if head.endswith(".py"):
        policy = parse_policy(text)
        return ChosenPolicy(f"{head}:{tail}", policy, hashlib.sha256(plugin_file(Path(head)).read_bytes()).hexdigest())
    try:
        policy = parse_policy(text)
    except ValueError as error:
        if str(error).startswith("unknown policy"):
            raise ValueError(f"{error}, or a policy file (.json)") from None
        raise
    return ChosenPolicy(policy.name, policy)


def _learned(warehouse: Warehouse | None, source: str) -> ChosenPolicy:
    if warehouse is None:
        raise ValueError(
            f"{source}: a log has no learned policy of its own: give a policy file (--policy FILE.json), or add the log "
            f"with `tracehouse ingest {source} --name NAME` and train with `tracehouse run NAME`"
        )
    champion = next(policy for policy in learned_policies(warehouse, source) if policy.champion)
    return ChosenPolicy("learned", parse_policy("learned", champion.weights), champion.sha256, champion.trained_jobs)


def _from_policy_file(text: str, source: str | None) -> ChosenPolicy:
    weights, card = load_policy(Path(text))
    digest = hashlib.sha256(Path(text).read_bytes()).hexdigest()
    seen = card.get("trained_jobs", 0) if source is not None and card.get("source") == source else 0
    return ChosenPolicy(text, parse_policy("learned", weights), digest, seen)


def _of_rlscheduler(text: str) -> ChosenPolicy:
    """A policy of that code, or of SchedInspector's, which has its rules."""
    bases = [policy_of_base(base) for base in INSPECTOR_BASES]
    usual = {name.lower(): name for name in (*POLICIES, *bases)}
    name = usual.get(text.lower())
    if name is None:
        raise ValueError(
            unknown_word("policy of the RLScheduler rules", text, usual.values())
            + ", or a policy file (.json), or replay with --rules standard"
        )
    return ChosenPolicy(name, None if name in POLICIES else parse_policy(name))


def replay_run(
    trace: Trace, settings: RunSettings, policy: ChosenPolicy, nodes: NodeSettings | None = None
) -> ReplayRun:
    """Replays a trace. trace: loaded with the cancelled jobs if the settings want them. nodes: where jobs are placed, if they are.

    Raises ValueError with the remedy for what cannot be replayed, and where a formula or a plug-in fails.
    """
    settings = check_settings(settings)
    rows = changed_rows(trace, settings)
    of_queues = rows.height
    if not settings.is_standard:
        rows = rows.with_columns(procs=pl.max_horizontal("procs", "requested_procs"))
    cluster_procs = settings.procs or trace.cluster_procs
    shares = partition_shares(rows, settings.partitions, cluster_procs)
    rows, dropped = _without_wider(trace, rows, cluster_procs, settings, shares)
    first, length = settings.window_of(rows.height)
    replayed = rows[first : first + length]
    ahead, begin = rows[: first if settings.warm_start else 0], replayed["submit_s"][0]
    waiting = waiting_at(ahead, begin)
    simulated = pl.concat([waiting, replayed])
    jobs = trace.jobs_of(simulated, settings.believed, settings.reserve_by, settings.admit_by)
    if policy.placing is not None:
        check_made_for(policy.placing, settings, rows, cluster_procs)
    cluster = _cluster(trace, ahead, begin, waiting.height, cluster_procs, settings)
    counts = {
        "jobs": replayed.height,
        "jobs_left_out": trace.jobs_left_out,
        "requests_below_runtime": rows.filter(
            pl.col("requested_walltime_s").is_between(1, pl.col("runtime_s"), closed="left")
        ).height,
        "equal_submit_times": rows.filter(pl.col("submit_s").diff() == 0).height,
        **trace.log_faults,
        "jobs_wider_than_cluster": trace.log_faults["jobs_wider_than_cluster"] + dropped,
        "jobs_of_queues_left_out": trace.rows.height - of_queues,
        "cancelled_jobs": replayed.height - replayed["cancel_s"].null_count(),
        "running_jobs": len(cluster.running),
        "waiting_jobs": cluster.waiting,
        "outages": len(cluster.outages),
    }
    if policy.policy is not None and policy.policy.weights is not None:
        unseen = _jobs_from_position(trace, replayed, policy.trained_jobs)
        counts["jobs_seen_in_training"] = replayed.height - counts["cancelled_jobs"] - unseen
    if settings.partitions and (nodes is not None or policy.placing is not None):
        raise ValueError(
            "partitions cannot be combined with nodes, nor with an agent that decides all starts: leave one of them out"
        )
    if nodes is None:
        schedule, fate = _schedule(trace, settings, policy, jobs, cluster, simulated)
        return ReplayRun(settings, trace, policy, replayed, jobs, cluster, schedule, counts | fate)
    ground = ground_of(check_nodes(nodes, settings), cluster_procs, trace.procs_per_node)
    schedule, placement, fate = _on_nodes(ground, trace, settings, policy, ground.rounded(jobs, cluster), simulated)
    return ReplayRun(settings, trace, policy, replayed, jobs, cluster, schedule, counts | fate, ground, placement)


def _on_nodes(
    ground: Ground,
    trace: Trace,
    settings: RunSettings,
    policy: ChosenPolicy,
    rounded: tuple[Jobs, Cluster],
    rows: pl.DataFrame,
) -> tuple[Schedule, Placement, dict[str, int]]:
    """Schedule, nodes of all jobs, and outcome of underestimated ones. rounded: jobs and cluster as `Ground.rounded` returns them."""
    if ground.settings.place == TOGETHER:
        return *ground.replay_looking_ahead(rounded[0]), {}
    if ground.settings.switches is None:
        schedule, fate = _schedule(trace, settings, policy, *rounded, rows)
        return schedule, ground.place(*rounded, schedule), fate
    if policy.policy is None or policy.placing is not None:
        raise ValueError("jobs wait for switches under a policy of ours: leave --switches out")
    try:
        return *ground.replay_with_switches(*rounded, policy.policy, settings), {}
    except NeverStarts as error:
        raise ValueError(f"{trace.source}: job {rows['job_id'][error.index]} {error.why}") from None


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
    return Cluster(cluster_procs, running, outages_of(settings, cluster_procs), waiting)


def _schedule(
    trace: Trace, settings: RunSettings, policy: ChosenPolicy, jobs: Jobs, cluster: Cluster, rows: pl.DataFrame
) -> tuple[Schedule, dict[str, int]]:
    """The schedule, and the outcome of underestimated jobs where the scheduler used predictions."""
    if not settings.is_standard:
        wait_bug, backfill = settings.rules == "rlscheduler", settings.backfill == "easy"
        return replay_rlscheduler(
            jobs, cluster.procs, policy.policy or policy.text, backfill, wait_bug, trace.procs_per_node
        ), {}
    assert policy.policy is not None
    if policy.placing is not None:
        from models.backfilling.playing import place_all

        return place_all(policy.placing, jobs, cluster.procs), {}
    try:
        if settings.partitions:
            partition = partitions_of(rows["queue"], settings.partitions)
            shares = shares_of(settings.partitions, cluster.procs)
            rule = (policy.policy, settings.backfill_rule, settings.correction)
            return replay_partitions(jobs, partition, shares, *rule), {}
        if settings.believed.is_live or _reports_fate(settings, cluster):
            live = LiveSettings(settings.believed.statistic, reserve_by=settings.reserve_by, admit_by=settings.admit_by)
            outcome = replay_live(
                jobs, rows, cluster.procs, policy.policy, settings.backfill_rule, settings.correction, live
            )
            return outcome.schedule, outcome.fate(jobs)
        return replay(jobs, cluster, policy.policy, settings.backfill_rule, correction=settings.correction), {}
    except NeverStarts as error:
        raise ValueError(f"{trace.source}: job {rows['job_id'][error.index]} {error.why}") from None
    except ValueError:
        raise
    except Exception as error:
        if policy.policy.plug_in is None:
            raise
        raise policy.policy.plug_in.failure(error) from error


def _reports_fate(settings: RunSettings, cluster: Cluster) -> bool:
    """Whether reservations are watched for delays by underestimates. They are where estimates are predictions, under EASY rules, on an
    empty cluster without outages and without a queue."""
    plain = not (len(cluster.running) or cluster.waiting or len(cluster.outages) or settings.cancelled)
    plain = plain and settings.inspector is None
    return settings.believed.may_underestimate and plain and settings.backfill in ("none", "any", "easy", "easy-sjbf")


def _jobs_from_position(trace: Trace, replayed: pl.DataFrame, position: int | None) -> int:
    """Jobs of the replay from this position of the replayable jobs on. Cancelled jobs have no position and do not count."""
    replayable = trace.rows.filter(pl.col("cancel_s").is_null())["job_index"]
    if position is None or position >= len(replayable):
        return 0
    return replayed.filter(pl.col("cancel_s").is_null(), pl.col("job_index") >= replayable[position]).height
