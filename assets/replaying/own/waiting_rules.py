"""By which rules the jobs of a source waited, where no Slurm of its own has them: nodes, limits, hours and reservations as they are
described, and jobs in the order of submission."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assets.replaying.limits.holds import KEY_COLUMNS, HeldLimit, held_limits, takes_processors
from assets.replaying.own.slurm.standing import QueueState
from simulator.jobs.cluster import FOREVER
from simulator.limits.rules import NO_KEY, occurrences
from simulator.slurm.limits import OUTSTANDING, RESOURCES, RUNNING, USED
from simulator.slurm.state import Limits
from simulator.slurm.waiting.following import GivenLimits
from traces.cluster.accounts import Limit
from traces.cluster.description import ClusterDescription, Node, SchedulerSettings

IntArray = NDArray[np.int64]
IN_ORDER = SchedulerSettings("slurm", values={"prioritytype": "priority/basic", "schedulertype": "sched/builtin"})
"""The queue in the order of submission."""
_COUNTS = {"running": RUNNING, "outstanding": OUTSTANDING, "used": USED}
_OF_NODES = (
    "qos",
    "account",
    "reservation",
    "gpus",
    "requested_gpu_types",
    "features",
    "requested_memory_kb",
    "memory_per",
)
"""Columns of what a row of processors does not have."""


@dataclass(frozen=True)
class WaitingRules:
    """cluster: with a scheduler that `follow_schedule` takes. rows: the jobs as they ask this cluster. limits: None for those that Slurm
    makes of the description. words: of each slot of the limits, the limits of the description that say its bound. basis: in words."""

    cluster: ClusterDescription
    rows: pl.DataFrame
    basis: str
    limits: GivenLimits | None = None
    words: tuple[Sequence[Limit], ...] = ()


class FollowedWaits(NamedTuple):
    """What kept jobs, in the order of their rows. start, left: seconds at which each started, below 0 for never, and stopped to wait.
    seconds: by cause. others: the job that each is behind, and for how many seconds (jobs, 2). limits: that kept each last, in words. now:
    the cause of each at the last moment, None where none was asked for. state: of Slurm's priorities at that moment."""

    start: IntArray
    left: IntArray
    seconds: Mapping[str, IntArray]
    others: IntArray
    limits: list[str | None]
    now: list[str | None] | None
    basis: str
    odd_layouts: int
    left_out: dict[str, int]
    state: QueueState | None = None


def starts_of_log(
    rows: pl.DataFrame, nodes: pl.DataFrame, cluster: ClusterDescription, until_s: int | None
) -> tuple[IntArray, IntArray, IntArray, IntArray, IntArray, IntArray]:
    """Of each job of a log its start (-1 for none), its end and when it stopped to wait, and where its nodes begin among those of all jobs.
    These come last, as places in the description and with the processors that were held there, -1 where that is not known.

    nodes: of `jobs_and_nodes`. until_s: as `until_last` takes it."""
    start = rows["start_s"].fill_null(-1).to_numpy().astype(np.int64)
    end = np.maximum(rows["end_s"].fill_null(FOREVER).to_numpy().astype(np.int64), start)
    left = until_last(np.where(start >= 0, start, end), end, rows["submit_s"].to_numpy(), until_s)
    place = cluster.node_index
    nodes = nodes.filter(pl.col("node_name").is_in(list(place)))
    by_job = rows.select("job_index").with_row_index("row").join(nodes, on="job_index", how="inner").sort("row")
    counts = np.bincount(by_job["row"].to_numpy(), minlength=rows.height)
    first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    held = by_job["procs"].fill_null(-1).to_numpy().astype(np.int64)
    return start, end, left, first, np.array([place[name] for name in by_job["node_name"]], dtype=np.int64), held


def until_last(left: IntArray, end: IntArray, submit: IntArray, until_s: int | None) -> IntArray:
    """When jobs stop to wait: those that still wait do so up to the end of the log, or a second longer than the UTC second asked for."""
    last = until_s or max(int(end[end < FOREVER].max(initial=0)), int(submit.max(initial=0)))
    return np.minimum(left, last + (until_s is not None))


def limit_texts(slots: IntArray, limits: Sequence[Sequence[Limit]], left: IntArray) -> list[str | None]:
    """The limit that kept each job last, in words. slots: of the jobs, below 0 for none. limits: of each slot."""
    pairs = zip(slots.tolist(), left.tolist(), strict=True)
    return [_words_at(limits[slot], second) if slot >= 0 else None for slot, second in pairs]


def _words_at(limits: Sequence[Limit], second: int) -> str:
    """In words, the lowest of these limits among those that hold at a UTC second, or of all where none does."""
    held = [
        limit
        for limit in limits
        if (limit.begin_s is None or limit.begin_s <= second) and (limit.end_s is None or second <= limit.end_s)
    ]
    return limit_words(min(held or limits, key=lambda limit: limit.bound))


def limit_words(limit: Limit) -> str:
    """A limit as an operator says it, such as `at most 10 running jobs of a user (QOS normal)`."""
    of_whom = {"all": "in all", "job": "in a job", "account": "of an account"}.get(limit.each, f"of a {limit.each}")
    counted = {
        "running": "running",
        "job": "a job's",
        "node": "a node's",
        "outstanding": "outstanding seconds of",
        "used": "used seconds of",
        "submitted": "submitted",
    }.get(limit.counts, limit.counts)
    owner = f"{limit.owner} {limit.owner_name}".strip()
    return f"at most {limit.bound:,} {counted} {limit.resource} {of_whom} ({owner})"


