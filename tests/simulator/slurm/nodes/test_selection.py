"""Which nodes a job gets."""

from __future__ import annotations

import pytest

from simulator.cluster.requests import Request
from simulator.slurm.nodes.selection import choose_nodes
from simulator.slurm.starting import begin_job
from tests.simulator.slurm_site import engine_of

CASES = {
    "the node with the fewest CPUs that suffices": (
        Request(1, limit_s=60, min_nodes=1, max_nodes=1, tasks=1),
        [1],
        [1],
    ),
    "a run of neighbours, one CPU kept for each further node": (
        Request(1, limit_s=60, min_nodes=2, max_nodes=2, tasks=2),
        [1, 2],
        [1, 1],
    ),
    "CPUs without a count of nodes": (Request(1, limit_s=60, tasks=9), [1, 2, 3], [1, 4, 4]),
    "small nodes are left out where there would be too many": (
        Request(1, limit_s=60, min_nodes=2, max_nodes=2, tasks=8),
        [2, 3],
        [4, 4],
    ),
    "whole nodes": (Request(1, limit_s=60, min_nodes=2, max_nodes=2, exclusive=True), [2, 3], [4, 4]),
    "memory by CPU": (Request(1, limit_s=60, tasks=3, memory_mib=500, memory_per="cpu"), [1, 2], [1, 2]),
    "GPUs": (Request(1, limit_s=60, min_nodes=1, max_nodes=1, tasks=2, gpus={"": 2}), [2], [2]),
    "tasks per node without a count of nodes": (Request(1, limit_s=60, tasks=4, tasks_per_node=2), [2, 3], [2, 2]),
    "more than there is": (Request(1, limit_s=60, tasks=17), [], []),
}


@pytest.mark.parametrize("case", CASES)
def test_nodes_of_a_job(case: str) -> None:
    request, nodes, cpus = CASES[case]
    engine = engine_of([request, Request(0, limit_s=60, tasks=4), Request(0, limit_s=60, tasks=3)])
    engine.scratch.allowed[:] = True
    for other in (1, 2):  # node a is full, node b has one CPU
        begin_job(engine, other, 0, choose_nodes(engine, engine.free, other, 0), 0)
    chosen = choose_nodes(engine, engine.free, 0, 0)
    assert engine.scratch.chosen[:chosen].tolist() == nodes
    if case != "small nodes are left out where there would be too many":
        assert engine.scratch.cpus[:chosen].tolist() == cpus
