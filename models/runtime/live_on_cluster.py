"""Live estimates on a cluster: on the nodes of Slurm or PBS, or of an order under limits, each waiting job is planned by similar jobs that
have ended in the replay.

They are those of models/runtime/live.py, recomputed before schedulers run. On nodes a job that outlives its estimate is planned to its
limit (simulator/slurm/starting.py, simulator/pbs/starting.py). No estimate ends a job.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from compilation.references import refer as typed_refer
from models.compiled import compiled, lean
from models.runtime.live import LiveSettings, estimate_of_alike, learner_of, live_policy
from models.runtime.past.past_jobs import SAME_USER, likeness_of
from models.runtime.past.similar import MOST_VALUES, NO_REQUEST_S, remember, request_of, requests_of
from simulator.engine import episode as at
from simulator.engine.episode import WANT_ESTIMATES
from simulator.formula.machine import AREA, CLUSTER, ESTIMATE, NUM_SLOTS, PROCS, STACK_SIZE, SUBMIT, evaluate
from simulator.formula.parsing import explain_failure
from simulator.jobs.jobs import column_of
from simulator.limits import lines
from simulator.limits.loop import run_limited
from simulator.limits.replaying import LimitedReplay
from simulator.pbs import state as pbs
from simulator.pbs.loop import run_pbs
from simulator.pbs.state import PbsReplay
from simulator.policies.registry import Policy
from simulator.policies.scoring import FORMULA
from simulator.slurm.clockwork import CAME, NOW, PENDING, STOPS, STOPS_TO_LEARN, WANT_ORDER, Replay
from simulator.slurm.loop import run_replay

refer: Any = typed_refer  # numba gives it its context
OPEN, SUBMITTED, QUEUED = range(3)
"""Places in the counts: jobs that have been submitted and not been learned from, how many were submitted, and how many are in order."""


@dataclass(frozen=True)
class LiveOnCluster:
    """Runs a replay under Slurm or PBS with live estimates. rows: of its jobs, in the same order, with the columns of
    `past_jobs.likeness_of`. statistic: of similar jobs, one of LIVE_STATISTICS in models/runtime/estimates.py."""

    rows: pl.DataFrame
    statistic: str

    def __call__(self, replay: Replay | PbsReplay) -> None:
        """From the state in which it is to its end."""
        none = np.zeros(self.rows.height, dtype=np.int64)
        learner = learner_of(likeness_of(self.rows), LiveSettings(self.statistic), (none, none, none))
        drive, stops = _drive_slurm, (STOPS, STOPS_TO_LEARN)
        if isinstance(replay, PbsReplay):
            drive, stops = _drive_pbs, (pbs.STOPS, 1)
        replay.clock[stops[0]] = stops[1]
        room: NDArray[np.int64] = np.zeros((2, self.rows.height), dtype=np.int64)
        drive(replay, learner, room[0], room[1], np.zeros(2, dtype=np.int64))


@dataclass(frozen=True)
class LiveUnderLimits:
    """Runs a replay of an order under limits with live estimates. rows: as LiveOnCluster has them. policy: the order. origin: see
    simulator.jobs.jobs.Jobs. cycle_s: as LimitedReplayer has it."""

    rows: pl.DataFrame
    settings: LiveSettings
    policy: Policy
    origin: int
    cycle_s: int = 0

    def __call__(self, replay: LimitedReplay) -> None:
        """From its beginning to its end. Raises ValueError for an order that cannot follow live estimates, and where its formula fails."""
        policy = live_policy(self.policy)
        formula = policy.formula if policy.kind == FORMULA else None
        tasks, likeness = replay.tasks, likeness_of(self.rows)
        estimate, hold, admit, limit = (
            column.copy() for column in (tasks.estimate, tasks.hold, tasks.admit, tasks.limit)
        )
        limit[: len(self.rows)][requests_of(likeness) >= NO_REQUEST_S] = NO_REQUEST_S
        followed = tasks._replace(
            estimate=column_of(estimate), hold=column_of(hold), admit=column_of(admit), limit=column_of(limit)
        )
        learner = learner_of(likeness, self.settings, (estimate, hold, admit))
        ops, constants = np.zeros((0, 2), dtype=np.int64), np.zeros(0)
        if formula is not None:
            ops, constants = formula.ops, formula.constants
        replay.episode.counters[lines.STOPS] = lines.STOPS_TO_LEARN
        replay.episode.counters[lines.NEXT_RANK] = lines.ABSENT if formula is None else 0
        order = Rescoring(ops, constants, np.zeros(NUM_SLOTS), np.zeros(len(tasks.submit)), self.origin, self.cycle_s)
        room: NDArray[np.int64] = np.zeros((3, len(tasks.submit)), dtype=np.int64)
        failed = _drive_limited(replay._replace(tasks=followed), learner, order, room, np.zeros(3, dtype=np.int64))
        if failed >= 0:
            assert formula is not None
            raise explain_failure(formula, int(failed), order.slots)


class Rescoring(NamedTuple):
    """The formula of an order that follows estimates, highest first. ops: (0, 2) for an order that does not. score: (tasks,)."""

    ops: NDArray[np.int64]
    constants: NDArray[np.float64]
    slots: NDArray[np.float64]
    score: NDArray[np.float64]
    origin: int
    cycle_s: int


@compiled
def _drive_slurm(replay, learner, open_jobs, ended, counts):
    """open_jobs, ended: room for jobs, (jobs,)."""
    state = refer(replay)
    value, weight = np.empty(MOST_VALUES), np.empty(MOST_VALUES)
    jobs, clock = replay.engine.jobs, replay.clock
    none_before = np.zeros_like(replay.runtime)
    while run_replay(state) == WANT_ORDER:
        submitted = replay.came[counts[SUBMITTED] : clock[CAME]]
        learn_ended(
            learner, submitted, replay.finished, replay.runtime, none_before, (open_jobs, ended, counts), clock[NOW]
        )
        for k in range(clock[PENDING]):
            job = replay.pending[k, 0]
            if is_news(learner, job):
                jobs.planned[job] = min(renewed_estimate(learner, job, value, weight), jobs.limit[job])


@compiled
def _drive_pbs(replay, learner, open_jobs, ended, counts):
    """open_jobs, ended: room for jobs, (jobs,). A victim that goes on has what is left of its estimate."""
    state = refer(replay)
    value, weight = np.empty(MOST_VALUES), np.empty(MOST_VALUES)
    jobs, queue, clock = replay.engine.jobs, replay.engine.waiting, replay.clock
    ran_before = replay.ran_before
    while run_pbs(state) == pbs.WANT_PLANNED:
        submitted = replay.order[counts[SUBMITTED] : clock[pbs.CAME]]
        room, now = (open_jobs, ended, counts), clock[pbs.NOW]
        learn_ended(learner, submitted, replay.finished, replay.runtime, ran_before, room, now)
        for k in range(queue.length[0]):
            job = queue.pending[k]
            if is_news(learner, job):
                left = max(renewed_estimate(learner, job, value, weight) - ran_before[job], 1)
                jobs.wall[job] = min(left, jobs.limit[job])


@lean
def learn_ended(learner, submitted, finished, runtime, ran_before, room, now):
    """Learns from the jobs that have ended since it learned last, in the order of their ends, those of one second in that of the log.
    submitted: jobs that have been since. finished: (jobs,), when each ended, below 0 before. runtime, ran_before: (jobs,), seconds of its
    last run and of those before. room: open jobs, room to sort, and the counts."""
    open_jobs, ended, counts = room
    for k in range(len(submitted)):
        open_jobs[counts[OPEN]] = submitted[k]
        counts[OPEN] += 1
    counts[SUBMITTED] += len(submitted)
    kept, number = np.int64(0), np.int64(0)
    for k in range(counts[OPEN]):
        job = open_jobs[k]
        if finished[job] < 0 or finished[job] > now:
            open_jobs[kept] = job
            kept += 1
            continue
        place = number
        while place > 0 and _is_later(finished, ended[place - 1], job):
            ended[place] = ended[place - 1]
            place -= 1
        ended[place] = job
        number += 1
    counts[OPEN] = kept
    for k in range(number):
        learner.learned[0] += 1
        ran_s = runtime[ended[k]] + ran_before[ended[k]]
        remember(learner.memory, learner.likeness, ended[k], max(ran_s, 1))
        learner.news[learner.likeness.class_of[SAME_USER, ended[k]]] += 1


@lean
def _is_later(finished, job, other):
    return finished[job] > finished[other] or (finished[job] == finished[other] and job > other)


@lean
def is_news(learner, job):
    """Whether the job's estimate does not include all ended jobs of its user. That is so once for each news."""
    news = learner.news[learner.likeness.class_of[SAME_USER, job]]
    if learner.heard[job] == news:
        return False
    learner.heard[job] = news
    return True


