"""A log on which strict FCFS is weak, so that any lottery looks good."""

from __future__ import annotations

import numpy as np

from models.judging.panel import Replayed, scored_after
from simulator.engine.replay import replay
from simulator.jobs.jobs import jobs_from_log

PROCS = 64


def bursts(seed: int = 1, num_bursts: int = 40) -> Replayed:
    """FCFS with EASY where every burst of one user's wide jobs is followed by narrow ones of others, which it blocks."""
    draw = np.random.default_rng(seed)
    submit, runtime, procs = [], [], []
    for burst in range(num_bursts):
        begin = burst * 140_000
        submit += [begin + k for k in range(12)] + sorted(begin + draw.integers(10, 3600, 40))
        runtime += [*draw.integers(1800, 7200, 52)]
        procs += [*draw.integers(30, 34, 12), *draw.integers(1, 33, 40)]
    order = np.argsort(submit, kind="stable")
    columns = (np.array(column, dtype=np.int64)[order] for column in (submit, runtime, procs, runtime))
    jobs = jobs_from_log(*columns)
    return Replayed(jobs, PROCS, replay(jobs, PROCS, "FCFS", "easy"), scored_after(len(jobs), len(jobs) // 2))
