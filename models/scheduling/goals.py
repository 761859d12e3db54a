"""What a schedule is optimised for: one number per replayed window, where lower is better.

Definitions of the metrics: docs/reference/semantics.md. A goal is a weighted sum of terms `metric` or `metric:users`, where `users` says
how the jobs' values become one: the mean over jobs, or the mean or the maximum of the users' means (RLScheduler, section V-F).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from models.compiled import compiled
from simulator.metrics.metrics import BOUNDED_SLOWDOWN_TAU_S

GOAL_METRICS = ("bsld", "slowdown", "wait", "turnaround", "utilisation", "utilisation_as_coded")
USER_GROUPS = ("all", "mean_user", "max_user")
_BSLD, _SLOWDOWN, _WAIT, _TURNAROUND, _UTILISATION, _AS_CODED = range(len(GOAL_METRICS))
_ALL_JOBS, _MEAN_USER, _MAX_USER = range(len(USER_GROUPS))

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


class GoalTerms(NamedTuple):
    """The terms of a goal as compiled functions take them. A metric that is to be large has a negative weight."""

    metric: IntArray  # index in GOAL_METRICS, (terms,)
    users: IntArray  # index in USER_GROUPS, (terms,)
    weight: FloatArray  # (terms,)


class WindowColumns(NamedTuple):
    """What a goal reads of the jobs of windows, besides their start. The simulator's Tasks have the same fields for one window."""

    submit: IntArray  # seconds, (windows, window_jobs) or (window_jobs,)
    runtime: IntArray  # seconds, the same shape
    procs: IntArray  # the same shape
    user: IntArray  # from 0, the same shape


class UserSums(NamedTuple):
    """Scratch by user, all zero before and after each use."""

    total: FloatArray  # (users,)
    jobs: IntArray  # (users,), how many


@dataclass(frozen=True)
class Goal:
    """text: as written."""

    text: str
    terms: GoalTerms

    def costs(self, jobs: WindowColumns, start: IntArray, cluster_procs: int) -> FloatArray:
        """The cost of each window, float64 (windows,), from columns and start times (windows, window_jobs)."""
        return _costs(self.terms, jobs, start, cluster_procs, user_sums(int(jobs.user.max(initial=0)) + 1))


def user_sums(users: int) -> UserSums:
    """Scratch for jobs whose users are numbered from 0 to `users` - 1."""
    return UserSums(np.zeros(users), np.zeros(users, dtype=np.int64))


def parse_goal(text: str) -> Goal:
    """`bsld`, `wait:max_user`, `0.7*bsld + 0.001*wait`. Weights multiply seconds and ratios as they are.

    Raises ValueError that says which term is wrong and what is expected, and TypeError for what is no text, such as a function.
    """
    if not isinstance(text, str):
        raise TypeError(
            f"goal {text!r}: expected text, a sum of terms such as 'bsld', 'wait:max_user' or '0.7*bsld + 0.001*wait'. A function is no "
            "goal: give a reward of your own to the environment by a wrapper (gymnasium.RewardWrapper)"
        )
    metric, users, weight = [], [], []
    for term in text.split("+"):
        match = re.fullmatch(r"(?:([0-9.eE-]+)\s*\*\s*)?([a-z_]+)(?::([a-z_]+))?", term.strip())
        name, group = (match.group(2), match.group(3) or "all") if match else ("", "all")
        if match is None or name not in GOAL_METRICS or group not in USER_GROUPS:
            raise ValueError(
                f"goal {text!r}: expected terms such as bsld, wait:max_user or 0.5*bsld joined by +, with one of "
                f"{', '.join(GOAL_METRICS)} and, after a colon, one of {', '.join(USER_GROUPS)}, found {term.strip()!r}"
            )
        try:
            factor = float(match.group(1) or 1.0)
        except ValueError:
            raise ValueError(f"goal {text!r}: expected a number before *, found {match.group(1)!r}") from None
        if not factor > 0.0 or not np.isfinite(factor):
            raise ValueError(f"goal {text!r}: weights must be above 0, found {factor:g}")
        number = GOAL_METRICS.index(name)
        if number >= _UTILISATION and group != "all":
            raise ValueError(f"goal {text!r}: {name} belongs to the machine, not to users: leave out :{group}")
        metric.append(number)
        users.append(USER_GROUPS.index(group))
        weight.append(-factor if number >= _UTILISATION else factor)
    terms = (np.array(metric, dtype=np.int64), np.array(users, dtype=np.int64), np.array(weight, dtype=np.float64))
    return Goal(text, GoalTerms(*terms))


@compiled
def _costs(terms, jobs, start, cluster_procs, sums):
    windows = len(start)
    costs = np.zeros(windows)
    for k in range(windows):
        window = WindowColumns(jobs.submit[k], jobs.runtime[k], jobs.procs[k], jobs.user[k])
        costs[k] = window_cost(terms, window, start[k], cluster_procs, sums)
    return costs


@compiled
def window_cost(terms, jobs, start, cluster_procs, sums):
    """The goal's cost of one window. jobs: WindowColumns or Tasks of the window. start: int64 (window_jobs,)."""
    cost = 0.0
    for t in range(len(terms.metric)):
        metric = terms.metric[t]
        if metric >= _UTILISATION:
            value = _utilisation(metric, jobs, start, cluster_procs)
        elif terms.users[t] == _ALL_JOBS:
            value = 0.0
            for i in range(len(jobs.submit)):
                value += _of_job(metric, start[i] - jobs.submit[i], jobs.runtime[i])
            value /= len(jobs.submit)
        else:
            value = _of_users(metric, terms.users[t], jobs, start, sums)
        cost += terms.weight[t] * value
    return cost


@compiled
def _utilisation(metric, jobs, start, cluster_procs):
    """Processor time used over processor time available, from the first submission to the last completion, or to the last start."""
    area = 0.0
    last = jobs.submit[0]
    for i in range(len(jobs.submit)):
        area += float(jobs.runtime[i]) * jobs.procs[i]
        last = max(last, start[i] if metric == _AS_CODED else start[i] + jobs.runtime[i])
    return area / (float(max(last - jobs.submit[0], 1)) * cluster_procs)


@compiled
def _of_users(metric, group, jobs, start, sums):
    """Mean or maximum of the users' means (RLScheduler, section V-F)."""
    total, count = sums.total, sums.jobs
    for i in range(len(jobs.submit)):
        total[jobs.user[i]] += _of_job(metric, start[i] - jobs.submit[i], jobs.runtime[i])
        count[jobs.user[i]] += 1
    value = 0.0
    members = 0
    for i in range(len(jobs.submit)):
        user = jobs.user[i]
        if count[user] > 0:
            mean = total[user] / count[user]
            value = max(value, mean) if group == _MAX_USER else value + mean
            members += 1
            total[user] = 0.0
            count[user] = 0
    return value if group == _MAX_USER else value / members


@compiled
def _of_job(metric, wait, runtime):
    if metric == _BSLD:
        return max(1.0, (wait + runtime) / max(runtime, BOUNDED_SLOWDOWN_TAU_S))
    if metric == _SLOWDOWN:
        return (wait + max(runtime, 1)) / max(runtime, 1)
    if metric == _WAIT:
        return float(wait)
    return float(wait + runtime)
