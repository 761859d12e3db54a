"""The state of one replay in the general engine: arrays that it fills, so that it can stop, get an answer, and continue."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.compiled import inlined
from simulator.formula import machine as formula_machine
from simulator.jobs.schedule import CANCELLED
from simulator.jobs.tasks import Tasks
from simulator.policies.moment import Moment
from simulator.policies.network import VISIBLE_JOBS
from simulator.policies.scoring import Scratch

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

NOW, FREE, QUEUED, RUNNING, ARRIVED, OUTAGE, CANCELLATION, BEGUN, LAST, PAUSE = range(10)
"""Counters of both engines. NOW is the time, FREE the number of free processors. QUEUED jobs wait and RUNNING tasks run. ARRIVED is
the next task to be submitted, OUTAGE the next outage, CANCELLATION the next of `Tasks.cancel_order`. BEGUN says whether the replay
has begun. LAST is the first task that is no longer submitted. PAUSE is 0, or 1 + the second before which the engine stops."""
ANNOUNCED, PHASE, PLAN_STEPS, SHRUNK, GREW, HORIZON, NEXT_DUE, FAILED, FAILED_OPERATION, ENDED = range(10, 20)
"""Counters of the general engine. ANNOUNCED is the next of `Tasks.announced`, ENDED the length of `Episode.ended`."""
AWAITED_FROM, AWAITED_TO, AWAITED, PENDING, NARROWEST = range(20, 25)
HEAD, SHADOW, EXTRA, LATEST, FRONT, AT_FRONT, SLOTS, CANDIDATES, WAKE, LAST_REJECTED = range(25, 35)
INSPECTED_JOB, WOULD_START = 35, 36
"""Where AWAITED_TO is not 0, the general engine is done when all tasks from AWAITED_FROM to before AWAITED_TO have started. AWAITED
counts those that have not. PENDING: an announced outage has not started, so that starts must be checked against the plan.
NARROWEST: no waiting job needs fewer processors.

