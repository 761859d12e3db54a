"""Slurm as a replayer: whole schedules from submissions, limits, run times and the configuration alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from simulator.cluster.arrays import ClusterArrays
from simulator.cluster.requests import NOT_GIVEN, Requests
from simulator.jobs.cluster import FOREVER, Cluster
from simulator.jobs.jobs import Jobs
from simulator.jobs.schedule import CANCELLED, Schedule
from simulator.replayer import Outcome
from simulator.slurm.backfill import Decisions, WaitingRows
from simulator.slurm.limit_slots import limits_of
from simulator.slurm.loop import (
    BATCH_DUE,
    CYCLE_DUE,
    FULL_DUE,
    LAST_BATCH,
    LAST_PERIOD,
    MILLION,
    PERIOD_DUE,
    Replay,
    run_replay,
)
from simulator.slurm.preemption import preemption_of
from simulator.slurm.priority import fair_shares, priority_rules, static_factors
from simulator.slurm.settings import slurm_settings
from simulator.slurm.state import idle_engine, site_of
from traces.cluster.description import ClusterDescription

IntArray = NDArray[np.int64]
TEST_US = 1000
"""What a cycle takes for a job, as `sdiag` of UB's micro cluster has it."""


@dataclass(frozen=True)
class Phases:
    """What differs between two runs of the same Slurm. cycle_s, full_s: seconds from the first submission to the first backfill cycle and
    to the first pass over the full queue. epilog_s: least and most seconds that nodes complete, drawn for each job with `seed`. test_us:
    microseconds that a backfill cycle takes for each job that it tests, by which later cycles are later."""

    cycle_s: int = 0
    full_s: int = 0
    epilog_s: tuple[int, int] = (0, 0)
    seed: int = 0
    test_us: int = 0

    @staticmethod
    def drawn(seed: int, interval_s: int = 30, epilog_s: tuple[int, int] = (0, 5), test_us: int = TEST_US) -> Phases:
        """Phases of one more run."""
        random = np.random.default_rng(seed)
        return Phases(int(random.integers(interval_s)), int(random.integers(60)), epilog_s, seed, test_us)


@dataclass(frozen=True)
class SlurmReplayer:
    """Replays a described cluster under its own scheduler. requests: of the same jobs, in the same order."""

    description: ClusterDescription
    arrays: ClusterArrays
    requests: Requests
    phases: Phases = Phases()
    honours: ClassVar[frozenset[str]] = frozenset()

    def replay(self, jobs: Jobs, cluster: Cluster) -> Outcome:
        """Replays all jobs. Jobs that can never start are CANCELLED, and `counts` says how many.

        Raises ValueError if the requests are of other jobs, or if jobs already run."""
        if len(jobs.submit) != len(self.requests.submit):
            raise ValueError(f"{len(jobs.submit)} jobs, but requests of {len(self.requests.submit)}")
        if len(cluster.running) or len(cluster.outages):
            raise ValueError("Slurm's replay begins on an idle cluster without outages: leave them out")
        requests = self.requests._replace(submit=jobs.submit, limit=np.maximum(jobs.limit, 1))
        replay = new_replay(self.description, self.arrays, requests, jobs.runtime, self.phases)
        run_replay(replay)
        start = replay.engine.running.start.copy()
        never = start == NOT_GIVEN
        start[never] = CANCELLED
        counts = {"never started": int(never.sum())}
        if replay.refused.any():
            counts["refused"] = int(replay.refused.sum())
        if replay.preempted.any():
            counts["preempted"] = int((replay.preempted > 0).sum())
        return Outcome(Schedule(start, replay.backfilled), counts=counts)


def new_replay(
    description: ClusterDescription,
    arrays: ClusterArrays,
    requests: Requests,
    runtime: IntArray,
    phases: Phases,
) -> Replay:
    """A replay in which nothing has happened yet."""
    settings = slurm_settings(description.scheduler)
    if phases.test_us > 0:
        most_tests = settings.most_seconds * MILLION // phases.test_us
        settings = settings._replace(job_tests=max(1, min(settings.job_tests, most_tests)))
    jobs = Requests(*(np.ascontiguousarray(column) for column in requests))
    jobs = jobs._replace(begin=jobs.begin.copy())  # a job that is requeued begins later
    limits = limits_of(description, jobs, arrays.gpu_types)
    preemption = preemption_of(description, len(jobs.submit))
    engine = idle_engine(site_of(arrays, settings), jobs, limits, preemption)
    num_jobs, num_nodes = len(jobs.submit), arrays.num_nodes
    rows = num_jobs * jobs.partitions.shape[1]
    first = int(jobs.submit.min()) if num_jobs else 0
    clock = np.zeros(14, dtype=np.int64)
    rules = priority_rules(description.scheduler)
    clock[CYCLE_DUE], clock[FULL_DUE] = first + phases.cycle_s, first + phases.full_s
    clock[BATCH_DUE], clock[LAST_BATCH], clock[LAST_PERIOD] = FOREVER, first - 60, first
    clock[PERIOD_DUE] = FOREVER if settings.basic else first + rules.period
    order = np.argsort(jobs.submit, kind="stable")
    low, high = phases.epilog_s
    none = np.full(num_jobs, NOT_GIVEN, dtype=np.int64)
    return Replay(
        engine=engine,
        waiting=_waiting(rows, arrays, jobs),
        decisions=_decisions(rows + settings.array_plans + 1, num_nodes),
        rules=rules,
        statics=static_factors(arrays, description.scheduler),
        fair=fair_shares(arrays, jobs),
        order=order,
        position=np.argsort(order),
        runtime=np.array(runtime, dtype=np.int64),
        epilog=np.random.default_rng(phases.seed).integers(low, high + 1, num_jobs),
        test_us=phases.test_us,
        clock=clock,
        pending=np.zeros((rows + 1, 3), dtype=np.int64),
        room=np.zeros((rows + 1, 3), dtype=np.int64),
        eligible=none.copy(),
        finished=none.copy(),
        ending=np.zeros(num_jobs + 1, dtype=np.int64),
        epilog_end=np.zeros(num_jobs + 1, dtype=np.int64),
        backfilled=np.zeros(num_jobs, dtype=np.bool_),
        refused=np.zeros(num_jobs, dtype=np.bool_),
        preempted=np.zeros(num_jobs, dtype=np.int64),
    )


def _waiting(rows: int, arrays: ClusterArrays, jobs: Requests) -> WaitingRows:
    def zeros(count: int) -> IntArray:
        return np.zeros(count, dtype=np.int64)

    users = int(jobs.user.max(initial=0)) + 1
    return WaitingRows(
        zeros(1),
        zeros(rows),
        zeros(rows),
        zeros(rows),
        zeros(len(jobs.submit)),
        zeros(users),
        zeros(len(arrays.max_time)),
    )


def _decisions(rows: int, num_nodes: int) -> Decisions:
    job, kind, start, end = (np.zeros(rows, dtype=np.int64) for _ in range(4))
    nothing = np.zeros((0, num_nodes), dtype=np.bool_)
    return Decisions(np.zeros(1, dtype=np.int64), job, kind, start, end, nothing)
