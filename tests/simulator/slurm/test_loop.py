"""Replays in the order of time."""

from __future__ import annotations

import numpy as np

from simulator.cluster.arrays import cluster_arrays
from simulator.cluster.requests import Request
from simulator.slurm.loop import run_replay
from simulator.slurm.replaying import Phases, new_replay
from tests.simulator.slurm_site import SITE, columns_of


def starts(asked: list[Request], runtime: list[int], phases: Phases) -> list[int]:
    replay = new_replay(SITE, cluster_arrays(SITE), columns_of(asked), np.array(runtime), phases)
    run_replay(replay)
    return replay.engine.running.start.tolist()


def test_when_jobs_start() -> None:
    whole = {"min_nodes": 4, "max_nodes": 4, "exclusive": True}
    asked = [
        Request(100, limit_s=600, min_nodes=3, max_nodes=3, exclusive=True),
        Request(110, limit_s=600, **whole),
        Request(111, limit_s=300, tasks=1),
        Request(112, limit_s=60, tasks=17),
        Request(113, limit_s=60, tasks=1, dependencies=(("afterany", 1),)),
    ]
    # the first pass is three seconds after the last one at the earliest, job 2 waits for the cycle, job 1 for an epilog of 4 s
    assert starts(asked, [200, 50, 20, 9, 9], Phases(25, 59, (4, 4))) == [100, 304, 125, -1, 358]


def test_tasks_of_an_array_run_so_many_at_a_time() -> None:
    asked = [Request(0, limit_s=60, tasks=1, array=0, array_task=k, array_limit=2) for k in range(4)]
    assert starts(asked, [50, 30, 10, 10], Phases(20, 59)) == [0, 0, 30, 40]
