"""Tests of studies/predicting: online."""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest

from studies.predicting.online import COUNT_FEATURES, TIME_FEATURES, OnlineRegression

# online: The online regression against normalised adaptive gradients in plain Python, written from Ross, Mineiro
# and Langford 2013.

BEGIN = datetime(2026, 1, 5)
LONG_S = 30 * 86_400  # the longest that is ever predicted
"""A request that caps no prediction."""


def random_rows(seed: int, jobs: int = 60) -> pl.DataFrame:
    """Features of growing size, so that scales grow, some of them missing; ends known and unknown, many in the same second."""
    rng = np.random.default_rng(seed)
    growth = np.geomspace(1, 30, jobs)
    data: dict[str, Any] = {name: np.rint(rng.lognormal(7, 1, jobs) * growth) for name in TIME_FEATURES}
    data |= {name: rng.integers(0, 9, jobs) * 1.0 for name in COUNT_FEATURES}
    data |= {"hour_of_day": rng.integers(0, 24, jobs), "day_of_week": rng.integers(1, 8, jobs)}
    submit = np.sort(rng.integers(0, jobs, jobs)) * 60
    end = submit + rng.integers(0, 20, jobs) * 60
    data |= {
        "submit_time": [BEGIN + timedelta(seconds=int(s)) for s in submit],
        "end_time": [BEGIN + timedelta(seconds=int(e)) if rng.random() < 0.9 else None for e in end],
        "runtime_s": [int(r) if rng.random() < 0.95 else None for r in np.ceil(rng.lognormal(8, 1, jobs) * growth)],
    }
    rows = pl.DataFrame(data)
    for name in TIME_FEATURES[1:]:
        rows = rows.with_columns(pl.when(pl.Series(rng.random(jobs) < 0.9)).then(name).alias(name))
    request = rng.choice([LONG_S, LONG_S, 1, None], jobs)
    return rows.with_columns(pl.Series("requested_walltime_s", request.tolist(), dtype=pl.Int64))


class Learner:
    """Algorithm 2 of the paper, on dictionaries; the gradient's unit is put right by the hour."""

    def __init__(self, asymmetric: bool, rate: float = 0.1) -> None:
        self.asymmetric, self.rate = asymmetric, rate
        self.w: dict[Any, float] = {}
        self.s: dict[Any, float] = {}
        self.g: dict[Any, float] = {}
        self.t, self.n = 0, 0.0

    def value(self, x: dict[Any, float]) -> float:
        return math.fsum(self.w.get(key, 0.0) * value for key, value in x.items())

    def learn(self, x: dict[Any, float], true: float, importance: float) -> None:
        for key, value in x.items():
            if abs(value) > self.s.get(key, 0.0):
                if key in self.s:
                    self.w[key] *= self.s[key] / abs(value)
                self.s[key] = abs(value)
                self.w.setdefault(key, 0.0)
                self.g.setdefault(key, 0.0)
        error = self.value(x) - true
        slope = importance * (2 * error if error > 0 or not self.asymmetric else -1)
        self.t += 1
        self.n += math.fsum((value / self.s[key]) ** 2 for key, value in x.items() if value)
        for key, value in x.items():
            if value and slope:
                self.g[key] += (slope * value) ** 2
                step = 3600 * self.rate * math.sqrt(self.t / self.n) / (self.s[key] * math.sqrt(self.g[key]))
                self.w[key] -= step * slope * value


def polynomial(row: dict[str, Any]) -> dict[Any, float]:
    x = {name: (row[name] or 0.0) / 3600 for name in TIME_FEATURES} | {
        name: row[name] or 0.0 for name in COUNT_FEATURES
    }
    for name, period in (("hour_of_day", 24), ("day_of_week", 7)):
        angle = 2 * math.pi * row[name] / period
        x |= {f"sin {name}": math.sin(angle), f"cos {name}": math.cos(angle)}
    names = list(x)
    products = {(a, b): x[a] * x[b] for k, a in enumerate(names) for b in names[k:]}
    return {"one": 1.0} | x | products


def plain(rows: pl.DataFrame, asymmetric: bool) -> list[float]:
    jobs = rows.to_dicts()
    learner, found = Learner(asymmetric), []
    to_come = sorted((job for job in jobs if job["end_time"] and job["runtime_s"]), key=lambda job: job["end_time"])
    for job in jobs:
        while to_come and to_come[0]["end_time"] < job["submit_time"]:
            ended = to_come.pop(0)
            importance = math.log(max(2.0, (ended["requested_procs"] or 1) * ended["runtime_s"]))
            learner.learn(polynomial(ended), ended["runtime_s"], importance)
        found.append(max(1.0, min(learner.value(polynomial(job)), job["requested_walltime_s"] or LONG_S)))
    return found


@pytest.mark.parametrize("asymmetric", [True, False])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_against_plain_python(seed: int, asymmetric: bool) -> None:
    rows = random_rows(seed)
    found = OnlineRegression(asymmetric=asymmetric).predict(rows).point
    expected = plain(rows, asymmetric)
    assert sum(1 < value < LONG_S for value in expected) > 15  # what is clipped tells little
    np.testing.assert_allclose(found, expected, rtol=1e-7)


def test_learning_goes_on_where_the_fit_stopped() -> None:
    """Fitted on jobs that ended before the first of the others, it predicts these as if it had gone through all of them."""
    rows = random_rows(4).with_columns(
        pl.col("runtime_s").fill_null(500), pl.col("end_time").fill_null(pl.col("submit_time"))
    )
    early = rows[:40]
    late = rows[40:].with_columns(pl.col("submit_time", "end_time") + timedelta(days=2))
    whole = OnlineRegression().predict(pl.concat([early, late])).point
    regression = OnlineRegression()
    regression.fit(early)
    np.testing.assert_allclose(regression.predict(late).point, whole[40:], rtol=1e-12)


def test_the_asymmetric_loss_underestimates_more_often() -> None:
    """Overestimates cost the square of the error, underestimates the error."""
    rng = np.random.default_rng(5)
    jobs = 1500
    rows = pl.concat([random_rows(seed, 60) for seed in range(jobs // 60)])
    rows = rows.with_columns(
        *(pl.Series(name, rng.uniform(1, 3, jobs) * 3600) for name in TIME_FEATURES[1:]),
        pl.Series("requested_walltime_s", [100_000] * jobs),
    )
    true = rows["last_runtime_s"].to_numpy() * rng.lognormal(0, 0.5, jobs)
    begin = pl.Series([BEGIN + timedelta(hours=k) for k in range(jobs)])
    rows = rows.with_columns(
        begin.alias("submit_time"),
        (begin + timedelta(minutes=50)).alias("end_time"),
        pl.Series("runtime_s", true.astype(int)),
    )
    share = {}
    for asymmetric in (True, False):
        point = OnlineRegression(asymmetric=asymmetric).predict(rows).point
        share[asymmetric] = (true > point)[500:].mean()
    assert share[True] > share[False] + 0.1
