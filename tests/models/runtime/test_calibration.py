"""Calibrated quantiles: against plain Python, and what they promise in the long run."""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from statistics import NormalDist

import numpy as np
import polars as pl
import pytest

from models.runtime.calibration import calibrated
from models.runtime.predictor import LEVELS, Prediction

BEGIN = datetime(2026, 1, 1)
SPREAD = 0.8


def stream(jobs: int, seed: int = 1, request_s: int | None = 10**7) -> tuple[pl.DataFrame, np.ndarray]:
    """Independent jobs, ten of them under way at a time, and the medians of their log-normal run times."""
    rng = np.random.default_rng(seed)
    median = rng.lognormal(8, 1, jobs)
    true = np.maximum(1, np.rint(median * rng.lognormal(0, SPREAD, jobs))).astype(np.int64)
    submit = [BEGIN + timedelta(minutes=k) for k in range(jobs)]
    end = [time + timedelta(seconds=int(rng.integers(1, 1200))) for time in submit]
    data = {"submit_time": submit, "end_time": end, "runtime_s": true, "requested_walltime_s": [request_s] * jobs}
    return pl.DataFrame(data, schema_overrides={"requested_walltime_s": pl.Int64}), median


def true_quantiles(median: np.ndarray, factor: float = 1.0, spread: float = SPREAD) -> Prediction:
    """The quantiles of the stream, or those times a factor, or of another spread."""
    z = np.array([NormalDist().inv_cdf(level) for level in LEVELS])
    return Prediction(median * factor, np.maximum(1, median[:, None] * factor * np.exp(spread * z)[None, :]))


def coverage(prediction: Prediction, rows: pl.DataFrame, level: float, first: int = 0) -> float:
    quantile = prediction.quantiles[first:, LEVELS.index(level)]
    return float((rows["runtime_s"].to_numpy()[first:] <= quantile).mean())


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9])
@pytest.mark.parametrize(("factor", "spread"), [(0.5, SPREAD), (2.0, SPREAD), (1.0, SPREAD / 2), (0.7, 2 * SPREAD)])
def test_wrong_quantiles_come_to_hold_what_they_promise(factor: float, spread: float, level: float) -> None:
    rows, median = stream(20_000)
    wrong = true_quantiles(median, factor, spread)
    right = calibrated(wrong, rows)
    assert abs(coverage(right, rows, level, first=2000) - level) < 0.02
    np.testing.assert_array_equal(right.point, wrong.point)
    if (factor, spread) != (1.0, SPREAD / 2) or level != 0.5:  # a median is right whatever the spread
        assert abs(coverage(wrong, rows, level) - level) > 0.05


def test_right_quantiles_change_little() -> None:
    rows, median = stream(20_000, seed=2)
    right = true_quantiles(median)
    found = calibrated(right, rows)
    for level in (0.5, 0.8, 0.9):
        assert abs(coverage(found, rows, level) - level) < 0.02
    ratio = np.log(found.quantiles / right.quantiles)[:, 2:7]
    assert np.median(np.abs(ratio)) < 0.2 and np.abs(ratio.mean(axis=0)).max() < 0.1


def test_a_change_of_ways_is_followed() -> None:
    """Half of the way through, jobs run three times as long as before; the predictor never notices."""
    rows, median = stream(20_000, seed=3)
    rows = rows.with_columns(
        pl.when(pl.int_range(pl.len()) >= 10_000)
        .then(3 * pl.col("runtime_s"))
        .otherwise("runtime_s")
        .alias("runtime_s")
    )
    found = calibrated(true_quantiles(median), rows)
    assert abs(coverage(found, rows, 0.8, first=11_000) - 0.8) < 0.02
    assert coverage(true_quantiles(median), rows, 0.8, first=11_000) < 0.5


def test_quantiles_end_a_little_above_the_request() -> None:
    """1.05 times the request and a minute; without a request four times the highest quantile and a minute."""
    for request, ceiling in ((1000, 1110.0), (None, None)):
        rows, median = stream(3000, seed=4, request_s=request)
        raw = true_quantiles(median, 0.05)
        found = calibrated(raw, rows)
        most = np.full(len(median), ceiling) if ceiling else 4 * raw.quantiles[:, -1] + 60
        assert (found.quantiles <= most[:, None] * (1 + 1e-12)).all()
        assert (found.quantiles[:, -1] > 0.999 * most).any() or request is None
        assert (found.quantiles >= 1).all() and (np.diff(found.quantiles, axis=1) >= 0).all()


def at(level: float, quantiles: list[float]) -> float:
    """The logarithm of a quantile at any level."""
    logs = [math.log(max(value, 1)) for value in quantiles]
    if level > LEVELS[-1] or level < LEVELS[0]:
        end = -1 if level > LEVELS[-1] else 0
        middle = LEVELS.index(0.5)
        slope = max(abs(logs[end] - logs[middle]), 0.05) / abs(LEVELS[end] - LEVELS[middle])
        return logs[end] + (level - LEVELS[end]) * slope
    return float(np.interp(level, LEVELS, logs))


def plain(prediction: Prediction, rows: pl.DataFrame, step: float) -> np.ndarray:
    jobs = rows.to_dicts()
    asked = list(LEVELS)
    told: list[list[float]] = []
    by_end = sorted(
        (k for k, job in enumerate(jobs) if job["end_time"] and job["runtime_s"]), key=lambda k: jobs[k]["end_time"]
    )
    for k, job in enumerate(jobs):
        while by_end and jobs[by_end[0]]["end_time"] < job["submit_time"]:
            ended = by_end.pop(0)
            for q, level in enumerate(LEVELS):
                outlived = math.log(jobs[ended]["runtime_s"]) > told[ended][q]
                asked[q] = min(max(asked[q] + step * (level if outlived else level - 1), -0.1), 1.25)
        raw = prediction.quantiles[k].tolist()
        request = job["requested_walltime_s"]
        ceiling = math.log((1.05 * request if request else 4 * raw[-1]) + 60)
        values: list[float] = []
        for level in asked:
            values.append(min(max([0.0, *values[-1:], at(level, raw)]), ceiling))
        told.append(values)
    return np.exp(told)


@pytest.mark.parametrize("step", [0.01, 0.3])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_against_plain_python(seed: int, step: float) -> None:
    """A step of 0.3 leads beyond the outermost levels."""
    rows, median = stream(250, seed)
    rng = np.random.default_rng(seed)
    rows = rows.with_columns(
        pl.when(pl.Series(rng.random(250) < 0.9)).then("end_time").alias("end_time"),
        pl.when(pl.Series(rng.random(250) < 0.95)).then("runtime_s").alias("runtime_s"),
        pl.Series("requested_walltime_s", rng.choice([None, 3000, 9000, 10**6], 250).tolist(), dtype=pl.Int64),
        pl.col("submit_time").dt.truncate("5m"),
    )
    raw = true_quantiles(median, rng.choice([0.2, 1.0, 4.0]))
    flat = rng.random(250) < 0.1  # jobs killed at their limit: all quantiles coincide
    raw.quantiles[flat] = raw.quantiles[flat, -1:]
    np.testing.assert_allclose(calibrated(raw, rows, step).quantiles, plain(raw, rows, step), rtol=1e-9)


def test_no_rows() -> None:
    rows, median = stream(5)
    found = calibrated(Prediction(median[:0], np.zeros((0, len(LEVELS)))), rows[:0])
    assert found.point.shape == (0,) and found.quantiles.shape == (0, len(LEVELS))
