"""The ratio of two policies in the typical block of a replay, with an interval for blocks that are like their neighbours.

Blocks of one replay are few, and a starving queue spans several of them. So the t interval counts them as fewer than they
are, by their lag-1 autocorrelation. The ratio is that of the typical block, which is not the ratio of the means of all jobs.
One burst can reverse the latter. `python -m studies coverage` shows how often such intervals hold.

Blocks of neighbouring jobs: the scored jobs of a replay, cut in order of submission, and what a policy did in each block.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.jobs.schedule import CANCELLED

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

CERTAINTY = 0.95
WAIT_OFFSET_S = 60.0
"""Added to both sides of a ratio of waits. A block in which nobody waits then has a ratio, and a few seconds hardly move it."""
HOP_OFFSET = 0.1
"""Added to both sides of a ratio of hop costs. A block of jobs of one unit then has a ratio."""
FEWEST_BLOCKS = 8
LEAST_EFFECTIVE_SIZE = 5.0
MOST_CORRELATION = 0.9
FEWEST_EFFECTIVE = 2.0
"""Bounds of the correlation and of the effective size, so that the t distribution has a degree of freedom."""


class MeanEstimate(NamedTuple):
    """What series of neighbouring values say about their means, each (...).

    mean, standard_error: float64, in the unit of the values. effective_size: how many independent values the mean is worth,
    float64. blocks: how many values the standard error comes from, int64."""

    mean: FloatArray
    standard_error: FloatArray
    effective_size: FloatArray
    blocks: IntArray

    @property
    def margin(self) -> FloatArray:
        """Half the width of the interval, float64 (...)."""
        from scipy.special import stdtrit

        return stdtrit(self.effective_size - 1, (1 + CERTAINTY) / 2) * self.standard_error

    @property
    def has_interval(self) -> NDArray[np.bool_]:
        """Whether blocks and effective size suffice for an interval, bool (...)."""
        return (self.blocks >= FEWEST_BLOCKS) & (self.effective_size >= LEAST_EFFECTIVE_SIZE)


@dataclass(frozen=True)
class RatioInterval:
    """How one policy compares with another in the typical block.

    ratio: exp of the mean log ratio of the blocks. low, high: its 95 % interval, None where there is none. standard_error:
    of the log ratio. blocks: how many values the interval comes from, half of the blocks if pairs were joined.
    effective_size: how many independent values they are worth. why_none: why there is no interval, or None."""

    ratio: float
    low: float | None
    high: float | None
    standard_error: float
    blocks: int
    effective_size: float
    why_none: str | None

    @property
    def is_certain_below_one(self) -> bool:
        """Whether the first policy's typical block is better, with the whole interval below 1. For one comparison alone."""
        return self.high is not None and self.high < 1

    def p_value(self, is_below: bool) -> float:
        """Of the hypothesis that the ratio is not below 1, or with `is_below=False` not above 1. It is one-sided, by the t
        distribution, and 1 where there is no interval."""
        if self.why_none is not None:
            return 1.0
        distance = np.log(self.ratio) if is_below else -np.log(self.ratio)
        if self.standard_error == 0:
            return float(np.select([distance < 0, distance > 0], [0.0, 1.0], 0.5))
        from scipy.special import stdtr

        return float(stdtr(self.effective_size - 1, distance / self.standard_error))


def log_ratios(ours: FloatArray, theirs: FloatArray, offset: float = 0.0) -> FloatArray:
    """ln((ours + offset) / (theirs + offset)) of every block, float64 (..., blocks).

    ours, theirs: means of two policies in the same blocks, float64 (..., blocks), in the unit of `offset`. Raises ValueError
    for different numbers of blocks, and for a mean that is not a number or has no logarithm.
    """
    left, right = np.asarray(ours, dtype=np.float64) + offset, np.asarray(theirs, dtype=np.float64) + offset
    if left.shape[-1:] != right.shape[-1:]:
        raise ValueError(f"both policies need the same blocks, got shapes {left.shape} and {right.shape}")
    for side in (left, right):
        if not (np.isfinite(side) & (side > 0)).all():
            raise ValueError(f"a ratio needs block means above {0 - offset:g}, and all of them known")
    return np.log(left) - np.log(right)


