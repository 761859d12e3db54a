"""Slurm as a replayer: whole schedules from submissions, limits, run times and the configuration alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from simulator.cluster.arrays import ClusterArrays
from simulator.cluster.requests import NOT_GIVEN, Requests, joined_requests
from simulator.jobs.cluster import FOREVER, Cluster
from simulator.jobs.coming import giving_up_of
from simulator.jobs.followers import NEVER_SUBMITTED, NO_JOB, Chain, chain_of, order_of_coming
from simulator.jobs.jobs import Jobs
from simulator.jobs.schedule import CANCELLED, Schedule
from simulator.policies.closed import looks_at_submissions
from simulator.policies.registry import Policy
from simulator.replayer import Outcome, nodes_of_jobs, watched
from simulator.slurm.backfill import Decisions
from simulator.slurm.changes import edges_of
from simulator.slurm.clockwork import (
    BATCH_DUE,
    BEGIN,
    CAME,
    CYCLE_DUE,
    CYCLE_US,
    FULL_DUE,
    LAST_BATCH,
    LAST_CHANGE,
    LAST_PERIOD,
    MILLION,
    NEXT_SUBMIT,
    PERIOD_DUE,
    Replay,
)
from simulator.slurm.limits import limits_of
from simulator.slurm.loop import run_replay
from simulator.slurm.preemption import preemption_of
from simulator.slurm.priority import fair_shares, priority_rules, static_factors
from simulator.slurm.rows import WaitingRows, waiting_rows
from simulator.slurm.settings import Settings, jobs_within, slurm_settings
from simulator.slurm.state import Engine, idle_engine, slurm_site_of
from simulator.slurm.variants.orders import by_order, is_fixed_order, run_in_order
from simulator.slurm.variants.submitted import by_value, run_as_submitted
from simulator.slurm.variants.warm import WarmStart, begin_warm
from traces.cluster.description import ClusterDescription

IntArray = NDArray[np.int64]
TEST_US = 1000
"""What a cycle takes for a job, as `sdiag` of UB's micro cluster has it."""


@dataclass(frozen=True)
class Phases:
    """What differs between two runs of the same Slurm. cycle_s, full_s: seconds from the first submission to the first backfill cycle and
    to the first pass over the full queue. cycle_us: microseconds by which that cycle is later. epilog_s: least and most seconds that nodes
    complete, drawn for each job with `seed`. test_us: microseconds that a backfill cycle takes for each job that it tests, by which later
    cycles are later."""

    cycle_s: int = 0
    full_s: int = 0
    epilog_s: tuple[int, int] = (0, 0)
    seed: int = 0
    test_us: int = 0
    cycle_us: int = 0

    @staticmethod
    def drawn(seed: int, interval_s: int = 30, epilog_s: tuple[int, int] = (0, 5), test_us: int = TEST_US) -> Phases:
        """Phases of one more run."""
        random = np.random.default_rng(seed)
        cycle_s, full_s, cycle_us = (int(random.integers(bound)) for bound in (interval_s, 60, MILLION))
        return Phases(cycle_s, full_s, epilog_s, seed, test_us, cycle_us)


