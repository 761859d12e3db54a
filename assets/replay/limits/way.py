"""The way to replay by an order under the limits, gates, reservations and absences of a named cluster."""

from __future__ import annotations

import polars as pl

from assets.common.trace import Trace
from assets.replay.limits.holds import job_limits, start_gates
from assets.replay.limits.named import clock_zero_s, named_cluster
from assets.replay.limits.shares import follows_shares, share_tree
from simulator.engine.replay import OrderReplayer
from simulator.limits.replaying import LimitedReplayer
from traces.cluster.description import ClusterDescription


def limited_replayer(
    trace: Trace, rows: pl.DataFrame, named: str, load: float, order: OrderReplayer
) -> LimitedReplayer:
    """The replayer of some rows of a trace under the limits of a cluster.

    Raises ValueError, with the remedy, where there is no such cluster. Hours and reservations need a log with dates, at its own load."""
    cluster = named_cluster(named, trace.source)
    changing = any(limit.begin_s is not None or limit.end_s is not None for limit in cluster.limits)
    timed = bool(changing or cluster.gates or cluster.reservations or any(node.absences for node in cluster.nodes))
    if timed and not trace.has_calendar:
        raise ValueError(
            f"{trace.source}: the log does not say when its second 0 was, which the gates and reservations of the cluster {named} need: "
            f"leave them out of a copy of clusters/{named}.toml"
        )
    if timed and load != 1:
        raise ValueError(
            f"--load moves submissions away from the log's own times, which the gates and reservations of the cluster {named} need: leave "
            f"--load out, or leave them out of a copy of clusters/{named}.toml"
        )
    return replayer_under(cluster, trace, rows, order)


def replayer_under(
    cluster: ClusterDescription, trace: Trace, rows: pl.DataFrame, order: OrderReplayer, wakes: bool = True
) -> LimitedReplayer:
    """The replayer of some rows of a trace under the limits and gates of a description. wakes: as LimitedReplayer has it."""
    gates, zero_s = [], clock_zero_s(trace)
    if cluster.gates:
        span = (int(rows["submit_s"][0]), int(rows["submit_s"][-1]))
        gates = start_gates(cluster.gates, rows, trace.jobs_of(rows).limit, zero_s, span)
    policy = order.policy if isinstance(order.policy, str) else order.policy.name
    shares = share_tree(cluster, rows) if follows_shares(policy) else None
    return LimitedReplayer(order, job_limits(cluster, rows, zero_s), gates, shares, wakes)
