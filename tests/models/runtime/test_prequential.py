"""Evaluation as in operation: who was fitted on what, against a loop written by hand."""

from __future__ import annotations

import itertools
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import numpy as np
import polars as pl
import pytest

from models.runtime import prequential as module
from models.runtime.named import PREDICTORS, make_predictor
from models.runtime.predictor import LEVELS, Prediction, Predictor
from models.runtime.predictors.columns import SimilarJobs
from models.runtime.prequential import Period, ended_by, fallback_jobs, periods_of, prequential

DAYS = 3


class Spy(Predictor):
    """Notes the jobs that it is fitted on and asked for; predicts how many it was fitted on."""

    name = "spy"
    seen: list[tuple[list[int], list[int]]] = []

    def __init__(self) -> None:
        self.fitted: list[int] = []

    def fit(self, rows: pl.DataFrame) -> None:
        self.fitted = rows["job_index"].to_list()

    def predict(self, rows: pl.DataFrame) -> Prediction:
        Spy.seen.append((self.fitted, rows["job_index"].to_list()))
        return Prediction(np.full(rows.height, float(len(self.fitted))), np.ones((rows.height, len(LEVELS))))

    def state(self) -> dict[str, Any]:
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        pass

    def features(self) -> tuple[str, ...]:
        return ()


@pytest.fixture
def spy(monkeypatch: pytest.MonkeyPatch) -> type[Spy]:
    monkeypatch.setitem(PREDICTORS, "spy", Spy)
    Spy.seen = []
    return Spy


