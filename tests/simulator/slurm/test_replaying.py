"""Slurm as a replayer."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.cluster.arrays import cluster_arrays
from simulator.cluster.requests import Request
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs
from simulator.slurm.replaying import Phases, SlurmReplayer
from tests.simulator.slurm_site import SITE, columns_of


def jobs_of(submit: list[int], runtime: list[int]) -> Jobs:
    limit = np.maximum(np.array(runtime), 60)
    return Jobs(np.array(submit), np.array(runtime), np.ones(len(submit), dtype=np.int64), limit, limit)


def test_an_outcome_has_starts_and_names_jobs_that_never_start() -> None:
    asked = [Request(0, limit_s=60, tasks=2), Request(5, limit_s=60, tasks=17)]
    replayer = SlurmReplayer(SITE, cluster_arrays(SITE), columns_of(asked), Phases.drawn(1))
    outcome = replayer.replay(jobs_of([0, 5], [30, 30]), Cluster(16))
    assert outcome.schedule.start.tolist() == [0, -1] and outcome.counts == {"never started": 1}
    with pytest.raises(ValueError, match="3 jobs, but requests of 2"):
        replayer.replay(jobs_of([0, 5, 6], [30, 30, 30]), Cluster(16))
