"""Tests of models/scheduling/learning: adam, choices, evolution, imitation, kernel_pass, networks."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
import torch

from models.scheduling.arena import Arena, Windows
from models.scheduling.learning.adam import Adam
from models.scheduling.learning.choices import advantages, at_the_end, chunks_of, imitation_gradient, pad, ppo_gradient
from models.scheduling.learning.evolution import evolve, flatten, unflatten
from models.scheduling.learning.imitation import imitate
from models.scheduling.learning.kernel_pass import ClippedLoss, Gradients, RecordedChoices, imitation_pass, ppo_pass
from models.scheduling.learning.networks import (
    POLICY_NETWORKS,
    Critic,
    load_weights,
    new_policy_network,
    padded,
    to_weights,
)
from models.scheduling.learning.ppo import train_by_ppo
from models.scheduling.learning.training import Lessons
from models.scheduling.options import EvolutionOptions, ImitationOptions, PPOOptions
from simulator.jobs.jobs import Jobs
from simulator.policies.network import VISIBLE_JOBS, score_rows
from simulator.policies.observation import LAYOUTS
from simulator.policies.registry import FIXED_SCORES
from tests.simulator.busy import random_weights

# adam:


def networks(count: int) -> list[torch.nn.Linear]:
    torch.manual_seed(1)
    first = torch.nn.Linear(7, 5)
    others = [torch.nn.Linear(7, 5) for _ in range(count - 1)]
    for other in others:
        other.load_state_dict(first.state_dict())
    return [first, *others]


def take_steps(network: torch.nn.Linear, optimiser: Any, count: int, seed: int) -> None:
    """The third of every four steps has a gradient of the weights alone."""
    draws = torch.Generator().manual_seed(seed)
    for k in range(count):
        optimiser.zero_grad()
        network.weight.grad = torch.randn(5, 7, generator=draws)
        network.bias.grad = None if k % 4 == 2 else torch.randn(5, generator=draws)
        optimiser.step()


def same(one: torch.nn.Linear, other: torch.nn.Linear) -> bool:
    return torch.equal(one.weight, other.weight) and torch.equal(one.bias, other.bias)


def groups_of(network: torch.nn.Linear) -> list[dict[str, Any]]:
    return [{"params": [network.weight], "lr": 0.01}, {"params": [network.bias], "lr": 0.003}]


@pytest.mark.parametrize(("grouped", "fused"), [(False, True), (True, True), (False, False)])
def test_steps_are_those_of_torch(grouped: bool, fused: bool) -> None:
    ours, theirs, other = networks(3)
    take_steps(ours, Adam(groups_of(ours) if grouped else ours.parameters(), 0.01, fused), 30, 2)
    take_steps(
        theirs, torch.optim.Adam(groups_of(theirs) if grouped else theirs.parameters(), 0.01, fused=fused), 30, 2
    )
    assert same(ours, theirs) and not same(ours, other)


@pytest.mark.parametrize("kept_by_torch", [False, True])
def test_a_checkpoint_goes_on(kept_by_torch: bool) -> None:
    one, whole = networks(2)
    before: Any = torch.optim.Adam(groups_of(one), fused=True) if kept_by_torch else Adam(groups_of(one))
    take_steps(one, before, 7, 3)
    kept = before.state_dict()
    kept["param_groups"][1]["lr"] = 0.02
    after = Adam(groups_of(one))
    after.load_state_dict(kept)
    assert [group["lr"] for group in after.param_groups] == [0.01, 0.02]
    take_steps(one, after, 7, 4)
    undisturbed = torch.optim.Adam(groups_of(whole), fused=True)
    take_steps(whole, undisturbed, 7, 3)
    undisturbed.param_groups[1]["lr"] = 0.02
    take_steps(whole, undisturbed, 7, 4)
    assert same(one, whole)


def test_what_is_kept_before_the_first_step_is_a_beginning() -> None:
    one, other = networks(2)
    after = Adam(one.parameters(), lr=0.01)
    after.load_state_dict(Adam(other.parameters(), lr=0.01).state_dict())
    take_steps(one, after, 3, 5)
    take_steps(other, Adam(other.parameters(), lr=0.01), 3, 5)
    assert same(one, other)


def test_the_compiler_of_torch_is_not_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch._dynamo", None)
    (network,) = networks(1)
    optimiser = Adam(network.parameters())
    take_steps(network, optimiser, 2, 6)
    optimiser.load_state_dict(optimiser.state_dict())
    with pytest.raises(ImportError):
        torch.optim.Adam(network.parameters()).step()


# choices: Gradients by hand against torch's, and advantages by hand.

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


# evolution: Evolution strategies make a network better.


def test_learning_helps(arena: Arena, lessons: Lessons) -> None:
    """On the windows it learns from, evolution must improve a network that knows nothing, and much."""
    start = train_by_ppo(arena, lessons, PPOOptions(epochs=1, trajectories=4), 1).weights
    options = EvolutionOptions(generations=20, pairs=8, windows=12, spread=0.2, rate=0.2)
    on_lessons = Lessons(lessons.windows, lessons.filtered, lessons.windows)
    found = evolve(arena, on_lessons, start, options, 1)
    before = arena.costs(start, lessons.windows).mean()
    assert found.validation_cost < 0.95 * before and found.best_epoch > 0


def test_weights_come_back_from_a_flat_array() -> None:
    weights = random_weights(3, "informed")
    values = flatten(weights)
    assert values.shape == (sum(array.size for array in weights[2:]),)
    assert all(np.array_equal(a, b) for a, b in zip(unflatten(values, weights), weights, strict=True))


# imitation: Imitation copies a heuristic.


def test_imitation_copies_a_heuristic(arena: Arena, jobs: Jobs) -> None:
    saf = np.asarray(FIXED_SCORES["SAF"](jobs), dtype=np.float64)
    shares: list[float] = []
    shown = Windows(np.arange(0, 400, 20), 100)
    weights = imitate(
        arena, [shown], [saf], LAYOUTS["plain"], ImitationOptions(), 1, lambda loss, share: shares.append(share)
    )
    # many jobs have the same area, and of those either is as good
    assert shares[-1] > 0.7 and shares[-1] > shares[0] + 0.1
    later = Windows(np.array([500, 600]), 150)
    assert arena.costs(weights, later).mean() == pytest.approx(arena.costs("SAF", later).mean(), rel=0.3)


# kernel_pass: The compiled passes against torch's gradients.


@pytest.mark.parametrize("decisions", [1, 3, 400])
@pytest.mark.parametrize("layout", ["plain", "informed"])
def test_the_compiled_passes_leave_torch_s_gradients(decisions: int, layout: str) -> None:
    """Of one decision, and of many more rows than a block holds, in any order."""
    rng = np.random.default_rng(decisions)
    torch.manual_seed(decisions)
    net = new_policy_network("kernel", len(LAYOUTS[layout].inputs))
    shared = Gradients(net)
    num_rows = rng.integers(2, VISIBLE_JOBS + 1, decisions)
    first_row = np.cumsum(num_rows) - num_rows
    features = rng.random((num_rows.sum(), len(LAYOUTS[layout].inputs)), dtype=np.float32)
    choice = (rng.random(decisions) * num_rows).astype(np.int64)
    old, advantage = (rng.normal(m, 1.0, decisions).astype(np.float32) for m in (-3.0, 0.0))
    order = rng.permutation(decisions)
    scores = net(torch.from_numpy(features), torch.from_numpy(num_rows))

    def expected(slope: np.ndarray) -> list[np.ndarray]:
        found = torch.autograd.grad(scores, list(net.parameters()), torch.from_numpy(slope), retain_graph=True)
        return [a.numpy() for a in found]

    def check(slope: np.ndarray) -> None:
        for ours, theirs, p in zip(shared.gradients, expected(slope), net.parameters(), strict=True):
            scale = np.abs(theirs).max()
            np.testing.assert_allclose(ours, theirs, rtol=2e-3, atol=2e-3 * scale + 1e-6)
            assert p.grad is not None and np.shares_memory(p.grad.numpy(), ours)

    slope = np.empty(len(features), dtype=np.float32)
    plain = scores.detach().numpy()
    expected_sums = ppo_gradient(plain, num_rows, choice, old, advantage, 0.2, 0.01, slope)
    shared.flat[:] = 0.0
    recorded = RecordedChoices(features, first_row, num_rows, choice, old)
    seen = ppo_pass(recorded, advantage, order, ClippedLoss(0.2, 0.01), shared.weights, shared.gradients)
    assert seen == pytest.approx(expected_sums[:2], rel=1e-3)
    check(slope)
    expected_sums = imitation_gradient(plain, num_rows, choice, np.ones(decisions), slope)
    shared.flat[:] = 0.0
    seen = imitation_pass(recorded, order, shared.weights, shared.gradients)
    assert seen == pytest.approx(expected_sums, rel=1e-3)
    check(slope)


# networks: The networks: what the engine runs is what torch computes, and jobs that do not wait count for nothing.


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
