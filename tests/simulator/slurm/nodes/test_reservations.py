"""Advance reservations."""

from __future__ import annotations

import pytest

from simulator.cluster.requests import Request
from simulator.slurm.nodes.reservations import narrow_to_reservations
from tests.simulator.slurm_site import engine_of, with_reservation

CASES = {
    "all nodes: the job waits for the end": ((), "", 300, 400, (1200, 0), [1, 1, 1, 1]),
    "all nodes: a short job goes before": ((), "", 300, 60, (300, 0), [1, 1, 1, 1]),
    "some nodes are taken away": (("a", "b"), "", 300, 400, (300, 1200), [0, 0, 1, 1]),
    "its own nodes, from its begin on": (("a", "b"), "r", 300, 60, (600, 0), [1, 1, 0, 0]),
    "its own, which is over": (("a", "b"), "r", 1200, 60, (-1, 0), [1, 1, 0, 0]),
}


@pytest.mark.parametrize("case", CASES)
def test_start_and_nodes(case: str) -> None:
    nodes, own, start, limit, answer, base = CASES[case]
    engine = engine_of([Request(0, limit_s=limit, reservation=own)], with_reservation(*nodes))
    engine.scratch.base[:] = True
    assert narrow_to_reservations(engine, 0, limit, start, 0) == answer
    assert engine.scratch.base.astype(int).tolist() == base
