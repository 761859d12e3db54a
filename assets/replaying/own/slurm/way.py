"""Runs under the Slurm of a described cluster."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import polars as pl

from assets.common.trace import Trace
from assets.replaying.own.dependencies import behind
from assets.replaying.own.slurm.ahead import slurm_jobs_ahead, warm_start_of
from assets.replaying.own.slurm.requests import requests_of_rows
from assets.replaying.own.way import OwnRuns, number_of_own_runs
from models.runtime.estimates import REQUESTED, Estimates
from models.runtime.live_on_cluster import LiveOnCluster
from simulator.cluster.arrays import cluster_arrays
from simulator.cluster.requests import request_arrays, some_requests
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs
from simulator.policies.registry import Policy
from simulator.replayer import Outcome
from simulator.slurm.replaying import TEST_US, Phases, SlurmReplayer
from simulator.slurm.settings import slurm_settings
from traces.cluster.description import ClusterDescription
from traces.slurm.state import cycles


@dataclass(frozen=True)
class SlurmRuns(OwnRuns):
    """Runs that differ in the phase of Slurm's cycles."""

    replayer: SlurmReplayer
    honours: ClassVar[frozenset[str]] = OwnRuns.honours | {"warm-start", "estimates live"}

    def run(self, jobs: Jobs, cluster: Cluster, number: int) -> Outcome:
        """One of the runs. Raises as SlurmReplayer.replay."""
        return replace(self.replayer, phases=phases_of_run(self.replayer.description, number)).replay(jobs, cluster)


def phases_of_run(cluster: ClusterDescription, number: int) -> Phases:
    """The phases of one of the runs of a cluster's Slurm."""
    interval_s = slurm_settings(cluster.scheduler).interval
    return Phases.drawn(number, interval_s, test_us=test_us_of(cluster))


def test_us_of(cluster: ClusterDescription) -> int:
    """Microseconds that a backfill cycle takes for each job: of the cluster's own `sdiag` where it has one, else the usual time."""
    return int(cluster.scheduler.values.get(cycles.MEASURED_TEST_US, TEST_US))


def slurm_runs(
    cluster: ClusterDescription,
    trace: Trace,
    rows: pl.DataFrame,
    policy: Policy | None,
    ahead: tuple[pl.DataFrame, int] | None = None,
    estimates: Estimates = REQUESTED,
) -> SlurmRuns:
    """The runs of some rows of a trace. policy: in place of Slurm's priority, None for that. ahead: for a warm start the rows of the trace
    before the replay, and the second at which it begins. estimates: what Slurm plans by. Live ones go with its own order and an idle
    cluster.

    Raises ValueError for jobs that the cluster cannot have had."""
    asked, left_out = requests_of_rows(rows, cluster)
    before = None if ahead is None else slurm_jobs_ahead(trace, ahead, cluster)
    # users have the same numbers in all requests that are made at once
    earlier = [] if before is None else requests_of_rows(before.started.with_columns(dependency=None), cluster)[0]
    arrays = cluster_arrays(cluster, {one.features for one in (*earlier, *asked)})
    columns = request_arrays([*earlier, *behind(asked, len(earlier))], cluster, arrays)
    split = np.arange(len(earlier)), np.arange(len(earlier), len(columns.submit))
    of_earlier, own = (some_requests(columns, part) for part in split)
    warm = None if before is None else warm_start_of(before, of_earlier, cluster)
    replayer = SlurmReplayer(cluster, arrays, own, policy=policy, warm=warm, plans_by_estimate=estimates != REQUESTED)
    if estimates.is_live:
        replayer = replace(replayer, plans_by_estimate=False, drive=LiveOnCluster(rows, estimates.detail))
    return SlurmRuns(number_of_own_runs(rows.height), left_out, replayer)
