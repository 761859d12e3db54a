"""A search that sees the future: the best order of a window's jobs that simulated annealing finds, knowing what will arrive.

No scheduler can have it. It teaches networks (models/scheduling/learning/imitation.py), and shows what is left to win on windows that
judge policies. Every order is replayed by the engine, under the same backfilling and with the same estimates as the policies.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.compiled import lean
from models.scheduling.arena import Arena, Windows
from models.scheduling.goals import window_cost
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
    """score: by window and job, lowest first, float64 (windows, window_jobs); cost: of those orders, first_cost: of those that
    the search began with, float64 (windows,)."""

    score: FloatArray
    cost: FloatArray
    first_cost: FloatArray


def search_orders(
    arena: Arena,
    windows: Windows,
    begin_with: FloatArray,
    options: HindsightOptions,
    seed: int,
    on_window: Callable[[], None] = lambda: None,
) -> Hindsight:
    """Improves the order of every window by itself. begin_with: scores of the trace's jobs, lowest first, float64 (num_jobs,).

    Windows depend on (seed, their number) alone. Raises ValueError for rules other than the standard ones.
    """
    if arena.rules != "standard":
        raise ValueError("orders are searched under the standard rules only")
    check_windows(arena.jobs, windows.first, windows.jobs)
    tasks = tasks_of(arena.jobs, Cluster(arena.cluster_procs))
    rules = rules_of(arena.backfill, "requested", arena.cluster_procs)
    if rules.backfill == engine.RESERVE:
        raise ValueError(
            f"orders are not searched under {arena.backfill!r} backfilling: choose none, easy or easy-sjbf"
        )
    scoring = scoring_of(Policy("order", FIXED, lambda *_: begin_with), arena.jobs, tasks, arena.cluster_procs)
    goal = arena.goal
    users = int(arena.jobs.user.max()) + 1
    where = windows.first[:, None] + np.arange(windows.jobs)
    score = np.asarray(begin_with, dtype=np.float64)[where].copy()
    score = score.argsort(axis=1, kind="stable").argsort(axis=1, kind="stable").astype(np.float64)
    cost, first_cost = np.empty(len(windows)), np.empty(len(windows))
    seeds = np.random.SeedSequence(seed).generate_state(len(windows)).astype(np.int64)

    def work(begin: int, end: int) -> None:
        state = many(windows.jobs, arena.cluster_procs, 1, 0, plans=False, inputs=0)
        of_thread = scoring._replace(fixed=scoring.fixed.copy())
        scratch = np.empty((2, windows.jobs))
        for k in range(begin, end):
            first_cost[k], cost[k] = _anneal(
                tasks, rules, of_thread, state, no_recorder(), windows.first[k], score[k], options.orders,
                options.temperature, seeds[k], goal.metric, goal.users, goal.weight, np.zeros(users),
                np.zeros(users, dtype=np.int64), *scratch,
            )  # fmt: skip
            on_window()

    Threads(arena.threads).share(len(windows), 1, work)
    return Hindsight(score, cost, first_cost)


@lean
def _anneal(
    tasks, rules, scoring, state, recorder, first, score, orders, temperature, seed, metric, group, weight, total, count,
    best, kept,
):  # fmt: skip
    """Improves `score` (window_jobs,) in place; returns the cost before and after. best, kept: scratch (window_jobs,)."""
    seed_draws(seed)
    jobs = len(score)
    window, of_window = window_of(tasks, first, jobs, scoring, scoring.users)
    _copy(best, score)
    _copy(kept, score)
    _copy(of_window.fixed, score)
    current = _cost(window, rules, of_window, state, recorder, metric, group, weight, total, count)
    before = lowest = current
    scale = temperature * abs(before)
    for k in range(orders):
        # move a few jobs that stand near each other in the log elsewhere in the order
        moves = 1 + np.random.randint(0, 3)  # noqa: NPY002
        for _ in range(moves):
            i = np.random.randint(0, jobs)  # noqa: NPY002
            if np.random.random() < 0.5:  # noqa: NPY002
                j = min(max(i + np.random.randint(-16, 17), 0), jobs - 1)  # noqa: NPY002
                score[i], score[j] = score[j], score[i]
            else:
                score[i] = score[np.random.randint(0, jobs)] + np.random.random() - 0.5  # noqa: NPY002
        _copy(of_window.fixed, score)
        found = _cost(window, rules, of_window, state, recorder, metric, group, weight, total, count)
        heat = scale * (1.0 - k / orders)
        if found <= current or (heat > 0.0 and np.random.random() < math.exp((current - found) / heat)):  # noqa: NPY002
            current = found
            _copy(kept, score)
            if found < lowest:
                lowest = found
                _copy(best, score)
        else:
            _copy(score, kept)
    _copy(score, best)
    return before, lowest


@lean
def _cost(window, rules, scoring, state, recorder, metric, group, weight, total, count):
    begin_anew(state)
    episode = episode_of(state, 0)
    advance(window, rules, scoring, episode, recorder, 0)
    return window_cost(
        metric, group, weight, window.submit, window.runtime, window.procs, window.user, episode.start,
        rules.cluster_procs, total, count,
    )  # fmt: skip


@lean
def _copy(to, values):
    for i in range(len(to)):
        to[i] = values[i]
