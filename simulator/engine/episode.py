"""The state of one replay in the general engine: arrays that it fills, so that it can stop, be asked, and go on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.formula import machine as formula_machine
from simulator.jobs.schedule import CANCELLED
from simulator.jobs.tasks import Tasks
from simulator.policies.network import VISIBLE_JOBS

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

(
    NOW, FREE, QUEUED, RUNNING, ARRIVED, OUTAGE, ANNOUNCED, CANCELLATION, PHASE, BEGUN,
    PLAN_STEPS, SHRUNK, GREW, HORIZON, NEXT_DUE, CHOICES, ROWS, FAILED, ENDED,
) = range(19)  # fmt: skip
NUM_COUNTERS = 19

UNPROTECTED, UNRESERVED = -1, -2
"""`reserved` of a job that holds no reservation: because it has no right to one, or not yet."""


class Episode(NamedTuple):
    """counters: the numbers above. By place in the queue, which is in submit order (by score if that is fixed):
    queue (jobs), score, order (scratch), (num_jobs,). By running job: heap_end, heap_job (a heap by true end), est_end,
    est_job (ascending by estimated end), (most that can run at once,). By task: believed (estimated end), start,
    backfilled, reserved (start of a reservation, or why there is none), promised (the shadow time when the job first was a
    blocked head, -1 for never). ended: jobs in the order of their ends. (These two only where the rules want them.)
    plan_time, plan_room: see simulator/engine/plan.py.
    usage, rate, since: see simulator/policies/usage.py, (users + 1,). scratch, rows, outputs, room: of scores being computed.
    """

    counters: IntArray
    queue: IntArray
    score: FloatArray
    order: IntArray
    heap_end: IntArray
    heap_job: IntArray
    est_end: IntArray
    est_job: IntArray
    believed: IntArray
    start: IntArray
    backfilled: NDArray[np.bool_]
    reserved: IntArray
    ended: IntArray
    promised: IntArray
    plan_time: IntArray
    plan_room: IntArray
    usage: FloatArray
    rate: FloatArray
    since: IntArray
    scratch: FloatArray
    rows: NDArray[np.float32]
    outputs: NDArray[np.float32]
    room: FloatArray


def new_episode(
    tasks: Tasks,
    cluster_procs: int,
    users: int,
    plans: bool,
    inputs: int,
    live: bool = False,
    promises: bool = False,
) -> Episode:
    """The state before the first event. users: how many are accounted for (0 if nothing asks for usage). plans: whether
    the rules need a plan. inputs: of the network that chooses, 0 without one. live, promises: as in the rules."""
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
        scratch=np.zeros(formula_machine.NUM_SLOTS + formula_machine.STACK_SIZE + 1),
        rows=np.empty((VISIBLE_JOBS, inputs), dtype=np.float32),
        outputs=np.empty(VISIBLE_JOBS, dtype=np.float32),
        room=np.empty(most_running, dtype=np.float64),
    )
