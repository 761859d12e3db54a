"""Lublin and Feitelson's model of rigid jobs: how many processors, for how long, and when they arrive.

Source: U. Lublin and D. G. Feitelson, "The workload on parallel supercomputers: modeling the characteristics of rigid
jobs", Journal of Parallel and Distributed Computing 63(11), 2003. Gamma distributions are written (shape, scale).

Where the published description leaves room, this module reads it as follows:

* pow2_prob is a share of all jobs, serial ones included, as serial_prob is. Among parallel jobs the share rounded to a
  power of two is pow2_prob / (1 - serial_prob). Only so do sizes agree with the archive's files of this model.
* Arrivals: the axis of the gamma (anum, bnum) are half hours of the local day, numbered from 1. It is cut to the 48 that begin
  with number 11. They go from 05:00, the quietest moment of the model's day, to 05:00 of the next day.
* A size that is rounded to a power of two on a machine that is no power of two stops at the largest one that fits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

SECONDS_PER_DAY = 86_400
BUCKETS_PER_DAY = 48
SECONDS_PER_BUCKET = SECONDS_PER_DAY // BUCKETS_PER_DAY
FIRST_BUCKET = 11  # 05:00 to 05:30 when half hours are numbered from 1, where the model's day begins
MAX_LN_RUN_TIME = 12.0  # e^12 s = 162,754 s, a little under two days
MAX_LN_GAP = 13.0  # e^13 s = 442,413 s, a little over five days


@dataclass(frozen=True)
class LublinParameters:
    """One column of the model's parameter table.

    Sizes are log2 of processors, run times and gaps natural logarithms of seconds, the daily cycle half hours.

    Raises ValueError when a probability leaves [0, 1], the two size shares exceed 1 together, the size limits are not in
    order, or a gamma parameter is not positive.
    """

    serial_prob: float  # share of jobs on one processor
    pow2_prob: float  # share of jobs that are parallel and rounded to a power of two
    ulow: float  # log2 of the smallest parallel job
    umed: float  # log2 of the size where the two uniform stages meet
    uhi: float  # log2 of the largest job
    uprob: float  # share of parallel jobs from the lower stage [ulow, umed]
    a1: float  # shape and scale of the short run times
    b1: float
    a2: float  # shape and scale of the long run times
    b2: float
    pa: float  # P(short) = pa * processors + pb, clipped to [0, 1]
    pb: float
    aarr: float  # shape and scale of the rush-hour gaps
    barr: float
    anum: float  # shape and scale of the daily cycle, in half hours
    bnum: float
    arar: float  # factor on aarr that turns rush-hour gaps into gaps of the whole day

    def __post_init__(self) -> None:
        for name in ("serial_prob", "pow2_prob", "uprob"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ValueError(f"{name} is {getattr(self, name)}, not a probability: choose a value from 0 to 1")
        if self.serial_prob + self.pow2_prob > 1.0:
            raise ValueError(
                f"serial_prob {self.serial_prob} and pow2_prob {self.pow2_prob} add up to more than 1. Both are shares "
                "of all jobs, so lower one of them"
            )
        if not 0.0 <= self.ulow <= self.umed <= self.uhi:
            raise ValueError(
                f"size limits ulow {self.ulow}, umed {self.umed}, uhi {self.uhi} are out of order: "
                "choose 0 <= ulow <= umed <= uhi"
            )
        for name in ("a1", "b1", "a2", "b2", "aarr", "barr", "anum", "bnum", "arar"):
            if getattr(self, name) <= 0.0:
                raise ValueError(f"{name} is {getattr(self, name)}: gamma parameters must be above 0")

    @property
    def procs(self) -> int:
        """Largest job in processors: 2 ** uhi."""
        return round(2.0**self.uhi)

    def for_machine(self, procs: int) -> LublinParameters:
        """These parameters on a machine of `procs` processors.

        uhi becomes log2(procs). umed keeps its distance from uhi, limited to the model's [uhi - 3.5, uhi - 1.5]. On very
        small machines (fewer than about 12 processors) the smallest parallel size is lowered, so that the limits stay in
        order. Raises ValueError for fewer than 2 processors.
        """
        if procs < 2:
            raise ValueError(f"procs is {procs}: the model needs a machine of at least 2 processors")
        uhi = math.log2(procs)
        ulow = min(self.ulow, uhi)
        umed = uhi - min(max(self.uhi - self.umed, 1.5), 3.5)
        return replace(self, ulow=ulow, umed=max(umed, ulow), uhi=uhi)


# The table's machine has 128 nodes, and its interactive jobs use at most 45 of them, `2^5.5`.
BATCH_JOBS = LublinParameters(
    serial_prob=0.2927, pow2_prob=0.6686, ulow=1.2, umed=5.0, uhi=7.0, uprob=0.875,
    a1=6.57, b1=0.823, a2=639.1, b2=0.0156, pa=-0.003, pb=0.6986,
    aarr=6.0415, barr=0.8531, anum=6.1271, bnum=5.2740, arar=1.0519,
)  # fmt: skip
INTERACTIVE_JOBS = LublinParameters(
    serial_prob=0.1541, pow2_prob=0.625, ulow=1.0, umed=3.0, uhi=5.5, uprob=0.705,
    a1=3.8351, b1=0.6605, a2=7.073, b2=0.6856, pa=-0.0118, pb=0.9156,
    aarr=6.5510, barr=0.6621, anum=8.9186, bnum=3.6680, arar=0.9797,
)  # fmt: skip
ONE_CLASS = LublinParameters(
    serial_prob=0.244, pow2_prob=0.576, ulow=0.8, umed=4.5, uhi=7.0, uprob=0.86,
    a1=4.2, b1=0.94, a2=312.0, b2=0.03, pa=-0.0054, pb=0.78,
    aarr=10.2303, barr=0.4871, anum=8.1737, bnum=3.9631, arar=1.0225,
)  # fmt: skip
JOB_CLASSES: dict[str, LublinParameters] = {
    "batch": BATCH_JOBS,
    "interactive": INTERACTIVE_JOBS,
    "one_class": ONE_CLASS,
}


def job_sizes(rng: np.random.Generator, n: int, parameters: LublinParameters) -> IntArray:
    """Processors of `n` jobs, shape (n,), each from 1 to `parameters.procs`."""
    lower_stage = rng.random(n) < parameters.uprob
    log2_size = np.where(
        lower_stage,
        rng.uniform(parameters.ulow, parameters.umed, n),
        rng.uniform(parameters.umed, parameters.uhi, n),
    )
    # Rounding half up in the exponent. The cap matters only where 2 ** uhi is not a power of two.
    whole_log2 = np.minimum(np.floor(log2_size + 0.5), math.floor(math.log2(parameters.procs)))
    # One draw decides all three kinds, because both probabilities are shares of all jobs.
    kind = rng.random(n)
    rounded = kind < parameters.serial_prob + parameters.pow2_prob
    sizes = np.floor(2.0 ** np.where(rounded, whole_log2, log2_size) + 0.5)
    sizes = np.where(kind < parameters.serial_prob, 1, sizes)
    return np.clip(sizes, 1, parameters.procs).astype(np.int64)


def run_times(rng: np.random.Generator, sizes: IntArray, parameters: LublinParameters) -> IntArray:
    """Run times in seconds for jobs of the given sizes, shape (n,), each from 1 to e^12.

    The logarithm is hyper-gamma: a mixture of a short and a long gamma whose mixing probability falls linearly with the
    size, so that large jobs run longer. Draws above 12 are repeated.
    """
    short_prob = np.clip(parameters.pa * sizes + parameters.pb, 0.0, 1.0)
    ln_seconds = np.empty(len(sizes))
    pending = np.arange(len(sizes))
    while pending.size:
        short = rng.random(pending.size) < short_prob[pending]
        ln_seconds[pending] = np.where(
            short,
            rng.gamma(parameters.a1, parameters.b1, pending.size),
            rng.gamma(parameters.a2, parameters.b2, pending.size),
        )
        pending = pending[ln_seconds[pending] > MAX_LN_RUN_TIME]
    return np.maximum(np.exp(ln_seconds), 1.0).astype(np.int64)


@dataclass(frozen=True)
class DailyCycle:
    """A clock that runs fast in rush hours. It translates between seconds and the points in which gaps are measured.

    A second of half hour `k` after local midnight, k from 0, is worth `weights[k]` points. The mean of weights, shape (48,), is
    one, so a day holds 86,400 points. Quiet hours hold few points, and so stretch the gaps that fall into them.
    """

    weights: FloatArray

    @classmethod
    def of(cls, parameters: LublinParameters) -> DailyCycle:
        """Half hour k of the model's day, k from 11 to 58, weighs the gamma's mass on `[k - 1/2, k + 1/2]`."""
        buckets = np.arange(FIRST_BUCKET, FIRST_BUCKET + BUCKETS_PER_DAY)
        mass = _gamma_mass(buckets, parameters.anum, parameters.bnum)
        weights = np.empty(BUCKETS_PER_DAY)
        weights[(buckets - 1) % BUCKETS_PER_DAY] = mass / mass.mean()  # half hour 1 is the array's bucket 0
        return cls(weights)

    def points_at(self, seconds: FloatArray) -> FloatArray:
        """Points collected from local midnight of day one to `seconds` after it, in any shape."""
        days, time_of_day = np.divmod(seconds, SECONDS_PER_DAY)
        return days * SECONDS_PER_DAY + np.interp(time_of_day, self._edges_s(), self._edges_points())

    def seconds_at(self, points: FloatArray) -> FloatArray:
        """Seconds after local midnight of day one when `points` have been collected. It is the inverse of `points_at`."""
        days, points_of_day = np.divmod(points, SECONDS_PER_DAY)
        return days * SECONDS_PER_DAY + np.interp(points_of_day, self._edges_points(), self._edges_s())

    def _edges_s(self) -> FloatArray:
        return np.arange(BUCKETS_PER_DAY + 1, dtype=np.float64) * SECONDS_PER_BUCKET

    def _edges_points(self) -> FloatArray:
        return np.concatenate(([0.0], np.cumsum(self.weights))) * SECONDS_PER_BUCKET


def arrival_points(rng: np.random.Generator, n: int, parameters: LublinParameters) -> FloatArray:
    """Gaps before each of `n` jobs in points (seconds of an average hour), shape (n,). Draws above e^13 are repeated."""
    ln_gaps = rng.gamma(parameters.aarr * parameters.arar, parameters.barr, n)
    while (too_long := ln_gaps > MAX_LN_GAP).any():
        ln_gaps[too_long] = rng.gamma(parameters.aarr * parameters.arar, parameters.barr, int(too_long.sum()))
    return np.exp(ln_gaps)


def _gamma_mass(centres: IntArray, shape: float, scale: float) -> FloatArray:
    """Probability of gamma(shape, scale) within 1/2 of each centre, shape (buckets,), integrated by Gauss-Legendre.

    Twelve nodes for half an hour of a density this smooth are exact to rounding, and avoid a dependency on scipy.
    """
    nodes, node_weights = np.polynomial.legendre.leggauss(12)
    x = centres[:, None] + nodes / 2.0  # (buckets, nodes)
    log_density = (shape - 1.0) * np.log(x) - x / scale - math.lgamma(shape) - shape * math.log(scale)
    return (np.exp(log_density) * node_weights / 2.0).sum(axis=1)
