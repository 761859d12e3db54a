"""Trajectory filtering: which windows of a trace are worth learning from (RLScheduler, Zhang et al. 2020, section IV-C).

Any policy does well on most windows of a real trace, and none does on a few. Both only add noise. SJF is replayed on sampled
windows. Training starts on those whose cost lies inside (median, 2 x mean), and takes all windows later.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.scheduling.arena import Arena, Windows


@dataclass(frozen=True)
class TrajectoryFilter:
    """The sampled windows and what SJF costs on them. skewness is the third standardised moment of the costs."""

    windows: Windows  # ascending by position
    score: NDArray[np.float64]  # cost under SJF, (windows,)
    kept: NDArray[np.bool_]  # whether it lies inside (low, high), (windows,)
    median: float
    mean: float
    skewness: float

    @property
    def low(self) -> float:
        """Costs above this are kept."""
        return self.median

    @property
    def high(self) -> float:
        """Costs below this are kept."""
        return 2.0 * self.mean

    @property
    def kept_windows(self) -> Windows:
        """The windows inside the range."""
        return Windows(self.windows.first[self.kept], self.windows.jobs)


def sample_positions(first: int, last: int, window_jobs: int, most: int, rng: np.random.Generator) -> Windows:
    """Up to `most` different windows, each inside the jobs first : last, by position.

    Raises ValueError when there are fewer jobs than one window holds.
    """
    positions = last - first - window_jobs + 1
    if positions < 1:
        raise ValueError(f"a window needs {window_jobs} jobs, there are {last - first}: give a smaller window")
    drawn = rng.choice(positions, size=min(most, positions), replace=False)
    return Windows(np.sort(first + drawn).astype(np.int64), window_jobs)


def filter_trajectories(arena: Arena, windows: Windows) -> TrajectoryFilter:
    """Replays SJF on the windows. A goal whose costs are not all positive (utilisation) has no range, and keeps every window."""
    score = arena.costs("SJF", windows)
    median, mean, spread = float(np.median(score)), float(score.mean()), float(score.std())
    skewness = float(((score - mean) ** 3).mean() / spread**3) if spread > 0 else 0.0
    kept = (score > median) & (score < 2.0 * mean) if (score > 0).all() else np.ones(len(score), dtype=np.bool_)
    return TrajectoryFilter(windows, score, kept, median, mean, skewness)
