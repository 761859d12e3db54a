"""Similar jobs in plain Python: classes are keys of a dictionary, which holds the run times of each, the latest last."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np


def ladder(job: dict[str, Any]) -> list[tuple[Any, ...]]:
    user, executable = job["user_name"], job["executable"]
    request = -1 if job["requested_walltime_s"] is None else job["requested_walltime_s"]
    procs = -1 if job["requested_procs"] is None else job["requested_procs"]
    about = round(2 * math.log2(max(request, 1))) if request > 0 else -1
    size = math.ceil(math.log2(max(procs, 1)))
    return [
        (0, user, executable, request, procs), (1, user, executable, request), (2, user, request), (3, user, executable),
        (4, user), (5, about, size), (6, about),
    ]  # fmt: skip


def sample_of(
    job: dict[str, Any], lists: dict[tuple[Any, ...], list[float]], recency: float, doubt: Sequence[float]
) -> list[tuple[float, float]]:
    """((run time, weight), ...) of what is known."""
    request = job["requested_walltime_s"] or math.inf
    left, sample = 1.0, []
    for rung, key in enumerate(ladder(job)):
        latest_first = lists[key][::-1][:12]
        total = sum(recency**age for age in range(len(latest_first)))
        taken = left * total / (total + doubt[rung])
        for age, runtime in enumerate(latest_first):
            sample.append((min(runtime, request), taken * recency**age / total))
        left -= taken
    sample.append((request / 4 if request < math.inf else 3600.0, left))
    return sample


def quantile(sample: list[tuple[float, float]], level: float) -> float:
    """Piecewise linear through (sum of the weights below + half of its own, value), flat beyond the ends."""
    ordered = sorted(sample, key=lambda pair: pair[0])
    middles, below = [], 0.0
    for _, weight in ordered:
        middles.append(below + weight / 2)
        below += weight
    return float(np.interp(level, middles, [value for value, _ in ordered]))
