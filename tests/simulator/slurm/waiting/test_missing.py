"""Which resource a job lacks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from simulator.cluster.requests import Request
from simulator.slurm.waiting.missing import CORES, FRAGMENTS, GPUS, MEMORY, missing_resource
from tests.simulator.slurm_site import engine_of

ONE = Request(0, limit_s=600, tasks=1)


@pytest.mark.parametrize(
    ("asked", "free", "missing"),
    [
        (replace(ONE, memory_mib=600), {"memory": 500}, MEMORY),
        (replace(ONE, gpus={"": 2}), {"gpus": 1}, GPUS),
        (replace(ONE, gpus={"": 1}), {"gpus": 0, "cpus": 0}, GPUS),
        (replace(ONE, tasks=3, min_nodes=1, max_nodes=1), {"cpus": 2}, FRAGMENTS),
        (replace(ONE, tasks=9), {"cpus": 2}, CORES),
    ],
)
def test_it_is_the_one_without_which_the_job_would_fit(asked: Request, free: dict[str, int], missing: int) -> None:
    engine = engine_of([asked])
    engine.scratch.allowed[:] = True
    for name, left in free.items():
        getattr(engine.free, name)[:] = left
    assert missing_resource(engine, 0, 0) == missing
