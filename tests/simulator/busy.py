"""Random jobs that queue, windows of them, and random weights for the kernel network: for tests that compare two ways of
replaying the same.

A small PBS cluster for tests: four nodes of four processors, the first with two GPUs, and three queues.

A small cluster under Slurm, for the tests of its rules: four nodes of four CPUs, the last two with GPUs, and overlapping partitions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from simulator.cluster.arrays import cluster_arrays
from simulator.cluster.requests import NOT_GIVEN, Request, Requests, request_arrays
from simulator.engine.replay import replay
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import NEVER, Jobs
from simulator.pbs.replaying import PbsReplayer
from simulator.pbs.requests import PbsJob, Piece
from simulator.pbs.settings import PbsPhases
from simulator.policies.network import KernelWeights
from simulator.policies.observation import blank_network, layout_named
from simulator.slurm.backfill import Decisions
from simulator.slurm.limits import limits_of
from simulator.slurm.preemption import preemption_of
from simulator.slurm.rows import WaitingRows, waiting_rows
from simulator.slurm.settings import slurm_settings
from simulator.slurm.state import Engine, idle_engine, slurm_site_of
from traces.cluster.accounts import Account, AccountUser, Limit, ServiceQuality
from traces.cluster.description import (
    AdvanceReservation,
    ClusterDescription,
    Gate,
    Node,
    Partition,
    SchedulerSettings,
    Setting,
)

PROCS = 32
"""Processors of the cluster that these jobs are made for."""
WINDOW = 120
FIRST = np.array([0, 77, 200, 201, 380])
"""Windows of 500 jobs: some overlap."""


def busy_jobs(num_jobs: int, load: float = 1.1, seed: int = 1, users: int = 5, cancelled_share: float = 0.0) -> Jobs:
    """Jobs that offer `load` of PROCS processors. Half of the estimates are too short, some too long; many areas and
    estimates are equal, and so are some submit times."""
    rng = np.random.default_rng(seed)
    procs = rng.choice([1, 2, 3, 4, 8, 16, 31], num_jobs, p=[0.3, 0.15, 0.1, 0.15, 0.15, 0.1, 0.05])
    runtime = rng.choice([30, 60, 600, 1000, 3600, 4000], num_jobs) + rng.integers(0, 2, num_jobs)
    estimate = np.maximum(1, runtime * rng.choice([1, 2, 6, 12, 24], num_jobs) // 6)
    limit = np.maximum(runtime, estimate) + rng.integers(0, 2, num_jobs) * 900
    span = float((runtime * procs).sum()) / PROCS / load
    submit = 5000 + np.sort(rng.integers(0, int(span), num_jobs)) // 5 * 5
    cancel = np.where(rng.random(num_jobs) < cancelled_share, submit + rng.integers(0, 20_000, num_jobs), NEVER)
    user = rng.zipf(1.5, num_jobs) % users
    return Jobs(submit, runtime, procs, estimate, limit, origin=4000, user=user, cancel=cancel)


def random_weights(seed: int = 1, layout: str = "plain") -> KernelWeights:
    """A network that prefers some jobs to others for no reason."""
    rng = np.random.default_rng(seed)
    blank = blank_network(layout_named(layout))
    arrays = [rng.normal(0, 0.3 if a.ndim == 1 and k < 6 else 0.7, a.shape) for k, a in enumerate(blank[2:])]
    return KernelWeights(*blank[:2], *(a.astype(np.float32) for a in arrays))


def uneven_jobs() -> tuple[Jobs, np.ndarray]:
    """A trace that is idle at first and then crowded, and where windows of it begin: with no choice, a few and very many."""
    calm, crowd = busy_jobs(200, load=0.02, seed=2), busy_jobs(300, load=6.0, seed=3)
    later = calm.submit[-1] + 10_000
    submit = np.concatenate([calm.submit, crowd.submit + later])
    runtime, procs, estimate, limit = (
        np.concatenate([getattr(calm, name), getattr(crowd, name)])
        for name in ("runtime", "procs", "estimate", "limit")
    )
    return Jobs(submit, runtime, procs, estimate, limit), np.array([0, 380, 30, 115, 200])


def assert_as_replayed(
    jobs: Jobs, first: np.ndarray, found: tuple[np.ndarray, np.ndarray], policy: str, backfill: str,
    weights: KernelWeights | None = None, correction: str = "requested",
) -> None:  # fmt: skip
    start, backfilled = found
    for k, position in enumerate(first.tolist()):
        window = jobs.window(position, start.shape[1])
        alone = replay(window, PROCS, policy, backfill, weights, correction)
        differ = np.flatnonzero(start[k] != alone.start)
        assert not len(differ), f"window {k}: {len(differ)} jobs start at another time, the first is {differ[0]}"
        assert np.array_equal(backfilled[k], alone.backfilled), f"window {k}"


# --- pbs site


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


# --- slurm site


SITE = ClusterDescription(
    "small",
    (Node("a", 4, 1000), Node("b", 4, 1000), Node("c", 4, 1000, {"": 2}), Node("d", 4, 1000, {"": 2})),
    partitions=(
        Partition("all", is_default=True),
        Partition("gpu", ("c", "d"), tier=2),
        Partition("whole", oversubscribe="exclusive"),
    ),
    accounts=(Account("x", shares=3), Account("y", shares=1)),
    members=(AccountUser("u", "x"), AccountUser("v", "y")),
    qualities=(ServiceQuality("normal"), ServiceQuality("few", priority=10)),
    limits=(
        Limit("account", "y", "running", "all", "cpu", 6),
        Limit("qos", "few", "running", "user", "jobs", 1),
        Limit("user", "x/u", "job", "job", "cpu", 16),
    ),
    scheduler=SchedulerSettings("slurm", "22.05", {"bf_window": 60, "selecttype": "select/cons_tres"}),
)


def with_reservation(*nodes: str, begin_s: int = 600, end_s: int = 1200) -> ClusterDescription:
    """The cluster with a reservation of these nodes, of all for none."""
    return replace(SITE, reservations=(AdvanceReservation("r", begin_s, end_s, nodes=nodes),))


def columns_of(asked: Sequence[Request], site: ClusterDescription = SITE) -> Requests:
    """Requests of jobs of user u of account x, where they do not say."""
    named = [one if one.user else replace(one, user="u", account="x") for one in asked]
    return request_arrays(named, site, cluster_arrays(site))


def engine_of(asked: Sequence[Request], site: ClusterDescription = SITE) -> Engine:
    """The idle cluster with these jobs."""
    arrays, jobs = cluster_arrays(site), columns_of(asked, site)
    limits = limits_of(site, jobs, arrays.gpu_types)
    return idle_engine(
        slurm_site_of(arrays, slurm_settings(site.scheduler)), jobs, limits, preemption_of(site, len(jobs.submit))
    )


def queue_of(engine: Engine, *rows: tuple[int, int]) -> WaitingRows:
    """A queue of jobs and partitions."""
    jobs = len(engine.jobs.submit)
    columns = np.array(rows, dtype=np.int64).reshape(-1, 2)
    mine = columns[:, 0].copy(), columns[:, 1].copy(), np.zeros(len(rows), dtype=np.int64)
    next_task = np.full(jobs, NOT_GIVEN, dtype=np.int64)
    return waiting_rows(mine, len(rows), next_task, engine.jobs, len(engine.site.max_time))


def no_decisions(engine: Engine) -> Decisions:
    """Room for decisions."""
    rows = 2 * len(engine.jobs.submit) + 2
    job, kind, start, end = np.zeros((4, rows), dtype=np.int64)
    nodes = np.zeros((rows, len(engine.site.cpus)), dtype=np.bool_)
    return Decisions(np.zeros(1, dtype=np.int64), job, kind, start, end, nodes)
