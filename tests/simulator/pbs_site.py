"""A small PBS cluster for tests: four nodes of four processors, the first with two GPUs, and three queues."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs
from simulator.pbs.replaying import PbsReplayer
from simulator.pbs.requests import PbsJob, Piece
from simulator.pbs.settings import PbsPhases
from traces.cluster.accounts import Account, AccountUser, Limit
from traces.cluster.description import ClusterDescription, SchedulerSettings, Setting
from traces.cluster.nodes import Node, Partition
from traces.cluster.reservations import AdvanceReservation, Gate

MIB_PER_NODE = 1024


def pbs_site(
    limits: tuple[Limit, ...] = (),
    reservations: tuple[AdvanceReservation, ...] = (),
    gates: tuple[Gate, ...] = (),
    **values: Setting,
) -> ClusterDescription:
    """The cluster with these settings of its scheduler."""
    return ClusterDescription(
        "small",
        tuple(Node(f"n{k}", 4, MIB_PER_NODE, {"": 2} if k == 0 else {}) for k in range(4)),
        (Partition("work", is_default=True, tier=10), Partition("high", tier=100), Partition("express", tier=200)),
        (Account("physics", shares=60), Account("biology", shares=40)),
        (AccountUser("ann", "physics", 50), AccountUser("bob", "physics", 50), AccountUser("cid", "biology", 100)),
        (),
        limits,
        reservations,
        gates,
        scheduler=SchedulerSettings("pbs", "23.06", {"by_queue": False, "strict_ordering": True, **values}),
    )


def asking(submit_s: int, nodes: int, walltime_s: int | None, ncpus: int = 4, **others: object) -> PbsJob:
    """A job of some chunks."""
    amounts = {"ncpus": ncpus, **{name: int(str(others.pop(name))) for name in ("mem", "ngpus") if name in others}}
    job = PbsJob(submit_s, (Piece(nodes, amounts),), walltime_s, user="ann")
    return replace(job, **others)  # type: ignore[arg-type]


def starts_on(
    site: ClusterDescription, asked: list[PbsJob], runtime: list[int], phases: PbsPhases | None = None
) -> list[int]:
    """Starts of a replay, -1 for a job that never starts."""
    submit = np.array([job.submit_s for job in asked], dtype=np.int64)
    ran: NDArray[np.int64] = np.array(runtime, dtype=np.int64)
    limit = np.array([job.time_s for job in asked], dtype=np.int64)
    jobs = Jobs(submit, ran, np.ones_like(ran), limit, np.maximum(limit, ran))
    replayer = PbsReplayer(site, asked, phases or PbsPhases())
    return replayer.replay(jobs, Cluster(site.num_cpus)).schedule.start.tolist()