@dataclass(frozen=True)
class SlurmReplayer:
    """Replays a described cluster under its own scheduler. requests: of the same jobs, in the same order. policy: in place of its
    priority, None for that. warm: what a replay begins with beside the running jobs of its cluster. plans_by_estimate: whether the
    backfill scheduler plans jobs by their estimates, and by their limits once they have outlived these. No estimate ends a job. drive: runs
    a replay under Slurm's own order, such as one that changes what jobs are planned for on the way."""

    description: ClusterDescription
    arrays: ClusterArrays
    requests: Requests
    phases: Phases = Phases()
    policy: Policy | None = None
    warm: WarmStart | None = None
    plans_by_estimate: bool = False
    drive: Callable[[Replay], object] = run_replay
    honours: ClassVar[frozenset[str]] = frozenset()

    def replay(self, jobs: Jobs, cluster: Cluster) -> Outcome:
        """Replays all jobs. Jobs that can never start are CANCELLED, and `counts` says how many. One that is never submitted, or whose user
        gives up, counts as that, and not as one that never started.

        Raises ValueError if the requests are of other jobs, if jobs already run of which nothing else is said, where a formula or a
        plug-in fails, and where jobs follow others and a plug-in scores submissions that are not known."""
        replay, homeless = self.begun(jobs, cluster)
        with watched("jobs of the replay under Slurm", replay.engine.running.start):
            if self.policy is None:
                self.drive(replay)
            elif not is_fixed_order(self.policy):
                run_in_order(replay, self.policy, jobs, cluster)
            elif jobs.is_closed and looks_at_submissions(self.policy, jobs, cluster.procs):
                run_as_submitted(replay, self.policy, jobs, cluster)
            else:
                self.drive(replay)
        own = slice(len(cluster.running), None)
        start = replay.engine.running.start[own].copy()
        never = start == NOT_GIVEN
        start[never] = CANCELLED
        submit = replay.engine.jobs.submit[own].copy() if jobs.is_closed else None
        absent = 0 if submit is None else int((submit == NEVER_SUBMITTED).sum())
        gave_up = replay.giving.gave_up[own]
        counts = {"never started": int(never.sum()) - absent - int(gave_up.sum())}
        if absent:
            counts["never submitted"] = absent
        if replay.refused.any():
            counts["refused"] = int(replay.refused.sum())
        if replay.preempted.any():
            counts["preempted"] = int((replay.preempted > 0).sum())
        if homeless:
            counts["running without room"] = homeless
        running, jobs_own = replay.engine.running, len(cluster.running)
        held = nodes_of_jobs(running.first[jobs_own:-1], np.where(never, 0, running.nodes[own]), running.node)
        schedule = Schedule(start, replay.backfilled[own])
        return Outcome(schedule, counts=counts, held=held, submit=submit, gave_up=gave_up)

    def begun(self, jobs: Jobs, cluster: Cluster) -> tuple[Replay, int]:
        """The replay before its first event, and how many running jobs found no room on the nodes. The running jobs are its first ones.

        Raises ValueError as `replay` does."""
        if len(jobs.submit) != len(self.requests.submit):
            raise ValueError(f"{len(jobs.submit)} jobs, but requests of {len(self.requests.submit)}")
        running = len(cluster.running)
        if len(cluster.outages) or running != (0 if self.warm is None else len(self.warm.requests.submit)):
            raise ValueError("Slurm's replay begins without outages, and with running jobs of a warm start alone")
        limit = np.maximum(jobs.limit, 1)
        planned = np.maximum(jobs.estimate, 1) if self.plans_by_estimate else limit
        requests = self.requests._replace(submit=jobs.submit, limit=limit, planned=planned)
        if self.policy is not None and is_fixed_order(self.policy):
            assert self.policy.fixed is not None
            order = by_value if jobs.is_closed and looks_at_submissions(self.policy, jobs, cluster.procs) else by_order
            requests = order(requests, self.policy.fixed(jobs, cluster.procs))
        runtime = jobs.runtime
        if self.warm is not None:
            requests = joined_requests(self.warm.requests, requests)
            runtime = np.concatenate([cluster.running.runtime, runtime])
        begin_s = cluster.begins(jobs.submit) if len(jobs) else 0
        follows = (jobs.after, jobs.think, jobs.array) if jobs.is_closed else None
        replay = new_replay(self.description, self.arrays, requests, runtime, self.phases, (running, begin_s), follows)
        replay = replay._replace(giving=giving_up_of(jobs.submit, jobs.cancel, running))
        if self.warm is None:
            return replay, 0
        types = self.arrays.gpu_types
        return replay, begin_warm(replay, self.description, types, self.warm, cluster.running.start)


