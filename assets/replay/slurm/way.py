"""The way to replay that follows the source's own Slurm: its nodes, partitions, limits, priorities and cycles.

`slurm` is Slurm as it is configured. `slurm:POLICY` puts an order of ours in place of its priority; everything else stays Slurm's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assets.common.storage import open_warehouse, pseudonym_key
from assets.common.trace import Trace
from assets.replay.limits.named import clock_zero_s, named_cluster
from assets.replay.loading import catalogue_source
from assets.replay.policies import ChosenPolicy, order_policy
from assets.replay.settings import RunSettings, slurm_policy_of
from assets.replay.slurm.requests import requests_of_rows
from simulator.cluster.arrays import cluster_arrays
from simulator.cluster.requests import Requests, request_arrays
from simulator.engine.queue_tree import order_of
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs
from simulator.policies.registry import Policy
from simulator.policies.scoring import FIXED
from simulator.replayer import Outcome
from simulator.slurm.replaying import Phases, SlurmReplayer
from simulator.slurm.settings import slurm_settings
from traces.catalogue.clusters import clusters_of_source
from traces.catalogue.sources import Source
from traces.cluster.description import ClusterDescription
from traces.common.described_names import with_pseudonyms
from warehouse import Warehouse

SLURM = "slurm"
RUNS = 5
"""Runs that differ in the phase of Slurm's cycles alone."""
MOST_JOBS_OF_ALL_RUNS = 100_000
"""Jobs of all these runs: of a longer log fewer are made, and at least one."""
LATEST = 4_294_967_294
"""The highest priority that Slurm gives, by hand, too."""


@dataclass(frozen=True)
class SlurmRuns:
    """Several runs of the same Slurm, of which the first one counts. The others say how far it is from being the only one."""

    replayer: SlurmReplayer
    policy: Policy | None
    runs: int
    left_out: dict[str, int]
    honours: ClassVar[frozenset[str]] = frozenset({"policy", "cluster"})

    def replay(self, jobs: Jobs, cluster: Cluster) -> Outcome:
        """Replays all jobs, `runs` times. Raises as SlurmReplayer.replay."""
        requests = self.replayer.requests
        if self.policy is not None:
            assert self.policy.fixed is not None
            requests = by_order(requests, self.policy.fixed(jobs, cluster.procs))
        interval_s = slurm_settings(self.replayer.description.scheduler).interval
        outcomes = [
            replace(self.replayer, requests=requests, phases=Phases.drawn(seed, interval_s)).replay(jobs, cluster)
            for seed in range(self.runs)
        ]
        counts = {"jobs_never_started": outcomes[0].counts["never started"], **self.left_out}
        return Outcome(outcomes[0].schedule, counts=counts, others=tuple(each.schedule for each in outcomes[1:]))


def by_order(requests: Requests, score: NDArray[np.int64] | NDArray[np.float64]) -> Requests:
    """The requests with priorities given by hand, so that the lowest score comes first. score: (jobs,)."""
    priority = np.empty(len(score), dtype=np.int64)
    priority[order_of(score)] = LATEST - np.arange(len(score))
    return requests._replace(priority=priority)


def slurm_cluster_of(source: Source, moment_s: int | None = None) -> ClusterDescription | None:
    """The description of a source's Slurm that holds at a UTC second, None for the first. None where its cluster is no Slurm's.

    Raises ValueError where a description is missing."""
    clusters = clusters_of_source(source)
    held = [each for each in clusters if moment_s is None or each.valid_from_s is None or each.valid_from_s <= moment_s]
    cluster = held[-1] if held and moment_s is not None else clusters[0] if clusters else None
    return cluster if cluster is not None and cluster.scheduler.name == SLURM else None


