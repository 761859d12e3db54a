"""Draws from the softmax, and the recorder."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.policies.sampling import DECISIONS, ROWS, draw_choice, new_recorder, record_choice, seed_draws


def test_draws_follow_the_softmax_and_the_seed() -> None:
    outputs = np.log(np.array([1.0, 2.0, 5.0, 99.0])).astype(np.float32)

    def draws() -> list[tuple[int, float]]:
        seed_draws(7)
        return [draw_choice(outputs, 3) for _ in range(4000)]

    drawn = draws()
    places = np.array([place for place, _ in drawn])
    assert np.bincount(places, minlength=4) / 4000 == pytest.approx([0.125, 0.25, 0.625, 0.0], abs=0.03)
    assert dict(drawn) == pytest.approx({0: np.log(0.125), 1: np.log(0.25), 2: np.log(0.625)})
    assert draws() == drawn


def test_a_full_recorder_refuses_and_keeps_what_it_has() -> None:
    recorder = new_recorder(rows=5, decisions=2, inputs=1)
    rows = np.arange(4, dtype=np.float32)[:, None]
    assert record_choice(recorder, rows, 3, 2, -0.5, 7)
    assert not record_choice(recorder, rows, 3, 0, -0.5, 7), "no room for three rows"
    assert record_choice(recorder, rows, 2, 1, -0.25, 8)
    assert not record_choice(recorder, rows, 0, 0, 0.0, 9), "no room for a decision"
    assert (recorder.used[DECISIONS], recorder.used[ROWS]) == (2, 5)
    assert recorder.features.ravel().tolist() == [0.0, 1.0, 2.0, 0.0, 1.0]
    assert (recorder.first_row.tolist(), recorder.num_rows.tolist()) == ([0, 3], [3, 2])
    assert (recorder.choice.tolist(), recorder.log_prob.tolist()) == ([2, 1], [-0.5, -0.25])
