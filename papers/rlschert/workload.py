"""Synthetic VASP jobs for RLSchert's cluster: lengths, processors, and predictions with given errors.

Nothing here comes from a log. Few real VASP runs have an accounting that we can read, and the paper's are private. Lengths and
processors follow the paper's statistics (section 4.1.1), or those of runs that are at hand. Predictions err as its Table 5 says, or as
predictors measured here do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from papers.rlschert.rules import LONGEST, WIDEST, Sequences

FloatArray = NDArray[np.float64]
_CALIBRATION_JOBS = 20_000
_LENGTH_SPREAD = 0.8
"""Standard deviation of the logarithm of lengths of one kind."""
_CAP_TAKES = 1.02
"""Corrects the mean for the jobs that the longest length cuts."""
_MEMORY = 0.3
"""Share of a run after which its prediction's error is almost independent of what it was."""


@dataclass(frozen=True)
class Errors:
    """Mean absolute percentage errors of predicted run times, as shares, for jobs of single and of multiple ionic steps.

    before: from the parameters alone. running: with the steps so far, the mean over the run. at_end: the same at its end. The
    error falls on a straight line from the beginning to the end (figure 6 of the paper shows nearly that).
    """

    before: tuple[float, float]
    running: tuple[float, float]
    at_end: tuple[float, float]

    def __post_init__(self) -> None:
        for name in ("before", "running", "at_end"):
            if any(not 0 <= error < 3 for error in getattr(self, name)):
                raise ValueError(f"{name}: errors are shares from 0 to 3, got {getattr(self, name)}")
        if any(end > mean for mean, end in zip(self.running, self.at_end, strict=True)):
            raise ValueError("at_end must not be larger than running: predictions get better while a job runs")


PAPER_ERRORS = Errors(before=(0.299, 0.673), running=(0.049, 0.254), at_end=(0.0355, 0.179))
"""Table 5 and section 4.2."""


@dataclass(frozen=True)
class Workload:
    """What jobs are like. The defaults are the paper's statistics.

    mean_length, mean_procs: units. single_share: of jobs with a single ionic step. Their mean length is `multiple_ratio` times
    shorter. predictable_share: of jobs whose steps can be read. The others keep the prediction from before the run.
    job_rate: probability that a job arrives in a unit of time. lengths, procs: values to draw from instead of the distributions
    (rows of real runs: length, procs, whether single).
    """

    jobs: int = 200
    job_rate: float = 0.7
    mean_length: float = 10.0
    mean_procs: float = 3.0
    single_share: float = 0.7
    multiple_ratio: float = 4.0
    predictable_share: float = 1.0
    errors: Errors = PAPER_ERRORS
    other_error: float | None = None
    observed: tuple[tuple[int, int, bool], ...] = ()

    def __post_init__(self) -> None:
        for name in ("job_rate", "single_share", "predictable_share"):
            value = getattr(self, name)
            if not 0 <= value <= 1 or (name == "job_rate" and value == 0):
                raise ValueError(f"{name} is a share from 0 to 1, got {value}")
        if any(not (1 <= length <= LONGEST and 1 <= procs <= WIDEST) for length, procs, _ in self.observed):
            raise ValueError(f"observed jobs must be 1 to {LONGEST} units long and 1 to {WIDEST} wide")
        if self.jobs < 1:
            raise ValueError(f"jobs must be at least 1, got {self.jobs}")
        if not 1 <= self.mean_procs <= WIDEST or not 1 <= self.mean_length <= LONGEST:
            raise ValueError(f"mean_length is 1 to {LONGEST}, mean_procs 1 to {WIDEST}")


def draw_sequences(workload: Workload, sequences: int, seed: int) -> Sequences:
    """So many independent sequences. The same arguments give the same jobs."""
    rng = np.random.default_rng([seed, sequences])
    shape = (sequences, workload.jobs)
    length, procs, single = _draw_jobs(workload, shape, rng)
    arrive = (
        np.cumsum(rng.geometric(workload.job_rate, size=shape), axis=1) - 1
    )  # Bernoulli trials between two arrivals
    predictable = rng.random(shape) < workload.predictable_share
    scale = _scales_of(workload)
    z = rng.standard_normal(shape)
    first = _rounded(length * np.exp(np.where(single, scale.before[0], scale.before[1]) * z))
    if workload.other_error is not None:
        spread = _spread_of(workload.other_error * _factor_of_others(workload))
        other = _rounded(length * np.exp(spread * z))
        first = np.where(predictable, first, other)
    remaining = _remaining(length, single, scale, rng)
    guessed = np.maximum(first[:, :, None] - np.arange(LONGEST), 1)
    chosen = np.where(predictable[:, :, None], remaining, guessed).astype(np.int16)
    return Sequences(arrive.astype(np.int64), length, procs, first, chosen)


@dataclass(frozen=True)
class _Scales:
    """Standard deviations of the logarithm of predicted over true: before a run, at its beginning and at its end, by kind."""

    before: tuple[float, float]
    begin: tuple[float, float]
    end: tuple[float, float]


