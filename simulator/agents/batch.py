"""Many windows of a trace at once: stepped side by side by whoever learns, or replayed under a policy, on all cores.

Nothing of Python runs per decision: one call steps every episode to its next choice. The compiled loops release the GIL, so
plain threads share the work; which thread steps an episode changes nothing.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.compiled import lean
from simulator.engine import episode as at
from simulator.engine import general as engine
from simulator.engine.episode import UNPROTECTED, Episode, new_episode
from simulator.engine.general import advance
from simulator.engine.replay import check_outcome, inputs_of, no_recorder, replay, rules_of, scoring_of
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import NEVER, Jobs
from simulator.jobs.schedule import CANCELLED
from simulator.jobs.tasks import Tasks, tasks_of
from simulator.policies.network import VISIBLE_JOBS, observe
from simulator.policies.observation import LAYOUTS, Layout, blank_network
from simulator.policies.registry import Policy, network_policy, parse_policy
from simulator.policies.scoring import ASKED_CHOICE, FIXED, Scoring
from simulator.published.rlscheduler import check_widths, rlscheduler_inputs
from simulator.published.rlscheduler_loop import replay_range

IntArray = NDArray[np.int64]

CHUNKS_PER_THREAD = 4
"""Windows differ in work: a thread that is done early takes the next chunk."""
LEAST_STEPPED = 256
"""Fewest episodes that a thread is woken for: stepping them takes about as long as waking it."""


class Observation(NamedTuple):
    """What whoever chooses sees of every episode.

    features: float32 (episodes, VISIBLE_JOBS, inputs of the layout), see simulator/policies/observation.py; zero beyond the visible jobs.
    mask: True where a job waits that may be chosen, bool (episodes, VISIBLE_JOBS). choosing: False for an episode that is
    over, bool (episodes,); its mask is empty.
    """

    features: NDArray[np.float32]
    mask: NDArray[np.bool_]
    choosing: NDArray[np.bool_]


class Batch:
    """Episodes, each a window of consecutive jobs of one trace on an initially empty cluster, stepped side by side.

    jobs: the trace, without cancellations. window_jobs: jobs in each window. episodes: how many. backfill, correction: as in
    simulator.engine.replay.replay; with EASY, jobs behind a blocked choice are taken in submit order (easy) or shortest first. A choice
    is asked for only where more than one job waits and one of them fits. threads: default, one per core. layout: what is seen.

    Every step writes into the same arrays, observations and `start` alike: copy what must outlast the next one.
    """

    def __init__(
        self, jobs: Jobs, cluster_procs: int, window_jobs: int, episodes: int, backfill: str = "easy",
        correction: str = "requested", threads: int | None = None, layout: Layout = LAYOUTS["plain"],
    ) -> None:  # fmt: skip
        check_windows(jobs, np.zeros(0, dtype=np.int64), window_jobs)
        self._jobs = jobs
        self._tasks = tasks_of(jobs, Cluster(cluster_procs))
        self._rules = rules_of(backfill, correction, cluster_procs)
        if self._rules.backfill == engine.RESERVE:
            raise ValueError(
                f"episodes cannot be stepped under {backfill!r} backfilling: choose none, easy or easy-sjbf"
            )
        seen_by = network_policy(blank_network(layout))
        self._scoring = scoring_of(replace(seen_by, kind=ASKED_CHOICE), jobs, self._tasks, cluster_procs)
        users = int(jobs.user.max()) + 1 if seen_by.half_life_s > 0 else 0
        self._state = many(window_jobs, cluster_procs, episodes, users, plans=False, inputs=0)
        self._window_jobs = window_jobs
        self._first = np.zeros(episodes, dtype=np.int64)
        self._why = np.full(episodes, engine.DONE, dtype=np.int64)
        self._seen = Observation(
            np.zeros((episodes, VISIBLE_JOBS, len(layout.inputs)), dtype=np.float32),
            np.zeros((episodes, VISIBLE_JOBS), dtype=np.bool_),
            np.zeros(episodes, dtype=np.bool_),
        )
        self._threads = Threads(threads)

    def reset(self, first: IntArray) -> Observation:
        """Begins anew: episode e replays the jobs first[e] : first[e] + window_jobs; first: int64 (episodes,)."""
        first = np.asarray(first, dtype=np.int64)
        if first.shape != self._first.shape:
            raise ValueError(f"expected one window per episode, shape {self._first.shape}, got {first.shape}")
        check_windows(self._jobs, first, self._window_jobs)
        self._first[:] = first
        self._why[:] = engine.WANT_CHOICE
        begin_anew(self._state)
        return self._step(np.zeros(len(first), dtype=np.int64))

    def step(self, action: IntArray) -> Observation:
        """Takes the chosen job of every episode that is choosing, and goes on to its next choice.

        action: place among the visible jobs, int64 (episodes,); not read where an episode is over. Raises ValueError for
        a place where no job waits.
        """
        action = np.asarray(action, dtype=np.int64)
        if action.shape != self._first.shape:
            raise ValueError(f"expected one action per episode, shape {self._first.shape}, got {action.shape}")
        episodes = np.arange(len(action))
        allowed = (action >= 0) & (action < VISIBLE_JOBS)
        allowed[allowed] = self._seen.mask[episodes[allowed], action[allowed]]
        if not (allowed | ~self._seen.choosing).all():
            wrong = int(np.argmax(~allowed & self._seen.choosing))
            raise ValueError(f"episode {wrong}: no job waits at place {action[wrong]}")
        return self._step(action)

    @property
    def start(self) -> IntArray:
        """Start times, seconds in the log's clock, int64 (episodes, window_jobs); meaningful once an episode is over."""
        return self._state.start

    @property
    def backfilled(self) -> NDArray[np.bool_]:
        """Whether each job started past a blocked choice, bool (episodes, window_jobs)."""
        return self._state.backfilled

    def _step(self, action: IntArray) -> Observation:
        def work(begin: int, end: int) -> None:
            _step(
                self._tasks, self._rules, self._scoring, self._state, no_recorder(), self._first, self._window_jobs,
                begin, end, action, self._why, *self._seen,
            )  # fmt: skip

        self._threads.share(len(action), LEAST_STEPPED, work)
        return self._seen