def order_on_slurm(settings: RunSettings, warehouse: Warehouse | None, source: str) -> ChosenPolicy:
    """Slurm's own priority, or an order in its place. Arguments and errors as those of assets.replay.replayers.choose_policy."""
    own = slurm_policy_of(settings.policy)
    if not own:
        return ChosenPolicy(SLURM, None)
    chosen = order_policy(settings.model_copy(update={"policy": own}), warehouse, source)
    policy = chosen.policy
    if policy is None or policy.kind != FIXED or policy.half_life_s != 0.0 or policy.fixed is None:
        raise ValueError(
            f"--policy {settings.policy}: on Slurm's nodes an order must be known at submission, such as slurm:SAF or "
            "slurm:bounded-key; scores that change while a job waits go with --policy alone, over a row of processors"
        )
    return replace(chosen, text=f"{SLURM}:{chosen.text}")


def slurm_of_trace(trace: Trace, rows: pl.DataFrame, named: str | None = None) -> ClusterDescription:
    """The source's Slurm when the first of these rows of its trace was submitted, with times of the log's clock. named: the cluster that
    is asked for by its name, if one is.

    Raises ValueError, with the remedy, where the source has none."""
    zero_s = clock_zero_s(trace)
    if named is not None:
        asked_for = named_cluster(named, trace.source)
        if asked_for.scheduler.name != SLURM:
            raise ValueError(
                f"cluster {named!r} has the scheduler {asked_for.scheduler.name}: give another policy than slurm, such as FCFS"
            )
        return in_clock(asked_for, zero_s)
    source = catalogue_source(trace.source)
    cluster = slurm_cluster_of(source, zero_s + int(rows["submit_s"][0]))
    if cluster is None:
        raise ValueError(
            f"source {trace.source!r} has no cluster of Slurm: import one with `tracehouse cluster import DIR --name NAME`, and name it "
            "in the catalogue, or give another policy than slurm"
        )
    if source.pseudonyms:
        cluster = with_pseudonyms(cluster, source.pseudonyms, pseudonym_key(open_warehouse()))
    return in_clock(cluster, zero_s)


def slurm_replayer(
    trace: Trace, rows: pl.DataFrame, procs: int, policy: Policy | None, named: str | None = None
) -> SlurmRuns:
    """The replayer of some rows of a trace. procs: of the cluster that was asked for. policy: in place of Slurm's priority, None for that.
    named: as slurm_of_trace.

    Raises ValueError, with the remedy, where the source has no Slurm cluster, for another size than that of its nodes, and for jobs that it
    cannot have had."""
    cluster = slurm_of_trace(trace, rows, named)
    if procs != cluster.num_cpus:
        raise ValueError(
            f"the nodes of cluster {cluster.name} have {cluster.num_cpus} CPUs, and {procs} were asked for: leave --procs "
            f"out, or change the nodes in a copy of clusters/{cluster.name}.toml"
        )
    requests, left_out = requests_of_rows(rows, cluster)
    arrays = cluster_arrays(cluster, {one.features for one in requests})
    replayer = SlurmReplayer(cluster, arrays, request_arrays(requests, cluster, arrays))
    runs = max(1, min(RUNS, MOST_JOBS_OF_ALL_RUNS // max(rows.height, 1)))
    return SlurmRuns(replayer, policy, runs, left_out)


def in_clock(cluster: ClusterDescription, zero_s: int) -> ClusterDescription:
    """The description with reservations and absences of nodes in seconds of a clock whose zero is the UTC second `zero_s`."""
    moved = tuple(
        replace(
            each,
            begin_s=each.begin_s - zero_s,
            end_s=each.end_s - zero_s,
            announced_s=None if each.announced_s is None else each.announced_s - zero_s,
        )
        for each in cluster.reservations
    )
    nodes = tuple(
        replace(
            node,
            absences=tuple(
                replace(away, begin_s=away.begin_s - zero_s, end_s=None if away.end_s is None else away.end_s - zero_s)
                for away in node.absences
            ),
        )
        for node in cluster.nodes
    )
    return replace(cluster, reservations=moved, nodes=nodes)
