"""The network's inputs by hand, and its outputs against numpy."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.policies.network import FEW_ROWS, SIGNALS, VISIBLE_JOBS, NetworkInputs, observe, score_rows
from simulator.policies.observation import Layout, blank_network
from tests.simulator.busy import random_weights
from tests.simulator.policies.moments import moment


def test_every_signal_by_hand() -> None:
    weights = blank_network(Layout(("estimate",), SIGNALS))
    facts = np.arange(5, dtype=np.float32)[:, None]
    rows = np.zeros((VISIBLE_JOBS, 1 + len(SIGNALS)), dtype=np.float32)
    observe(moment(), NetworkInputs(weights, facts), 0, 3, np.zeros(2), rows)
    second = dict(zip(("estimate", *SIGNALS), rows[1].tolist(), strict=True))
    expected = {
        "estimate": 3.0,
        "wait": np.log2(11) / 20,
        "wait_over_estimate": np.log2(2) / 10,
        "fits": 0.0,
        "free_procs": 2 / 8,
        "queue_length": 3 / 128,
        "wait_of_12_h": 10 / 43200,
        "start_delay": np.log2(51) / 20,
        "queued_work": np.log2(1 + (20 + 40 + 320) / 8) / 20,
        "running_work": np.log2(1 + (50 * 2 + 60 * 4) / 8) / 20,
        "user_share": 9 / 12,
    }
    assert second == pytest.approx(expected)
    assert rows[0, 1 + SIGNALS.index("fits")] == 1.0
    assert not rows[3:].any()


@pytest.mark.parametrize("visible", [1, FEW_ROWS - 1, FEW_ROWS, 100])
def test_outputs_are_those_of_the_network(visible: int) -> None:
    weights = random_weights()
    rows = np.random.default_rng(1).random((VISIBLE_JOBS, weights.w1.shape[0]), dtype=np.float32)
    outputs = np.empty(VISIBLE_JOBS, dtype=np.float32)
    score_rows(rows, visible, weights, outputs)
    hidden = rows[:visible]
    for matrix, bias in ((weights.w1, weights.b1), (weights.w2, weights.b2), (weights.w3, weights.b3)):
        hidden = np.maximum(hidden @ matrix + bias, 0.0)
    assert outputs[:visible] == pytest.approx(hidden @ weights.w4, rel=1e-4, abs=1e-5)
