"""What is kept of the shapes of jobs."""

from __future__ import annotations

import numpy as np

from simulator.cluster.requests import NOT_GIVEN, Request
from simulator.jobs.cluster import FOREVER
from simulator.slurm.nodes.selection import choose_nodes
from simulator.slurm.nodes.usable import holds_whole_nodes, kept_shape, usable_cpus
from simulator.slurm.starting import begin_job, end_job, hold
from simulator.slurm.state import Engine
from tests.simulator.slurm_site import engine_of


def test_what_is_kept_is_what_one_would_compute() -> None:
    random = np.random.default_rng(3)
    asked = [
        Request(
            0,
            limit_s=int(random.integers(1, 9)) * 60,
            tasks=int(random.integers(1, 6)),
            memory_mib=int(random.integers(0, 400)),
            exclusive=bool(random.random() < 0.2),
            gpus={"": 1} if random.random() < 0.2 else {},
        )
        for _ in range(60)
    ]
    engine = engine_of(asked)
    runs: list[int] = []
    for step in range(300):
        job = int(random.integers(len(asked)))
        if job in runs:
            runs.remove(job)
            end_job(engine, job, 0)
        else:
            engine.scratch.allowed[:] = True
            chosen = choose_nodes(engine, engine.free, job, 0)
            if chosen > 0:
                begin_job(engine, job, 0, chosen, step)
                runs.append(job)
        other = int(random.integers(len(asked)))
        place = kept_shape(engine, other, 0)
        usable, until = _computed(engine, other, runs)
        assert engine.shapes.usable[place].tolist() == usable and engine.shapes.until[place].tolist() == until
        assert engine.shapes.num_usable[place] == sum(cpus > 0 for cpus in usable)
    assert len(set(engine.shapes.of_job.tolist())) > 20


def _computed(engine: Engine, job: int, runs: list[int]) -> tuple[list[int], list[int]]:
    """CPUs on each node, and the end by limit after which there are some, jobs taken away one by one."""
    whole = holds_whole_nodes(engine.site, engine.jobs, job, 0)
    nodes = range(len(engine.site.cpus))
    usable = [usable_cpus(engine, engine.free, job, whole, node) for node in nodes]
    until = [NOT_GIVEN if cpus > 0 else FOREVER for cpus in usable]
    trial = type(engine.free)(*(array.copy() for array in engine.free))
    for other in sorted(runs, key=lambda one: (engine.running.end[one], one)):
        hold(engine, trial, other, -1)
        for node in nodes:
            if until[node] == FOREVER and usable_cpus(engine, trial, job, whole, node) > 0:
                until[node] = int(engine.running.end[other])
    return usable, until
