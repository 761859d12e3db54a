"""Rewards on the way: what waiting adds to a goal between two choices of an agent."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from models.scheduling.arena import Arena, Windows
from models.scheduling.goals import Goal
from simulator.agents.trajectories import Trajectories
from simulator.jobs.jobs import Jobs
from simulator.jobs.schedule import CANCELLED
from simulator.metrics.metrics import BOUNDED_SLOWDOWN_TAU_S

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_NAMES = ("bsld", "slowdown", "wait", "turnaround")
"""The first of models.scheduling.goals.GOAL_METRICS, those of jobs."""


def comes_on_the_way(goal: Goal) -> bool:
    """Whether the goal is a sum over jobs to which each second of waiting adds."""
    return bool((goal.terms.metric < len(_NAMES)).all() and (goal.terms.users == 0).all())


def waiting_weights(goal: Goal, jobs: Jobs) -> FloatArray:
    """What a second of waiting of each job adds to the goal, times the jobs of a window, float64 (num_jobs,).

    Bounded slowdown counts as if it had no bound below. Raises ValueError for a goal to which waiting does not add job by job.
    """
    rate = {
        "bsld": 1.0 / np.maximum(jobs.runtime, BOUNDED_SLOWDOWN_TAU_S),
        "slowdown": 1.0 / np.maximum(jobs.runtime, 1),
        "wait": np.ones(len(jobs)),
        "turnaround": np.ones(len(jobs)),
    }
    if not comes_on_the_way(goal):
        raise ValueError(
            f"goal {goal.text!r}: rewards on the way need a sum of {', '.join(_NAMES)} over all jobs; choose the reward relative"
        )
    terms = zip(goal.terms.metric.tolist(), goal.terms.weight.tolist(), strict=True)
    return np.sum([weight * rate[_NAMES[metric]] for metric, weight in terms], axis=0)


def rewards_on_the_way(arena: Arena, windows: Windows, trajectories: Trajectories, reference: FloatArray) -> FloatArray:
    """Minus what waiting of the window's jobs adds to the goal from each choice to the next, the last one's until all have started,
    by what the window costs under a reference, float64 (decisions,).

    reference: float64 (windows,). What waiting has added before a window's first choice is nobody's.
    """
    weights = waiting_weights(arena.goal, arena.jobs) / windows.jobs
    rewards = np.empty(trajectories.decisions)
    for k, first in enumerate(windows.first.tolist()):
        own = slice(int(trajectories.first_decision[k]), int(trajectories.first_decision[k + 1]))
        jobs = slice(first, first + windows.jobs)
        grown = waited_until(
            arena.jobs.submit[jobs], trajectories.start[k], weights[jobs], np.append(trajectories.time[own], _LATE)
        )
        rewards[own] = -np.diff(grown) / max(abs(float(reference[k])), 1e-9)
    return rewards


_LATE = np.int64(1) << 60


def waited_until(submit: IntArray, start: IntArray, weight: FloatArray, times: IntArray) -> FloatArray:
    """The weighted seconds that jobs have waited until each time, float64 (times,). submit, start, weight: (jobs,)."""
    change = np.concatenate([submit, start])
    order = np.argsort(change, kind="stable")
    change, slope = change[order], np.cumsum(np.concatenate([weight, -weight])[order])
    grown = np.concatenate([[0.0], np.cumsum(slope[:-1] * np.diff(change))])
    return np.interp(times.astype(np.float64), change.astype(np.float64), grown)


def waited_so_far(submit: IntArray, start: IntArray, weight: FloatArray, now: IntArray) -> FloatArray:
    """The weighted seconds that the jobs of each window have waited by now, float64 (windows,), as `waited_until` has them.

    submit, start, weight: (windows, jobs). A job that has not started has the start simulator.jobs.schedule.CANCELLED. now: int64
    (windows,), no earlier than any start.
    """
    until = np.where(start == CANCELLED, now[:, None], start)
    return np.sum(weight * np.maximum(until - submit, 0), axis=1)


def discounts(trajectories: Trajectories, horizon_s: float) -> FloatArray:
    """What a reward of the next choice counts at this one, e^-(seconds between them / horizon), float64 (decisions,).

    horizon_s: 0 for no discount.
    """
    if horizon_s <= 0.0:
        return np.ones(trajectories.decisions)
    gaps = np.diff(trajectories.time, append=trajectories.time[-1:])
    return np.exp(-np.maximum(gaps, 0) / horizon_s)