def waiting_rules(cluster: ClusterDescription | None, source: str, rows: pl.DataFrame, procs: int) -> WaitingRules:
    """The rules of a source's cluster. rows: the jobs in order of submission, of `jobs_and_nodes`. procs: of a source without a cluster."""
    if cluster is not None and cluster.scheduler.name == "slurm":
        basis = f"the rules and nodes of cluster {cluster.name} (Slurm {cluster.scheduler.version})".replace(" )", ")")
        return WaitingRules(cluster, rows, basis)
    if cluster is None:
        basis = f"a row of {procs:,} processors, jobs in the order of submission (the source names no cluster)"
        cluster = ClusterDescription(source, (Node("all", max(procs, 1)),))
        return WaitingRules(replace(cluster, scheduler=IN_ORDER), _on_processors(rows, False), basis)
    held = held_limits(filter(_is_known, cluster.limits), cluster, rows)
    limits, words = _slots(held, rows.height)
    basis = f"the nodes and limits of cluster {cluster.name}, jobs in the order of submission"
    if len(cluster.nodes) == 1 and cluster.scheduler.name == "none":  # all that is described is a number of processors
        rows = _on_processors(rows, cluster.nodes[0].num_gpus > 0)
        basis = basis.replace("the nodes", f"{cluster.num_cpus:,} processors")
    cycle = {"sched_interval": cluster.scheduler.order.get("cycle_s", 60)}
    scheduler = replace(IN_ORDER, values={**IN_ORDER.values, **cycle})
    cluster = replace(_with_occurrences(cluster, rows), scheduler=scheduler)
    return WaitingRules(cluster, rows.with_columns(features=pl.lit(None, pl.Utf8)), basis, limits, words)


def _on_processors(rows: pl.DataFrame, has_gpus: bool) -> pl.DataFrame:
    """The jobs as they ask for processors alone, and for GPUs where there are some."""
    one = {"nodes": pl.lit(1, pl.Int64), "requested_nodes": pl.lit(1, pl.Int64), "is_exclusive": pl.lit(False)}
    kept = {f"logged_{name}": pl.col(name) for name in ("qos", "account")}
    names = [name for name in _OF_NODES if not (has_gpus and name.startswith("gpu"))]
    return rows.with_columns(**kept).with_columns(
        **one, **{name: pl.lit(None).cast(rows.schema[name]) for name in names}
    )


def _is_known(limit: Limit) -> bool:
    is_counted = limit.counts in _COUNTS and limit.resource in RESOURCES and limit.each in KEY_COLUMNS
    return is_counted and not limit.is_soft and not limit.is_least


def _slots(held: Sequence[HeldLimit], jobs: int) -> tuple[GivenLimits, tuple[Sequence[Limit], ...]]:
    """The limits as slots, and of each slot those of the description."""
    columns = np.full((jobs, len(held)), NO_KEY, dtype=np.int64)
    begin, kinds, changes = 0, [], []
    for number, each in enumerate(held):
        columns[:, number] = np.where(each.key == NO_KEY, NO_KEY, each.key + begin)
        changes += [(second, key + begin, bound) for second, key, bound in each.changes.tolist()]
        kinds += [(RESOURCES[each.resource], _COUNTS[each.counts])] * len(each.bound)
        begin += len(each.bound)
    holds = columns != NO_KEY
    resource, counts = np.array(kinds, dtype=np.int64).reshape(-1, 2).T.copy()
    zeros = np.zeros(begin, dtype=np.int64)
    limits = Limits(
        first=np.concatenate([[0], np.cumsum(holds.sum(axis=1))]).astype(np.int64),
        slot=columns[holds],
        checked=np.ones(int(holds.sum()), dtype=np.int64),
        resource=resource,
        bound=np.concatenate([zeros[:0], *(each.bound for each in held)]),
        counts=counts,
        used=zeros.copy(),
        past=np.zeros(begin),
        elapsed=zeros.copy(),
        counted=np.zeros(1, dtype=np.int64),
    )
    words = tuple(of_key for each in held for of_key in each.limits)
    return GivenLimits(limits, np.array(changes, dtype=np.int64).reshape(-1, 3)), words


def _with_occurrences(cluster: ClusterDescription, rows: pl.DataFrame) -> ClusterDescription:
    """The cluster with a reservation for each time that one for nobody comes back while the jobs are in the queue. Those of a part of the
    processors are left out, since it is not said of which nodes."""
    span = int(rows["submit_s"].min() or 0), int(rows["end_s"].max() or rows["submit_s"].max() or 0)  # type: ignore[arg-type]
    longest_s = int(rows["requested_walltime_s"].max() or 0)  # type: ignore[arg-type]
    made = [
        replace(
            each,
            name=f"{each.name} {begin}",
            begin_s=begin,
            end_s=end,
            announced_s=max(begin - 2 * longest_s, each.announced_s or 0),
            repeats="",
        )
        for each in filter(takes_processors, cluster.reservations)
        if each.nodes or not 0 < each.cpus < cluster.num_cpus
        for begin, end in occurrences(each, *span)
    ]
    others = [each for each in cluster.reservations if not takes_processors(each)]
    return replace(cluster, reservations=(*others, *made))