HEAD to CANDIDATES belong to a pass in which jobs are picked. HEAD is the place of the blocked head, -1 for none. SHADOW and EXTRA are
its shadow time and extra processors. LATEST is the latest end that its slack allows. FRONT is the place of the first of the queue,
AT_FRONT how many slots are at the front, SLOTS how many there are, CANDIDATES how many have a candidate. WAKE is 0, or the time at
which the scheduler decides again after a rejection of the task LAST_REJECTED - 1. INSPECTED_JOB is the task that an inspector has to
accept or reject, and WOULD_START says whether it would start."""
NUM_COUNTERS = 37

UNPROTECTED, UNRESERVED = -1, -2
"""Values of `reserved` for a job that holds no reservation: it has no right to one, or has not got one yet."""


class Episode(NamedTuple):
    """The queue, the tasks that run, the plan, the users' usage, and the schedule so far. A place is a position in the queue, which
    is in submit order (by score if that is fixed)."""

    counters: IntArray  # (NUM_COUNTERS,), see above
    queue: IntArray  # (jobs,), jobs by place
    score: FloatArray  # (jobs,), by place
    order: IntArray  # (jobs,), scratch: places
    heap_end: IntArray  # (most that run at once,), a heap by true end
    heap_job: IntArray  # (most that run at once,), the tasks in that heap
    est_end: IntArray  # (most that run at once,), estimated ends, ascending
    est_job: IntArray  # (most that run at once,), the tasks in that order
    believed: IntArray  # (tasks,), estimated end of a task that runs
    start: IntArray  # (tasks,), seconds, or CANCELLED as long as there is none
    backfilled: NDArray[np.bool_]  # (tasks,)
    reserved: IntArray  # (tasks,) if the rules need a plan: start of a reservation, or why there is none
    ended: IntArray  # (tasks,) if estimates are live: tasks in the order of their ends
    promised: IntArray  # (tasks,) if the rules want it: shadow time when the job was first a blocked head, -1 for never
    plan_time: IntArray  # (most steps,), see simulator/engine/plan.py
    plan_room: IntArray  # (most steps,)
    usage: FloatArray  # (users + 1,), see simulator/policies/moment.py
    rate: FloatArray  # (users + 1,)
    since: IntArray  # (users + 1,)
    slots: FloatArray  # this and the next four: see simulator.policies.scoring.Scratch
    stack: FloatArray
    rows: NDArray[np.float32]
    outputs: NDArray[np.float32]
    room: FloatArray
    candidate: NDArray[np.bool_]  # (jobs,) if an agent picks: by slot, whether its job may be picked
    sighted: IntArray  # (VISIBLE_JOBS,), tasks that an agent's network looks at, by row
    sighted_slot: IntArray  # (VISIBLE_JOBS,), their slots if an agent picks
    rejected: IntArray  # (tasks,) if an agent inspects: how often
    rejected_s: IntArray  # (tasks,) the same: for how many seconds


def new_episode(
    tasks: Tasks,
    cluster_procs: int,
    users: int,
    plans: bool,
    inputs: int,
    live: bool = False,
    promises: bool = False,
    inspects: bool = False,
) -> Episode:
    """The state before the first event. users: how many are accounted for (0 if nothing needs their usage). plans: whether
    the rules need a plan. inputs: of the network that chooses, 0 without one. live, promises: as in the rules. inspects: whether
    an agent inspects."""
    num_tasks, num_jobs = len(tasks.submit), tasks.last - tasks.first
    most_running = min(num_tasks, cluster_procs + num_tasks - tasks.last) + 1
    steps = 2 * (most_running + num_jobs + num_tasks - tasks.last) + 4 if plans else 1
    start = np.full(num_tasks, CANCELLED, dtype=np.int64)
    start[: tasks.first] = tasks.submit[: tasks.first]
    return Episode(
        counters=np.zeros(NUM_COUNTERS, dtype=np.int64),
        queue=np.empty(num_jobs, dtype=np.int64),
        score=np.empty(num_jobs, dtype=np.float64),
        order=np.empty(num_jobs, dtype=np.int64),
        heap_end=np.empty(most_running, dtype=np.int64),
        heap_job=np.empty(most_running, dtype=np.int64),
        est_end=np.empty(most_running, dtype=np.int64),
        est_job=np.empty(most_running, dtype=np.int64),
        believed=np.empty(num_tasks, dtype=np.int64),
        start=start,
        backfilled=np.zeros(num_tasks, dtype=np.bool_),
        reserved=np.full(num_tasks if plans else 1, UNPROTECTED, dtype=np.int64),
        ended=np.empty(num_tasks if live else 1, dtype=np.int64),
        promised=np.full(num_tasks if promises else 1, -1, dtype=np.int64),
        plan_time=np.empty(steps, dtype=np.int64),
        plan_room=np.empty(steps, dtype=np.int64),
        usage=np.zeros(users + 1),
        rate=np.zeros(users + 1),
        since=np.zeros(users + 1, dtype=np.int64),
        slots=np.zeros(formula_machine.NUM_SLOTS),
        stack=np.zeros(formula_machine.STACK_SIZE),
        rows=np.empty((VISIBLE_JOBS, inputs), dtype=np.float32),
        outputs=np.empty(VISIBLE_JOBS, dtype=np.float32),
        room=np.empty(most_running, dtype=np.float64),
        candidate=np.zeros(num_jobs, dtype=np.bool_),
        sighted=np.zeros(VISIBLE_JOBS, dtype=np.int64),
        sighted_slot=np.zeros(VISIBLE_JOBS, dtype=np.int64),
        rejected=np.zeros(num_tasks if inspects else 1, dtype=np.int64),
        rejected_s=np.zeros(num_tasks if inspects else 1, dtype=np.int64),
    )


@inlined
def moment_of(tasks, rules, scoring, episode):
    """What a policy may look at now."""
    counters = episode.counters
    return Moment(
        counters[NOW],
        counters[FREE],
        rules.cluster_procs,
        counters[QUEUED],
        counters[RUNNING],
        episode.queue,
        tasks.submit,
        tasks.procs,
        tasks.estimate,
        tasks.user,
        episode.est_end,
        episode.est_job,
        episode.usage,
        episode.rate,
        episode.since,
        scoring.half_life_s,
    )


@inlined
def scratch_of(episode):
    """Where scores are computed."""
    return Scratch(episode.slots, episode.stack, episode.rows, episode.outputs, episode.room)