def new_replay(
    description: ClusterDescription,
    arrays: ClusterArrays,
    requests: Requests,
    runtime: IntArray,
    phases: Phases,
    begins: tuple[int, int] | None = None,
    follows: tuple[IntArray, IntArray, IntArray] | None = None,
) -> Replay:
    """A replay in which nothing has happened yet. begins: how many of the first jobs run already, and the second at which the replay
    begins; None for none, and for the first submission. follows: `after`, `think` and `array` of the other jobs, as places among
    these; None where none follows."""
    settings = slurm_settings(description.scheduler)
    if phases.test_us > 0:
        most_tests = jobs_within(settings, phases.test_us)
        settings = settings._replace(job_tests=max(1, min(settings.job_tests, most_tests)))
    # all may be written to, so that the loop is compiled for one kind of array
    jobs = Requests(*(np.require(column, requirements=("C", "W")) for column in requests))
    # a replay changes them, but no limit
    jobs = jobs._replace(submit=jobs.submit.copy(), begin=jobs.begin.copy(), planned=jobs.planned.copy())
    limits = limits_of(description, jobs, arrays.gpu_types)
    preemption = preemption_of(description, len(jobs.submit))
    engine = idle_engine(slurm_site_of(arrays, settings), jobs, limits, preemption)
    num_jobs, rows = len(jobs.submit), jobs.partitions.size
    running, first = begins or (0, int(jobs.submit.min()) if num_jobs else 0)
    rules = priority_rules(description.scheduler)
    clock = _first_clock(settings, rules.period, phases, first)
    order, chain = _jobs_to_come(engine, clock, running, follows)
    low, high = phases.epilog_s
    none = np.full(num_jobs, NOT_GIVEN, dtype=np.int64)
    return Replay(
        engine=engine,
        waiting=_waiting(rows, arrays, jobs),
        decisions=_decisions(rows + settings.array_plans + 1, arrays.num_nodes),
        rules=rules,
        statics=static_factors(arrays, description.scheduler),
        fair=fair_shares(arrays, jobs),
        chain=chain,
        giving=giving_up_of(none[:0], none[:0], num_jobs),
        order=order,
        came=np.arange(num_jobs),
        runtime=np.array(runtime, dtype=np.int64),
        epilog=np.random.default_rng(phases.seed).integers(low, high + 1, num_jobs),
        test_us=phases.test_us,
        clock=clock,
        pending=np.zeros((rows + 1, 3), dtype=np.int64),
        queued=np.zeros(len(arrays.max_time) + len(arrays.reservation_times), dtype=np.int64),
        kept=np.zeros(num_jobs + 1, dtype=np.int64),
        room=np.zeros((rows + 1, 3), dtype=np.int64),
        eligible=none.copy(),
        finished=none.copy(),
        ending=np.zeros(num_jobs + 1, dtype=np.int64),
        epilog_end=np.zeros(num_jobs + 1, dtype=np.int64),
        backfilled=np.zeros(num_jobs, dtype=np.bool_),
        refused=np.zeros(num_jobs, dtype=np.bool_),
        preempted=np.zeros(num_jobs, dtype=np.int64),
        ended=np.zeros(num_jobs, dtype=np.int64),
        edges=edges_of(engine.site),
    )


def _first_clock(settings: Settings, period_s: int, phases: Phases, first: int) -> IntArray:
    """The clock at `first`, the second at which a replay begins."""
    clock = np.zeros(25, dtype=np.int64)
    clock[BEGIN] = first
    clock[CYCLE_DUE], clock[FULL_DUE] = first + phases.cycle_s, first + phases.full_s
    clock[BATCH_DUE], clock[LAST_BATCH], clock[LAST_PERIOD] = FOREVER, first - 60, first
    clock[CYCLE_US], clock[LAST_CHANGE] = phases.cycle_us, first - 60
    clock[PERIOD_DUE] = FOREVER if settings.basic else first + period_s
    return clock


def _jobs_to_come(
    engine: Engine, clock: IntArray, running: int, follows: tuple[IntArray, IntArray, IntArray] | None
) -> tuple[IntArray, Chain]:
    """The order in which jobs come behind those that run, and who follows whom. Sets the clock and the numbers of jobs accordingly."""
    submit = engine.jobs.submit[running:]
    none = np.full(len(submit), NO_JOB)
    after, think, array = follows or (none, np.zeros(len(submit), dtype=np.int64), none)
    coming, room = order_of_coming(submit, after)
    order = np.concatenate([np.arange(running), running + coming])
    clock[NEXT_SUBMIT], clock[CAME] = running + room, running
    if room:
        submit[after != NO_JOB] = NEVER_SUBMITTED  # until they are to come
    else:
        engine.running.number[:] = np.argsort(order)
    return order, chain_of(after, think, array, running)


def _waiting(rows: int, arrays: ClusterArrays, jobs: Requests) -> WaitingRows:
    nothing = np.zeros((3, rows), dtype=np.int64)
    next_task = np.zeros(len(jobs.submit), dtype=np.int64)
    waiting = waiting_rows(
        (nothing[0], nothing[1], nothing[2]), 0, next_task, jobs, len(arrays.max_time), len(arrays.reservation_times)
    )
    if ((jobs.array >= 0) & (jobs.partitions[:, 1:] >= 0).any(axis=1)).any():
        waiting.part[0] = rows  # of such tasks, rows of one partition change what comes next in another
    return waiting


def _decisions(rows: int, num_nodes: int) -> Decisions:
    job, kind, start, end = (np.zeros(rows, dtype=np.int64) for _ in range(4))
    nothing = np.zeros((0, num_nodes), dtype=np.bool_)
    return Decisions(np.zeros(1, dtype=np.int64), job, kind, start, end, nothing)