def replay_windows(
    jobs: Jobs, cluster_procs: int, first: IntArray, window_jobs: int, policy: str | Policy = "FCFS",
    backfill: str = "easy", correction: str = "requested", threads: int | None = None, rules: str = "standard",
) -> tuple[IntArray, NDArray[np.bool_]]:  # fmt: skip
    """Replays windows of a trace under one policy, each on an initially empty cluster, as `replay` would.

    first: index of each window's first job, int64 (windows,). rules: "standard", or "rlscheduler" or "rlscheduler-corrected" for
    those of that code (simulator/published/rlscheduler.py). Returns start times, seconds in the log's clock, int64
    (windows, window_jobs), and whether each job was backfilled, bool of that shape. Raises as `replay` does.
    """
    first = np.asarray(first, dtype=np.int64)
    check_windows(jobs, first, window_jobs)
    if isinstance(policy, str):
        policy = parse_policy(policy)
    start = np.empty((len(first), window_jobs), dtype=np.int64)
    backfilled = np.empty((len(first), window_jobs), dtype=np.bool_)
    if rules != "standard":
        _rlscheduler_windows(jobs, cluster_procs, first, policy, backfill, rules, threads, start, backfilled)
        return start, backfilled
    if policy.plug_in is not None or (policy.kind == FIXED and policy.scores_whole_replay):
        for k, position in enumerate(first.tolist()):
            schedule = replay(
                jobs.window(position, window_jobs), cluster_procs, policy, backfill, correction=correction
            )
            start[k], backfilled[k] = schedule.start, schedule.backfilled
        return start, backfilled

    tasks = tasks_of(jobs, Cluster(cluster_procs))
    engine_rules = rules_of(backfill, correction, cluster_procs)
    scoring = scoring_of(policy, jobs, tasks, cluster_procs)
    users = int(jobs.user.max()) + 1 if policy.half_life_s > 0 else 0

    def work(begin: int, end: int) -> None:
        state = many(window_jobs, cluster_procs, 1, users, engine_rules.backfill == engine.RESERVE, inputs_of(policy))
        first_of_each: Any = [column[0] for column in state]
        episode = Episode(*first_of_each)
        why, failed = _replay_range(
            tasks, engine_rules, scoring, state, no_recorder(), first, window_jobs, begin, end, start, backfilled
        )
        if why != engine.DONE:
            window = jobs.window(int(first[failed]), window_jobs)
            check_outcome(why, tasks_of(window, Cluster(cluster_procs)), engine_rules, policy, episode)

    Threads(threads).share(len(first), 1, work)
    return start, backfilled


def _rlscheduler_windows(
    jobs: Jobs, cluster_procs: int, first: IntArray, policy: Policy, backfill: str, rules: str, threads: int | None,
    start: IntArray, backfilled: NDArray[np.bool_],
) -> None:  # fmt: skip
    check_widths(jobs, cluster_procs)
    loop_rules, loop_jobs = rlscheduler_inputs(
        jobs, cluster_procs, policy, backfill != "none", wait_bug=rules == "rlscheduler"
    )

    def work(begin: int, end: int) -> None:
        replay_range(loop_rules, loop_jobs, no_recorder(), first[begin:end], start[begin:end], backfilled[begin:end])

    Threads(threads).share(len(first), 1, work)


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


