"""The state of an idle controller."""

from __future__ import annotations

from simulator.cluster.requests import Request
from tests.simulator.slurm_site import engine_of


def test_an_idle_engine_has_everything_free_and_room_for_every_job() -> None:
    engine = engine_of([Request(1, limit_s=60, min_nodes=3, max_nodes=3), Request(2, limit_s=60, tasks=2)])
    assert engine.free.cpus.tolist() == [4, 4, 4, 4] and engine.free.gpus.tolist() == [[0], [0], [2], [2]]
    assert engine.running.first.tolist() == [0, 3, 5] and engine.running.start.tolist() == [-1, -1]
