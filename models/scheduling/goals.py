"""What a schedule is optimised for: one number per replayed window, lower is better.

Definitions of the metrics: docs/semantics.md. A goal is a weighted sum of terms `metric` or `metric:users`, where `users` says
how the jobs' values become one: the mean over jobs, or the mean or the maximum of the users' means (RLScheduler, section V-F).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.compiled import compiled
from simulator.metrics.metrics import BOUNDED_SLOWDOWN_TAU_S

METRICS = ("bsld", "slowdown", "wait", "turnaround", "utilisation", "utilisation_as_coded")
USERS = ("all", "mean_user", "max_user")
_BSLD, _SLOWDOWN, _WAIT, _TURNAROUND, _UTILISATION, _AS_CODED = range(len(METRICS))

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Goal:
    """text: as written. metric, users: indices in METRICS and USERS, int64 (terms,); weight: float64 (terms,), negative for a
    metric that is to be large."""

    text: str
    metric: IntArray
    users: IntArray
    weight: FloatArray

    def costs(
        self, submit: IntArray, runtime: IntArray, procs: IntArray, user: IntArray, start: IntArray, cluster_procs: int
    ) -> FloatArray:
        """Of each window, float64 (windows,), from columns (windows, window_jobs)."""
        return _costs(self.metric, self.users, self.weight, submit, runtime, procs, user, start, cluster_procs)


def parse_goal(text: str) -> Goal:
    """`bsld`, `wait:max_user`, `0.7*bsld + 0.001*wait`: weights multiply seconds and ratios as they are.

    Raises ValueError that says which term is wrong and what is expected.
    """
    metric, users, weight = [], [], []
    for term in text.split("+"):
        found = re.fullmatch(r"(?:([0-9.eE-]+)\s*\*\s*)?([a-z_]+)(?::([a-z_]+))?", term.strip())
        name, group = (found.group(2), found.group(3) or "all") if found else ("", "all")
        if found is None or name not in METRICS or group not in USERS:
            raise ValueError(
                f"goal {text!r}: expected terms such as bsld, wait:max_user or 0.5*bsld joined by +, with one of "
                f"{', '.join(METRICS)} and, after a colon, one of {', '.join(USERS)}; found {term.strip()!r}"
            )
        try:
            factor = float(found.group(1) or 1.0)
        except ValueError:
            raise ValueError(f"goal {text!r}: expected a number before *, found {found.group(1)!r}") from None
        if not factor > 0.0 or not np.isfinite(factor):
            raise ValueError(f"goal {text!r}: weights must be above 0, found {factor:g}")
        number = METRICS.index(name)
        if number >= _UTILISATION and group != "all":
            raise ValueError(f"goal {text!r}: {name} is of the machine, not of users: leave out :{group}")
        metric.append(number)
        users.append(USERS.index(group))
        weight.append(-factor if number >= _UTILISATION else factor)
    return Goal(
        text, np.array(metric, dtype=np.int64), np.array(users, dtype=np.int64), np.array(weight, dtype=np.float64)
    )


@compiled
def _costs(metric, users, weight, submit, runtime, procs, user, start, cluster_procs):
    windows, jobs = submit.shape
    found = np.zeros(windows)
    most = 0
    for k in range(windows):
        for i in range(jobs):
            most = max(most, user[k, i])
    total = np.zeros(most + 1)
    count = np.zeros(most + 1, dtype=np.int64)
    for k in range(windows):
        found[k] = window_cost(
            metric, users, weight, submit[k], runtime[k], procs[k], user[k], start[k], cluster_procs, total, count
        )
    return found


@compiled
def window_cost(metric, users, weight, submit, runtime, procs, user, start, cluster_procs, total, count):
    """The goal's cost of one window, columns (window_jobs,). total, count: scratch by user, all zero before and after."""
    jobs = len(submit)
    cost = 0.0
    for t in range(len(metric)):
        kind = metric[t]
        value = 0.0
        if kind >= _UTILISATION:
            area = 0.0
            last = submit[0]
            for i in range(jobs):
                area += float(runtime[i]) * procs[i]
                last = max(last, start[i] if kind == _AS_CODED else start[i] + runtime[i])
            value = area / (float(max(last - submit[0], 1)) * cluster_procs)
        elif users[t] == 0:
            for i in range(jobs):
                value += _of_job(kind, start[i] - submit[i], runtime[i])
            value /= jobs
        else:
            for i in range(jobs):
                total[user[i]] += _of_job(kind, start[i] - submit[i], runtime[i])
                count[user[i]] += 1
            members = 0
            for i in range(jobs):
                who = user[i]
                if count[who] > 0:
                    mean = total[who] / count[who]
                    value = max(value, mean) if users[t] == 2 else value + mean
                    members += 1
                    total[who] = 0.0
                    count[who] = 0
            if users[t] == 1:
                value /= members
        cost += weight[t] * value
    return cost


@compiled
def _of_job(kind, wait, runtime):
    if kind == _BSLD:
        return max(1.0, (wait + runtime) / max(runtime, BOUNDED_SLOWDOWN_TAU_S))
    if kind == _SLOWDOWN:
        return (wait + max(runtime, 1)) / max(runtime, 1)
    if kind == _WAIT:
        return float(wait)
    return float(wait + runtime)
