"""Choices of a learned policy while it learns: drawn from the softmax of its outputs or taken from a teacher, and recorded."""

from __future__ import annotations

import math

import numpy as np

from simulator import episode as at
from simulator.compiled import compiled

TAKE_BEST, DRAW, FOLLOW = range(3)
"""How a network's choices are made: the largest output; a draw from their softmax; as the teacher, whose scores are known
(`Scoring.fixed`, lowest first). The last two are recorded."""


@compiled
def seed_draws(seed):
    """Seeds the compiled code's own random numbers (numba keeps them apart from numpy's, one state per thread)."""
    np.random.seed(seed)  # noqa: NPY002  (compiled code has no Generator of its own to hand around)


@compiled
def draw_place(outputs, visible):
    """A place among the first `visible`, drawn from the softmax of their outputs."""
    top = -np.inf
    for k in range(visible):
        top = max(top, float(outputs[k]))
    total = 0.0
    for k in range(visible):
        total += math.exp(outputs[k] - top)
    left = np.random.random() * total  # noqa: NPY002
    for k in range(visible):
        left -= math.exp(outputs[k] - top)
        if left < 0.0:
            return np.int64(k)
    return np.int64(visible - 1)


@compiled
def record_choice(counters, recorder, rows, outputs, visible, choice):
    """Appends a decision to the recorder: its rows, the place chosen, and the log-probability of that choice. False when the
    recorder is full."""
    features, first_row, num_rows, choices, log_prob = recorder
    decisions, used = counters[at.CHOICES], counters[at.ROWS]
    if decisions >= len(choices) or used + visible > len(features):
        return False
    top = -np.inf
    for k in range(visible):
        top = max(top, float(outputs[k]))
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
    return True
