"""A source, or a log under a cluster of the home, as a search replays it."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from assets.common.progress import warn
from assets.common.trace import Trace, trace_sha256, waiting_at
from assets.replaying.configuring.configuration import NothingChanges
from assets.replaying.limits.holds import missing_processors
from assets.replaying.limits.way import clock_zero_s, named_cluster, replayer_under
from assets.replaying.own.clusters import own_cluster, policy_on
from assets.replaying.own.pbs.requests import pbs_jobs_of_rows
from assets.replaying.own.pbs.way import PbsRuns, pbs_runs
from assets.replaying.own.slurm.requests import requests_of_rows
from assets.replaying.own.slurm.way import SlurmRuns, slurm_runs
from assets.replaying.own.way import RUNS
from assets.replaying.running.loading import catalogue_source, is_path, load_any_trace, log_source
from assets.replaying.running.policies import ChosenPolicy
from assets.replaying.running.run import ReplayRun, as_submitted, engine_version
from assets.replaying.running.settings import RunSettings
from assets.replaying.running.users import UsersPace
from assets.replaying.site import site_of
from assets.replaying.tuning.knobs import Knob
from assets.replaying.tuning.tunable import CLASS_COLUMNS, Edits, Tunable, classes_of
from assets.replaying.tuning.usual_knobs import formula_knobs, usual_knobs
from simulator.engine.replay import OrderReplayer
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs
from simulator.jobs.schedule import Schedule
from simulator.limits.rules import KNOWN_AFTER_S
from simulator.metrics.metrics import SEMANTICS
from simulator.policies.registry import SEARCHED, Policy, parse_policy
from simulator.replayer import Outcome
from traces.catalogue.clusters import load_cluster
from traces.cluster.description import ClusterDescription, SchedulerSettings
from traces.cluster.differing import changed_values

FEWEST_TUNED = 200
"""In a shorter log neither half says anything."""


def tunable_source(
    source: str, cluster: str | None = None, policy: str | None = None, listed: tuple[Knob, ...] | None = None
) -> tuple[SourceReplays, tuple[Knob, ...]]:
    """The replays of a source or of the log at a path, and what is searched. Where nothing can be, it is the constants of an order.

    cluster: a cluster of the home, in place of the source's. policy: an order with a formula, whose constants are searched in place of
    settings. listed: what is searched, None for what the cluster has. Raises LogError, CatalogueError and ValueError, with the remedy."""
    if not is_path(source):
        catalogue_source(source)  # a fault of its name comes first
    if policy is None and listed and all(knob.template.startswith("formula:") for knob in listed):
        policy = next(iter(SEARCHED))
    if policy is None and listed is None and cluster is None and not site_of(source).is_described:
        policy = _order_instead(f"{source}: no cluster is described, whose settings could be searched")
    replays = source_replays(source, cluster, policy)
    if replays.trace.rows.height < FEWEST_TUNED:
        raise ValueError(
            f"{source}: it has {replays.trace.rows.height} jobs to replay, and a search needs {FEWEST_TUNED} or more"
        )
    if listed is not None or policy is not None:
        return replays, listed or formula_knobs(replays.order or "")
    described = replays.described(())
    assert described is not None
    if knobs := usual_knobs(described):
        return replays, knobs
    order = _order_instead(f"{source}: the cluster {described.name} has no limit on what runs, which could be searched")
    replays = SourceReplays(replays.trace, replays.settings, formula_of(order))
    return replays, formula_knobs(replays.order or "")


def _order_instead(why: str) -> str:
    """The order that is searched where a cluster has no settings, of which is warned."""
    order = next(iter(SEARCHED))
    warn(f"{why}: constants of the order {order} are")
    return order


def source_replays(source: str, cluster: str | None = None, policy: str | None = None) -> SourceReplays:
    """The replays of a source or of the log at a path. Arguments and errors as those of `tunable_source`."""
    is_log = is_path(source)
    declared = log_source(Path(source)) if is_log else catalogue_source(source)
    if cluster is not None:
        usual = {"policy": policy_on(load_cluster(cluster).description), "cluster": cluster}
    else:
        site = site_of(source)
        usual = site.scheduler.settings if site.is_described else {}
    if not usual and policy is None:
        raise ValueError(
            f"{source}: no cluster is described, whose settings could be searched: import one with `tracehouse cluster import`, find its "
            f"limits with `tracehouse cluster identify`, name one with --cluster, or give --policy {next(iter(SEARCHED))} for an order"
        )
    settings = RunSettings.model_validate(usual | {"drop_wider": "yes"})
    trace = load_any_trace(declared, settings, not is_log, list(dict.fromkeys([*CLASS_COLUMNS, *settings.labels])))
    formula = None if policy is None else formula_of(policy)
    replays = SourceReplays(trace, settings, formula)
    described = replays.described(())
    procs = trace.cluster_procs if described is None else described.num_cpus
    wide = trace.rows.filter(pl.col("procs") > procs).height
    if wide:
        warn(f"{source}: {wide:,} jobs are wider than the {procs:,} processors of the cluster, and are left out")
        narrow = replace(trace, rows=trace.rows.filter(pl.col("procs") <= procs))
        return SourceReplays(narrow, settings, formula)
    return replays


def formula_of(policy: str) -> str:
    """The formula of a policy that has one. Raises ValueError for another one."""
    formula = SEARCHED.get(policy.strip().lower(), policy.strip())
    if not formula.startswith("formula:"):
        raise ValueError(
            f"--policy {policy}: expected {', '.join(SEARCHED)} or formula:TEXT, whose constants are adapted"
        )
    parse_policy(formula)
    return formula


@dataclass(frozen=True)
class SourceReplays:
    """Replays of a trace. settings: of the base. order: a formula in the place of the scheduler's own order, None for that; an edit is
    another text of it then. requests: what so many first jobs asked for, and of which cluster, as it was made last. ahead: rows of the log
    before those of the trace, with whose jobs the cluster begins as the log has it, None for an empty one. waiting: how many of the
    trace's first rows wait then."""

    trace: Trace
    settings: RunSettings
    order: str | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)
    requests: dict[int, tuple[ClusterDescription, Any]] = field(default_factory=dict)
    ahead: pl.DataFrame | None = None
    waiting: int = 0

    def of_last(self, count: int) -> SourceReplays:
        """The same of the last `count` jobs. Under Slurm the cluster begins as the log has it then. Else, and where more was running than
        it has CPUs, it is empty. What accounts have used comes from as many jobs before."""
        rows = self.trace.rows
        before, later = rows[:-count], rows[-count:]
        begin_s, described = later["submit_s"][0], self.described(())
        running = self.trace.running_rows(before, begin_s)
        fits = described is not None and running["procs"].sum() <= described.num_cpus
        if self.settings.own_scheduler != "slurm" or not fits:
            return SourceReplays(replace(self.trace, rows=later), self.settings, self.order)
        waiting, runs_then = waiting_at(before, begin_s), running["job_index"]
        ahead = before.filter(
            pl.col("job_index").is_in(runs_then.implode()) | (pl.int_range(pl.len()) >= before.height - count)
        )
        trace = replace(self.trace, rows=pl.concat([waiting, later]))
        return SourceReplays(trace, self.settings, self.order, ahead=ahead, waiting=waiting.height)

    def tunable(self) -> Tunable:
        """What a search needs of them."""
        rows, jobs, described = self.trace.rows, self.trace.jobs(), self.described(())
        procs = self.trace.cluster_procs if described is None else described.num_cpus
        of_all = (trace_sha256(rows), described, self.settings.model_dump(), self.order, engine_version(), SEMANTICS)
        return Tunable(
            self.trace.source,
            jobs,
            procs,
            classes_of(rows, jobs.user, jobs.procs, procs),
            self.schedule,
            self.changes,
            RUNS if self.settings.is_on_cluster else 1,
            hashlib.sha256(repr(of_all).encode()).hexdigest(),
        )

    def described(self, edits: Edits) -> ClusterDescription | None:
        """The cluster with these edits, None where none is described."""
        with self.lock:  # names and pseudonyms come from the warehouse
            try:
                return self._edited(edits)
            except NothingChanges:
                return self._edited(())

    def _edited(self, edits: Edits) -> ClusterDescription | None:
        if self.settings.is_on_cluster:
            return own_cluster(self.trace, self.trace.rows, self.settings.model_copy(update={"edits": list(edits)}))
        if self.settings.cluster is None:
            return None
        return named_cluster(self.settings.cluster, self.trace.source, edits)

    def changes(self, edits: Edits) -> tuple[str, ...]:
        """In words, what edits change."""
        before = self.described(())
        if self.order is not None or before is None or not edits:
            return ()
        after = self.described(edits)
        assert after is not None
        return tuple(map(str, changed_values(before, after)))

    def schedule(self, edits: Edits, run: int, count: int) -> Schedule:
        """The starts of the first jobs."""
        if self.order is None:
            return self.starts(count, edits, run=run)
        return self.starts(count, policy=parse_policy(edits[0] if edits else self.order), run=run)

    def starts(self, count: int, edits: Edits = (), policy: Policy | None = None, run: int = 0) -> Schedule:
        """The starts of the first `count` jobs. policy: in the place of the scheduler's own order."""
        rows = self.trace.rows[:count]
        return self._outcome(rows, self.trace.jobs_of(rows), edits, policy, run)[0].schedule

    def paced(self, count: int, pace: UsersPace, edits: Edits = ()) -> ReplayRun:
        """A replay of the first `count` jobs whose users keep their pace. edits: as `schedule` takes them. Raises ValueError for one that
        has no rule for them."""
        if self.ahead is not None:
            raise ValueError(
                "a replay that begins with jobs of the log has its submissions, too: only whole logs have users who keep their pace"
            )
        rows, edited, policy = self.trace.rows[:count], edits, None
        if self.order is not None:
            edited, policy = (), parse_policy(edits[0] if edits else self.order)
        jobs = pace.closed(self.trace.jobs_of(rows), rows)
        outcome, machine = self._outcome(rows, jobs, edited, policy)
        jobs, counts = as_submitted(jobs, outcome, rows)
        return self._run(rows, jobs, machine, outcome.schedule, counts)

    def run_of(self, schedule: Schedule) -> ReplayRun:
        """The replay that a schedule of the first jobs came from, at the times of the log."""
        rows, described = self.trace.rows[: len(schedule.start)], self.described(())
        machine = Cluster(self.trace.cluster_procs if described is None else described.num_cpus)
        return self._run(rows, self.trace.jobs_of(rows), machine, schedule, {})

    def _run(
        self, rows: pl.DataFrame, jobs: Jobs, machine: Cluster, schedule: Schedule, counts: dict[str, int]
    ) -> ReplayRun:
        policy = ChosenPolicy(self.order or self.settings.policy, None)
        return ReplayRun(self.settings, self.trace, policy, rows, jobs, machine, schedule, counts)

    def _outcome(
        self, rows: pl.DataFrame, jobs: Jobs, edits: Edits, policy: Policy | None, run: int = 0
    ) -> tuple[Outcome, Cluster]:
        """What the scheduler makes of the jobs of some rows, and on which machine."""
        cluster = self.described(edits)
        if not self.settings.is_on_cluster:
            return self._in_order(cluster, rows, jobs, policy or parse_policy(self.settings.policy))
        assert cluster is not None
        runs, machine = self._runs(cluster, rows, policy), Cluster(cluster.num_cpus)
        if self.ahead is not None:
            running = self.trace.running_at(self.ahead, self._begin_s)
            machine = replace(machine, running=running, waiting=self.waiting)
        return runs.run(jobs, machine, run), machine

    def _runs(self, cluster: ClusterDescription, rows: pl.DataFrame, policy: Policy | None) -> PbsRuns | SlurmRuns:
        if self.settings.own_scheduler == "pbs":
            asked = self._requests(cluster, rows, pbs_jobs_of_rows)
            return pbs_runs(cluster, rows, clock_zero_s(self.trace), policy, asked)
        ahead = None if self.ahead is None else (self.ahead, self._begin_s)
        return slurm_runs(cluster, self.trace, rows, policy, ahead, self._requests(cluster, rows, requests_of_rows))

    @property
    def _begin_s(self) -> int:
        """The second of the log's clock at which replays begin that do not begin on an empty cluster."""
        return int(self.trace.rows["submit_s"][self.waiting])

    def _requests(self, cluster: ClusterDescription, rows: pl.DataFrame, make: Callable[..., Any]) -> Any:
        """What the jobs asked for, which is the same under clusters that differ in scheduler and limits alone."""
        same = replace(cluster, scheduler=SchedulerSettings(), limits=())
        kept = self.requests.get(rows.height)
        if kept is None or kept[0] != same:
            kept = self.requests[rows.height] = same, make(rows, same)
        return kept[1]

    def _in_order(
        self, cluster: ClusterDescription | None, rows: pl.DataFrame, jobs: Jobs, policy: Policy
    ) -> tuple[Outcome, Cluster]:
        replayer = OrderReplayer(policy, self.settings.backfill_rule)
        if cluster is None:
            machine = Cluster(self.trace.cluster_procs)
            return replayer.replay(jobs, machine), machine
        span = (int(jobs.submit[0]), int(jobs.submit[-1]) + KNOWN_AFTER_S)
        longest_s = int(jobs.limit.max(initial=0))
        missing = missing_processors(cluster, cluster.num_cpus, longest_s, clock_zero_s(self.trace), span)
        machine = Cluster(cluster.num_cpus, outages=missing)
        return replayer_under(cluster, self.trace, rows, replayer).replay(jobs, machine), machine
