"""Jobs that make room for others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from simulator.cluster.arrays import cluster_arrays
from simulator.cluster.requests import Request
from simulator.slurm.loop import run_replay
from simulator.slurm.preemption import unmodelled_preemption
from simulator.slurm.replaying import Phases, new_replay
from tests.simulator.slurm_site import SITE, columns_of
from traces.cluster.accounts import ServiceQuality
from traces.cluster.description import ClusterDescription, SchedulerSettings


def site(mode: str, **more: int) -> ClusterDescription:
    """QOS few preempts normal, and partition gpu has a higher tier than the others."""
    qualities = (ServiceQuality("normal", **more), ServiceQuality("few", 10, preempts=("normal",)))  # type: ignore[arg-type]
    kind = "preempt/partition_prio" if mode == "partition" else "preempt/qos"
    mode = "requeue" if mode == "partition" else mode
    values = {**SITE.scheduler.values, "preempttype": kind, "preemptmode": mode}
    return replace(SITE, qualities=qualities, scheduler=SchedulerSettings("slurm", "22.05", values))


LONG = Request(0, limit_s=900, min_nodes=2, max_nodes=2, exclusive=True)
WHOLE = {"limit_s": 300, "min_nodes": 2, "max_nodes": 2, "exclusive": True}
CASES = {
    # the first of the long jobs goes, and starts again in the first pass after the delay
    "requeue": (site("requeue"), Request(100, qos="few", **WHOLE), [239, 0, 100], [1, 0, 0]),
    "cancel": (site("cancel", grace_s=30), Request(100, qos="few", **WHOLE), [0, 0, 130], [1, 0, 0]),
    "by partition": (site("partition"), Request(100, partitions=("gpu",), **WHOLE), [0, 239, 100], [0, 1, 0]),
    "nobody": (SITE, Request(100, qos="few", **WHOLE), [0, 0, 200], [0, 0, 0]),
}


@pytest.mark.parametrize("case", CASES)
def test_starts_of_the_preempted_and_of_the_job(case: str) -> None:
    cluster, new, starts, preempted = CASES[case]
    columns = columns_of([LONG, LONG, new], cluster)
    replay = new_replay(cluster, cluster_arrays(cluster), columns, np.array([200, 200, 50]), Phases(25, 59))
    run_replay(replay)
    assert replay.engine.running.start.tolist() == starts
    assert replay.preempted.tolist() == preempted


def test_suspension_by_qos_is_named() -> None:
    values = {"preemptmode": "suspend,gang", "preempttype": "preempt/qos"}
    assert unmodelled_preemption(SchedulerSettings("slurm", "", values)) == "suspend,gang"
    assert unmodelled_preemption(SITE.scheduler) == ""
