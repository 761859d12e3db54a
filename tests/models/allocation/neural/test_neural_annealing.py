"""Neural Simulated Annealing against plain Python and torch, and what holds for every walk."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from models.allocation.annealing import PUBLISHED_ANNEALING, AnnealingRules
from models.allocation.neural.neural_annealing import NeuralAnnealer, bend, choose_entry, pass_actor, pass_room
from models.allocation.neural.repair_networks import REPAIR_NETWORKS, RepairNetworkName, repair_layers
from models.allocation.neural.repair_policy import RepairPolicy
from models.allocation.neural.repairing import FEATURES, RepairView
from models.allocation.window import Window, sequential_allocation
from simulator.topology.tree import regular_tree
from tests.models.allocation.neural.slow_repairing import SlowRepair, random_windows, small_policy
from tests.models.allocation.windows import check_allocation, small_window, window_of_papers_size

TREE = regular_tree((5, 3, 4))


def slow_walk(window: Window, policy: RepairPolicy, rules: AnnealingRules, likeliest: bool, seed: int) -> float:
    """Algorithm 1 in plain Python, the network in torch. Returns the cost of the best assignment."""
    actor = repair_layers(policy.network, FEATURES[policy.view], policy.seen_nodes, policy.seen_nodes)
    actor.load_state_dict(dict(zip(actor.state_dict(), map(torch.from_numpy, policy.weights), strict=True)))
    current = SlowRepair(window.tree, window.idle, window.sizes, policy.view, window.integer)
    jobs = list(range(len(window.sizes)))
    for job in jobs:
        current.place(job, 0)
    best = cost = sum(map(current.cost, jobs))
    order = list(jobs)
    for step, draw in enumerate(np.random.default_rng(seed).random((rules.steps, 2 + 2 * rules.removed)).tolist()):
        trial = SlowRepair(window.tree, window.idle, window.sizes, policy.view, window.integer)
        trial.queue, trial.nodes = list(current.queue), [list(nodes) for nodes in current.nodes]
        count = min(1 + int(draw[0] * rules.removed), len(jobs))
        for k in range(count):
            other = k + int(draw[1 + k] * (len(jobs) - k))
            order[k], order[other] = order[other], order[k]
        order[:count] = sorted(order[:count], key=lambda job: (-window.sizes[job] if rules.largest_first else 0, job))
        for job in order[:count]:
            trial.remove(job)
        for k in range(count):
            seen = torch.from_numpy(trial.look(order[k:count], policy.seen_nodes)).float()
            with torch.inference_mode():
                logits = actor(seen[None])[0][: len(trial.queue)].double().numpy()
            chances = np.cumsum(np.exp(logits - logits.max()))
            drawn = int((chances <= draw[1 + rules.removed + k] * chances[-1]).sum())
            trial.place(order[k], int(logits.argmax()) if likeliest else drawn)
        new = sum(map(trial.cost, jobs))
        heat = rules.first_temperature * math.exp(
            step / rules.steps * math.log(rules.last_temperature / rules.first_temperature)
        )
        if not rules.undo or new <= cost + 1e-12 or draw[-1] < math.exp((cost - new) / heat):
            current, cost = trial, new
        best = min(best, new) if current is trial else best
    return best


@pytest.mark.parametrize(
    ("network", "view", "integer", "changes"),
    [
        ("CNN-3", "paper", False, {}),
        ("FCN-1", "code", True, {"largest_first": False, "undo": False}),
        ("CNN-1", "code", False, {"removed": 4}),
    ],
)
@pytest.mark.parametrize("likeliest", [False, True])
def test_the_walk_is_that_of_plain_python(
    network: RepairNetworkName, view: RepairView, integer: bool, changes: dict, likeliest: bool
) -> None:
    rules = replace(AnnealingRules(steps=40), **changes)
    policy = small_policy(network, view, 20)
    annealer = NeuralAnnealer(policy, rules, likeliest)
    for number, (idle, sizes) in enumerate(random_windows(TREE, np.random.default_rng(1), 8, 9)):
        window = Window(TREE, idle, sizes, integer)
        allocation = annealer.allocate(window, number)
        check_allocation(window, allocation)
        assert allocation.cost == pytest.approx(slow_walk(window, policy, rules, likeliest, number))


@pytest.mark.parametrize("rules", [AnnealingRules(), replace(PUBLISHED_ANNEALING, steps=200)])
def test_no_walk_ends_above_its_start_and_the_seed_decides(rules: AnnealingRules) -> None:
    rng = np.random.default_rng(2)
    policy = small_policy("FCN-1", "code", 100)
    annealer, better, other_costs = NeuralAnnealer(policy, rules), 0, 0
    for _ in range(12):
        window = window_of_papers_size(rng)
        one, same, other = (annealer.allocate(window, seed) for seed in (1, 1, 2))
        check_allocation(window, one)
        assert all(np.array_equal(a, b) for a, b in zip(one.nodes, same.nodes, strict=True))
        assert one.bound is None and not one.proven and one.seconds > 0
        first = sequential_allocation(window).cost
        assert one.cost <= first + 1e-9 and other.cost <= first + 1e-9
        better += one.cost < first - 1e-9
        other_costs += one.cost != other.cost
    assert better > 6 and other_costs > 0


def test_small_windows_and_windows_without_jobs() -> None:
    rng = np.random.default_rng(3)
    annealer = NeuralAnnealer(small_policy("CNN-1", "paper", 14), AnnealingRules(steps=20))
    tried = 0
    while tried < 20:
        window = small_window(rng)
        if window.tree.levels > 1:
            check_allocation(window, annealer.allocate(window, 1))
            tried += 1
        else:
            with pytest.raises(ValueError, match="at least two levels"):
                annealer.allocate(window, 1)
    empty = Window(TREE, np.arange(3), np.zeros(0, dtype=np.int64))
    assert annealer.allocate(empty, 1).cost == 0.0


def test_without_steps_the_sequential_assignment_stays() -> None:
    window = window_of_papers_size(np.random.default_rng(4))
    allocation = NeuralAnnealer(small_policy("FCN-1", "paper", 100), AnnealingRules(steps=0)).allocate(window, 1)
    assert allocation.cost == pytest.approx(sequential_allocation(window).cost)


@pytest.mark.parametrize("view", ["paper", "code"])
@pytest.mark.parametrize("network", REPAIR_NETWORKS)
def test_a_pass_computes_what_torch_does(network: RepairNetworkName, view: RepairView) -> None:
    torch.manual_seed(1)
    actor = repair_layers(network, FEATURES[view], 100, 100)
    layers = RepairPolicy.of_actor(actor, network, view, 100, 40).layers()
    room = pass_room(layers)
    for seen in np.random.default_rng(1).random((3, FEATURES[view], 100), dtype=np.float32):
        with torch.inference_mode():
            expected = actor(torch.from_numpy(seen)[None])[0].numpy()
        np.testing.assert_allclose(pass_actor(layers, seen, room), expected, atol=3e-5)


def test_the_tangent() -> None:
    values = np.linspace(-12, 12, 10_001, dtype=np.float32)
    bent = values.copy()
    bend(bent)
    np.testing.assert_allclose(bent, np.tanh(values), atol=1e-5)
    assert np.abs(bent).max() < 1.000001


def test_choices_follow_the_softmax() -> None:
    logits = np.array([1.0, 3.0, 2.0, 9.0], dtype=np.float32)
    draws = (np.arange(30_000) + 0.5) / 30_000
    picked = np.bincount([choose_entry(logits, 3, False, draw) for draw in draws], minlength=4) / len(draws)
    expected = np.exp(logits[:3]) / np.exp(logits[:3]).sum()
    np.testing.assert_allclose(picked, [*expected, 0], atol=1e-4)
    assert choose_entry(logits, 3, True, 0.0) == 1 and choose_entry(logits, 4, True, 0.0) == 3
    assert choose_entry(logits, 3, False, np.nextafter(1, 0)) == 2
