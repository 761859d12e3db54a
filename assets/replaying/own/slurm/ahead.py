"""What a log says of the jobs before a replay under Slurm begins."""

from __future__ import annotations

import numpy as np
import polars as pl

from assets.common.trace import Trace
from assets.replaying.own.ahead import Ahead, jobs_ahead, nodes_held
from simulator.cluster.requests import Requests, some_requests
from simulator.slurm.priority import priority_rules
from simulator.slurm.settings import slurm_settings
from simulator.slurm.variants.warm import RanBefore, WarmStart
from traces.cluster.description import ClusterDescription


def slurm_jobs_ahead(trace: Trace, ahead: tuple[pl.DataFrame, int], cluster: ClusterDescription) -> Ahead:
    """What a warm start looks at. ahead: as `jobs_ahead` takes it."""
    half_life_s = priority_rules(cluster.scheduler).half_life if counts_use(cluster) else None
    return jobs_ahead(trace, ahead, half_life_s, cluster.has_queue)


def counts_use(cluster: ClusterDescription) -> bool:
    """Whether anything depends on what accounts have used: fair share, or a limit on used time."""
    has_shares = slurm_settings(cluster.scheduler).basic == 0 and priority_rules(cluster.scheduler).fair_share > 0
    return has_shares or any(limit.counts == "used" for limit in cluster.limits)


def warm_start_of(jobs: Ahead, requests: Requests, cluster: ClusterDescription) -> WarmStart:
    """The state in which the cluster was. requests: of the jobs ahead, in their order."""
    of_running = jobs.running_rows
    start = jobs.started["start_s"].to_numpy()
    past = RanBefore(
        requests, start, start + jobs.started["runtime_s"].to_numpy(), jobs.started["procs"].to_numpy().astype(np.int64)
    )
    return WarmStart(
        some_requests(requests, np.arange(jobs.running)), nodes_held(jobs.trace, of_running, cluster), past
    )
