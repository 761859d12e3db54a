"""Starts of all waiting jobs, and their correction by queues of the past."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from models.waits.history import NEVER_STARTED, State, history_of, state_at
from models.waits.queue_starts import Correction, correction_of, queue_quantiles
from models.waits.replays import queue_start_times, start_times
from tests.models.waits.states import job_set, rows_of


def test_starts_of_a_queue_by_hand() -> None:
    state = State(100, 4, job_set((0, 4, 300, 300.0)), job_set((50, 4, 200, 200.0), (60, 2, 50, 50.0)))
    starts = queue_start_times(state, 20, 1)
    assert np.abs(starts.mean(axis=0) - [200, 400]).max() < 5
    assert (starts[:, 1] == start_times(state, 1, 20, 1)).all()
    assert queue_start_times(state, 20, 1, "SJF").mean(axis=0)[1] < 210


def test_quantiles_reach_further_by_the_correction() -> None:
    starts = np.linspace(0, 1000, 101)[:, None] * np.array([1.0, 2.0])
    plain = queue_quantiles(starts, None)
    assert np.allclose(plain, [[100, 500, 900], [200, 1000, 1800]])
    wide = queue_quantiles(starts, Correction(np.log(2), np.log(3), 10, 10))
    assert np.allclose(wide[0], [20, 500, 3 * 960 - 60])
    narrow = queue_quantiles(starts, Correction(-9.0, -9.0, 10, 10))
    assert np.allclose(narrow[0], 500)


def test_the_correction_makes_intervals_hold_on_later_queues() -> None:
    history = history_of(rows_of(900), 16)
    moment = int(history.submit[600])
    correction = correction_of(history, moment, 1)
    assert correction is not None and correction.queues >= 10
    held = []
    for number in range(620, 880, 8):
        state = state_at(history, int(history.submit[number]))
        if not len(state.waiting):
            continue
        low, _, high = queue_quantiles(queue_start_times(state, 40, 2), correction).T
        true = history.start[state.waiting.number] - state.now
        held.append(((low <= true) & (true <= high))[true < 1 << 50].mean())
    assert 0.6 < np.nanmean(held) <= 1.0


def test_nothing_of_the_future_is_used() -> None:
    history = history_of(rows_of(900), 16)
    moment = int(history.submit[600])
    later = (history.start > moment) & (history.start < NEVER_STARTED)
    moved = {name: getattr(history, name) + 5000 * later for name in ("start", "leaves", "end")}
    assert correction_of(replace(history, **moved), moment, 1) == correction_of(history, moment, 1)
    earlier = (history.start <= moment) & (history.submit > moment - 5 * 86_400)
    moved = {name: getattr(history, name) + 5000 * earlier for name in ("start", "leaves", "end")}
    assert correction_of(replace(history, **moved), moment, 1) != correction_of(history, moment, 1)


def test_too_few_queues_give_no_correction() -> None:
    history = history_of(rows_of(900), 16)
    assert correction_of(history, int(history.submit[3]), 1) is None
