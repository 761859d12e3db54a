"""The state of many episodes side by side, each a window of one trace, and the threads that share them.

Windows of a trace that begin with the backlog of a policy's own replay, instead of an empty cluster.

A window that begins empty ends before anybody has waited long, and flatters every order that lets jobs starve. So a window takes
up the state in which a replay of the whole trace was when its first job came: what ran, and who waited since when. Arrivals go on
behind its last job until all its jobs have started, or until the trace's part for that is over; only its own jobs count.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.compiled import inlined, lean
from simulator.engine.episode import RESERVE, UNPROTECTED, Episode, Rules, new_episode
from simulator.engine.replay import StoppableReplay, notes_of
from simulator.jobs.coming import open_coming
from simulator.jobs.jobs import NEVER, Jobs
from simulator.jobs.schedule import CANCELLED
from simulator.jobs.tasks import Tasks
from simulator.policies.registry import Policy
from simulator.policies.scoring import Scoring

IntArray = NDArray[np.int64]

CHUNKS_PER_THREAD = 4
"""Windows differ in work: a thread that is done early takes the next chunk."""


class Threads:
    """Shares ranges of episodes among threads, the caller's among them, which has nothing else to do and need not be woken."""

    def __init__(self, threads: int | None) -> None:
        self._count = threads or len(os.sched_getaffinity(0))
        self._pool = ThreadPoolExecutor(self._count - 1) if self._count > 1 else None

    def share(self, episodes: int, least: int, work: Callable[[int, int], None]) -> None:
        """Calls work(begin, end) for ranges that cover all episodes, each of at least `least`."""
        chunks = min(episodes // least, CHUNKS_PER_THREAD * self._count)
        if self._pool is None or chunks < 2:
            work(0, episodes)
            return
        ranges = itertools.pairwise(np.linspace(0, episodes, chunks + 1).astype(int).tolist())

        def take() -> None:
            for begin, end in ranges:  # one iterator for all: each takes the next range when it is done with its last
                work(begin, end)

        others = [self._pool.submit(take) for _ in range(min(self._count, chunks) - 1)]
        try:
            take()
        finally:
            for other in others:
                other.result()


def check_windows(jobs: Jobs, first: IntArray, window_jobs: int) -> None:
    """Raises ValueError unless windows of so many jobs can begin at these positions of the trace."""
    if not 1 <= window_jobs <= len(jobs):
        raise ValueError(f"a window must have 1 to {len(jobs)} jobs, as many as the trace has, got {window_jobs}")
    if (jobs.cancel < NEVER).any():
        raise ValueError("jobs that can be cancelled cannot be replayed in batches: leave their cancellations out")
    if len(first) and (first.min() < 0 or first.max() + window_jobs > len(jobs)):
        raise ValueError(
            f"windows of {window_jobs} jobs must begin between 0 and {len(jobs) - window_jobs}, got "
            f"{first.min()} to {first.max()}"
        )


def many(window_jobs: int, cluster_procs: int, episodes: int, users: int, rules: Rules, inputs: int) -> Episode:
    """The state of many episodes under these rules: every array of an Episode with a first axis of episodes."""
    none = np.zeros(0, dtype=np.int64)
    columns = (np.zeros(window_jobs, dtype=np.int64),) * 9
    tasks = Tasks(*columns, 0, window_jobs, none, none, none, open_coming())
    one = new_episode(tasks, cluster_procs, users, rules.backfill == RESERVE, inputs, **notes_of(rules))
    columns_of_many: Any = [np.repeat(column[None], episodes, axis=0) for column in one]
    return Episode(*columns_of_many)


@inlined
def window_of(tasks, first, window_jobs, scoring, users):
    """Tasks and policy of one window, which has so many users: views of the trace's."""
    last = first + window_jobs
    none = tasks.announced
    window = Tasks(
        tasks.submit[first:last],
        tasks.runtime[first:last],
        tasks.procs[first:last],
        tasks.estimate[first:last],
        tasks.limit[first:last],
        tasks.user[first:last],
        tasks.cancel[first:last],
        tasks.hold[first:last],
        tasks.admit[first:last],
        0,
        window_jobs,
        none,
        none,
        none,
        tasks.coming,
    )
    fixed = scoring.fixed[first:last] if len(scoring.fixed) == len(tasks.submit) else scoring.fixed
    of_window = Scoring(
        scoring.kind,
        fixed,
        scoring.parameters,
        scoring.half_life_s,
        users,
        scoring.follows_free,
        scoring.ops,
        scoring.constants,
        scoring.weights,
        scoring.facts[first:last],
        scoring.origin,
        scoring.steady,
    )
    return window, of_window


@inlined
def episode_of(state, e):
    """The state of episode e among many: views of it."""
    return Episode(
        state.counters[e],
        state.queue[e],
        state.score[e],
        state.order[e],
        state.heap_end[e],
        state.heap_job[e],
        state.est_end[e],
        state.est_job[e],
        state.believed[e],
        state.start[e],
        state.backfilled[e],
        state.reserved[e],
        state.ended[e],
        state.promised[e],
        state.plan_time[e],
        state.plan_room[e],
        state.usage[e],
        state.rate[e],
        state.since[e],
        state.slots[e],
        state.stack[e],
        state.rows[e],
        state.outputs[e],
        state.room[e],
        state.candidate[e],
        state.sighted[e],
        state.sighted_slot[e],
        state.rejected[e],
        state.rejected_s[e],
    )


@lean
def begin_anew(state):
    """Empties the state of episodes for their next windows."""
    state.counters[:] = 0
    state.start[:] = CANCELLED
    state.backfilled[:] = False
    state.reserved[:] = UNPROTECTED
    state.promised[:] = -1
    state.rejected[:] = 0
    state.rejected_s[:] = 0
    state.usage[:] = 0.0
    state.rate[:] = 0.0


def begin_some_anew(state: Episode, which: NDArray[np.bool_]) -> None:
    """Begins some of the episodes again. which: bool (episodes,)."""
    for e in np.flatnonzero(which).tolist():
        columns: Any = [column[e : e + 1] for column in state]
        begin_anew(Episode(*columns))


# --- backlogs


class WindowSchedules(NamedTuple):
    """By window: its first job, and the schedule to fill in."""

    first: IntArray  # (windows,)
    start: IntArray  # (windows, window_jobs), seconds
    backfilled: NDArray[np.bool_]  # (windows, window_jobs)


@dataclass(frozen=True)
class Backlogs:
    """What windows begin with. states: one per window, kept before its first job came; under Slurm of
    simulator/agents/slurm_windows.py. after: how many jobs behind a window are submitted, too."""

    states: tuple[Any, ...]
    after: int

    def submitted(self, jobs: int, first: int, window_jobs: int) -> int:
        """How many jobs of a trace of so many there are for the window that begins at `first`: those behind it never come."""
        return min(first + window_jobs + self.after, jobs)


def keep_backlogs(
    jobs: Jobs, cluster_procs: int, first: IntArray, policy: str | Policy, backfill: str = "easy", after: int = 0
) -> Backlogs:
    """The states of one replay of the trace in which windows begin whose first jobs are at these positions, int64 (windows,).

    Raises ValueError as `simulator.engine.replay.replay` does, and where the jobs can be cancelled.
    """
    first = np.asarray(first, dtype=np.int64)
    check_windows(jobs, first, 1)
    replayed = StoppableReplay(jobs, cluster_procs, policy, backfill)
    states: dict[int, Any] = {}
    for time in np.unique(jobs.submit[first]).tolist():
        replayed.run(until=time)
        states[time] = replayed.keep()
    return Backlogs(tuple(states[time] for time in jobs.submit[first].tolist()), after)


def check_backlogs(backlogs: Backlogs, windows: int, rule_set: str) -> None:
    """Raises ValueError unless there is a state for each of so many windows, and the rules are the standard ones."""
    if rule_set != "standard":
        raise ValueError(f"the rule set {rule_set!r} knows no backlogs: its windows begin on an empty cluster")
    if windows != len(backlogs.states):
        raise ValueError(f"expected one state per window, got {len(backlogs.states)} for {windows} windows")


def replay_from_backlogs(
    jobs: Jobs,
    cluster_procs: int,
    policy: str | Policy,
    backfill: str,
    correction: str,
    backlogs: Backlogs,
    schedules: WindowSchedules,
) -> Callable[[int, int], None]:
    """What fills the schedules of windows begin : end, replayed from their backlogs.

    Raises ValueError where a state was kept without what the policy needs, and as `simulator.engine.replay.replay` does.
    """
    window_jobs = schedules.start.shape[1]

    def replay_some(begin: int, end: int) -> None:
        replayed = StoppableReplay(jobs, cluster_procs, policy, backfill, correction=correction)
        for k in range(begin, end):
            first = int(schedules.first[k])
            window = slice(first, first + window_jobs)
            submitted = backlogs.submitted(len(jobs), first, window_jobs)
            replayed.take_up(backlogs.states[k], submitted, (window.start, window.stop))
            replayed.run()
            schedules.start[k] = replayed.schedule.start[window]
            schedules.backfilled[k] = replayed.schedule.backfilled[window]

    return replay_some
