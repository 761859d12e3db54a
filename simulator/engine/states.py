"""States of a replay between two events: kept, and taken up again by the same replay or by another one of the same tasks.

A state holds what the future depends on: who waits since when, what runs and is believed of it, reservations and the plan, and the
users' usage. Schedules so far are not part of it. Both engines keep and take up the same states.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.compiled import lean
from simulator.engine import episode as at
from simulator.engine.episode import UNPROTECTED, Episode
from simulator.engine.plan import begin_plan, change
from simulator.engine.queue_tree import NOTHING, Queue, next_in_tree
from simulator.engine.static import DEEP, HEAD, Queues, StaticEpisode, join_queue
from simulator.jobs.cluster import FOREVER
from simulator.jobs.schedule import CANCELLED
from simulator.jobs.tasks import Tasks
from simulator.policies.scoring import FIXED, Scoring

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

PLAN_NEWS = (at.SHRUNK, at.GREW, at.HORIZON, at.NEXT_DUE)
"""Counters that tell the next pass what has become of the plan."""

REJECTION = (at.WAKE, at.LAST_REJECTED)
"""Counters that tell what follows a rejection."""


class ReplayState(NamedTuple):
    """Everything before second `time` has happened, and nothing of that second or later. Times are seconds in the log's clock."""

    time: int
    queue: IntArray  # (queued,), tasks that wait, in the order of submission
    running: IntArray  # (running,), tasks that run, by estimated end
    since: IntArray  # (running,), when they started, CANCELLED for an outage
    believed: IntArray  # (running,), their estimated ends
    ending: IntArray  # (running,), the same tasks in the order of a heap by true end
    end: IntArray  # (running,), their true ends in that order
    reserved: IntArray  # (queued,) if the rules need a plan, else (0,); as in simulator.engine.episode.Episode
    promised: IntArray  # (queued,) if the rules ask for promises, else (0,)
    plan_time: IntArray  # (steps,), see simulator/engine/plan.py
    plan_room: IntArray  # (steps,)
    plan_news: IntArray  # (4,), by PLAN_NEWS
    usage: FloatArray  # (users + 1,), see simulator/policies/scoring.py, or (1,) where nothing asks for usage
    rate: FloatArray  # (users + 1,)
    counted_to: IntArray  # (users + 1,)
    rejected: IntArray  # (queued,) if somebody inspects, else (0,): how often each job was rejected
    rejected_s: IntArray  # the same: for how many seconds
    wake: IntArray  # (2,), by REJECTION


def empty_state(time: int) -> ReplayState:
    """The state at second `time` in which nothing runs and nobody waits, for rules without a plan and without usage."""
    none = np.zeros(0, dtype=np.int64)
    return ReplayState(
        time=time,
        queue=none,
        running=none,
        since=none,
        believed=none,
        ending=none,
        end=none,
        reserved=none,
        promised=none,
        plan_time=none,
        plan_room=none,
        plan_news=np.array([0, 0, 0, FOREVER]),
        usage=np.zeros(1),
        rate=np.zeros(1),
        counted_to=np.full(1, time),
        rejected=none,
        rejected_s=none,
        wake=np.zeros(len(REJECTION), dtype=np.int64),
    )


def waiting_state(time: int, tasks: Tasks, cluster_procs: int, users: int = 0) -> ReplayState:
    """The state at second `time` in which the running tasks run, and all jobs submitted before wait.

    users: how many are accounted for, as in simulator.engine.episode.new_episode; none has used anything before.
    """
    running = np.arange(tasks.first)
    running = running[np.argsort(tasks.submit[running] + tasks.hold[running], kind="stable")]
    since = tasks.submit[running]
    believed = since + tasks.hold[running]
    end = since + tasks.runtime[running]
    by_end = np.argsort(end, kind="stable")
    queue = np.arange(tasks.first, tasks.first + np.searchsorted(tasks.submit[tasks.first : tasks.last], time))
    plan_time, plan_room = np.zeros((2, 2 * (len(running) + len(tasks.announced)) + 2), dtype=np.int64)
    steps = begin_plan(plan_time, plan_room, time, cluster_procs)
    for job, until in zip(running, believed, strict=True):
        if until > time:
            steps = change(plan_time, plan_room, steps, time, until, -tasks.procs[job])
    for task in tasks.announced_task[tasks.announced < time]:
        begin, until = max(tasks.submit[task], time), tasks.submit[task] + tasks.runtime[task]
        if until > begin:
            steps = change(plan_time, plan_room, steps, begin, until, -tasks.procs[task])
    rate = np.zeros(users + 1)
    if users:
        np.add.at(rate, tasks.user[running], tasks.procs[running])
        rate[users] = tasks.procs[running].sum()
    return ReplayState(
        time=time,
        queue=queue,
        running=running,
        since=since,
        believed=believed,
        ending=running[by_end],
        end=end[by_end],
        reserved=np.full(len(queue), UNPROTECTED),
        promised=np.full(len(queue), -1),
        plan_time=plan_time[:steps],
        plan_room=plan_room[:steps],
        plan_news=np.array([0, 0, 0, FOREVER]),
        usage=np.zeros(users + 1),
        rate=rate,
        counted_to=np.full(users + 1, time),
        rejected=np.zeros(len(queue), dtype=np.int64),
        rejected_s=np.zeros(len(queue), dtype=np.int64),
        wake=np.zeros(len(REJECTION), dtype=np.int64),
    )


