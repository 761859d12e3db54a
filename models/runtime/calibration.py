"""Quantiles that keep their promise: adaptive conformal inference (Gibbs and Candes 2021) over a stream of jobs.

A predictor's 80 % quantile may hold for 70 % of the jobs only, above all when users change their habits. So each level keeps the
level that it really requests from the predictor. A job that ran longer than its quantile raises it a little, and any other job lowers
it. In the long run the share of covered jobs is the nominal one, whatever the predictor.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from models.compiled import compiled
from models.runtime.predictor import LEVELS, FloatArray, Prediction, requests, runtimes

LEVEL_STEP = 0.01
"""How far a level moves for one job. It remembers about 1 / LEVEL_STEP jobs."""

OVERRUN = 1.05
"""Systems let jobs run a little longer than their request. Quantiles need not be longer than that."""

LOWEST, HIGHEST = -0.1, 1.25
"""Levels may leave 0 to 1. Beyond the outermost of LEVELS, the logarithm of the quantile continues on a straight line."""


class _Stream(NamedTuple):
    """Jobs in order of submission. submit, end: microseconds, int64 (jobs,). by_end: the jobs that ended, by their end, int64.
    log_true: logarithm of the run time, float64 (jobs,)."""

    submit: NDArray[np.int64]
    end: NDArray[np.int64]
    by_end: NDArray[np.int64]
    log_true: FloatArray


def calibrated(prediction: Prediction, rows: pl.DataFrame, step: float = LEVEL_STEP) -> Prediction:
    """The predicted points, with quantiles corrected by the outcome of earlier jobs.

    rows: as for `Predictor.predict`, in order of submission, with end_time and runtime_s where known. A row's quantiles depend only on
    rows that ended before its submission.
    """
    has_ended = rows.select(pl.col("end_time").is_not_null() & (pl.col("runtime_s") > 0)).to_series().to_numpy()
    ended = np.flatnonzero(has_ended)
    end = rows["end_time"].dt.epoch("us").fill_null(0).to_numpy()
    by_end = ended[np.argsort(end[ended], kind="stable")]
    log_true = np.log(runtimes(rows.select(pl.col("runtime_s").fill_null(1))))
    stream = _Stream(rows["submit_time"].dt.epoch("us").to_numpy(), end, by_end, log_true)
    log_quantile = np.log(np.maximum(prediction.quantiles, 1.0))
    corrected = np.empty_like(prediction.quantiles)
    _adapt(log_quantile, stream, np.log(_ceiling(prediction, rows)), np.array(LEVELS), step, corrected)
    return Prediction(prediction.point, np.maximum(1.0, np.exp(corrected)))


def _ceiling(prediction: Prediction, rows: pl.DataFrame) -> FloatArray:
    """The longest run time that a quantile may be, seconds, (jobs,)."""
    asked = requests(rows)
    most = prediction.quantiles[:, -1]
    return np.where(np.isnan(asked), 4 * most, OVERRUN * asked) + 60.0


@compiled
def _adapt(
    log_quantile: FloatArray,
    stream: _Stream,
    log_ceiling: FloatArray,
    levels: FloatArray,
    step: float,
    corrected: FloatArray,
) -> None:
    """Fills `corrected`, the logarithms of the quantiles, (jobs, levels), job by job."""
    submit, end, by_end, log_true = stream
    asked = levels.copy()
    waiting = 0
    for row in range(len(submit)):
        while waiting < len(by_end) and end[by_end[waiting]] < submit[row]:
            job = by_end[waiting]
            waiting += 1
            if job >= row:  # a log can hold an end before the submission. Then there is no quantile to judge yet
                continue
            for q in range(len(levels)):
                covered = 1.0 if log_true[job] <= corrected[job, q] else 0.0
                asked[q] = min(max(asked[q] + step * (levels[q] - covered), LOWEST), HIGHEST)
        highest = 0.0
        for q in range(len(levels)):
            highest = max(highest, at_level(log_quantile[row], levels, asked[q]))
            highest = min(highest, log_ceiling[row])
            corrected[row, q] = highest


@compiled
def at_level(log_quantile: FloatArray, levels: FloatArray, level: float) -> float:
    """The logarithm of the quantile at any level, from those at `levels`. It lies on straight lines, also beyond the ends."""
    last = len(levels) - 1
    k = 0
    while k < last - 1 and levels[k + 1] < level:
        k += 1
    if level > levels[last]:
        # a distribution whose upper quantiles coincide (jobs killed at their limit) must be able to grow too
        slope = max(log_quantile[last] - log_quantile[last // 2], 0.05) / (levels[last] - levels[last // 2])
        return log_quantile[last] + (level - levels[last]) * slope
    if level < levels[0]:
        slope = max(log_quantile[last // 2] - log_quantile[0], 0.05) / (levels[last // 2] - levels[0])
        return log_quantile[0] - (levels[0] - level) * slope
    part = (level - levels[k]) / (levels[k + 1] - levels[k])
    return log_quantile[k] + part * (log_quantile[k + 1] - log_quantile[k])
