"""Gradients by hand against torch's, and advantages by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from models.scheduling.arena import Arena, Windows
from models.scheduling.learning.choices import advantages, at_the_end, chunks_of, imitation_gradient, pad, ppo_gradient
from models.scheduling.learning.networks import padded
from simulator.policies.network import VISIBLE_JOBS, score_rows
from tests.simulator.busy import random_weights

SIZES = np.array([3, 2, 7, 2])


def ragged(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    scores = rng.normal(0, 2, SIZES.sum()).astype(np.float32)
    choice = (rng.random(len(SIZES)) * SIZES).astype(np.int64)
    return (
        scores,
        choice,
        rng.normal(-1, 0.6, len(SIZES)).astype(np.float32),
        rng.normal(0, 1, len(SIZES)).astype(np.float32),
    )


def log_probabilities(scores: torch.Tensor) -> list[torch.Tensor]:
    return [torch.log_softmax(part, 0) for part in torch.split(scores, SIZES.tolist())]


@pytest.mark.parametrize("bonus", [0.0, 0.1])
@pytest.mark.parametrize("seed", range(6))
def test_the_clipped_surrogate(seed: int, bonus: float) -> None:
    scores, choice, old, advantage = ragged(seed)
    gradient = np.empty(len(scores), dtype=np.float32)
    kl, entropy, clipped = ppo_gradient(scores, SIZES, choice, old, advantage, 0.2, bonus, gradient)

    leaf = torch.from_numpy(scores.copy()).requires_grad_()
    parts = log_probabilities(leaf)
    log_ratio = torch.stack([part[c] for part, c in zip(parts, choice, strict=True)]) - torch.from_numpy(old)
    ratio, gain = torch.exp(log_ratio), torch.from_numpy(advantage)
    spread = torch.stack([-(part.exp() * part).sum() for part in parts])
    surrogate = torch.minimum(ratio * gain, torch.clamp(ratio, 0.8, 1.2) * gain)
    (-(surrogate + bonus * spread).sum()).backward()
    assert leaf.grad is not None
    np.testing.assert_allclose(gradient, leaf.grad.numpy(), rtol=2e-4, atol=1e-5)
    assert kl == pytest.approx(float((ratio - 1 - log_ratio).sum().detach()), rel=1e-4)
    assert entropy == pytest.approx(float(spread.sum().detach()), rel=1e-4)
    outside = ((ratio > 1.2) & (gain > 0)) | ((ratio < 0.8) & (gain < 0))
    assert clipped == int(outside.sum())


def test_imitation() -> None:
    scores, choice, _, weight = ragged(3)
    weight = np.abs(weight)
    gradient = np.empty(len(scores), dtype=np.float32)
    loss, hits = imitation_gradient(scores, SIZES, choice, weight, gradient)
    leaf = torch.from_numpy(scores.copy()).requires_grad_()
    parts = log_probabilities(leaf)
    expected: torch.Tensor = sum(-w * part[c] for part, c, w in zip(parts, choice, weight.tolist(), strict=True))
    expected.backward()
    assert leaf.grad is not None
    np.testing.assert_allclose(gradient, leaf.grad.numpy(), rtol=2e-4, atol=1e-5)
    assert loss == pytest.approx(expected.item(), rel=1e-4)
    assert hits == sum(int(part.argmax()) == c for part, c in zip(parts, choice, strict=True))


def test_advantages_follow_generalised_advantage_estimation() -> None:
    values = np.array([1.0, 2.0, 4.0, 0.5], dtype=np.float32)
    advantage, target = np.empty(4, dtype=np.float32), np.empty(4, dtype=np.float32)
    first = np.array([0, 3, 4])
    rewards = at_the_end(np.array([5.0, -1.0]), first)
    advantages(values, rewards, np.ones(4), first, 0.5, advantage, target)
    # deltas of the first trajectory: 2-1, 4-2, 5-4; of the second: -1-0.5
    np.testing.assert_allclose(advantage, [1 + 0.5 * (2 + 0.5 * 1), 2 + 0.5 * 1, 1.0, -1.5])
    np.testing.assert_allclose(target, [5, 5, 5, -1])


def test_chunks_hold_every_decision_once() -> None:
    rng = np.random.default_rng(0)
    sizes = rng.integers(2, 129, 500)
    order = rng.permutation(500)
    chunks = chunks_of(sizes, order, 1000)
    assert np.concatenate(chunks).tolist() == order.tolist()
    assert max(sizes[part].sum() for part in chunks) < 1000 + 129 and len(chunks) > 20


def test_padding() -> None:
    rows = np.random.default_rng(1).random((SIZES.sum(), 5)).astype(np.float32)
    queues = np.zeros((len(SIZES), VISIBLE_JOBS * 5), dtype=np.float32)
    pad(rows, np.cumsum(SIZES) - SIZES, SIZES, queues)
    assert np.array_equal(queues, padded(torch.from_numpy(rows), torch.from_numpy(SIZES)).flatten(1).numpy())


def test_choices_are_drawn_with_the_recorded_probabilities(arena: Arena) -> None:
    """Over many draws the mean probability of the choice is that of a draw: a wrong sampler would miss it."""
    weights = random_weights(4)
    found = arena.sample(weights, Windows(np.linspace(0, 700, 60).astype(np.int64), 60), seed=1)
    expected, observed = [], np.exp(found.log_prob)
    for d in range(found.decisions):
        rows = found.features[found.first_row[d] : found.first_row[d] + found.num_rows[d]]
        scores = np.empty(len(rows), dtype=np.float32)
        score_rows(rows, len(rows), weights, scores)
        p = np.exp(scores - scores.max())
        expected.append(((p / p.sum()) ** 2).sum())
    error = (observed - expected).std() / np.sqrt(len(observed))
    assert found.decisions > 1000 and abs(observed.mean() - np.mean(expected)) < 5 * error


def test_rewards_on_the_way_are_discounted() -> None:
    values = np.array([1.0, 2.0, 3.0], dtype=np.float32)
    advantage, target = np.empty((2, 3), dtype=np.float32)
    advantages(
        values, np.array([-1.0, -2.0, -4.0]), np.array([0.5, 0.25, 0.9]), np.array([0, 3]), 0.5, advantage, target
    )
    assert target.tolist() == [-1 + 0.5 * (-2 + 0.25 * -4), -2 + 0.25 * -4, -4]
    last = -4 - 3
    middle = -2 + 0.25 * 3 - 2 + 0.5 * 0.25 * last
    assert advantage.tolist() == pytest.approx([-1 + 0.5 * 2 - 1 + 0.5 * 0.5 * middle, middle, last])


def test_a_trajectory_without_decisions_gets_no_reward() -> None:
    assert at_the_end(np.array([5.0, 7.0, -1.0]), np.array([0, 2, 2, 3])).tolist() == [0, 5, -1]