def keep_state(episode: Episode) -> ReplayState:
    """The state of an episode of the general engine that has paused."""
    counters = episode.counters
    queue = np.sort(episode.queue[: counters[at.QUEUED]])
    steps = counters[at.PLAN_STEPS] if len(episode.plan_time) > 1 else 0
    return _running_state(queue, episode)._replace(
        reserved=_of_jobs(episode.reserved, queue, len(episode.start)),
        promised=_of_jobs(episode.promised, queue, len(episode.start)),
        plan_time=episode.plan_time[:steps].copy(),
        plan_room=episode.plan_room[:steps].copy(),
        plan_news=counters[list(PLAN_NEWS)],
        usage=episode.usage.copy(),
        rate=episode.rate.copy(),
        counted_to=episode.since.copy(),
        rejected=_of_jobs(episode.rejected, queue, len(episode.start)),
        rejected_s=_of_jobs(episode.rejected_s, queue, len(episode.start)),
        wake=counters[list(REJECTION)],
    )


def keep_static_state(queues: Queues, episode: StaticEpisode) -> ReplayState:
    """The state of an episode of the fast engine that has paused."""
    queue = np.empty(episode.counters[at.QUEUED], dtype=np.int64)
    _read_queue(queues.order, episode.counters[DEEP], queue)
    return _running_state(np.sort(queue), episode)


def take_up(
    state: ReplayState,
    tasks: Tasks,
    cluster_procs: int,
    scoring: Scoring,
    episode: Episode,
    last: int,
    awaited: tuple[int, int] = (0, 0),
) -> None:
    """Puts an episode of the general engine into a state. Jobs from task `last` on are not submitted.

    awaited: the replay is done when these tasks, from the first to before the last, have started; by default all must.
    Raises ValueError where the state was kept without what these rules or this policy need.
    """
    planned, accounts = len(episode.plan_time) > 1, len(episode.usage) > 1
    if (planned and not len(state.plan_time)) or (accounts and len(state.usage) != len(episode.usage)):
        missing = "a plan" if planned and not len(state.plan_time) else "these users' usage"
        raise ValueError(
            f"the state at second {state.time} was kept without {missing}, which this replay needs: keep it in a replay of the same "
            "policy under the same rules"
        )
    counters, queued = episode.counters, len(state.queue)
    counters[:] = 0
    _take_up_running(state, tasks, cluster_procs, episode, last)
    counters[at.AWAITED_FROM], counters[at.AWAITED_TO] = awaited
    counters[at.AWAITED] = awaited[1] - awaited[0]
    counters[at.QUEUED] = queued
    counters[at.ANNOUNCED] = np.searchsorted(tasks.announced, state.time)
    by_score = np.argsort(scoring.fixed[state.queue], kind="stable") if scoring.kind == FIXED else slice(None)
    episode.queue[:queued] = state.queue[by_score]
    if scoring.kind == FIXED:
        episode.score[:queued] = scoring.fixed[episode.queue[:queued]]
    elif scoring.steady:
        episode.score[:queued] = np.nan
    for column, kept, usual in (
        (episode.reserved, state.reserved, UNPROTECTED),
        (episode.promised, state.promised, -1),
        (episode.rejected, state.rejected, 0),
        (episode.rejected_s, state.rejected_s, 0),
    ):
        column[:] = usual
        if len(kept) and len(column) == len(episode.start):
            column[state.queue] = kept
    if len(episode.rejected) == len(episode.start):
        counters[list(REJECTION)] = state.wake
    if planned:
        steps = len(state.plan_time)
        counters[at.PLAN_STEPS] = steps
        episode.plan_time[:steps], episode.plan_room[:steps] = state.plan_time, state.plan_room
        counters[list(PLAN_NEWS)] = state.plan_news
    if accounts:
        episode.usage[:], episode.rate[:], episode.since[:] = state.usage, state.rate, state.counted_to


