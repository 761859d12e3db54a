"""The networks: what the engine runs is what torch computes, and jobs that do not wait count for nothing."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from models.scheduling.learning.networks import POLICY_NETWORKS, Critic, load_weights, new_policy_network, to_weights
from simulator.policies.network import VISIBLE_JOBS, score_rows
from simulator.policies.observation import LAYOUTS
from tests.simulator.busy import random_weights

SIZES = np.array([3, 2, 7, 2])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_engine_and_torch_compute_the_same_scores(layout: str) -> None:
    weights = random_weights(2, layout)
    net = new_policy_network("kernel", len(LAYOUTS[layout].inputs))
    load_weights(net, weights)
    rows = np.random.default_rng(0).random((VISIBLE_JOBS, len(LAYOUTS[layout].inputs))).astype(np.float32)
    scores = np.empty(VISIBLE_JOBS, dtype=np.float32)
    score_rows(rows, VISIBLE_JOBS, weights, scores)
    expected = net(torch.from_numpy(rows), torch.tensor([VISIBLE_JOBS])).detach().numpy()
    np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-5)
    again = to_weights(net, LAYOUTS[layout])
    assert all(np.array_equal(a, b) for a, b in zip(weights, again, strict=True))


def test_the_paper_s_network_has_fewer_than_1000_parameters() -> None:
    """RLScheduler, section IV-B."""
    assert sum(p.numel() for p in new_policy_network("kernel", 8).parameters()) == 960


def test_a_critic_has_the_layers_that_are_asked_for() -> None:
    sizes = [tuple(p.shape) for p in Critic(8, 128, [64, 32]).parameters() if p.ndim == 2]
    assert sizes == [(64, 1024), (32, 64), (1, 32)]


@pytest.mark.parametrize("name", POLICY_NETWORKS)
def test_only_waiting_jobs_are_scored(name: str) -> None:
    torch.manual_seed(0)
    net = new_policy_network(name, 8)
    rows = torch.rand(int(SIZES.sum()), 8)
    together = net(rows, torch.from_numpy(SIZES))
    assert together.shape == (SIZES.sum(),)
    alone = torch.cat([net(part, torch.tensor([len(part)])) for part in torch.split(rows, SIZES.tolist())])
    torch.testing.assert_close(together, alone, rtol=1e-4, atol=1e-5)
