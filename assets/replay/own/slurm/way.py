"""Runs under the Slurm of a described cluster."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assets.replay.own.slurm.requests import requests_of_rows
from assets.replay.own.way import OwnRuns, number_of_own_runs
from simulator.cluster.arrays import cluster_arrays
from simulator.cluster.requests import Requests, request_arrays
from simulator.engine.queue_tree import order_of
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs
from simulator.policies.registry import Policy
from simulator.replayer import Outcome
from simulator.slurm.replaying import Phases, SlurmReplayer
from simulator.slurm.settings import slurm_settings
from traces.cluster.description import ClusterDescription

LATEST = 4_294_967_294
"""The highest priority that Slurm gives, by hand, too."""


@dataclass(frozen=True)
class SlurmRuns(OwnRuns):
    """Runs that differ in the phase of Slurm's cycles. policy: in place of its priority, None for that."""

    replayer: SlurmReplayer
    policy: Policy | None

    def run(self, jobs: Jobs, cluster: Cluster, number: int) -> Outcome:
        """One of the runs. Raises as SlurmReplayer.replay."""
        requests = self.replayer.requests
        if self.policy is not None:
            assert self.policy.fixed is not None
            requests = by_order(requests, self.policy.fixed(jobs, cluster.procs))
        interval_s = slurm_settings(self.replayer.description.scheduler).interval
        return replace(self.replayer, requests=requests, phases=Phases.drawn(number, interval_s)).replay(jobs, cluster)


def by_order(requests: Requests, score: NDArray[np.int64] | NDArray[np.float64]) -> Requests:
    """The requests with priorities given by hand, so that the lowest score comes first. score: (jobs,)."""
    priority = np.empty(len(score), dtype=np.int64)
    priority[order_of(score)] = LATEST - np.arange(len(score))
    return requests._replace(priority=priority)


def slurm_runs(cluster: ClusterDescription, rows: pl.DataFrame, policy: Policy | None) -> SlurmRuns:
    """The runs of some rows of a trace. policy: as SlurmRuns has it. Raises ValueError for jobs that the cluster cannot have had."""
    requests, left_out = requests_of_rows(rows, cluster)
    arrays = cluster_arrays(cluster, {one.features for one in requests})
    replayer = SlurmReplayer(cluster, arrays, request_arrays(requests, cluster, arrays))
    return SlurmRuns(number_of_own_runs(rows.height), left_out, replayer, policy)
