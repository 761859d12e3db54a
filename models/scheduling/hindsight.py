"""A search that sees the future: the best order of a window's jobs that simulated annealing finds (Kirkpatrick et al. 1983).

No scheduler can have it. It teaches networks (models/scheduling/learning/imitation.py). On windows that judge policies it shows
what is left to win. The engine replays every order under the backfilling and with the estimates of the policies.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from models.compiled import lean
from models.scheduling.arena import Arena, Windows
from models.scheduling.goals import GoalTerms, UserSums, user_sums, window_cost
from models.scheduling.options import HindsightOptions
from simulator.agents.batch import Threads, begin_anew, check_windows, episode_of, many, window_of
from simulator.engine import general as engine
from simulator.engine.general import advance
from simulator.engine.replay import no_recorder, rules_of, scoring_of
from simulator.jobs.cluster import Cluster
from simulator.jobs.tasks import tasks_of
from simulator.policies.registry import Policy
from simulator.policies.sampling import seed_draws
from simulator.policies.scoring import FIXED

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Hindsight:
    """The best orders. first_cost is of the orders that the search began with."""

    score: FloatArray  # lowest first, (windows, window_jobs)
    cost: FloatArray  # (windows,)
    first_cost: FloatArray  # (windows,)


class OrderReplay(NamedTuple):
    """With what one thread replays orders: arguments of the engine, and the goal."""

    tasks: Any
    rules: Any
    scoring: Any
    state: Any
    recorder: Any
    terms: GoalTerms
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
    on_window: Callable[[], None] = lambda: None,
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
    if rules.backfill == engine.RESERVE:
        raise ValueError(
            f"orders are not searched under {arena.backfill!r} backfilling: choose none, any, easy or easy-sjbf"
        )
    scoring = scoring_of(Policy("order", FIXED, lambda *_: begin_with), arena.jobs, tasks, arena.cluster_procs)
    users = int(arena.jobs.user.max()) + 1
    where = windows.first[:, None] + np.arange(windows.jobs)
    score = np.asarray(begin_with, dtype=np.float64)[where].copy()
    score = score.argsort(axis=1, kind="stable").argsort(axis=1, kind="stable").astype(np.float64)
    cost, first_cost = np.empty(len(windows)), np.empty(len(windows))
    seeds = np.random.SeedSequence(seed).generate_state(len(windows)).astype(np.int64)

    def work(begin: int, end: int) -> None:
        state = many(windows.jobs, arena.cluster_procs, 1, 0, plans=False, inputs=0)
        of_thread = scoring._replace(fixed=scoring.fixed.copy())
        orders = OrderReplay(tasks, rules, of_thread, state, no_recorder(), arena.goal.terms, user_sums(users))
        annealing = Annealing(options.orders, options.temperature, *np.empty((2, windows.jobs)))
        for k in range(begin, end):
            first_cost[k], cost[k] = _anneal(orders, windows.first[k], score[k], annealing, seeds[k])
            on_window()

    Threads(arena.threads).share(len(windows), 1, work)
    return Hindsight(score, cost, first_cost)


@lean
def _anneal(orders, first, score, annealing, seed):
    """Improves `score` (window_jobs,) in place. Returns the cost before and after."""
    seed_draws(seed)
    best, kept = annealing.best, annealing.kept
    window, scoring = window_of(orders.tasks, first, len(score), orders.scoring, orders.scoring.users)
    _copy(best, score)
    _copy(kept, score)
    _copy(scoring.fixed, score)
    current = _cost(orders, window, scoring)
    before = lowest = current
    scale = annealing.temperature * abs(before)
    for k in range(annealing.orders):
        _move_some(score)
        _copy(scoring.fixed, score)
        cost = _cost(orders, window, scoring)
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
def _cost(orders, window, scoring):
    begin_anew(orders.state)
    episode = episode_of(orders.state, 0)
    advance(window, orders.rules, scoring, episode, orders.recorder, 0)
    return window_cost(orders.terms, window, episode.start, orders.rules.cluster_procs, orders.sums)


@lean
def _copy(to, values):
    for i in range(len(to)):
        to[i] = values[i]