def take_up_static(
    state: ReplayState, tasks: Tasks, cluster_procs: int, queues: Queues, episode: StaticEpisode, last: int
) -> None:
    """Puts an episode of the fast engine into a state. Jobs from task `last` on are not submitted."""
    if episode.counters[at.QUEUED]:
        _empty(queues.order)
        _empty(queues.fill)
    episode.counters[:] = 0
    episode.counters[HEAD] = len(queues.order.job_at)
    _take_up_running(state, tasks, cluster_procs, episode, last)
    _join_all(tasks, queues, episode, state.queue)


def _running_state(queue: IntArray, episode: Episode | StaticEpisode) -> ReplayState:
    """The state without a plan, usage, reservations and promises."""
    count = episode.counters[at.RUNNING]
    running = episode.est_job[:count].copy()
    nothing = np.zeros(0, dtype=np.int64)
    return ReplayState(
        time=int(episode.counters[at.PAUSE]) - 1,
        queue=queue,
        running=running,
        since=episode.start[running],
        believed=episode.est_end[:count].copy(),
        ending=episode.heap_job[:count].copy(),
        end=episode.heap_end[:count].copy(),
        reserved=nothing,
        promised=nothing,
        plan_time=nothing,
        plan_room=nothing,
        plan_news=np.zeros(len(PLAN_NEWS), dtype=np.int64),
        usage=np.zeros(1),
        rate=np.zeros(1),
        counted_to=np.zeros(1, dtype=np.int64),
        rejected=nothing,
        rejected_s=nothing,
        wake=np.zeros(len(REJECTION), dtype=np.int64),
    )


def _take_up_running(
    state: ReplayState, tasks: Tasks, cluster_procs: int, episode: Episode | StaticEpisode, last: int
) -> None:
    """What both engines share: the running tasks, what comes next, and who is cancelled later."""
    counters, count = episode.counters, len(state.running)
    counters[at.BEGUN], counters[at.LAST] = 1, last
    counters[at.NOW], counters[at.RUNNING] = state.time, count
    counters[at.FREE] = cluster_procs - tasks.procs[state.running].sum()
    arrived = tasks.first + int(np.searchsorted(tasks.submit[tasks.first : tasks.last], state.time))
    counters[at.ARRIVED] = min(arrived, last)
    counters[at.OUTAGE] = tasks.last + np.searchsorted(tasks.submit[tasks.last :], state.time)
    counters[at.CANCELLATION] = np.searchsorted(tasks.cancel[tasks.cancel_order], state.time)
    episode.start[arrived : tasks.last] = CANCELLED
    episode.backfilled[arrived : tasks.last] = False
    # who started before, or is not submitted, must not look as if it waited when its cancellation comes
    later = tasks.cancel_order[counters[at.CANCELLATION] :]
    episode.start[later[(later < arrived) | (later >= last)]] = state.time
    episode.start[state.queue] = CANCELLED
    episode.backfilled[state.queue] = False
    episode.start[state.running], episode.believed[state.running] = state.since, state.believed
    episode.est_job[:count], episode.est_end[:count] = state.running, state.believed
    episode.heap_job[:count], episode.heap_end[:count] = state.ending, state.end


def _of_jobs(column: IntArray, queue: IntArray, tasks: int) -> IntArray:
    """The values of waiting tasks, none where the rules do not ask for the column."""
    return column[queue] if len(column) == tasks else np.zeros(0, dtype=np.int64)


def _empty(queue: Queue) -> None:
    """Nobody waits in the tree."""
    queue.leaf[:], queue.narrow[:], queue.short[:] = 0, 0, 0


@lean
def _read_queue(order, deep, queue):
    """Fills `queue` with the tasks that wait, in the order of the policy."""
    rank = np.int64(-1)
    for k in range(len(queue)):
        rank = next_in_tree(order, rank + 1, NOTHING, 0, 0) if deep else order.rows[k, 0]
        queue[k] = order.job_at[rank]


@lean
def _join_all(tasks, queues, episode, queue):
    """The tasks join an empty queue."""
    for job in queue:
        join_queue(tasks, queues, episode, job)