@lru_cache(maxsize=64)
def _scales_of(workload: Workload) -> _Scales:
    """The deviations that give the wanted errors after rounding to units, which affects short jobs most."""
    rng = np.random.default_rng(2021)
    shape = (1, _CALIBRATION_JOBS)
    length, _, single = _draw_jobs(workload, shape, rng)
    noise = rng.standard_normal((10, _CALIBRATION_JOBS))
    errors = workload.errors
    scales = []
    for kind, mine in enumerate((single[0], ~single[0])):
        lengths = length[0, mine] if mine.any() else np.full(1000, round(workload.mean_length))
        drawn = noise[:, mine] if mine.any() else noise[:, :1000]
        end = errors.at_end[kind]
        course = np.linspace(2 * errors.running[kind] - end, end, 10)
        before = errors.before[kind] * _factor(lengths, drawn[:1], np.array([errors.before[kind]]))
        running = _factor(lengths, drawn, course)
        scales.append([_spread_of(before), _spread_of(running * course[0]), _spread_of(running * end)])
    (a, b, c), (d, e, f) = scales
    return _Scales((a, d), (b, e), (c, f))


@lru_cache(maxsize=64)
def _factor_of_others(workload: Workload) -> float:
    rng = np.random.default_rng(2022)
    length, _, _ = _draw_jobs(workload, (_CALIBRATION_JOBS,), rng)
    assert workload.other_error is not None
    return _factor(length, rng.standard_normal((1, _CALIBRATION_JOBS)), np.array([workload.other_error]))


def _factor(length: NDArray[np.int64], noise: FloatArray, targets: FloatArray) -> float:
    """By what to multiply errors so that their mean is that of `targets` after rounding to units.

    length: (jobs,). noise: (moments, jobs). targets: (moments,).
    """
    if not targets.any():
        return 1.0
    low, high = 0.2, 3.0
    for _ in range(30):
        middle = (low + high) / 2
        spread = np.array([_spread_of(target * middle) for target in targets])
        error = np.abs(_rounded(length * np.exp(spread[:, None] * noise)) - length) / length
        low, high = (middle, high) if error.mean() < targets.mean() else (low, middle)
    return (low + high) / 2


def _spread_of(error: float) -> float:
    """The sigma for which `E|exp(sigma z) - 1|` is `error`, z standard normal: `exp(sigma^2 / 2) * (2 Phi(sigma) - 1)`."""
    low, high = 0.0, 3.0
    for _ in range(60):
        middle = (low + high) / 2
        mean_error = math.exp(middle**2 / 2) * math.erf(middle / math.sqrt(2)) if middle else 0.0
        low, high = (middle, high) if mean_error < error else (low, middle)
    return (low + high) / 2


def _draw_jobs(
    workload: Workload, shape: tuple[int, ...], rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """(length, procs, single), each of `shape`."""
    if workload.observed:
        rows = np.array(workload.observed, dtype=np.int64)
        which = rng.integers(len(rows), size=shape)
        return rows[which, 0], rows[which, 1], rows[which, 2].astype(np.bool_)
    single = rng.random(shape) < workload.single_share
    shorter = workload.mean_length / (workload.single_share + workload.multiple_ratio * (1 - workload.single_share))
    mean = np.where(single, shorter, workload.multiple_ratio * shorter)
    length = _rounded(_CAP_TAKES * mean * np.exp(_LENGTH_SPREAD * rng.standard_normal(shape) - _LENGTH_SPREAD**2 / 2))
    weights = _geometric_weights(workload.mean_procs)
    procs = rng.choice(np.arange(1, WIDEST + 1), size=shape, p=weights)
    return length, procs.astype(np.int64), single


def _geometric_weights(mean: float) -> FloatArray:
    """Of 1 to WIDEST, falling (or rising) by a constant ratio, with this mean."""
    low, high, sizes = 1e-6, 1e3, np.arange(1, WIDEST + 1)
    for _ in range(200):
        ratio = np.sqrt(low * high)
        weights = ratio ** np.arange(WIDEST)
        low, high = (ratio, high) if (weights * sizes).sum() / weights.sum() < mean else (low, ratio)
    return weights / weights.sum()


def _remaining(
    length: NDArray[np.int64], single: NDArray[np.bool_], scale: _Scales, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Remaining times as predicted after 0, 1, ... units, (sequences, jobs, LONGEST). Errors of neighbouring units are alike."""
    progress = np.minimum(np.arange(LONGEST) / length[:, :, None], 1.0)
    begin = np.where(single, scale.begin[0], scale.begin[1])[:, :, None]
    end = np.where(single, scale.end[0], scale.end[1])[:, :, None]
    z = np.empty(progress.shape)
    fresh = rng.standard_normal(progress.shape)
    z[:, :, 0] = fresh[:, :, 0]
    for t in range(1, LONGEST):  # an Ornstein-Uhlenbeck process in the progress of the job
        kept = np.exp(-(progress[:, :, t] - progress[:, :, t - 1]) / _MEMORY)
        z[:, :, t] = kept * z[:, :, t - 1] + np.sqrt(1 - kept**2) * fresh[:, :, t]
    total = _rounded(length[:, :, None] * np.exp((begin + (end - begin) * progress) * z))
    return np.maximum(total - np.arange(LONGEST), 1)


def _rounded(values: NDArray[Any]) -> NDArray[np.int64]:
    return np.clip(np.rint(values), 1, LONGEST).astype(np.int64)
