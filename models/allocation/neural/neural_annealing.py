"""Neural Simulated Annealing (Lan et al., 2023, Algorithm 1): annealing whose repair operator is a network, compiled.

The search is that of models/allocation/annealing.py, with the same rules. Only the first node of a job is chosen by the network.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from models.allocation.annealing import AnnealingRules, placed_before
from models.allocation.compiled import compiled, lean, reordering
from models.allocation.neural.repair_policy import RepairPolicy
from models.allocation.neural.repairing import (
    RepairBatch,
    RepairProblem,
    idle_queue,
    look_at_queue,
    place_job,
    repair_problem,
)
from models.allocation.window import Allocation, Window


class NeuralAnnealer:
    """A repair operator that is prepared for many windows. One object serves one thread."""

    def __init__(self, policy: RepairPolicy, rules: AnnealingRules, likeliest: bool = False) -> None:
        """rules: `entries` has no meaning here, because the network chooses among the nodes that it sees.

        likeliest: take the first node that the network finds best, instead of drawing one.
        """
        self._policy, self._rules, self._likeliest = policy, rules, likeliest
        self._layers = policy.layers()
        self._problem: tuple[object, bool, RepairProblem] | None = None

    def allocate(self, window: Window, seed: int | list[int]) -> Allocation:
        """The best allocation of the search, which begins at the sequential one and never ends above it.

        The same window and seed give the same allocation. Raises ValueError for a tree of one level.
        """
        started = time.perf_counter()
        if not len(window.sizes):
            return window.allocation([], time.perf_counter() - started)
        policy, rules = self._policy, self._rules
        batch = RepairBatch(self._problem_of(window), [(window.idle, window.sizes)], policy.seen_nodes)
        batch.place_in_sequence()
        walk = walk_of(rules, self._likeliest)
        draws = np.random.default_rng(seed).random((rules.steps, 2 + 2 * rules.removed))
        seen = np.zeros((batch.features, policy.seen_nodes), dtype=np.float32)
        arrays = batch.arrays
        here, assignment = (arrays.idle[0], arrays.sizes[0]), (arrays.owner[0], arrays.cost[0])
        _walk(batch.problem, self._layers, here, assignment, walk, seen, draws)
        return window.allocation(batch.nodes_of(0), time.perf_counter() - started)

    def _problem_of(self, window: Window) -> RepairProblem:
        kept = self._problem
        if kept is None or kept[0] is not window.tree or kept[1] != window.integer:
            problem = repair_problem(window.tree, self._policy.view, window.integer, self._policy.largest)
            kept = self._problem = (window.tree, window.integer, problem)
        return kept[2]


class RepairWalk(NamedTuple):
    """AnnealingRules for compiled code. cooling: the last temperature over the first one."""

    hottest: float
    cooling: float
    removed: int
    undo: bool
    largest_first: bool
    likeliest: bool


def walk_of(rules: AnnealingRules, likeliest: bool = False) -> RepairWalk:
    """The rules for compiled code. likeliest: as NeuralAnnealer has it."""
    cooling = rules.last_temperature / rules.first_temperature
    return RepairWalk(rules.first_temperature, cooling, rules.removed, rules.undo, rules.largest_first, likeliest)


@compiled
def _walk(problem, layers, window, assignment, walk, seen, draws):
    """Fills the assignment (owner, cost), which comes as the first one, with the best one.

    window: idle nodes and sizes. seen: room for what the network sees. draws: below 1, `(steps, 2 + 2 * jobs to remove at most)`.
    """
    idle, sizes = window
    best_owner, best_costs = assignment
    owner, costs = best_owner.copy(), best_costs.copy()
    trial, trial_costs = owner.copy(), costs.copy()
    order = np.arange(len(sizes))
    queue = np.empty(len(idle), dtype=np.int64)
    counts = np.zeros((problem.switch.shape[0], problem.switch.shape[1]), dtype=np.int64)
    passing = pass_room(layers)
    current = best = costs.sum()
    steps = len(draws)
    for step in range(steps):
        removed = draw_removed(order, sizes, walk, draws[step])
        trial_costs[:] = costs
        for k in range(len(idle)):
            trial[k] = owner[k]
            for at in range(removed):
                if owner[k] == order[at]:
                    trial[k] = -1
        others = 0
        for at in range(removed):
            others += sizes[order[at]]
        for at in range(removed):
            job = order[at]
            others -= sizes[job]
            free = idle_queue(trial, len(idle), queue)
            seen[:] = 0.0
            look_at_queue(problem, idle, queue[:free], sizes[job], others, removed - at - 1, seen)
            logits = pass_actor(layers, seen, passing)
            choices = min(free, seen.shape[1])
            first = choose_entry(logits, choices, walk.likeliest, draws[step, 1 + walk.removed + at])
            trial_costs[job] = place_job(problem, counts, idle, trial, queue[:free], first, job, sizes[job])
        cost = trial_costs.sum()
        heat = walk.hottest * walk.cooling ** (step / steps)
        if not walk.undo or cost <= current or draws[step, -1] < np.exp((current - cost) / heat):
            current = cost
            owner[:] = trial
            costs[:] = trial_costs
            if cost < best - 1e-9:
                best = cost
                best_owner[:] = trial
                best_costs[:] = trial_costs


@lean
def draw_removed(order, sizes, walk, draws):
    """Draws the jobs to remove to the front of `order`, in the order in which they are placed again. Returns how many."""
    removed = min(1 + int(draws[0] * walk.removed), len(order))
    for k in range(removed):
        other = k + int(draws[1 + k] * (len(order) - k))
        order[k], order[other] = order[other], order[k]
    for k in range(1, removed):
        at = k
        while at > 0 and placed_before(order[at], order[at - 1], sizes, walk.largest_first):
            order[at], order[at - 1] = order[at - 1], order[at]
            at -= 1
    return removed


@compiled
def pass_room(layers):
    """Room for `pass_actor`, float32: numbers before a layer, after it, and the columns of a convolution."""
    most, columns = 1, 1
    for layer in range(len(layers.shape)):
        channels, length, outputs, out_length, kernel = layers.shape[layer, :5]
        most = max(most, channels * length, outputs * out_length)
        columns = max(columns, channels * kernel * out_length)
    return np.empty(most, dtype=np.float32), np.empty(most, dtype=np.float32), np.empty(columns, dtype=np.float32)


@compiled
def pass_actor(layers, seen, room):
    """Logits of one state, float32 (seen_nodes,), a view into `room` that the next pass overwrites. seen: (features, seen_nodes)."""
    below, above, columns = room
    below[: seen.size] = seen.ravel()
    size = seen.size
    for layer in range(len(layers.shape)):
        channels, length, outputs, out_length, kernel, stride, first, bends = layers.shape[layer]
        inputs = channels * kernel
        biases = first + outputs * inputs
        matrix = layers.weights[first:biases].reshape(outputs, inputs)
        size = outputs * out_length
        if out_length == 1:
            np.dot(matrix, below[:inputs], above[:outputs])
            above[:outputs] += layers.weights[biases : biases + outputs]
        else:
            for channel in range(channels):
                for k in range(kernel):
                    row = (channel * kernel + k) * out_length
                    source = channel * length + k
                    for at in range(out_length):
                        columns[row + at] = below[source + stride * at]
            product = above[:size].reshape(outputs, out_length)
            np.dot(matrix, columns[: inputs * out_length].reshape(inputs, out_length), product)
            for output in range(outputs):
                product[output] += layers.weights[biases + output]
        if bends:
            bend(above[:size])
        below, above = above, below
    return below[:size]


@reordering
def bend(values):
    """Hyperbolic tangent in place, float32, as a quotient of polynomials that the processor computes many at a time.

    It is Lambert's continued fraction, cut after its ninth term and where it would exceed 1. The error is below 1e-5.
    """
    for k in range(len(values)):
        x = min(max(values[k], np.float32(-6.29)), np.float32(6.29))
        y = x * x
        above = np.float32(34459425.0) + y * (
            np.float32(4729725.0) + y * (np.float32(135135.0) + y * (np.float32(990.0) + y))
        )
        below = np.float32(34459425.0) + y * (
            np.float32(16216200.0) + y * (np.float32(945945.0) + y * (np.float32(13860.0) + y * np.float32(45.0)))
        )
        values[k] = x * above / below


@compiled
def choose_entry(logits, choices, likeliest, draw):
    """One of the first `choices` entries: the largest, or drawn by the softmax. draw: below 1."""
    top = 0
    for k in range(1, choices):
        if logits[k] > logits[top]:
            top = k
    if likeliest:
        return top
    chances = np.empty(choices)
    total = 0.0
    for k in range(choices):
        total += np.exp(logits[k] - logits[top])
        chances[k] = total
    for k in range(choices):
        if draw * total < chances[k]:
            return k
    return choices - 1
