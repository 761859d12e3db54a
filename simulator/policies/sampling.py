"""Choices of a learned policy while it learns: drawn from the softmax of its outputs or taken from a teacher, and recorded."""

from __future__ import annotations

import math

import numpy as np

from simulator.compiled import compiled
from simulator.engine import episode as at

TAKE_BEST, DRAW, FOLLOW = range(3)
"""How a network's choices are made: the largest output; a draw from their softmax; as the teacher, whose scores are known
(`Scoring.fixed`, lowest first). The last two are recorded."""


@compiled
def seed_draws(seed):
    """Seeds the compiled code's own random numbers (numba keeps them apart from numpy's, one state per thread)."""
    np.random.seed(seed)  # noqa: NPY002  (compiled code has no Generator of its own to hand around)


@compiled
def draw_choice(outputs, visible):
    """A place among the first `visible`, drawn from the softmax of their outputs, and the log-probability of that choice."""
    weight = np.empty(visible)
    top = outputs[0]
    for k in range(1, visible):
        top = max(top, outputs[k])
    total = 0.0
    for k in range(visible):
        weight[k] = math.exp(outputs[k] - top)
        total += weight[k]
    left = np.random.random() * total  # noqa: NPY002
    place = np.int64(visible - 1)
    for k in range(visible):
        left -= weight[k]
        if left < 0.0:
            place = np.int64(k)
            break
    return place, outputs[place] - top - math.log(total)


@compiled
def record_choice(counters, recorder, rows, visible, choice, log_probability):
    """Appends a decision to the recorder: its rows, the place chosen, and the log-probability of that. False when it is full."""
    features, first_row, num_rows, choices, log_prob = recorder
    decisions, used = counters[at.CHOICES], counters[at.ROWS]
    if decisions >= len(choices) or used + visible > len(features):
        return False
    for k in range(visible):
        for feature in range(features.shape[1]):
            features[used + k, feature] = rows[k, feature]
    first_row[decisions] = used
    num_rows[decisions] = visible
    choices[decisions] = choice
    log_prob[decisions] = log_probability
    counters[at.CHOICES] += 1
    counters[at.ROWS] += visible
    return True