def plain_estimate(series: FloatArray) -> MeanEstimate:
    """The means of series of neighbouring values, float64 (..., blocks), with blocks >= 1.

    effective_size: blocks * (1 - r) / (1 + r), at least FEWEST_EFFECTIVE. r is the lag-1 autocorrelation plus its bias in
    short series, `(1 + 3 r) / blocks` (Marriott and Pope 1954, Kendall 1954), and at least 0. A constant series has the
    standard error 0, and r is then the bias alone.
    """
    blocks = series.shape[-1]
    from_first = series - series[..., :1]  # the deviations of a constant series are then exactly 0
    mean = from_first.mean(axis=-1, keepdims=True)
    deviation = from_first - mean
    squares = (deviation**2).sum(axis=-1)
    lag1 = (deviation[..., 1:] * deviation[..., :-1]).sum(axis=-1) / np.where(squares > 0, squares, 1.0)
    correlation = np.clip(lag1 + (1 + 3 * lag1) / blocks, 0.0, MOST_CORRELATION)
    size = np.maximum(FEWEST_EFFECTIVE, blocks * (1 - correlation) / (1 + correlation))
    error = np.sqrt(squares / max(blocks - 1, 1) / size)
    return MeanEstimate(series[..., 0] + mean[..., 0], error, size, np.full(size.shape, blocks, dtype=np.int64))


def estimate_mean(series: FloatArray) -> MeanEstimate:
    """As `plain_estimate`. But where blocks are too much alike for an interval, pairs of neighbours are joined, if that is enough.

    A joined value is the mean of two, so the mean of all is the same. An odd number of blocks is not joined. With a lag-1
    autocorrelation above .39, 16 blocks have no interval. In the study of coverage, pairs then give an interval in
    more than a quarter of these cases, and it holds more often than those of 16 blocks.
    """
    whole = plain_estimate(series)
    if series.shape[-1] % 2:
        return whole
    pairs = plain_estimate((series[..., ::2] + series[..., 1::2]) / 2)
    joined = ~whole.has_interval & pairs.has_interval
    chosen = [np.where(joined, ours, theirs) for ours, theirs in zip(pairs[1:], whole[1:], strict=True)]
    return MeanEstimate(whole.mean, *chosen)


def ratio_interval(ours: FloatArray, theirs: FloatArray, offset: float = 0.0) -> RatioInterval:
    """One policy's block means over another's, in the typical block.

    ours, theirs: float64 (blocks,), from the same `Blocks`. offset: WAIT_OFFSET_S for waits, HOP_OFFSET for hop costs, 0 for the
    bounded slowdown. Swapping the two policies gives the reciprocal ratio and interval. Blocks that are all equal give
    low = high = ratio. There is no interval with fewer than FEWEST_BLOCKS blocks or an effective size below
    LEAST_EFFECTIVE_SIZE. Raises ValueError as `log_ratios`, and without any block.
    """
    series = log_ratios(ours, theirs, offset)
    if series.ndim != 1 or len(series) == 0:
        raise ValueError(f"one value for each block is needed, got shape {series.shape}")
    estimate = estimate_mean(series)
    mean, error, size = (float(x) for x in estimate[:3])
    blocks = int(estimate.blocks)
    low = high = why_none = None
    if blocks < FEWEST_BLOCKS:
        why_none = f"{blocks} blocks, and an interval needs at least {FEWEST_BLOCKS}"
    elif not estimate.has_interval:
        why_none = (
            f"neighbouring blocks are alike: {blocks} of them are worth {size:.1f} independent ones, and an interval needs at "
            f"least {LEAST_EFFECTIVE_SIZE:g}"
        )
    else:
        margin = float(estimate.margin)
        low, high = float(np.exp(mean - margin)), float(np.exp(mean + margin))
    return RatioInterval(float(np.exp(mean)), low, high, error, blocks, size, why_none)


def holm_adjusted(p_values: Sequence[float]) -> FloatArray:
    """Holm's step-down adjustment of p-values, float64 (hypotheses,), in the order given.

    Rejecting what is below `alpha` rejects a true hypothesis with probability `alpha` at most, whatever the dependence. The
    smallest p-value is multiplied by the number of hypotheses, the next one by one less, and so on. None may be smaller than the one
    before (S. Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 6, 1979).
    """
    values = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(values, kind="stable")
    factors = np.arange(len(values), 0, -1)
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(values[order] * factors))
    return adjusted


# --- blocks


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
