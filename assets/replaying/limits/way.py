"""The way to replay by an order under the limits, gates, reservations and absences of a named cluster.

The cluster that a replay names, in the clock and with the names of its log.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assets.common.storage import open_warehouse, pseudonym_key
from assets.common.trace import Trace
from assets.replaying.configuring.configuration import edited_cluster
from assets.replaying.limits.holds import follows_shares, is_honoured, job_limits, share_tree, start_gates
from assets.replaying.own.ahead import Ahead, jobs_ahead
from assets.usage.cluster_check import named_as_in_log
from simulator.engine.replay import OrderReplayer
from simulator.limits.replaying import LimitedReplayer, UsedBefore
from simulator.policies.registry import parse_policy
from traces.catalogue.catalogue import load_catalogue
from traces.catalogue.clusters import load_cluster
from traces.catalogue.sources import Source
from traces.cluster.accounts import FOUND
from traces.cluster.description import ClusterDescription
from traces.common.described_names import with_described_names


def named_cluster(name: str, source: str, edits: Sequence[str] = ()) -> ClusterDescription:
    """The cluster of this name with these edits, with pseudonyms where the source has them. Raises ValueError, with the existing names,
    where there is none, and as `edited_cluster`."""
    declared = load_catalogue(may_be_missing=True).sources.get(source)
    return edited_in_log(load_cluster(name).description, declared, edits)


def edited_in_log(cluster: ClusterDescription, source: Source | None, edits: Sequence[str] = ()) -> ClusterDescription:
    """The cluster with these edits, with names as the log of its source has them. Edits may have names as either has them. source: None
    for a log in no catalogue. Raises ValueError as `edited_cluster`."""
    warehouse = open_warehouse()
    if edits and source is not None and source.replaced_names:
        key = pseudonym_key(warehouse)
        edits = [with_described_names(edit, cluster, source.replaced_names, key) for edit in edits]
    return named_as_in_log(edited_cluster(cluster, edits, zone_of(source)), source, warehouse)


def zone_of(source: Source | None) -> str:
    """The time zone of a source's cluster (an IANA name), UTC where the catalogue does not say."""
    return (source.time_zone if source is not None else None) or "UTC"


def clock_zero_s(trace: Trace) -> int:
    """UTC second of the log's second 0."""
    return int(trace.clock_zero.replace(tzinfo=UTC).timestamp())


# --- way


def check_dates(trace: Trace, named: str, load: float) -> ClusterDescription:
    """The cluster of this name, whose limits can hold jobs of the trace at this load.

    Raises ValueError, with the remedy, where there is no such cluster. Declared hours and reservations need a log with dates, at its own
    load. So do reservations that were found: between two that are squeezed, what fits today would not fit."""
    cluster = named_cluster(named, trace.source)
    changing = [limit for limit in cluster.limits if limit.begin_s is not None or limit.end_s is not None]
    origins = {limit.origin for limit in changing} | {gate.origin for gate in cluster.gates}
    origins |= {each.origin for each in cluster.reservations} | {"" for node in cluster.nodes if node.absences}
    if origins - {FOUND} and not trace.has_calendar:  # what was found in the log is of its own clock
        raise ValueError(
            f"{trace.source}: the log does not say when its second 0 was, which the gates and reservations of the cluster {named} need: "
            f"leave them out of a copy of clusters/{named}.toml"
        )
    if load == 1:
        return cluster
    if cluster.reservations and origins <= {FOUND}:
        raise ValueError(
            f"--load moves submissions away from the log's own times. No job runs past the reservations of the cluster {named}: between "
            f"two that moved as well what fits today would not fit. Leave --load out, or leave them out of a copy of clusters/{named}.toml"
        )
    if origins - {FOUND}:
        raise ValueError(
            f"--load moves submissions away from the log's own times, which the gates and reservations of the cluster {named} need: leave "
            f"--load out, or leave them out of a copy of clusters/{named}.toml"
        )
    return cluster


def replayer_under(
    cluster: ClusterDescription,
    trace: Trace,
    rows: pl.DataFrame,
    order: OrderReplayer,
    wakes: bool = True,
    load: float = 1.0,
    ahead: tuple[pl.DataFrame, int] | None = None,
) -> LimitedReplayer:
    """The replayer of some rows of a trace under the limits and gates of a description. wakes: as LimitedReplayer has it. load: of the
    rows, to which hours and dates of rules that were found in the log are squeezed, as submissions are. ahead: for a warm start the rows
    of the trace before, and the second at which the replay begins."""
    gates, zero_s = [], clock_zero_s(trace)
    before = None if ahead is None else _jobs_before(trace, ahead, cluster, order)
    every = rows if before is None else pl.concat([before.started[before.running :], before.running_rows, rows])
    limits = job_limits(cluster, every, zero_s)
    first_s = int(trace.rows["submit_s"][0]) if load != 1 else 0
    if cluster.gates:
        span = (int(rows["submit_s"][0]), int(rows["submit_s"][-1]))
        if load != 1:
            span = (span[0], first_s + round((span[1] - first_s) * load))
        gates = start_gates(cluster.gates, rows, trace.jobs_of(rows).limit, zero_s, span)
    if load != 1:
        gates = [replace(gate, changes=_ascending(_squeezed(gate.changes, first_s, load))) for gate in gates]
        limits = [
            replace(
                limit, changes=np.column_stack([_squeezed(limit.changes[:, 0], first_s, load), limit.changes[:, 1:]])
            )
            if len(limit.changes)
            else limit
            for limit in limits
        ]
    policy = order.policy if isinstance(order.policy, str) else order.policy.name
    shares = share_tree(cluster, every) if follows_shares(policy) else None
    cycle_s = int(str(cluster.scheduler.order.get("cycle_s", 0)))
    replayer = LimitedReplayer(order, limits, gates, shares, wakes, cycle_s)
    if before is None:
        return replayer
    no_gate = np.zeros(before.started.height, dtype=np.bool_)
    return replace(
        replayer,
        gates=[replace(gate, stops=np.concatenate([no_gate, gate.stops])) for gate in gates],
        ended=UsedBefore(*before.past, before.started["procs"][before.running :].to_numpy().astype(np.int64)),
    )


def _jobs_before(
    trace: Trace, ahead: tuple[pl.DataFrame, int], cluster: ClusterDescription, order: OrderReplayer
) -> Ahead:
    """The jobs that run when a replay begins, and those that had ended and still count for limits or shares."""
    policy = parse_policy(order.policy) if isinstance(order.policy, str) else order.policy
    half_life_s = policy.half_life_s if follows_shares(policy.name) else None
    if any(limit.counts == "used" and is_honoured(limit) for limit in cluster.limits):
        half_life_s = 0.0
    return jobs_ahead(trace, ahead, half_life_s)


def _squeezed(seconds: NDArray[np.int64], first_s: int, load: float) -> NDArray[np.int64]:
    """Seconds of the log's clock at a load, those before the first submission as they are."""
    moved = first_s + np.rint((seconds - first_s) / load).astype(np.int64)
    return np.where(seconds <= first_s, seconds, moved)


def _ascending(seconds: NDArray[np.int64]) -> NDArray[np.int64]:
    """The seconds, each at least one after the one before it: under a very high load some would be the same."""
    place = np.arange(len(seconds))
    return np.maximum.accumulate(seconds - place) + place
