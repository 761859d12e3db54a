"""A source, or a log under a cluster of the home, as a search replays it."""

from __future__ import annotations

import hashlib
import threading
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import polars as pl

from assets.common.progress import warn
from assets.common.trace import Trace, trace_sha256, waiting_at
from assets.replaying.configuring.configuration import NothingChanges
from assets.replaying.limits.way import named_cluster
from assets.replaying.own.clusters import own_cluster, policy_on
from assets.replaying.own.way import RUNS
from assets.replaying.running.loading import catalogue_source, is_path, load_any_trace, log_source
from assets.replaying.running.policies import ChosenPolicy
from assets.replaying.running.run import ReplayRun, engine_version, replay_run
from assets.replaying.running.settings import RunSettings
from assets.replaying.running.users import UsersPace
from assets.replaying.site import site_of
from assets.replaying.tuning.knobs import Knob
from assets.replaying.tuning.tunable import CLASS_COLUMNS, Edits, Tunable, classes_of
from assets.replaying.tuning.usual_knobs import formula_knobs, usual_knobs
from simulator.jobs.words import KEEP_PACE
from simulator.metrics.metrics import SEMANTICS
from simulator.policies.registry import SEARCHED, parse_policy
from traces.catalogue.clusters import load_cluster
from traces.cluster.description import ClusterDescription
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
    another text of it then. ahead: so many first rows of the trace come before the replays, which begin with what ran and waited then as
    the log has it. 0 for an empty cluster."""

    trace: Trace
    settings: RunSettings
    order: str | None = None
    ahead: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def of_last(self, count: int) -> SourceReplays:
        """The same of the last `count` jobs. Under Slurm the cluster begins as the log has it then. Else, and where more was running than
        it has CPUs, or half as many jobs waited, it is empty. What accounts have used comes from as many jobs before."""
        rows = self.trace.rows
        before, later = rows[:-count], rows[-count:]
        begin_s, described = later["submit_s"][0], self.described(())
        running, waiting = self.trace.running_rows(before, begin_s), waiting_at(before, begin_s)
        fits = described is not None and running["procs"].sum() <= described.num_cpus and 2 * waiting.height < count
        if self.settings.own_scheduler != "slurm" or not fits:
            return SourceReplays(replace(self.trace, rows=later), self.settings, self.order)
        present = pl.concat([running["job_index"], waiting["job_index"]])
        ahead = before.filter(
            pl.col("job_index").is_in(present.implode()) | (pl.int_range(pl.len()) >= before.height - count)
        )
        trace = replace(self.trace, rows=pl.concat([ahead, later]))
        return SourceReplays(trace, self.settings, self.order, ahead.height)

    @cached_property
    def waiting(self) -> pl.DataFrame:
        """Rows of the jobs that wait when the replays begin."""
        rows = self.trace.rows
        return waiting_at(rows[: self.ahead], rows["submit_s"][self.ahead])

    @cached_property
    def rows(self) -> pl.DataFrame:
        """Of the trace, the jobs that are replayed."""
        return pl.concat([self.waiting, self.trace.rows[self.ahead :]])

    def tunable(self) -> Tunable:
        """What a search needs of them."""
        rows, jobs, described = self.rows, self.trace.jobs_of(self.rows), self.described(())
        procs = self.trace.cluster_procs if described is None else described.num_cpus
        of_all = (trace_sha256(rows), described, self.settings.model_dump(), self.order, engine_version(), SEMANTICS)
        return Tunable(
            self.trace.source,
            jobs,
            procs,
            classes_of(rows, jobs.user, jobs.procs, procs),
            lambda edits, run, count: self.replay(count, edits, range(run, run + 1)).all_starts,
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
            return own_cluster(self.trace, self.rows, self.settings.model_copy(update={"edits": list(edits)}))
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

    def replay(self, count: int, edits: Edits = (), runs: range = range(1), pace: UsersPace | None = None) -> ReplayRun:
        """A replay of the first `count` jobs. runs: numbers of the runs of a scheduler that is not deterministic. pace: of the users, where
        they keep it. Raises ValueError for one that has no rule for them."""
        settings, order = self.settings, self.order
        if order is not None:
            order, edits = edits[0] if edits else order, ()
        elif not settings.is_on_cluster:
            order = settings.policy
        chosen = ChosenPolicy(order or settings.policy, None if order is None else parse_policy(order))
        later = count - self.waiting.height
        if self.ahead:
            settings = settings.model_copy(update={"window": f"{self.ahead}:{later}", "warm_start": True})
        if pace is not None:
            settings = settings.model_copy(update={"users": KEEP_PACE})
        trace = replace(self.trace, rows=self.trace.rows[: self.ahead + later])
        return replay_run(trace, settings, chosen, own_runs=runs, pace=pace, described=self.described(edits))
