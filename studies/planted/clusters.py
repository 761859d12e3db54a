"""A cluster with its rules, planted or identified, and replays of a workload on it.

Workloads of small made-up centres: campaigns of few users on a cluster of some nodes, for ten weeks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from functools import cached_property
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assets.replaying.limits.holds import job_limits, missing_processors, share_tree, start_gates
from models.judging.machine import SizeOverTime, partitions_of
from simulator.cluster.arrays import cluster_arrays
from simulator.cluster.requests import Request, request_arrays
from simulator.engine.replay import OrderReplayer
from simulator.jobs.cluster import Cluster, Outages, joined_outages
from simulator.jobs.jobs import Jobs, jobs_from_log
from simulator.jobs.schedule import CANCELLED
from simulator.limits.replaying import LimitedReplayer
from simulator.partitions import PartitionReplayer, shares_of
from simulator.pbs.replaying import PbsReplayer
from simulator.pbs.requests import PbsJob, Piece
from simulator.slurm.replaying import Phases, SlurmReplayer
from traces.cluster.accounts import Account, AccountUser, Limit, ServiceQuality
from traces.cluster.description import AdvanceReservation, ClusterDescription, Gate, Node, Partition, SchedulerSettings
from traces.synthetic.centre import Centre, CentreOptions
from traces.synthetic.weeks import job_weeks

IntArray = NDArray[np.int64]

FIRST_DAYS, DAYS = tuple(date(2025, month, 3) for month in range(2, 10)), 70
TIME_ZONES = ("Europe/Stockholm", "America/Chicago", "UTC")
NODES, CORES = (16, 24, 32, 48, 64), 16
USERS, JOBS, LOADS = (24, 60), (2500, 5000), (0.7, 0.95)
"""Least and most."""
WIDEST_SHARE = 0.5
"""Of the cluster. Wider jobs are cut to it."""
LONGEST_S = 48 * 3600
QUEUES = {1: "short", 2: "normal"}
HELD_SHARES = (0.0, 0.0, 0.02, 0.05)
HELD_LN_S, HELD_SIGMA = np.log(7200.0), 1.2
"""Some jobs wait for something that no log shows, such as another job. Spread and median as ln of seconds."""


@dataclass(frozen=True)
class SmallCentre(CentreOptions):
    """Options of one made-up centre, of which the fields of CentreOptions say the seed and the load."""

    first_day: str = "2025-02-03"
    nodes: int = 32
    users: int = 40
    zone: str = "UTC"
    most_jobs: int = 4000

    @property
    def centre(self) -> Centre:
        """The cluster."""
        first = date.fromisoformat(self.first_day)
        last = date.fromordinal(first.toordinal() + DAYS)
        return Centre(self.nodes, CORES, first, last, self.most_jobs, LONGEST_S, self.zone, self.users, 3.0)


@dataclass(frozen=True)
class Workload:
    """Submissions of a log. rows: in order of submission, with the columns of `core.jobs` that limits and gates read, and eligible_s, from
    when on the job may start; what is later than submit_s is in no log. zero_s: UTC second of the log's second 0."""

    rows: pl.DataFrame
    procs: int
    zero_s: int
    time_zone: str

    @cached_property
    def jobs(self) -> Jobs:
        """What the replay of a log takes."""
        return self._jobs(self.rows, "submit_s")

    @cached_property
    def eligible(self) -> tuple[IntArray, Jobs]:
        """The jobs in the order in which they may start, and the place of each of them in `rows`."""
        order = np.argsort(self.rows["eligible_s"].to_numpy(), kind="stable")
        return order, self._jobs(self.rows[order], "eligible_s")

    @property
    def span(self) -> tuple[int, int]:
        """Seconds of the first and of the last submission."""
        return int(self.jobs.submit[0]), int(self.jobs.submit[-1])

    @property
    def later_half(self) -> NDArray[np.bool_]:
        """The jobs that are graded, bool (jobs,)."""
        return np.arange(len(self.jobs)) >= len(self.jobs) // 2

    def _jobs(self, rows: pl.DataFrame, submit: str) -> Jobs:
        columns = (rows[name].to_numpy() for name in (submit, "runtime_s", "procs", "requested_walltime_s"))
        user = rows["user_name"].rank("dense").cast(pl.Int64).to_numpy() - 1
        return jobs_from_log(*columns, user=user)


def planted_workload(seed: int) -> Workload:
    """The submissions of one centre. The same seed gives the same."""
    rng = np.random.default_rng([seed, 0])
    options = SmallCentre(
        model="lemhi",
        seed=seed,
        offered_load=float(rng.uniform(*LOADS)),
        first_day=str(rng.choice([str(day) for day in FIRST_DAYS])),
        nodes=int(rng.choice(NODES)),
        users=int(rng.integers(*USERS)),
        zone=str(rng.choice(TIME_ZONES)),
        most_jobs=int(rng.integers(*JOBS)),
    )
    procs = options.centre.procs
    jobs = pl.concat(job_weeks(options)).filter(pl.col("runtime_s") > 0)
    midnight = datetime.combine(options.centre.first_day, datetime.min.time(), ZoneInfo(options.zone))
    held = rng.random(jobs.height) < rng.choice(HELD_SHARES)
    later = np.where(held, rng.lognormal(HELD_LN_S, HELD_SIGMA, jobs.height), 0).astype(np.int64)
    group = pl.col("group_id").cast(pl.Utf8).str.zfill(2)
    rows = jobs.select(
        pl.int_range(jobs.height).alias("job_index"),
        "submit_s",
        (pl.col("submit_s") + pl.Series(later)).alias("eligible_s"),
        "runtime_s",
        pl.col("procs").clip(1, int(procs * WIDEST_SHARE)),
        "requested_walltime_s",
        pl.format("u{}", pl.col("user_id").cast(pl.Utf8).str.zfill(3)).alias("user_name"),
        pl.format("g{}", group).alias("group_name"),
        pl.format("a{}", group).alias("account"),
        pl.col("queue").replace_strict(QUEUES, default="long", return_dtype=pl.Utf8),
        pl.lit(None, dtype=pl.Utf8).alias("qos"),
    )
    return Workload(rows, procs, int(midnight.astimezone(UTC).timestamp()), options.zone)


# --- clusters


ORDERS, SLURM, PBS = "orders", "slurm", "pbs"
QOS = "normal"


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
