"""Fair shares and priorities of a queue at one moment, next to what `sshare` and `sprio` said then."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from simulator.slurm.clockwork import LAST_PERIOD, Replay
from simulator.slurm.priority import count_usage, job_priority, resource_priority, share_out, size_factor
from traces.cluster.description import ClusterDescription
from traces.slurm.state.priorities import PriorityRow, ShareRow

COMPARED = ("age", "assoc", "fairshare", "jobsize", "partition", "qos", "tres")
"""Parts of a priority that both have."""
CLOSE = 2e-6
"""Factors of sshare are printed with six digits."""
_ROUNDED = 1.0
"""A part of sprio is printed as a whole number."""
SHARE_COLUMNS = {
    "account": pl.Utf8,
    "user": pl.Utf8,
    "usage": pl.Float64,
    "log_usage": pl.Float64,
    "fair_share": pl.Float64,
    "computed": pl.Float64,
    "log_computed": pl.Float64,
}
FACTOR_COLUMNS: dict[str, Any] = {
    "job": pl.Utf8,
    "queue": pl.Utf8,
    "priority": pl.Int64,
    "computed": pl.Int64,
    **{f"{kind}{name}": pl.Int64 for name in COMPARED for kind in ("", "computed_")},
    "differing": pl.List(pl.Utf8),
}


@dataclass(frozen=True)
class QueueState:
    """A replay that followed a log up to a moment. waiting: the number in the replay of each job that waits then, by its id, which is that
    of the array for its tasks. now_s: the moment, UTC seconds."""

    cluster: ClusterDescription
    replay: Replay
    waiting: Mapping[str, int]
    now_s: int

    @staticmethod
    def of_jobs(
        cluster: ClusterDescription, replay: Replay, job_ids: Sequence[str], is_waiting: NDArray[np.bool_], now_s: int
    ) -> QueueState:
        """The state of these jobs. job_ids, is_waiting: in the order of the replay's jobs."""
        numbers = np.flatnonzero(is_waiting).tolist()
        return QueueState(cluster, replay, {re.sub(r"_\[.*|\+.*", "", job_ids[job]): job for job in numbers}, now_s)

    @property
    def has_factors(self) -> bool:
        """Whether priorities are sums of factors, and not the order of submission."""
        return self.replay.engine.site.settings.basic == 0

    def count_to_now(self) -> None:
        """Counts usage up to the moment, as the controller does once a period."""
        replay = self.replay
        since = replay.clock[LAST_PERIOD]
        if self.now_s > since:
            count_usage(replay.engine, replay.rules, replay.fair, since, np.int64(self.now_s))
            replay.clock[LAST_PERIOD] = self.now_s


def compared_shares(state: QueueState, rows: Iterable[ShareRow]) -> pl.DataFrame:
    """SHARE_COLUMNS of each user of sshare that the cluster has too. usage and fair_share are those of sshare. computed is the factor by
    that usage and the cluster's shares. log_usage and log_computed are by the log's jobs alone."""
    state.count_to_now()
    cluster, fair, rules = state.cluster, state.replay.fair, state.replay.rules
    place = {(account.name, ""): k for k, account in enumerate(cluster.accounts)}
    for k, member in enumerate(cluster.members):
        place.setdefault((member.account, member.user), k + fair.num_accounts)
    matching = [(place[row.account, row.user], row) for row in rows if (row.account, row.user) in place]
    usage = np.zeros_like(fair.usage)
    for node, row in matching:
        usage[node] = row.raw_usage
    factor = np.zeros_like(fair.factor)
    share_out(factor, fair.parent, fair.shares, usage, rules.dampening)
    users = [
        {
            "account": row.account,
            "user": row.user,
            "usage": row.raw_usage,
            "log_usage": fair.usage[node],
            "fair_share": row.fair_share,
            "computed": factor[node - fair.num_accounts],
            "log_computed": fair.factor[node - fair.num_accounts],
        }
        for node, row in matching
        if row.user and row.fair_share is not None
    ]
    return pl.DataFrame(users, schema=SHARE_COLUMNS)


def compared_factors(state: QueueState, rows: Iterable[PriorityRow]) -> pl.DataFrame:
    """FACTOR_COLUMNS of each line of sprio whose job waits in its partition: the priority, its parts, what is computed, and which parts
    differ. Age may be older by a period of the controller, and parts are whole numbers. Priorities that somebody has set are left out."""
    state.count_to_now()
    names = [partition.name for partition in state.cluster.queues]
    table = []
    for row in rows:
        job = state.waiting.get(row.job_id, state.waiting.get(row.job_id.partition("_")[0]))
        if job is None or row.is_by_hand:
            continue
        partition = int(state.replay.engine.jobs.partitions[job, 0])
        if row.partition not in ("", names[partition]):
            continue
        total, parts = _parts(state, job, partition)
        theirs = {name: row.factors[name] for name in COMPARED if name in row.factors}
        differing = [name for name in theirs if abs(theirs[name] - parts[name]) > _tolerance(state, name)]
        table.append(
            {"job": row.job_id, "queue": names[partition], "priority": row.priority, "computed": total}
            | theirs
            | {f"computed_{name}": int(part) for name, part in parts.items()}
            | {"differing": differing}
        )
    return pl.DataFrame(table, schema=FACTOR_COLUMNS)


def _tolerance(state: QueueState, name: str) -> float:
    rules = state.replay.rules
    if name != "age" or rules.most_age <= 0:
        return _ROUNDED
    return _ROUNDED + rules.age * 2 * rules.period / rules.most_age


def _parts(state: QueueState, job: int, partition: int) -> tuple[int, dict[str, float]]:
    """The priority of a waiting job, and its parts by the names of COMPARED."""
    replay = state.replay
    rules, statics, fair, jobs = replay.rules, replay.statics, replay.fair, replay.engine.jobs
    since = int(jobs.submit[job]) if rules.accrues_always > 0 else int(replay.eligible[job])
    seconds = max(state.now_s - since, 0) if since >= 0 else 0
    member, quality, owner = int(jobs.member[job]), int(jobs.qos[job]), int(fair.owner[job])
    parts = {
        "age": rules.age * min(1.0, seconds / rules.most_age) if rules.most_age > 0 else 0.0,
        "assoc": float(statics.association[member]) if member >= 0 else 0.0,
        "fairshare": rules.fair_share * float(fair.factor[owner - fair.num_accounts]) if owner >= 0 else 0.0,
        "jobsize": rules.job_size * float(size_factor(replay.engine, rules, job, partition)) if rules.job_size else 0.0,
        "partition": rules.partition * float(statics.partition[partition]),
        "qos": rules.qos * float(statics.qos[quality]) if quality >= 0 else 0.0,
        "tres": float(resource_priority(jobs, statics.resources[partition], job)) if len(statics.resources) else 0.0,
    }
    total = int(job_priority(replay.engine, rules, statics, fair, (job, partition), seconds))
    return total, parts