@lean
def renewed_estimate(learner, job, value, weight):
    """The estimate of a waiting job by what has ended, whole seconds, at most its request."""
    seconds = max(np.int64(np.rint(learner.factor * estimate_of_alike(learner, job, value, weight))), 1)
    return min(seconds, request_of(learner.likeness, job))


# --- under limits


@compiled
def _drive_limited(replay, learner, order, room, counts):
    """room: for open jobs, to sort, and for waiting jobs in order, (3, tasks). Returns the operation of the formula that failed, or -1."""
    tasks, rules, slots, orders, sharing, episode, wakes = replay
    value, weight, stack = np.empty(MOST_VALUES), np.empty(MOST_VALUES), np.empty(STACK_SIZE)
    finished = np.full(len(tasks.submit), -1)
    none_before = np.zeros_like(finished)
    every = np.arange(len(tasks.submit))
    counters = episode.counters
    order.slots[CLUSTER] = rules.cluster_procs
    while run_limited(tasks, rules, slots, orders, sharing, episode, wakes) == WANT_ESTIMATES:
        first = counts[SUBMITTED]
        for k in range(counts[OPEN]):
            job = room[0, k]
            if episode.start[job] >= 0:
                finished[job] = episode.start[job] + tasks.runtime[job]
        submitted = every[first : counters[at.ARRIVED]]
        learn_ended(
            learner, submitted, finished, tasks.runtime, none_before, (room[0], room[1], counts), counters[at.NOW]
        )
        for k in range(counters[lines.ACTIVE]):
            group = episode.active[k]
            for place in range(episode.low[group], episode.high[group]):
                job = orders.job_at[episode.line[place]]
                if not is_news(learner, job):
                    continue
                _take_estimate(tasks, orders, learner, order, job, renewed_estimate(learner, job, value, weight))
                if len(order.ops) > 0:
                    failed = _rescore(tasks, order, stack, job)
                    if failed >= 0:
                        return failed
        if len(order.ops) > 0:
            _put_in_order(tasks, slots, orders, episode, order.score, room[2], counts, first)
    return np.int64(-1)


