from __future__ import annotations

import numpy as np
import pytest

from models.scheduling.arena import Arena, Windows
from models.scheduling.goals import parse_goal
from models.scheduling.learning.training import Lessons
from simulator.jobs.jobs import Jobs, jobs_from_log
from traces.synthetic.workload import WorkloadOptions, generate_workload

PROCS = 32


@pytest.fixture(scope="session")
def jobs() -> Jobs:
    rows = generate_workload(WorkloadOptions(jobs=800, procs=PROCS, seed=3, offered_load=1.0))
    submit, runtime, procs, requested = (
        rows[name].to_numpy() for name in ("submit_s", "runtime_s", "procs", "requested_walltime_s")
    )
    user = np.random.default_rng(5).integers(0, 7, len(submit))
    return jobs_from_log(submit, runtime, procs, requested, user=user)


@pytest.fixture(scope="session")
def arena(jobs: Jobs) -> Arena:
    return Arena(jobs, PROCS, parse_goal("bsld"), threads=1)


@pytest.fixture(scope="session")
def lessons() -> Lessons:
    first = np.arange(0, 400, 7)
    return Lessons(Windows(first, 48), Windows(first[::2], 48), Windows(np.array([450, 500]), 64))
