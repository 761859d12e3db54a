"""Allocations without a search: one job after another, at the first idle nodes, by best fit, or at the cheapest place of the ring."""

from __future__ import annotations

import time

import numpy as np

from models.allocation.window import Allocation, Window
from simulator.topology.choosing import choose_tree
from simulator.topology.hops import ring_hops
from simulator.topology.units import all_idle, change_idle, node_units


def sequential_allocation(window: Window) -> Allocation:
    """Each job, in the given order, takes the next idle nodes: the paper's initial solution, "Seq." of its tables."""
    started = time.perf_counter()
    ends = np.cumsum(window.sizes)
    nodes = [window.idle[end - size : end] for end, size in zip(ends.tolist(), window.sizes.tolist(), strict=True)]
    return window.allocation(nodes, time.perf_counter() - started)


def greedy_allocation(window: Window) -> Allocation:
    """The largest job first, each at the cheapest entry of the ring of nodes that are idle by then (DCAS)."""
    started = time.perf_counter()
    tree, idle = window.tree, window.idle
    nodes: list[np.ndarray] = [idle[:0]] * len(window.sizes)
    for job in np.argsort(-window.sizes, kind="stable").tolist():
        size = int(window.sizes[job])
        first = int(ring_hops(tree.switch, tree.hops, idle, size).argmin())
        entries = (first + np.arange(size)) % len(idle)
        nodes[job] = idle[entries]
        idle = np.delete(idle, entries)
    return window.allocation(nodes, time.perf_counter() - started)


def best_fit_allocation(window: Window) -> Allocation:
    """Each job, in the given order, gets what the rule `tree` of docs/reference/semantics.md gives it."""
    started = time.perf_counter()
    units = node_units(window.tree)
    state = all_idle(units)
    busy = np.delete(np.arange(window.tree.nodes, dtype=np.int64), window.idle)
    change_idle(units, state, busy, 0, len(busy), -1)
    nodes = []
    for size in window.sizes.tolist():
        choose_tree(units, state, size)
        nodes.append(state.chosen[:size].copy())
        change_idle(units, state, nodes[-1], 0, size, -1)
    return window.allocation(nodes, time.perf_counter() - started)
