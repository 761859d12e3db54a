"""The way to replay that follows the source's own PBS: its queues, order, limits, shares, nodes and reservations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import polars as pl

from assets.common.storage import open_warehouse, pseudonym_key
from assets.common.trace import Trace
from assets.replay.limits.named import clock_zero_s, named_cluster
from assets.replay.loading import catalogue_source
from assets.replay.pbs.requests import pbs_jobs_of_rows
from assets.replay.policies import ChosenPolicy
from assets.replay.settings import PBS, RunSettings
from assets.replay.slurm.way import in_clock
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs
from simulator.pbs.replaying import PbsReplayer
from simulator.pbs.settings import PbsPhases, unmodelled_formula
from simulator.replayer import Outcome
from traces.catalogue.clusters import clusters_of_source
from traces.catalogue.sources import Source
from traces.cluster.description import ClusterDescription, SchedulerSettings
from traces.common.described_names import with_pseudonyms
from warehouse import Warehouse

_MINUTE = 60


@dataclass(frozen=True)
class PbsOfSource:
    """The PBS of a source. left_out: how many jobs were changed, by why."""

    replayer: PbsReplayer
    left_out: dict[str, int]
    honours: ClassVar[frozenset[str]] = frozenset({"policy", "cluster"})

    def replay(self, jobs: Jobs, cluster: Cluster) -> Outcome:
        """Replays all jobs. Raises as PbsReplayer.replay."""
        outcome = self.replayer.replay(jobs, cluster)
        counts = {"jobs_never_started": outcome.counts["never started"], **self.left_out}
        return Outcome(outcome.schedule, counts=counts)


def pbs_cluster_of(source: Source, moment_s: int | None = None) -> ClusterDescription | None:
    """The description of a source's PBS that holds at a UTC second, None for the first. None where its cluster is no PBS's.

    Raises ValueError where a description is missing."""
    clusters = clusters_of_source(source)
    held = [each for each in clusters if moment_s is None or each.valid_from_s is None or each.valid_from_s <= moment_s]
    cluster = held[-1] if held and moment_s is not None else clusters[0] if clusters else None
    return cluster if cluster is not None and cluster.scheduler.name == PBS else None


def own_order_of_pbs(settings: RunSettings, warehouse: Warehouse | None, source: str) -> ChosenPolicy:
    """PBS's own order. Arguments as those of assets.replay.replayers.choose_policy."""
    return ChosenPolicy(PBS, None)


def pbs_of_trace(trace: Trace, rows: pl.DataFrame, named: str | None = None) -> ClusterDescription:
    """The source's PBS when the first of these rows of its trace was submitted, with times of the log's clock. named: the cluster that is
    asked for by its name, if one is.

    Raises ValueError, with the remedy, where the source has none."""
    zero_s = clock_zero_s(trace)
    if named is not None:
        asked_for = named_cluster(named, trace.source)
        if asked_for.scheduler.name != PBS:
            raise ValueError(
                f"cluster {named!r} has the scheduler {asked_for.scheduler.name}: give another policy than pbs, such as FCFS"
            )
        return in_clock(asked_for, zero_s)
    source = catalogue_source(trace.source)
    cluster = pbs_cluster_of(source, zero_s + int(rows["submit_s"][0]))
    if cluster is None:
        raise ValueError(
            f"source {trace.source!r} has no cluster of PBS: import one with `tracehouse cluster import DIR --name NAME`, and name it "
            "in the catalogue, or give another policy than pbs"
        )
    if source.pseudonyms:
        cluster = with_pseudonyms(cluster, source.pseudonyms, pseudonym_key(open_warehouse()))
    return in_clock(cluster, zero_s)


def pbs_replayer(trace: Trace, rows: pl.DataFrame, procs: int, named: str | None = None) -> PbsOfSource:
    """The replayer of some rows of a trace. procs: of the cluster that was asked for. named: as pbs_of_trace.

    Raises ValueError, with the remedy, where the source has no PBS cluster, for another size than that of its nodes, and for jobs that it
    cannot have had."""
    cluster = pbs_of_trace(trace, rows, named)
    if procs != cluster.num_cpus:
        raise ValueError(
            f"the nodes of cluster {cluster.name} have {cluster.num_cpus} CPUs, and {procs} were asked for: leave --procs "
            f"out, or change the nodes in a copy of clusters/{cluster.name}.toml"
        )
    asked, left_out = pbs_jobs_of_rows(rows, cluster)
    if unmodelled_formula(cluster.scheduler):
        cluster = _without_formula(cluster)
    return PbsOfSource(PbsReplayer(cluster, asked, PbsPhases(minute_s=clock_zero_s(trace) % _MINUTE)), left_out)


def _without_formula(cluster: ClusterDescription) -> ClusterDescription:
    """The cluster without a formula that a replay cannot follow."""
    scheduler = cluster.scheduler
    values = {name: value for name, value in scheduler.values.items() if name != "job_sort_formula"}
    return replace(cluster, scheduler=SchedulerSettings(scheduler.name, scheduler.version, values))