def test_a_model_is_fitted_on_what_had_ended_before_its_period(
    rows: pl.DataFrame, spy: type[Spy], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LEAST_FITTED", 1)
    prequential(rows, "spy", DAYS, threads=1)
    times = {row["job_index"]: row for row in rows.to_dicts()}
    begin = rows["submit_time"][0]
    asked: list[int] = []
    for fitted, predicted in spy.seen:
        period = (times[predicted[0]]["submit_time"] - begin) // timedelta(days=DAYS)
        start = begin + period * timedelta(days=DAYS)
        assert all(start <= times[job]["submit_time"] < start + timedelta(days=DAYS) for job in predicted)
        assert fitted == [job for job, row in times.items() if row["end_time"] < start and row["submit_time"] < start]
        asked += predicted
    assert len(spy.seen) > 4
    first = [job for job, row in times.items() if row["submit_time"] < begin + timedelta(days=DAYS)]
    assert asked == rows["job_index"].to_list()[len(first) :]  # each once; the first period had nothing to learn from


@pytest.mark.parametrize("name", ["last_two", "xgboost_asymmetric"])
def test_against_a_loop_by_hand(rows: pl.DataFrame, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(module, "LEAST_FITTED", 60)
    jobs = rows.to_dicts()
    points, quantiles, early = [], [], 0
    start = jobs[0]["submit_time"]
    while start <= jobs[-1]["submit_time"]:
        end = start + timedelta(days=DAYS)
        asked = rows.filter(pl.Series([start <= job["submit_time"] < end for job in jobs]))
        known = rows.filter(pl.Series([job["submit_time"] < start and job["end_time"] < start for job in jobs]))
        start = end
        early += known.height < 60
        predictor: Predictor = make_predictor(name) if known.height >= 60 or name == "last_two" else SimilarJobs()
        if known.height:
            predictor.fit(known)
        found = predictor.predict(asked)
        points.append(found.point)
        quantiles.append(found.quantiles)
    assert 1 <= early < len(points) - 2
    for threads in (1, 2):
        found = prequential(rows, name, DAYS, threads=threads)
        np.testing.assert_array_equal(found.point, np.concatenate(points))
        np.testing.assert_array_equal(found.quantiles, np.concatenate(quantiles))


BASELINES = {
    "requested": "requested_walltime_s", "last_two": "last_two_runtime_s", "user_mean": "user_mean_runtime_s",
    "similar_jobs": "similar_p50_s",
}  # fmt: skip
"""What each of them reads its point from."""


@pytest.mark.parametrize("name", BASELINES)
def test_a_baseline_answers_for_itself_from_the_first_job(rows: pl.DataFrame, name: str) -> None:
    """Even in one period, before which nothing had ended: its points are those of its column, not those of similar jobs."""
    few = rows[:150].filter(pl.col("requested_walltime_s") > 0)
    periods = periods_of(few, 300)
    assert [period.fitted for period in periods] == [0]
    point = prequential(few, name, 300).point
    request = few["requested_walltime_s"].to_numpy()
    column = few[BASELINES[name]].cast(pl.Float64).to_numpy()
    expected = np.maximum(1, np.fmin(np.where(column > 0, column, request), request))
    np.testing.assert_array_equal(point, column if name == "similar_jobs" else expected)
    assert not fallback_jobs(name, periods).any()


def test_no_two_baselines_agree_on_a_short_log(rows: pl.DataFrame) -> None:
    short = rows[:150]
    names = [name for name in PREDICTORS if not make_predictor(name).needs_fit]
    assert len(names) == 4
    points = {tuple(prequential(short, name, 300).point) for name in names}
    assert len(points) == len(names)


@pytest.mark.parametrize("name", ["user_behaviour", "sklearn", "xgboost", "xgboost_asymmetric", "stack"])
def test_one_that_has_too_little_to_learn_from_falls_back_and_is_counted(rows: pl.DataFrame, name: str) -> None:
    periods = periods_of(rows, DAYS)
    early = [period for period in periods if period.fitted < module.LEAST_FITTED]
    mask = fallback_jobs(name, periods)
    assert 0 < early[-1].last < rows.height  # later periods have more
    assert mask.sum() == early[-1].last and mask[: early[-1].last].all() and len(mask) == rows.height
    found = prequential(rows, name, DAYS)
    np.testing.assert_array_equal(found.quantiles[mask], SimilarJobs().predict(rows).quantiles[mask])
    assert (found.quantiles[~mask] != SimilarJobs().predict(rows).quantiles[~mask]).any()


def test_who_falls_back_by_hand() -> None:
    """With 200 jobs ended a predictor is fitted, with 199 it is not."""
    begin = datetime(2026, 3, 1)
    periods = [Period(begin, 0, 2, 0), Period(begin, 2, 5, 199), Period(begin, 5, 6, 200)]
    assert fallback_jobs("stack", periods).tolist() == [True] * 5 + [False]
    assert fallback_jobs("requested", periods).tolist() == [False] * 6
    assert fallback_jobs("stack", []).tolist() == []


@pytest.mark.parametrize("name", ["stack", "sklearn"])
def test_threads_change_nothing(rows: pl.DataFrame, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(module, "LEAST_FITTED", 60)
    alone, together = (prequential(rows, name, 6, threads=threads) for threads in (1, 2))
    np.testing.assert_array_equal(alone.point, together.point)
    np.testing.assert_array_equal(alone.quantiles, together.quantiles)


def test_progress_is_told(rows: pl.DataFrame, spy: type[Spy]) -> None:
    told = itertools.count()
    prequential(rows, "spy", DAYS, done=partial(next, told))
    assert next(told) == len(periods_of(rows, DAYS)) > 2


def test_a_failure_in_a_period_is_not_swallowed(rows: pl.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(Spy):
        def fit(self, rows: pl.DataFrame) -> None:
            raise RuntimeError("broken")

    monkeypatch.setitem(PREDICTORS, "spy", Broken)
    monkeypatch.setattr(module, "LEAST_FITTED", 1)
    with pytest.raises(RuntimeError, match="broken"):
        prequential(rows, "spy", DAYS)


# ------------------------------------------------------------------------------------------------------------- periods


def submitted(*days: float, runtime_days: float = 0.5) -> pl.DataFrame:
    begin = datetime(2026, 3, 1, 6)
    times = [begin + timedelta(days=day) for day in days]
    return pl.DataFrame({
        "submit_time": times, "end_time": [time + timedelta(days=runtime_days) for time in times],
        "runtime_s": [int(runtime_days * 86_400)] * len(days),
    })  # fmt: skip


def test_periods_by_hand() -> None:
    """Of two days; the job submitted just when the second begins belongs to it, nobody comes in the third, and what ends just
    when the fourth begins had not ended before."""
    rows = submitted(0, 1, 1.9, 2, 3, 5.5, 6, 6)
    begin = rows["submit_time"][0]
    assert periods_of(rows, 2) == [
        Period(begin, 0, 3, 0), Period(begin + timedelta(days=2), 3, 5, 2), Period(begin + timedelta(days=4), 5, 6, 5),
        Period(begin + timedelta(days=6), 6, 8, 5),
    ]  # fmt: skip
    rows = submitted(0, 1, 9)
    assert [(period.first, period.last) for period in periods_of(rows, 2)] == [(0, 2), (2, 3)]
    far = periods_of(submitted(0, 1, 1_000_000.5), 2)  # a wrong time, thousands of years away
    assert [(period.start - begin, period.first) for period in far] == [
        (timedelta(0), 0),
        (timedelta(days=1_000_000), 2),
    ]


@pytest.mark.parametrize("days", [1, 2, 7, 30])
def test_periods_cover_every_row_once(rows: pl.DataFrame, days: int) -> None:
    periods = periods_of(rows, days)
    covered = [row for period in periods for row in range(period.first, period.last)]
    assert covered == list(range(rows.height))
    for period in periods:
        assert period.fitted == ended_by(rows, period.start).height
        assert rows["submit_time"][period.first] >= period.start
        assert rows["submit_time"][period.last - 1] < period.start + timedelta(days=days)


def test_a_trace_of_one_job_and_of_none() -> None:
    assert periods_of(submitted(0), 30) == [Period(submitted(0)["submit_time"][0], 0, 1, 0)]
    assert periods_of(submitted(0)[:0], 30) == []


def test_ended_by_needs_an_end_and_a_run_time() -> None:
    rows = submitted(0, 0, 0, 0.5).with_columns(
        pl.Series("runtime_s", [100, 0, None, 100]),
    )
    moment = rows["end_time"][3]
    assert ended_by(rows, moment)["runtime_s"].to_list() == [100]
    assert ended_by(rows.with_columns(pl.lit(None, dtype=pl.Datetime).alias("end_time")), moment).is_empty()
