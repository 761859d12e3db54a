"""What jobs hold and give back."""

from __future__ import annotations

from simulator.cluster.requests import Request
from simulator.slurm.nodes.selection import choose_nodes
from simulator.slurm.starting import begin_job, end_job
from tests.simulator.slurm_site import engine_of


def test_a_job_holds_its_nodes_until_it_ends_and_running_jobs_are_by_end() -> None:
    engine = engine_of(
        [
            Request(0, limit_s=120, min_nodes=1, max_nodes=1, tasks=2, memory_mib=300, gpus={"": 1}),
            Request(0, limit_s=60, min_nodes=1, max_nodes=1, exclusive=True),
            Request(0, limit_s=120, tasks=1),
        ]
    )
    engine.scratch.allowed[:] = True
    for job in (2, 1, 0):
        begin_job(engine, job, 0, choose_nodes(engine, engine.free, job, 0), 10)
    running = engine.running
    assert running.job[: running.length[0]].tolist() == [1, 0, 2]
    assert engine.free.cpus.tolist() == [3, 0, 2, 4] and engine.free.gpus.tolist() == [[0], [0], [1], [2]]
    assert engine.free.whole.tolist() == [0, 1, 0, 0] and engine.free.memory.tolist() == [1000, 1000, 700, 1000]
    end_job(engine, 0, 33)
    assert engine.free.cpus.tolist() == [3, 0, 4, 4] and engine.scratch.completing.tolist() == [0, 0, 33, 0]
    assert running.job[: running.length[0]].tolist() == [1, 2]
