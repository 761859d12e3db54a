"""A search that sees the future: the best order of a window's jobs that simulated annealing finds (Kirkpatrick et al. 1983).

No scheduler can have it. It teaches networks (models/scheduling/learning/imitation.py). On windows that judge policies it shows
what is left to win. The engine replays every order under the backfilling and with the estimates of the policies.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from models.compiled import lean
from models.scheduling.arena import Arena, Windows
from models.scheduling.goals import GoalTerms, UserSums, WindowColumns, user_sums, window_cost
from models.scheduling.options import HindsightOptions
from simulator.agents.episodes import Threads, check_windows
from simulator.engine import episode as at
from simulator.engine.episode import RESERVE, Episode, new_episode
from simulator.engine.general import advance
from simulator.engine.replay import no_recorder, rules_of, scoring_of
from simulator.engine.states import empty_state, take_up
from simulator.jobs.cluster import Cluster
from simulator.jobs.schedule import CANCELLED
from simulator.jobs.tasks import tasks_of
from simulator.policies.registry import Policy
from simulator.policies.sampling import seed_draws
from simulator.policies.scoring import FIXED

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Hindsight:
    """The best orders. first_cost is of the orders that the search began with. others: by window, the jobs that are there besides its
    own, from the backlog and behind it, as positions in the trace, and their scores, which no search changes."""

    score: FloatArray  # lowest first, (windows, window_jobs)
    cost: FloatArray  # (windows,)
    first_cost: FloatArray  # (windows,)
    others: list[tuple[IntArray, FloatArray]]


class OrderReplay(NamedTuple):
    """With what one thread replays orders of a window: arguments of the engine, and the goal. begun: what the episode is before the
    first event. jobs: all that may start, int64 (some,). columns, start: of the window's own jobs; start is a view of the episode's."""

    tasks: Any
    rules: Any
    scoring: Any
    episode: Any
    begun: Any
    jobs: IntArray
    recorder: Any
    terms: GoalTerms
    columns: WindowColumns
    start: IntArray
    sums: UserSums


class Annealing(NamedTuple):
    """How one order is improved. best, kept: scratch, float64 (window_jobs,)."""

    orders: int
    temperature: float
    best: FloatArray
    kept: FloatArray


def search_orders(
    arena: Arena,
    windows: Windows,
    begin_with: FloatArray,
    options: HindsightOptions,
    seed: int,
) -> Hindsight:
    """Improves the order of every window by itself.

    begin_with: scores of the trace's jobs, lowest first, float64 (num_jobs,). The result of a window depends on the seed and the
    window's number alone. Raises ValueError for rules other than the standard ones.
    """
    if arena.rules != "standard":
        raise ValueError("orders are searched under the standard rules only")
    check_windows(arena.jobs, windows.first, windows.jobs)
    tasks = tasks_of(arena.jobs, Cluster(arena.cluster_procs))
    rules = rules_of(arena.backfill, "requested", arena.cluster_procs)
    if rules.backfill == RESERVE:
        raise ValueError(
            f"orders are not searched under {arena.backfill!r} backfilling: choose none, any, easy or easy-sjbf"
        )
    scoring = scoring_of(Policy("order", FIXED, lambda *_: begin_with), arena.jobs, tasks, arena.cluster_procs)
    users = int(arena.jobs.user.max()) + 1
    score, (cost, first_cost) = np.empty((len(windows), windows.jobs)), np.empty((2, len(windows)))
    others: list[tuple[IntArray, FloatArray]] = [(np.zeros(0, dtype=np.int64), np.zeros(0))] * len(windows)
    seeds = np.random.SeedSequence(seed).generate_state(len(windows)).astype(np.int64)

    def work(begin: int, end: int) -> None:
        episode = new_episode(tasks, arena.cluster_procs, 0, plans=False, inputs=0)
        of_thread = scoring._replace(fixed=scoring.fixed.copy())
        sums, annealing = user_sums(users), Annealing(options.orders, options.temperature, *np.empty((2, windows.jobs)))
        for k in range(begin, end):
            own = slice(int(windows.first[k]), int(windows.first[k]) + windows.jobs)
            jobs = _take_up(windows, k, tasks, arena.cluster_procs, of_thread, begin_with, episode)
            copies: Any = [column.copy() for column in episode]
            begun = Episode(*copies)
            columns = WindowColumns(tasks.submit[own], tasks.runtime[own], tasks.procs[own], tasks.user[own])
            replayed = OrderReplay(
                tasks, rules, of_thread, episode, begun, jobs, no_recorder(), arena.goal.terms, columns,
                episode.start[own], sums,
            )  # fmt: skip
            score[k] = of_thread.fixed[own]
            first_cost[k], cost[k] = _anneal(replayed, own.start, score[k], annealing, seeds[k])
            besides = jobs[(jobs < own.start) | (jobs >= own.stop)]
            others[k] = besides, of_thread.fixed[besides]

    Threads(arena.threads).share(len(windows), 1, work)
    return Hindsight(score, cost, first_cost, others)


def _take_up(
    windows: Windows, k: int, tasks: Any, cluster_procs: int, scoring: Any, begin_with: FloatArray, episode: Episode
) -> IntArray:
    """Puts the episode before the first event of a window, on an empty cluster or with its backlog, and scores all jobs that may start
    by their places in the first order. Returns these jobs."""
    first = int(windows.first[k])
    if windows.backlogs is None:
        state, arrived, submitted = empty_state(int(tasks.submit[first])), first, first + windows.jobs
    else:
        state = windows.backlogs.states[k]
        arrived = int(np.searchsorted(tasks.submit, state.time))
        submitted = windows.backlogs.submitted(len(tasks.submit), first, windows.jobs)
    jobs = np.concatenate([state.queue, np.arange(arrived, submitted)])
    scoring.fixed[jobs] = np.asarray(begin_with)[jobs].argsort(kind="stable").argsort(kind="stable")
    take_up(state, tasks, cluster_procs, scoring, episode, submitted, (first, first + windows.jobs))
    episode.counters[at.ARRIVED] = arrived
    return jobs


@lean
def _anneal(orders, first, score, annealing, seed):
    """Improves `score` (window_jobs,) in place. Returns the cost before and after."""
    seed_draws(seed)
    best, kept = annealing.best, annealing.kept
    _copy(best, score)
    _copy(kept, score)
    current = _cost(orders, first, score)
    before = lowest = current
    scale = annealing.temperature * abs(before)
    for k in range(annealing.orders):
        _move_some(score)
        cost = _cost(orders, first, score)
        heat = scale * (1.0 - k / annealing.orders)
        if cost <= current or (heat > 0.0 and np.random.random() < math.exp((current - cost) / heat)):  # noqa: NPY002
            current = cost
            _copy(kept, score)
            if cost < lowest:
                lowest = cost
                _copy(best, score)
        else:
            _copy(score, kept)
    _copy(score, best)
    return before, lowest


@lean
def _move_some(score):
    """Moves up to three jobs that are near each other in the log elsewhere in the order."""
    jobs = len(score)
    moves = 1 + np.random.randint(0, 3)  # noqa: NPY002
    for _ in range(moves):
        i = np.random.randint(0, jobs)  # noqa: NPY002
        if np.random.random() < 0.5:  # noqa: NPY002
            j = min(max(i + np.random.randint(-16, 17), 0), jobs - 1)  # noqa: NPY002
            score[i], score[j] = score[j], score[i]
        else:
            score[i] = score[np.random.randint(0, jobs)] + np.random.random() - 0.5  # noqa: NPY002


@lean
def _cost(orders, first, score):
    """What the window costs in this order."""
    fixed = orders.scoring.fixed
    for i in range(len(score)):
        fixed[first + i] = score[i]
    _begin(orders)
    advance(orders.tasks, orders.rules, orders.scoring, orders.episode, orders.recorder, 0)
    return window_cost(orders.terms, orders.columns, orders.start, orders.rules.cluster_procs, orders.sums)


@lean
def _begin(orders):
    """Puts the episode back before the first event."""
    episode, begun = orders.episode, orders.begun
    _copy(episode.counters, begun.counters)
    for k in range(begun.counters[at.QUEUED]):
        episode.queue[k] = begun.queue[k]
        episode.score[k] = begun.score[k]
    for k in range(begun.counters[at.RUNNING]):
        episode.heap_end[k], episode.heap_job[k] = begun.heap_end[k], begun.heap_job[k]
        episode.est_end[k], episode.est_job[k] = begun.est_end[k], begun.est_job[k]
        episode.believed[begun.est_job[k]] = begun.believed[begun.est_job[k]]
    for job in orders.jobs:
        episode.start[job] = CANCELLED


@lean
def _copy(to, values):
    for i in range(len(to)):
        to[i] = values[i]
