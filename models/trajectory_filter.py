"""Trajectory filtering: which windows of a trace are worth learning from (RLScheduler, Zhang et al. 2020, IV-C).

Most windows of a real trace are easy (any policy does well) and a few are hopeless (none does); both only add noise.
SJF is replayed on sampled windows; training starts on those whose average bounded slowdown lies inside
(median, 2 x mean) and takes all windows later.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.jobs import Jobs
from simulator.metrics import bounded_slowdown
from simulator.replay import replay


@dataclass(frozen=True)
class TrajectoryFilter:
    """first_position: of each sampled window, int64 (windows,), increasing; score: its average bounded slowdown under SJF,
    float64 (windows,); kept: inside (low, high), bool (windows,). skewness is the third standardised moment."""

    first_position: NDArray[np.int64]
    score: NDArray[np.float64]
    kept: NDArray[np.bool_]
    median: float
    mean: float
    skewness: float

    @property
    def low(self) -> float:
        return self.median

    @property
    def high(self) -> float:
        return 2.0 * self.mean


def filter_trajectories(
    jobs: Jobs, cluster_procs: int, window_jobs: int, sampled_windows: int, seed: int
) -> TrajectoryFilter:
    """Replays SJF on up to `sampled_windows` different windows of `window_jobs` consecutive jobs.

    Raises ValueError when there are fewer jobs than one window holds.
    """
    positions = len(jobs) - window_jobs + 1
    if positions < 1:
        raise ValueError(f"a window needs {window_jobs} jobs, the trace has {len(jobs)}: give a smaller window")
    rng = np.random.default_rng(seed)
    first = np.sort(rng.choice(positions, size=min(sampled_windows, positions), replace=False)).astype(np.int64)
    score = np.empty(len(first))
    for k, position in enumerate(first):
        window = jobs.window(int(position), window_jobs)
        schedule = replay(window, cluster_procs, "SJF", "easy")
        score[k] = bounded_slowdown(schedule.start - window.submit, window.runtime).mean()
    median, mean, spread = float(np.median(score)), float(score.mean()), float(score.std())
    skewness = float(((score - mean) ** 3).mean() / spread**3) if spread > 0 else 0.0
    kept = (score > median) & (score < 2.0 * mean)
    return TrajectoryFilter(first, score, kept, median, mean, skewness)