def many(window_jobs: int, cluster_procs: int, episodes: int, users: int, plans: bool, inputs: int) -> Episode:
    """The state of many episodes: every array of an Episode with a first axis of episodes."""
    none = np.zeros(0, dtype=np.int64)
    columns = (np.zeros(window_jobs, dtype=np.int64),) * 8
    one = new_episode(Tasks(*columns, 0, window_jobs, none, none, none), cluster_procs, users, plans, inputs)
    columns_of_many: Any = [np.repeat(column[None], episodes, axis=0) for column in one]
    return Episode(*columns_of_many)


@lean
def window_of(tasks, first, window_jobs, scoring, users):
    """Tasks and policy of one window, which has so many users: views of the trace's."""
    last = first + window_jobs
    none = tasks.announced
    window = Tasks(
        tasks.submit[first:last], tasks.runtime[first:last], tasks.procs[first:last], tasks.estimate[first:last],
        tasks.limit[first:last], tasks.user[first:last], tasks.cancel[first:last], tasks.hold[first:last],
        0, window_jobs, none, none, none,
    )  # fmt: skip
    fixed = scoring.fixed[first:last] if len(scoring.fixed) == len(tasks.submit) else scoring.fixed
    of_window = Scoring(
        scoring.kind, fixed, scoring.parameters, scoring.half_life_s, users, scoring.follows_free,
        scoring.ops, scoring.constants, scoring.weights, scoring.facts[first:last], scoring.origin,
    )  # fmt: skip
    return window, of_window


@lean
def _num_users(user, seen):
    """How many users there are; seen: float64 (users of the trace,), overwritten."""
    seen[:] = 0.0
    count = 0
    for number in user:
        if seen[number] == 0.0:
            seen[number] = 1.0
            count += 1
    return count


@lean
def episode_of(state, e):
    return Episode(
        state.counters[e], state.queue[e], state.score[e], state.order[e], state.heap_end[e], state.heap_job[e],
        state.est_end[e], state.est_job[e], state.believed[e], state.start[e], state.backfilled[e], state.reserved[e],
        state.ended[e], state.promised[e], state.plan_time[e], state.plan_room[e], state.usage[e], state.rate[e],
        state.since[e], state.scratch[e], state.rows[e], state.outputs[e], state.room[e],
    )  # fmt: skip


@lean
def _step(
    tasks, rules, scoring, state, recorder, first, window_jobs, begin, end, action, why, features, mask, choosing
):
    for e in range(begin, end):
        if why[e] != engine.WANT_CHOICE:
            continue
        window, of_window = window_of(tasks, first[e], window_jobs, scoring, scoring.users)
        episode = episode_of(state, e)
        why[e] = advance(window, rules, of_window, episode, recorder, action[e])
        features[e] = 0.0
        mask[e] = False
        choosing[e] = why[e] == engine.WANT_CHOICE
        if choosing[e]:
            counters = episode.counters
            visible = min(counters[at.QUEUED], VISIBLE_JOBS)
            observe(
                episode.queue, 0, visible, counters[at.QUEUED], counters[at.NOW], counters[at.FREE], window.submit,
                window.procs, window.estimate, rules.cluster_procs, of_window.facts, of_window.weights.signals,
                episode.est_end, episode.est_job, counters[at.RUNNING], window.user, episode.usage, episode.rate,
                episode.since, of_window.half_life_s, episode.room, features[e],
            )  # fmt: skip
            mask[e, :visible] = True


@lean
def begin_anew(state):
    """Empties the state of episodes for their next windows."""
    state.counters[:] = 0
    state.start[:] = CANCELLED
    state.backfilled[:] = False
    state.reserved[:] = UNPROTECTED
    state.usage[:] = 0.0
    state.rate[:] = 0.0


@lean
def _replay_range(tasks, rules, scoring, state, recorder, first, window_jobs, begin, end, start, backfilled):
    """Replays windows begin : end one after another in one state; returns why the last one stopped, and its number."""
    for k in range(begin, end):
        users = scoring.users
        if scoring.half_life_s > 0.0:
            users = _num_users(tasks.user[first[k] : first[k] + window_jobs], state.usage[0])
        window, of_window = window_of(tasks, first[k], window_jobs, scoring, users)
        begin_anew(state)
        episode = episode_of(state, 0)
        why = advance(window, rules, of_window, episode, recorder, 0)
        if why != engine.DONE:
            return why, k
        for i in range(window_jobs):
            start[k, i] = episode.start[i]
            backfilled[k, i] = episode.backfilled[i]
    return engine.DONE, -1
