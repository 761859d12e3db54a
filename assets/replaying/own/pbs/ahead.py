"""What a log says of the jobs before a replay under PBS begins."""

from __future__ import annotations

from collections.abc import Sequence
from math import log

import polars as pl

from assets.common.trace import Trace
from assets.replaying.own.ahead import Ahead, jobs_ahead, nodes_held
from assets.replaying.own.pbs.requests import reserved_names
from simulator.pbs.requests import PbsJob
from simulator.pbs.settings import cycle_settings
from simulator.pbs.variants.warm import PbsPast, PbsWarmStart
from traces.cluster.description import ClusterDescription


def pbs_jobs_ahead(trace: Trace, ahead: tuple[pl.DataFrame, int], cluster: ClusterDescription) -> Ahead:
    """What a warm start looks at. ahead: as `jobs_ahead` takes it."""
    settings = cycle_settings(cluster.scheduler)
    half_life_s = None
    if settings.fair_share:
        decays = 0 < settings.decay_factor < 1
        half_life_s = settings.decay_time * log(0.5) / log(settings.decay_factor) if decays else 0.0
    reserved = reserved_names(cluster)
    return jobs_ahead(trace, ahead, half_life_s, lambda queue: queue in reserved or cluster.has_queue(queue))


def pbs_warm_start_of(jobs: Ahead, asked: Sequence[PbsJob], cluster: ClusterDescription) -> PbsWarmStart:
    """The state in which the cluster was. asked: of the jobs ahead, in their order."""
    nodes = nodes_held(jobs.trace, jobs.running_rows, cluster)
    return PbsWarmStart(asked[: jobs.running], nodes, PbsPast(asked[jobs.running :], *jobs.past))
