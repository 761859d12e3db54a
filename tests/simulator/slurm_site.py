"""A small cluster under Slurm, for the tests of its rules: four nodes of four CPUs, the last two with GPUs, and overlapping partitions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from simulator.cluster.arrays import cluster_arrays
from simulator.cluster.requests import NOT_GIVEN, Request, Requests, request_arrays
from simulator.slurm.backfill import Decisions
from simulator.slurm.limit_slots import limits_of
from simulator.slurm.preemption import preemption_of
from simulator.slurm.rows import WaitingRows, waiting_rows
from simulator.slurm.settings import slurm_settings
from simulator.slurm.state import Engine, idle_engine, site_of
from traces.cluster.accounts import Account, AccountUser, Limit, ServiceQuality
from traces.cluster.description import ClusterDescription, SchedulerSettings
from traces.cluster.nodes import Node, Partition
from traces.cluster.reservations import AdvanceReservation

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
        site_of(arrays, slurm_settings(site.scheduler)), jobs, limits, preemption_of(site, len(jobs.submit))
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
