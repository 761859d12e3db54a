"""Repairing in plain Python, from the paper's text and from simulator/topology/tree.py alone, and windows to try it on."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from models.allocation.neural.repair_networks import RepairNetworkName, repair_layers
from models.allocation.neural.repair_policy import RepairPolicy
from models.allocation.neural.repairing import FEATURES, RepairView
from simulator.topology.tree import SwitchTree, hop_cost
from tests.models.allocation.windows import integer_hop_cost

IntArray = NDArray[np.int64]


class SlowRepair:
    """One window. A job's nodes are a list; Q is a sorted list of node numbers."""

    def __init__(self, tree: SwitchTree, idle: IntArray, sizes: IntArray, view: str, integer: bool) -> None:
        self.tree, self.sizes, self.view, self.integer = tree, sizes.tolist(), view, integer
        self.queue = idle.tolist()
        self.nodes: list[list[int]] = [[] for _ in self.sizes]

    def remove(self, job: int) -> None:
        self.queue = sorted(self.queue + self.nodes[job])
        self.nodes[job] = []

    def place(self, job: int, first: int) -> None:
        around = self.queue[first:] + self.queue[:first]
        self.nodes[job] = around[: self.sizes[job]]
        self.queue = sorted(around[self.sizes[job] :])

    def cost(self, job: int) -> float:
        nodes = np.array(self.nodes[job])
        return integer_hop_cost(self.tree, nodes) if self.integer else hop_cost(self.tree, nodes)

    def look(self, to_place: list[int], seen_nodes: int) -> NDArray[np.float64]:
        """(features, seen_nodes) for the first of these jobs."""
        size, others = self.sizes[to_place[0]] / 40, [self.sizes[job] / 40 for job in to_place[1:]]
        columns: list[list[Any]] = []
        for node in self.queue[:seen_nodes]:
            leaf, pod = (self.tree.switch[level, node] / self.tree.switches(level) for level in (0, 1))
            if self.view == "paper":
                columns.append([leaf, pod, size, sum(others) / len(others) if others else 0])
            else:
                columns.append([leaf, pod, 1, size, sum(others)])
        columns += [[0] * (4 if self.view == "paper" else 5)] * (seen_nodes - len(columns))
        return np.array(columns).T


def small_policy(network: RepairNetworkName, view: RepairView, seen_nodes: int, seed: int = 1) -> RepairPolicy:
    """A network that nobody has trained."""
    torch.manual_seed(seed)
    return RepairPolicy.of_actor(
        repair_layers(network, FEATURES[view], seen_nodes, seen_nodes), network, view, seen_nodes, 40
    )


def random_windows(
    tree: SwitchTree, rng: np.random.Generator, count: int, largest: int
) -> list[tuple[IntArray, IntArray]]:
    """Windows with random idle nodes and jobs that fit."""
    windows = []
    while len(windows) < count:
        idle = np.flatnonzero(rng.random(tree.nodes) < rng.uniform(0.2, 0.9))
        sizes = np.sort(rng.integers(1, largest + 1, rng.integers(1, 6)))
        if 0 < sizes.sum() <= len(idle):
            windows.append((idle, sizes))
    return windows
