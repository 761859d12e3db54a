"""The plan of a backfill cycle."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from simulator.cluster.requests import Request
from simulator.slurm.nodes.plans import begin_plans, is_free, narrow, take_nodes
from tests.simulator.slurm_site import engine_of

NODES, STEP, WINDOW = 4, 60, 3600


def test_plans_take_nodes_and_those_that_touch_join() -> None:
    engine = engine_of([Request(0, limit_s=60)] * 9)
    plans = engine.plans
    begin_plans(plans, 130, engine.site.settings)
    assert plans.window.tolist() == [120, 3720]
    take_nodes(plans, np.array([0, 1]), 2, 240, 360)
    take_nodes(plans, np.array([0, 1]), 2, 360, 480)
    assert plans.edge[: plans.num_edges[0]].tolist() == [240, 480] and plans.length.tolist() == [1, 1, 0, 0]
    assert is_free(plans, np.array([0]), 1, 120, 240) and not is_free(plans, np.array([0]), 1, 180, 241)
    base, allowed = np.ones(4, dtype=np.bool_), np.zeros(4, dtype=np.bool_)
    assert narrow(plans, base, allowed, 130, 300) == (480, 2)
    assert allowed.tolist() == [False, False, True, True]
    # the first slice behind the job is looked at for a later start, and does not narrow
    assert narrow(plans, base, allowed, 130, 200) == (480, 4) and allowed.all()


def test_plans_are_the_slices_of_slurm() -> None:
    """Against slices of one minute, which are joined where neighbours have the same free nodes."""
    random = np.random.default_rng(7)
    base, allowed = np.ones(NODES, dtype=np.bool_), np.zeros(NODES, dtype=np.bool_)
    for _ in range(200):
        engine = engine_of([Request(0, limit_s=60)] * 60)
        begin_plans(engine.plans, 0, engine.site.settings)
        free = np.ones((WINDOW // STEP, NODES), dtype=np.bool_)
        for _ in range(int(random.integers(1, 40))):
            begin, length = int(random.integers(WINDOW // STEP)), int(random.integers(1, 20))
            chosen = random.permutation(NODES)[: random.integers(1, NODES + 1)]
            asks = STEP * begin, STEP * (begin + length)
            empty = free[begin : begin + length][:, chosen].all()
            assert is_free(engine.plans, chosen, len(chosen), *asks) == empty
            if empty or random.random() < 0.1:
                take_nodes(engine.plans, chosen, len(chosen), *asks)
                free[begin : begin + length, chosen] = False
            base[:] = random.random(NODES) < 0.8
            start = int(random.integers(WINDOW))
            end = start + int(random.integers(1, WINDOW))
            later, count = narrow(engine.plans, base, allowed, start, end)
            assert (later, allowed.tolist()) == _narrowed(free, base, start, end) and count == allowed.sum()


def _narrowed(free: np.ndarray, base: np.ndarray, start: int, end: int) -> tuple[int, list[bool]]:
    """As the rules say it: down the slices that are not over at the start, until one begins behind the end."""
    edges = [0, *(k for k in range(1, len(free)) if (free[k] != free[k - 1]).any()), len(free)]
    slices = [(STEP * low, STEP * high, free[low]) for low, high in pairwise(edges)]
    allowed, later = base.copy(), 0
    for k, (begin, over, nodes) in enumerate(slices):
        if over <= start:
            continue
        if begin <= end:
            allowed &= nodes
        if later == 0 and k + 1 < len(slices) and (base & slices[k + 1][2] & ~nodes).any():
            later = over
        if begin > end:
            break
    return later, allowed.tolist()
