"""Choices of a learned policy while it learns: drawn from the softmax of its outputs, and recorded."""

from __future__ import annotations

import math

import numpy as np

from simulator import episode as at
from simulator.compiled import compiled


@compiled
def seed_draws(seed):
    """Seeds the compiled code's own random numbers (numba keeps them apart from numpy's, one state per thread)."""
    np.random.seed(seed)  # noqa: NPY002  (compiled code has no Generator of its own to hand around)


@compiled
def record_choice(counters, recorder, rows, outputs, visible):
    """Draws a place among the first `visible` by their outputs, and appends the decision to the recorder; -1 when the
    recorder is full."""
    features, first_row, num_rows, choices, log_prob = recorder
    decisions, used = counters[at.CHOICES], counters[at.ROWS]
    if decisions >= len(choices) or used + visible > len(features):
        return np.int64(-1)
    choice = 0
    best = -np.inf  # Gumbel-max: the largest noisy output is a draw from the softmax
    top = -np.inf
    for k in range(visible):
        top = max(top, float(outputs[k]))
        noisy = outputs[k] - math.log(-math.log(1.0 - np.random.random()))  # noqa: NPY002
        if noisy > best:
            best = noisy
            choice = k
    total = 0.0
    for k in range(visible):
        total += math.exp(outputs[k] - top)
    for k in range(visible):
        for feature in range(features.shape[1]):
            features[used + k, feature] = rows[k, feature]
    first_row[decisions] = used
    num_rows[decisions] = visible
    choices[decisions] = choice
    log_prob[decisions] = outputs[choice] - top - math.log(total)
    counters[at.CHOICES] += 1
    counters[at.ROWS] += visible
    return np.int64(choice)
