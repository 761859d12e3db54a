"""Tests of models/allocation/neural: exact_repair, repair_networks, repair_policy, repairing."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from models.allocation.annealing import PAPERS_ANNEALING, PUBLISHED_ANNEALING
from models.allocation.neural.exact_repair import repair_values, repaired_costs
from models.allocation.neural.repair_networks import (
    PRINTED_WEIGHTS,
    REPAIR_NETWORKS,
    RepairActorCritic,
    RepairNetworkName,
    counted_weights,
    layer_arrays,
    repair_layers,
)
from models.allocation.neural.repair_policy import RepairPolicy, load_repair_policy, repair_from_bytes, repair_to_bytes
from models.allocation.neural.repairing import RepairBatch, RepairView, repair_problem
from simulator.topology.tree import fat_tree, hop_cost, regular_tree
from tests.models.allocation.neural.slow_repairing import SlowRepair, random_windows, small_policy
from tests.models.allocation.windows import integer_hop_cost

# exact_repair: The best repair against trying every one through `RepairBatch`, and a search with it.

TREE = regular_tree((5, 3, 4), (1, 3, 5))
SEEN = 8


def batch_of(view: RepairView = "paper", integer: bool = False) -> RepairBatch:
    """Sequential assignments of six windows."""
    windows = random_windows(TREE, np.random.default_rng(2), 6, 4)
    batch = RepairBatch(repair_problem(TREE, view, integer), windows, SEEN)
    batch.place_in_sequence()
    return batch


@pytest.mark.parametrize("integer", [True, False])
def test_values_are_those_of_all_repairs(integer: bool) -> None:
    batch = batch_of(integer=integer)
    batch.destroy(np.random.default_rng(1), 2)
    values = repair_values(batch)
    removed = batch.arrays.ends
    assert set(removed.tolist()) == {1, 2}
    for row in range(len(removed)):
        costs: dict[int, list[float]] = {}
        for entries in itertools.product(range(SEEN), repeat=int(removed[row])):
            one = batch.rows(np.array([row]))
            reward = 0.0
            for entry in entries:
                if entry >= one.look()[1][0]:
                    break
                reward = -one.place(np.array([entry]))[0]
            else:
                costs.setdefault(entries[0], []).append(reward)
        for first, of_first in costs.items():
            assert values.best[row, first] == pytest.approx(min(of_first))
            assert values.mean[row, first] == pytest.approx(np.mean(of_first))
        assert np.isinf(values.best[row, len(costs) :]).all()
        assert values.least[row] == pytest.approx(min(min(each) for each in costs.values()))
        assert values.random[row] == pytest.approx(np.mean([np.mean(each) for each in costs.values()]))


@pytest.mark.parametrize("rules", [PAPERS_ANNEALING, PUBLISHED_ANNEALING])
def test_searches_end_at_most_where_they_began_and_the_best_repairs_need_few_moves(rules) -> None:
    begun = batch_of().costs()
    drawn = repaired_costs(batch_of(), replace(rules, steps=200), 1, best=False)
    best = repaired_costs(batch_of(), replace(rules, steps=20), 1, best=True)
    assert (drawn <= begun + 1e-9).all() and (best <= begun + 1e-9).all()
    assert best.mean() <= drawn.mean() < begun.mean()
    moved = batch_of()
    again = repaired_costs(moved, replace(rules, steps=200), 1, best=False, begin=True)
    assert (again == drawn).all() and moved.done and (moved.costs() >= drawn - 1e-9).all()
    for row in range(len(moved.jobs)):
        assert [len(nodes) for nodes in moved.nodes_of(row)] == moved.arrays.sizes[row, : moved.jobs[row]].tolist()


def test_only_one_or_two_jobs_are_repaired() -> None:
    batch = batch_of()
    with pytest.raises(ValueError, match="one or two jobs, not of \\[0\\]"):
        repair_values(batch)
    batch.begin_empty()
    with pytest.raises(ValueError, match="begins at an assignment of all jobs"):
        repaired_costs(batch, PAPERS_ANNEALING, 1, best=True)


# repair_networks: The networks of Table II: weights, shapes, masks, and that compiled arrays compute the same.

COUNTED = {
    "FCN-1": (36_324, 42_724),
    "FCN-2": (40_484, 46_884),
    "FCN-3": (51_204, 60_804),
    "CNN-1": (71_260, None),
    "CNN-2": (71_504, None),
    "CNN-3": (117_372, None),
}


@pytest.mark.parametrize("name", REPAIR_NETWORKS)
def test_weights_are_those_of_the_printed_layers(name: RepairNetworkName) -> None:
    with_four, with_five = COUNTED[name]
    assert counted_weights(name, 4) == with_four
    if with_five is None:  # the printed number fits neither
        assert PRINTED_WEIGHTS[name] not in (counted_weights(name, 4), counted_weights(name, 5))
    else:
        assert counted_weights(name, 5) == with_five == PRINTED_WEIGHTS[name]


@pytest.mark.parametrize("name", REPAIR_NETWORKS)
@pytest.mark.parametrize("features", [4, 5])
def test_an_actor_chooses_among_legal_nodes_only(name: RepairNetworkName, features: int) -> None:
    torch.manual_seed(1)
    network = RepairActorCritic(name, features)
    legal = torch.arange(100) < torch.tensor([[100], [1], [30]])
    seen = torch.rand(3, features, 100)
    log_probs, values = network(seen, legal), network.values(seen)
    assert log_probs.shape == (3, 100) and values.shape == (3,)
    assert torch.isfinite(values).all()
    probs = log_probs.exp()
    assert torch.allclose(probs.sum(1), torch.ones(3)) and (probs[~legal] == 0).all() and (probs[legal] > 0).all()
    assert sum(isinstance(layer, nn.Tanh) for layer in network.actor) == {"FCN-1": 2, "FCN-2": 3, "FCN-3": 2}.get(
        name, 1
    )
    critic_weights = sum(weights.numel() for weights in network.critic.parameters())
    last = 256 if name.startswith("CNN") else 64
    assert counted_weights(name, features) - critic_weights == 99 * (last + 1)


@pytest.mark.parametrize("name", REPAIR_NETWORKS)
def test_arrays_compute_what_the_layers_do(name: RepairNetworkName) -> None:
    torch.manual_seed(2)
    actor = repair_layers(name, 4, 60, 60)
    arrays = layer_arrays(actor, 4, 60)
    seen = np.random.default_rng(1).random((4, 60), dtype=np.float32)
    values = seen.astype(np.float64)
    for channels, length, outputs, out_length, kernel, stride, first, bends in arrays.shape.tolist():
        assert values.size == channels * length
        values = values.reshape(channels, length)
        matrix = arrays.weights[first : first + outputs * channels * kernel].reshape(outputs, -1)
        bias = arrays.weights[first + matrix.size : first + matrix.size + outputs]
        columns = [values[:, stride * k : stride * k + kernel].ravel() for k in range(out_length)]
        values = matrix @ np.array(columns).T + bias[:, None]
        values = np.tanh(values) if bends else values
    with torch.inference_mode():
        expected = actor(torch.from_numpy(seen)[None])[0].numpy()
    np.testing.assert_allclose(values.ravel(), expected, atol=1e-6)
    if name.startswith("CNN"):
        assert len(arrays.shape) == 3  # two dense layers became one


def test_too_few_nodes_for_the_convolutions_are_refused() -> None:
    assert repair_layers("CNN-1", 4, 14, 14)(torch.zeros(1, 4, 14)).shape == (1, 14)
    with pytest.raises(ValueError, match="at least 14 seen nodes"):
        repair_layers("CNN-1", 4, 13, 13)


# repair_policy: Files of repair networks: what is written is read, and what does not fit is refused with the way
# out.


@pytest.mark.parametrize("network", REPAIR_NETWORKS)
def test_what_is_written_is_read(network: RepairNetworkName) -> None:
    policy = small_policy(network, "paper", 100)
    content = repair_to_bytes(policy, {"seed": 1})
    read, card = repair_from_bytes(content)
    assert card == {"seed": 1} and repair_to_bytes(read, card) == content
    assert replace(read, weights=()) == replace(policy, weights=())
    assert all(np.array_equal(one, other) for one, other in zip(read.weights, policy.weights, strict=True))


def test_the_layers_are_those_of_the_network() -> None:
    torch.manual_seed(1)
    actor = repair_layers("CNN-2", 5, 30, 30)
    policy = RepairPolicy.of_actor(actor, "CNN-2", "code", 30, 40)
    for array, expected in zip(policy.layers(), layer_arrays(actor, 5, 30), strict=True):
        assert np.array_equal(array, expected)
    with torch.no_grad():
        next(actor.parameters()).zero_()
    assert policy.weights[0].any()  # a copy


@pytest.mark.parametrize(
    "changes", [{"view": "code"}, {"seen_nodes": 90}, {"network": "FCN-2"}, {"network": "CNN-1"}, {"weights": ()}]
)
def test_another_view_or_network_is_refused(changes: dict) -> None:
    wrong = replace(small_policy("FCN-1", "paper", 100), **changes)
    with pytest.raises(ValueError, match="name the network, the view and the seen nodes that were trained"):
        wrong.layers()
    with pytest.raises(ValueError, match="name the network"):
        repair_from_bytes(repair_to_bytes(wrong, {}))


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    content = repair_to_bytes(small_policy("FCN-1", "paper", 20), {})
    document = json.loads(content)
    for broken, message in (
        (content[:-100], "cut short"),
        (b"[]", "not a repair network"),
        (b"\xff\xfe", "cut short"),
        (json.dumps(document | {"format": "tracehouse repair network 9"}).encode(), "another tracehouse"),
        (json.dumps(document | {"largest": 41}).encode(), "damaged .its hash differs"),
        (json.dumps({name: document[name] for name in document if name != "card"}).encode(), "damaged .'card'"),
    ):
        with pytest.raises(ValueError, match=message):
            repair_from_bytes(broken)
    infinite = small_policy("FCN-1", "paper", 20)
    infinite.weights[0][0, 0] = np.inf
    with pytest.raises(ValueError, match="weights that are no numbers"):
        repair_from_bytes(repair_to_bytes(infinite, {}))
    path = tmp_path / "repair.json"
    with pytest.raises(ValueError, match=r"repair\.json: no such file; train"):
        load_repair_policy(path)
    path.write_bytes(content[:50])
    with pytest.raises(ValueError, match=r"repair\.json: not a repair network"):
        load_repair_policy(path)
    with pytest.raises(ValueError, match="cannot be read"):
        load_repair_policy(tmp_path)
    path.write_bytes(content)
    assert load_repair_policy(path)[0].network == "FCN-1"


# repairing: Repairing by hand on the example of Figure 2, and against plain Python on random windows.

FIGURE_2 = (np.arange(10), np.array([4, 4]))
"""Nodes 1 to 10 of the 4-ary fat tree are idle, which are 0 to 9 here; two jobs of four nodes."""


def test_job_2_of_figure_2_has_six_starts() -> None:
    tree = fat_tree(4)
    starts = []
    for first in range(6):
        batch = RepairBatch(repair_problem(tree, "paper"), [FIGURE_2], 10)
        assert batch.place(np.array([4])) == 0.0
        seen, choices = batch.look()
        assert choices.tolist() == [6] and (seen[0, :, 6:] == 0).all()
        reward = batch.place(np.array([first]))
        job_1, job_2 = batch.nodes_of(0)
        assert batch.done and job_1.tolist() == [4, 5, 6, 7]
        assert reward[0] == -(hop_cost(tree, job_1) + hop_cost(tree, job_2)) == -batch.costs()[0]
        starts.append((job_2 + 1).tolist())  # as the paper counts
    static = [[1, 2, 3, 4], [1, 2, 9, 10], [1, 2, 3, 10]]
    dynamic = [[2, 3, 4, 9], [3, 4, 9, 10], [1, 4, 9, 10]]
    assert sorted(starts) == sorted(static + dynamic)


def test_states_of_figure_2() -> None:
    leaf, pod = [0, 0, 1, 1, 4, 4], [0, 0, 0, 0, 2, 2]  # of nodes 0 to 3, 8 and 9
    paper = RepairBatch(repair_problem(fat_tree(4), "paper"), [FIGURE_2], 8)
    first_seen, choices = paper.look()
    assert choices.tolist() == [8] and first_seen.shape == (1, 4, 8)
    assert first_seen[0, 0] == pytest.approx(np.array([0, 0, 1, 1, 2, 2, 3, 3]) / 8)
    assert first_seen[0, 2:] == pytest.approx(np.full((2, 8), 0.1))  # 4 / 40, and one other job of 4 nodes
    paper.place(np.array([4]))
    seen, _ = paper.look()
    assert seen[0, 0] == pytest.approx(np.array([*leaf, 0, 0]) / 8)
    assert seen[0, 1] == pytest.approx(np.array([*pod, 0, 0]) / 4)
    assert seen[0, 2] == pytest.approx([0.1] * 6 + [0] * 2) and (seen[0, 3] == 0).all()  # no other job is left
    code = RepairBatch(repair_problem(fat_tree(4), "code", True), [(FIGURE_2[0], np.array([2, 3, 4]))], seen_nodes=12)
    seen, choices = code.look()
    assert choices.tolist() == [10] and seen.shape == (1, 5, 12)
    assert seen[0, 2].tolist() == [1] * 10 + [0] * 2
    assert seen[0, 3, 0] == pytest.approx(2 / 40) and seen[0, 4, 0] == pytest.approx(7 / 40)  # a sum, not a mean


@pytest.mark.parametrize(("view", "integer"), [("paper", False), ("code", True), ("code", False)])
def test_random_windows_agree_with_plain_python(view: RepairView, integer: bool) -> None:
    tree, rng = regular_tree((5, 3, 4), (1, 3, 5)), np.random.default_rng(1)
    windows = random_windows(tree, rng, 40, 9)
    batch = RepairBatch(repair_problem(tree, view, integer), windows, 20)
    slow = [SlowRepair(tree, idle, sizes, view, integer) for idle, sizes in windows]
    to_place = [list(range(len(sizes))) for _, sizes in windows]
    for _ in range(6):
        started = [list(jobs) for jobs in to_place]
        while not batch.done:
            seen, choices = batch.look()
            first = (rng.random(len(windows)) * choices).astype(np.int64)
            rewards = batch.place(first)
            for w, one in enumerate(slow):
                if not to_place[w]:
                    assert choices[w] == 0 and rewards[w] == 0 and (seen[w] == 0).all()
                    continue
                assert choices[w] == min(20, len(one.queue))
                np.testing.assert_allclose(seen[w], one.look(to_place[w], 20), atol=1e-6)
                one.place(to_place[w].pop(0), int(first[w]))
                expected = 0.0 if to_place[w] else -sum(one.cost(job) for job in started[w])
                assert rewards[w] == pytest.approx(expected)
        for w, one in enumerate(slow):
            assert [nodes.tolist() for nodes in batch.nodes_of(w)] == [sorted(nodes) for nodes in one.nodes]
            assert batch.costs()[w] == pytest.approx(sum(one.cost(job) for job in range(len(one.sizes))))
        descending = bool(rng.integers(2))
        batch.destroy(rng, 2, descending)
        for w, one in enumerate(slow):
            to_place[w] = batch.arrays.to_place[w, : batch.arrays.ends[w]].tolist()
            assert 1 <= len(to_place[w]) <= min(2, len(one.sizes))
            assert to_place[w] == sorted(to_place[w], key=lambda job: (-one.sizes[job] if descending else 0, job))
            for job in to_place[w]:
                one.remove(job)


def test_costs_are_those_of_the_topology() -> None:
    tree, rng = regular_tree((5, 3, 4)), np.random.default_rng(2)
    windows = random_windows(tree, rng, 20, 12)
    for integer, cost in ((False, hop_cost), (True, integer_hop_cost)):
        batch = RepairBatch(repair_problem(tree, "paper", integer), windows)
        batch.place_in_sequence()
        for w in range(len(windows)):
            assert batch.costs()[w] == pytest.approx(sum(cost(tree, nodes) for nodes in batch.nodes_of(w)))
            taken = np.concatenate(batch.nodes_of(w))  # the head of Q, in the order of the jobs
            assert taken.tolist() == windows[w][0][: len(taken)].tolist()


def test_all_jobs_may_be_destroyed_and_none_twice() -> None:
    tree, rng = regular_tree((5, 3, 4)), np.random.default_rng(3)
    batch = RepairBatch(repair_problem(tree, "paper"), random_windows(tree, rng, 30, 5))
    batch.place_in_sequence()
    copied = batch.rows(np.array([3, 3, 0]))
    numbers = set()
    for _ in range(20):
        batch.destroy(rng, 3)
        numbers |= set(batch.arrays.ends.tolist())
        with pytest.raises(ValueError, match="only an assignment of all jobs"):
            batch.destroy(rng, 3)
        batch.place_in_sequence()
    assert numbers == {1, 2, 3}
    assert copied.done and copied.costs()[0] == copied.costs()[1]  # it keeps its state
    copied.begin_empty()
    assert copied.costs().sum() == 0 < batch.costs().sum()


def test_what_cannot_be_is_refused() -> None:
    problem = repair_problem(fat_tree(4), "paper")
    with pytest.raises(ValueError, match="do not fit on 3 idle"):
        RepairBatch(problem, [(np.arange(3), np.array([4]))])
    batch = RepairBatch(problem, [FIGURE_2, FIGURE_2])
    for wrong in (10, -1):
        with pytest.raises(ValueError, match="window 1: Q has no entry"):
            batch.place(np.array([0, wrong]))
    assert batch.arrays.placed.tolist() == [0, 0]
    with pytest.raises(ValueError, match="at least two levels"):
        repair_problem(regular_tree((8,)), "paper")
