"""Choices of a learned policy while it learns: drawn from the softmax of its outputs or taken from a teacher, and recorded."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.compiled import compiled, lean
from simulator.policies.network import score_rows

TAKE_BEST, DRAW, FOLLOW = range(3)
"""How a network's choices are made. TAKE_BEST takes the largest output, DRAW draws from their softmax. FOLLOW does as the teacher
does, whose scores are in `Scoring.fixed`, lowest first. The choices of the last two are recorded."""

DECISIONS, ROWS = range(2)
"""What `Recorder.used` counts."""


class Recorder(NamedTuple):
    """Buffers for recorded choices, see simulator.agents.trajectories.Trajectories."""

    features: NDArray[np.float32]  # (rows, inputs)
    first_row: NDArray[np.int64]  # (decisions,)
    num_rows: NDArray[np.int64]  # (decisions,)
    choice: NDArray[np.int64]  # (decisions,), index within the decision's rows
    log_prob: NDArray[np.float32]  # (decisions,)
    time: NDArray[np.int64]  # (decisions,), seconds in the log's clock
    used: NDArray[np.int64]  # (2,), decisions and rows recorded so far


def new_recorder(rows: int, decisions: int, inputs: int) -> Recorder:
    """Room for this number of decisions, which see this number of rows in all."""
    return Recorder(
        features=np.empty((rows, inputs), dtype=np.float32),
        first_row=np.empty(decisions, dtype=np.int64),
        num_rows=np.empty(decisions, dtype=np.int64),
        choice=np.empty(decisions, dtype=np.int64),
        log_prob=np.empty(decisions, dtype=np.float32),
        time=np.empty(decisions, dtype=np.int64),
        used=np.zeros(2, dtype=np.int64),
    )


@lru_cache(maxsize=1)
def no_recorder() -> Recorder:
    """For replays that record nothing."""
    return new_recorder(0, 0, 0)


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


@lean
def record_choice(recorder, rows, visible, choice, log_probability, now):
    """Appends a decision to the recorder: its rows, the chosen place, the log-probability of that choice, and the time. Returns False
    when the recorder is full."""
    features = recorder.features
    decisions, used = recorder.used[DECISIONS], recorder.used[ROWS]
    if decisions >= len(recorder.choice) or used + visible > len(features):
        return False
    for k in range(visible):
        for feature in range(features.shape[1]):
            features[used + k, feature] = rows[k, feature]
    recorder.first_row[decisions] = used
    recorder.num_rows[decisions] = visible
    recorder.choice[decisions] = choice
    recorder.log_prob[decisions] = log_probability
    recorder.time[decisions] = now
    recorder.used[DECISIONS] += 1
    recorder.used[ROWS] += visible
    return True


@lean
def choose_row(recorder, sample, rows, count, weights, outputs, now):
    """Scores `count` rows with an agent's network and chooses one, as `sample` says (TAKE_BEST or DRAW). Returns -1 where the choice
    could not be recorded. outputs: scratch, float32 (VISIBLE_JOBS,)."""
    score_rows(rows, count, weights, outputs)
    if sample == DRAW:
        row, log_probability = draw_choice(outputs, count)
        return row if record_choice(recorder, rows, count, row, log_probability, now) else np.int64(-1)
    row = np.int64(0)
    for k in range(1, count):
        if outputs[k] > outputs[row]:
            row = np.int64(k)
    return row
