"""Random jobs that queue, windows of them, and random weights for the kernel network: for tests that compare two ways of
replaying the same."""

from __future__ import annotations

import numpy as np

from simulator.engine.replay import replay
from simulator.jobs.jobs import NEVER, Jobs
from simulator.policies.network import KernelWeights
from simulator.policies.observation import blank_network, layout_named

PROCS = 32
"""Processors of the cluster that these jobs are made for."""
WINDOW = 120
FIRST = np.array([0, 77, 200, 201, 380])
"""Windows of 500 jobs: some overlap."""


def busy_jobs(num_jobs: int, load: float = 1.1, seed: int = 1, users: int = 5, cancelled_share: float = 0.0) -> Jobs:
    """Jobs that offer `load` of PROCS processors. Half of the estimates are too short, some too long; many areas and
    estimates are equal, and so are some submit times."""
    rng = np.random.default_rng(seed)
    procs = rng.choice([1, 2, 3, 4, 8, 16, 31], num_jobs, p=[0.3, 0.15, 0.1, 0.15, 0.15, 0.1, 0.05])
    runtime = rng.choice([30, 60, 600, 1000, 3600, 4000], num_jobs) + rng.integers(0, 2, num_jobs)
    estimate = np.maximum(1, runtime * rng.choice([1, 2, 6, 12, 24], num_jobs) // 6)
    limit = np.maximum(runtime, estimate) + rng.integers(0, 2, num_jobs) * 900
    span = float((runtime * procs).sum()) / PROCS / load
    submit = 5000 + np.sort(rng.integers(0, int(span), num_jobs)) // 5 * 5
    cancel = np.where(rng.random(num_jobs) < cancelled_share, submit + rng.integers(0, 20_000, num_jobs), NEVER)
    user = rng.zipf(1.5, num_jobs) % users
    return Jobs(submit, runtime, procs, estimate, limit, origin=4000, user=user, cancel=cancel)


def random_weights(seed: int = 1, layout: str = "plain") -> KernelWeights:
    """A network that prefers some jobs to others for no reason."""
    rng = np.random.default_rng(seed)
    blank = blank_network(layout_named(layout))
    arrays = [rng.normal(0, 0.3 if a.ndim == 1 and k < 6 else 0.7, a.shape) for k, a in enumerate(blank[2:])]
    return KernelWeights(*blank[:2], *(a.astype(np.float32) for a in arrays))


def uneven_jobs() -> tuple[Jobs, np.ndarray]:
    """A trace that is idle at first and then crowded, and where windows of it begin: with no choice, a few and very many."""
    calm, crowd = busy_jobs(200, load=0.02, seed=2), busy_jobs(300, load=6.0, seed=3)
    later = calm.submit[-1] + 10_000
    submit = np.concatenate([calm.submit, crowd.submit + later])
    runtime, procs, estimate, limit = (
        np.concatenate([getattr(calm, name), getattr(crowd, name)])
        for name in ("runtime", "procs", "estimate", "limit")
    )
    return Jobs(submit, runtime, procs, estimate, limit), np.array([0, 380, 30, 115, 200])


def assert_as_replayed(
    jobs: Jobs, first: np.ndarray, found: tuple[np.ndarray, np.ndarray], policy: str, backfill: str,
    weights: KernelWeights | None = None, correction: str = "requested",
) -> None:  # fmt: skip
    start, backfilled = found
    for k, position in enumerate(first.tolist()):
        window = jobs.window(position, start.shape[1])
        alone = replay(window, PROCS, policy, backfill, weights, correction)
        differ = np.flatnonzero(start[k] != alone.start)
        assert not len(differ), f"window {k}: {len(differ)} jobs start at another time, the first is {differ[0]}"
        assert np.array_equal(backfilled[k], alone.backfilled), f"window {k}"
