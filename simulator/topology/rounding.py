"""Jobs that ask for whole nodes, and a scheduler that acts at periods only: the same replay of rounded jobs."""

from __future__ import annotations

from dataclasses import replace

from simulator.jobs.cluster import FOREVER, Cluster, Outages
from simulator.jobs.jobs import NEVER, Jobs
from simulator.topology.tree import IntArray


def in_whole_nodes(jobs: Jobs, cluster: int | Cluster, procs_per_node: int) -> tuple[Jobs, Cluster]:
    """Processors of jobs, running jobs and outages rounded up to whole nodes.

    Raises ValueError where the cluster has no whole number of nodes, and where the jobs that run do not fit any more.
    """
    cluster = Cluster.of(cluster)
    if cluster.procs % procs_per_node:
        raise ValueError(
            f"{cluster.procs} processors do not divide into whole nodes of {procs_per_node}: choose another number of "
            "processors (--procs), or let jobs share nodes"
        )
    running = replace(cluster.running, procs=_up(cluster.running.procs, procs_per_node))
    outages = replace(cluster.outages, procs=_up(cluster.outages.procs, procs_per_node))
    rounded = replace(jobs, procs=_up(jobs.procs, procs_per_node))
    return rounded, replace(cluster, running=running, outages=outages)


def in_periods(jobs: Jobs, cluster: int | Cluster, period_s: int) -> tuple[Jobs, Cluster]:
    """Jobs and cluster of a scheduler that acts every `period_s` seconds, from second 0 of the log's clock on.

    Times of jobs are rounded up to whole periods; outages start a period earlier and end one later at most. Raises ValueError for
    a period below 1 s, and for a warm start, whose jobs may end before the first period.
    """
    cluster = Cluster.of(cluster)
    if period_s < 1:
        raise ValueError(f"a period has at least 1 s, got {period_s}")
    if len(cluster.running) or cluster.waiting:
        raise ValueError("a warm start cannot be replayed by periods: leave --warm-start or --every out")
    cancel = jobs.cancel.copy()
    cancel[cancel < NEVER] = _up(cancel[cancel < NEVER], period_s)
    end = cluster.outages.end.copy()
    end[end < FOREVER] = _up(end[end < FOREVER], period_s)
    outages = Outages(
        start=cluster.outages.start // period_s * period_s,
        end=end,
        procs=cluster.outages.procs,
        announced=cluster.outages.announced // period_s * period_s,
    )
    rounded = replace(
        jobs,
        submit=_up(jobs.submit, period_s),
        runtime=_up(jobs.runtime, period_s),
        estimate=_up(jobs.estimate, period_s),
        limit=_up(jobs.limit, period_s),
        hold=_up(jobs.hold, period_s),
        admit=_up(jobs.admit, period_s),
        cancel=cancel,
    )
    return rounded, replace(cluster, outages=outages)


def _up(values: IntArray, step: int) -> IntArray:
    return -(-values // step) * step
