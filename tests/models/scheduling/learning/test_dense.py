"""Networks over the whole queue, trained by the same loop."""

from __future__ import annotations

import numpy as np
import pytest

from models.scheduling.arena import Arena, Windows
from models.scheduling.learning.choices import ppo_gradient
from models.scheduling.learning.dense import DenseLearner, rows_of
from models.scheduling.learning.networks import load_weights, new_policy_network
from models.scheduling.learning.ppo import train_by_ppo
from models.scheduling.learning.training import Lessons
from models.scheduling.options import PPOOptions
from tests.simulator.busy import random_weights


@pytest.mark.parametrize("network", ["mlp_v2", "lenet"])
def test_rivals_of_the_kernel_network_learn_by_the_same_loop(network: str, arena: Arena, lessons: Lessons) -> None:
    options = PPOOptions(epochs=2, trajectories=8)
    once, again = (
        train_by_ppo(arena, lessons, options, 1, learner=DenseLearner(arena, options, 1, network)) for _ in range(2)
    )
    assert once.curve == again.curve and all(report.decisions > 50 and report.updates for report in once.curve)


def test_recorded_probabilities_are_those_torch_computes(arena: Arena) -> None:
    """Otherwise the very first ratio of an update would not be one."""
    weights = random_weights(3)
    net = new_policy_network("kernel", 8)
    load_weights(net, weights)
    found = arena.sample(weights, Windows(np.array([0, 300]), 200), seed=5)
    every = np.arange(found.decisions)
    assert found.decisions > 50 and found.num_rows.min() >= 2
    scores = net(*rows_of(found, every)).detach().numpy()
    gradient = np.empty(len(scores), dtype=np.float32)
    kl, _, clipped = ppo_gradient(
        scores, found.num_rows, found.choice, found.log_prob, np.ones(len(every)), 0.2, 0.0, gradient
    )
    assert abs(kl) < 1e-5 and clipped == 0