@lean
def _take_estimate(tasks, orders, learner, order, job, seconds):
    """The job is planned for so many seconds, in whole cycles."""
    request = request_of(learner.likeness, job)
    if order.cycle_s > 0:
        seconds = -(-seconds // order.cycle_s) * order.cycle_s
    seconds = min(seconds, tasks.limit[job])
    learner.estimate[job] = seconds
    if learner.holds_follow or request >= NO_REQUEST_S:
        learner.hold[job] = seconds
    if learner.admits_follow or request >= NO_REQUEST_S:
        learner.admit[job] = seconds
    if orders.shortest_first:
        orders.fill[job] = seconds * len(tasks.submit) + job


@lean
def _rescore(tasks, order, stack, job):
    """Returns the operation of the formula that failed, else -1."""
    slots = order.slots
    slots[SUBMIT] = tasks.submit[job] - order.origin
    slots[ESTIMATE], slots[PROCS] = tasks.estimate[job], tasks.procs[job]
    slots[AREA] = float(tasks.estimate[job]) * float(tasks.procs[job])
    score, failed = evaluate(order.ops, order.constants, slots, stack)
    order.score[job] = score
    return np.int64(failed)


@lean
def _put_in_order(tasks, slots, orders, episode, score, queue, counts, first):
    """Puts the waiting jobs in order by score, the highest first, and their ranks into the lines. queue: those of the last time. first:
    of the jobs that have come since."""
    counters, kept = episode.counters, np.int64(0)
    for k in range(counts[QUEUED] + counters[at.ARRIVED] - first):
        job = queue[k] if k < counts[QUEUED] else first + k - counts[QUEUED]
        if episode.start[job] >= 0 or tasks.cancel[job] <= counters[at.NOW]:
            continue
        place = kept
        while place > 0 and _comes_first(score, job, queue[place - 1]):
            queue[place] = queue[place - 1]
            place -= 1
        queue[place] = job
        kept += 1
    counts[QUEUED] = kept
    counters[lines.NEXT_RANK] = kept
    for k in range(counters[lines.ACTIVE]):
        episode.peek[episode.active[k]] = episode.low[episode.active[k]]
    for k in range(kept):
        job, group = queue[k], slots.group[queue[k]]
        orders.rank[job], orders.job_at[k] = k, job
        episode.line[episode.peek[group]] = k
        episode.peek[group] += 1


@lean
def _comes_first(score, job, other):
    return score[job] > score[other] or (score[job] == score[other] and job < other)
