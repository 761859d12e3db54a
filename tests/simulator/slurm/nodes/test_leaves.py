"""Which nodes a job gets below switches."""

from __future__ import annotations

from dataclasses import replace

import pytest

from simulator.cluster.requests import Request
from simulator.slurm.nodes.selection import choose_nodes
from simulator.slurm.starting import begin_job
from tests.simulator.slurm_site import SITE, engine_of
from traces.cluster.nodes import Switch

SWITCHED = replace(
    SITE, switches=(Switch("top", switches=("one", "two")), Switch("one", ("a", "b", "c")), Switch("two", ("d",)))
)
SWITCHED_CASES = {
    "the switch with the fewest nodes that suffices": (Request(1, limit_s=60, tasks=2), [3], [2]),
    "more nodes than the small switch has": (Request(1, limit_s=60, min_nodes=2, max_nodes=2, tasks=2), [1, 2], [1, 1]),
    "all: first the leaf with most nodes": (
        Request(1, limit_s=60, min_nodes=3, max_nodes=3, tasks=7),
        [1, 2, 3],
        [4, 2, 1],
    ),
    "too many": (Request(1, limit_s=60, min_nodes=4, max_nodes=4), [], []),
}


@pytest.mark.parametrize("case", SWITCHED_CASES)
def test_nodes_of_a_job_below_switches(case: str) -> None:
    request, nodes, cpus = SWITCHED_CASES[case]
    engine = engine_of([request, Request(0, limit_s=60, min_nodes=1, max_nodes=1, exclusive=True)], SWITCHED)
    engine.scratch.allowed[:] = [True, False, False, False]  # node a is full
    begin_job(engine, 1, 0, choose_nodes(engine, engine.free, 1, 0), 0)
    engine.scratch.allowed[:] = True
    chosen = choose_nodes(engine, engine.free, 0, 0)
    assert engine.scratch.chosen[:chosen].tolist() == nodes
    assert engine.scratch.cpus[:chosen].tolist() == cpus
