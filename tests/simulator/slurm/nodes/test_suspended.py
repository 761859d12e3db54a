"""Jobs that are suspended for others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from simulator.cluster.arrays import cluster_arrays
from simulator.slurm.loop import run_replay
from simulator.slurm.replaying import Phases, new_replay
from tests.simulator.slurm.test_preemption import LONG, WHOLE, Request, site
from tests.simulator.slurm_site import columns_of


def test_a_job_is_suspended_and_goes_on_later() -> None:
    cluster = site("partition")
    values = {**cluster.scheduler.values, "preemptmode": "suspend,gang"}
    cluster = replace(cluster, scheduler=replace(cluster.scheduler, values=values))
    new = Request(100, partitions=("gpu",), **WHOLE)
    replay = new_replay(
        cluster,
        cluster_arrays(cluster),
        columns_of([LONG, LONG, new], cluster),
        np.array([200, 200, 50]),
        Phases(25, 59),
    )
    run_replay(replay)
    assert replay.engine.running.start.tolist() == [0, 0, 100]
    assert replay.preempted.tolist() == [0, 1, 0] and replay.finished.tolist() == [200, 250, 150]
    assert (replay.engine.free.cpus == replay.engine.site.cpus).all()
