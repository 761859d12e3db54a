"""The way to replay by an order under the limits, gates, reservations and absences of a named cluster."""

from __future__ import annotations

import polars as pl

from assets.common.trace import Trace
from assets.replay.limits.holds import job_limits, start_gates
from assets.replay.limits.named import clock_zero_s, named_cluster
from simulator.engine.replay import OrderReplayer
from simulator.limits.replaying import LimitedReplayer


def limited_replayer(
    trace: Trace, rows: pl.DataFrame, named: str, load: float, order: OrderReplayer
) -> LimitedReplayer:
    """The replayer of some rows of a trace under the limits of a cluster.

    Raises ValueError, with the remedy, where there is no such cluster, and where its hours and reservations have no meaning: the log has no
    dates, or is replayed at another load."""
    cluster = named_cluster(named, trace.source)
    timed = bool(cluster.gates or cluster.reservations or any(node.absences for node in cluster.nodes))
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
    gates = []
    if cluster.gates:
        submit = rows["submit_s"]
        span = (int(submit[0]), int(submit[-1]))
        limit = trace.jobs_of(rows).limit
        gates = start_gates(cluster.gates, rows, limit, clock_zero_s(trace), span)
    return LimitedReplayer(order, job_limits(cluster, rows), gates)
