"""A cluster with its rules, planted or identified, and replays of a workload on it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from assets.replay.limits.holds import job_limits, missing_processors, start_gates
from assets.replay.limits.shares import share_tree
from models.judging.machine import SizeOverTime, partitions_of
from simulator.cluster.arrays import cluster_arrays
from simulator.cluster.requests import Request, request_arrays
from simulator.engine.replay import OrderReplayer
from simulator.jobs.cluster import Cluster, Outages, joined_outages
from simulator.jobs.jobs import Jobs
from simulator.jobs.schedule import CANCELLED
from simulator.limits.replaying import LimitedReplayer
from simulator.partitions import PartitionReplayer, shares_of
from simulator.pbs.replaying import PbsReplayer
from simulator.pbs.requests import PbsJob, Piece
from simulator.slurm.replaying import Phases, SlurmReplayer
from studies.planted.workloads import CORES, Workload
from traces.cluster.accounts import Account, AccountUser, Limit, ServiceQuality
from traces.cluster.description import ClusterDescription, SchedulerSettings
from traces.cluster.nodes import Node, Partition
from traces.cluster.reservations import AdvanceReservation, Gate

IntArray = NDArray[np.int64]

ORDERS, SLURM, PBS = "orders", "slurm", "pbs"
QOS = "normal"
OWN_LOOPS = ("conservative", "selective")
"""Backfilling rules that have no limits."""


@dataclass(frozen=True)
class PlantedCluster:
    """A cluster with its rules, which are the whole of what decides.
    Fair share is between accounts, then between their users.

    procs: of the cluster, the most that it has. engine: whose loop decides. sizes: of one that grew.
    partitions: queues, and the processors that each owns; such a cluster has no limits."""

    procs: int
    policy: str = "FCFS"
    backfill: str = "easy"
    limits: tuple[Limit, ...] = ()
    gates: tuple[Gate, ...] = ()
    reservations: tuple[AdvanceReservation, ...] = ()
    sizes: SizeOverTime | None = None
    partitions: tuple[tuple[str, int], ...] = ()
    engine: str = ORDERS

    @property
    def description(self) -> ClusterDescription:
        """The cluster as the replays take it."""
        nodes = tuple(Node(f"n{number:03}", CORES) for number in range(self.procs // CORES))
        return ClusterDescription(
            "planted", nodes, limits=self.limits, gates=self.gates, reservations=self.reservations
        )


def starts_on(cluster: PlantedCluster, workload: Workload, is_true: bool, seed: int = 0) -> IntArray:
    """When the jobs of a workload start, int64 (jobs,), seconds of the log's clock.

    is_true: jobs wait until they may start, which no log shows. seed: of the phases of Slurm's cycles. Raises ValueError where a job never
    starts."""
    order, jobs = workload.eligible if is_true else (np.arange(len(workload.jobs)), workload.jobs)
    sorted_workload = replace(workload, rows=workload.rows[order])
    if cluster.engine == SLURM:
        starts = _slurm_starts(cluster, sorted_workload, jobs, seed)
    elif cluster.engine == PBS:
        starts = _pbs_starts(cluster, sorted_workload, jobs)
    else:
        starts = _order_starts(cluster, sorted_workload, jobs)
    if (starts == CANCELLED).any():
        raise ValueError(f"{int((starts == CANCELLED).sum())} jobs never start")
    start = np.empty_like(starts)
    start[order] = starts
    return start


def _order_starts(cluster: PlantedCluster, workload: Workload, jobs: Jobs) -> IntArray:
    order, rows, described = OrderReplayer(cluster.policy, cluster.backfill), workload.rows, cluster.description
    if cluster.partitions:
        owned = dict(cluster.partitions)
        parted = PartitionReplayer(order, partitions_of(rows["queue"], owned), shares_of(owned, cluster.procs))
        return parted.replay(jobs, Cluster(cluster.procs)).schedule.start
    outages = cluster.sizes.outages if cluster.sizes is not None else Outages()
    span = int(jobs.submit[0]), int(jobs.submit[-1])
    if cluster.reservations:
        longest = int(jobs.limit.max())
        outages = joined_outages(outages, missing_processors(described, cluster.procs, longest, workload.zero_s, span))
    machine = Cluster(cluster.procs, outages=outages)
    if not cluster.limits and not cluster.gates and not cluster.policy.startswith("fairshare"):
        return order.replay(jobs, machine).schedule.start
    gates = start_gates(cluster.gates, rows, jobs.limit, workload.zero_s, span) if cluster.gates else []
    accounts = tuple(Account(name) for name in rows["account"].unique().sort())
    shares = share_tree(replace(described, accounts=accounts), rows) if cluster.policy.startswith("fairshare") else None
    replayer = LimitedReplayer(order, job_limits(described, rows), gates, shares)
    return replayer.replay(jobs, machine).schedule.start


def _slurm_starts(cluster: PlantedCluster, workload: Workload, jobs: Jobs, seed: int) -> IntArray:
    """Limits stand at the QOS of all jobs. A job takes as many CPUs as it has processors, wherever they are."""
    rows = workload.rows
    accounts = rows["account"].unique().sort().to_list()
    members = rows.select("user_name", "account").unique(maintain_order=True).iter_rows()
    values = {
        "selecttype": "select/cons_tres",
        "prioritytype": "priority/basic",
        "bf_continue": True,
        "bf_window": 4320,
    }
    if cluster.policy.startswith("fairshare"):
        values |= {"prioritytype": "priority/multifactor", "priorityweightage": 1000, "priorityweightfairshare": 10_000}
    if cluster.backfill == "none":
        values["schedulertype"] = "sched/builtin"
    described = replace(
        cluster.description,
        limits=tuple(replace(limit, owner="qos", owner_name=QOS) for limit in cluster.limits),
        partitions=(Partition("all", is_default=True),),
        accounts=tuple(Account(name) for name in accounts),
        members=tuple(AccountUser(user, account, qos=(QOS,), default_qos=QOS) for user, account in members),
        qualities=(ServiceQuality(QOS),),
        scheduler=SchedulerSettings("slurm", "22.05", values),
    )
    columns = zip(
        rows["user_name"], rows["account"], jobs.submit.tolist(), jobs.limit.tolist(), jobs.procs.tolist(), strict=True
    )
    asked = [
        Request(submit, limit_s=limit, tasks=procs, qos=QOS, account=account, user=user)
        for user, account, submit, limit, procs in columns
    ]
    arrays = cluster_arrays(described)
    replayer = SlurmReplayer(described, arrays, request_arrays(asked, described, arrays), Phases.drawn(seed))
    return replayer.replay(jobs, Cluster(described.num_cpus)).schedule.start


def _pbs_starts(cluster: PlantedCluster, workload: Workload, jobs: Jobs) -> IntArray:
    """Limits stand at the server. A job takes chunks of one CPU."""
    values = {"strict_ordering": True, "backfill_depth": 1 if cluster.backfill != "none" else 0}
    described = replace(
        cluster.description,
        partitions=(Partition("all", is_default=True),),
        scheduler=SchedulerSettings("pbs", "23.06", values),
    )
    names = ("user_name", "group_name")
    asked = [
        PbsJob(
            int(jobs.submit[k]), (Piece(int(jobs.procs[k]), {"ncpus": 1}),), int(jobs.limit[k]), user=user, group=group
        )
        for k, (user, group) in enumerate(workload.rows.select(names).iter_rows())
    ]
    return PbsReplayer(described, asked).replay(jobs, Cluster(described.num_cpus)).schedule.start


def rule_words(cluster: PlantedCluster) -> Iterator[str]:
    """The rules of a cluster, a line for each."""
    for limit in cluster.limits:
        whose = f"{limit.owner_name} {limit.each} {limit.who}".split()
        yield f"limit of {limit.counts} {limit.resource}, {' '.join(whose)}: {limit.bound}"
    for gate in cluster.gates:
        yield f"gate {gate}"
    for reservation in cluster.reservations:
        yield f"reservation {reservation.begin_s} to {reservation.end_s}, {reservation.repeats}"
    if cluster.sizes is not None:
        yield f"sizes {cluster.sizes.text}"
    if cluster.partitions:
        yield f"partitions {dict(cluster.partitions)}"
