"""Blocks of neighbouring jobs: the scored jobs of a replay, cut in order of submission, and what a policy did in each block."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.jobs.schedule import CANCELLED

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

BLOCKS = 16
"""Blocks of a judged replay. `python -m studies coverage` compares this number with others."""


@dataclass(frozen=True)
class Blocks:
    """counted: which jobs of the replay are in a block, bool (jobs,). edges: int64 (blocks + 1,). Block b holds the counted
    jobs edges[b] to edges[b + 1] - 1, in order of submission. No block is empty."""

    counted: BoolArray
    edges: IntArray

    def __len__(self) -> int:
        return len(self.edges) - 1

    @property
    def sizes(self) -> IntArray:
        """Jobs in each block, int64 (blocks,)."""
        return np.diff(self.edges)

    def means(self, values: FloatArray, weights: FloatArray | None = None) -> FloatArray:
        """The mean of per-job values in each block, float64 (blocks,) or (policies, blocks).

        values: float64 (jobs,) or (policies, jobs), for all jobs of the replay. weights: float64 (jobs,), >= 0, such as
        processors times run time. Values and weights of jobs that do not count may be anything. A block whose weights are
        all 0 has its plain mean, as a replay without any area has in `simulator.metrics`. Raises ValueError for a negative
        weight.
        """
        counted = np.asarray(values, dtype=np.float64)[..., self.counted]
        plain = self._sums(counted) / self.sizes
        if weights is None:
            return plain
        weight = np.asarray(weights, dtype=np.float64)[self.counted]
        if (weight < 0).any():
            raise ValueError(f"weights must not be negative, got {weight.min():g}")
        total = self._sums(weight)
        weighted = self._sums(counted * weight) / np.where(total > 0, total, 1.0)
        return np.where(total > 0, weighted, plain)

    def percentiles(self, values: FloatArray, percent: float) -> FloatArray:
        """The interpolated percentile of per-job values in each block, float64 (blocks,) or (policies, blocks).

        values: float64 (jobs,) or (policies, jobs), for all jobs of the replay. percent: 0 to 100."""
        counted = np.asarray(values, dtype=np.float64)[..., self.counted]
        parts = np.split(counted, self.edges[1:-1], axis=-1)
        return np.stack([np.percentile(part, percent, axis=-1) for part in parts], axis=-1)

    def _sums(self, counted: FloatArray) -> FloatArray:
        return np.add.reduceat(counted, self.edges[:-1], axis=-1)


def block_edges(num_jobs: int, blocks: int) -> IntArray:
    """Where to cut `num_jobs` jobs, int64 (blocks + 1,), from 0 to num_jobs. Sizes differ by at most 1, and the larger ones are
    spread over all positions."""
    return np.arange(blocks + 1, dtype=np.int64) * num_jobs // blocks


def started_everywhere(starts: IntArray) -> BoolArray:
    """Which jobs were cancelled in none of the replays, bool (jobs,). starts: int64 (replays, jobs), or (jobs,) of one replay.

    A job that was cancelled while it waited has no wait. A comparison needs the same jobs on both sides, so such a job counts
    for no policy, even if others started it. Compared policies therefore need one call with all their replays."""
    return (np.atleast_2d(starts) != CANCELLED).all(axis=0)


def cut_into_blocks(counted: BoolArray, blocks: int = BLOCKS) -> Blocks:
    """Cuts the counted jobs into blocks of equal job count, or of counts that differ by 1.

    counted: bool (jobs,), jobs in order of submission. Usually these are the jobs after the cut for which
    `started_everywhere` holds, and for a metric of wide jobs the wide ones among them. Jobs that do not count are in no block
    and take no place in one. With fewer jobs than `blocks` every job is a block. Raises ValueError if no job counts.
    """
    num_jobs = int(np.count_nonzero(counted))
    if num_jobs == 0:
        raise ValueError("no job to judge: none of the scored jobs has started in every replay")
    if blocks < 1:
        raise ValueError(f"blocks must be at least 1, got {blocks}")
    return Blocks(np.asarray(counted, dtype=np.bool_), block_edges(num_jobs, min(blocks, num_jobs)))
