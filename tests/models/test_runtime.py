"""The run-time model: honest inputs, bounded outputs, the same every time."""

from __future__ import annotations

import datetime as dt

import numpy as np
import polars as pl
import pytest

from models.runtime import (
    FEATURE_NAMES,
    RuntimeModelOptions,
    ended_before,
    feature_matrix,
    gain_interval,
    predict_last_two,
    predict_runtimes,
    runtime_model_from_bytes,
    runtime_model_to_bytes,
    score,
    train_runtime_model,
)


@pytest.fixture(scope="module")
def rows() -> pl.DataFrame:
    """Users whose last two run times tell the next one; every twentieth job is a user's first."""
    rng = np.random.default_rng(0)
    jobs = 1200
    usual = np.exp(rng.normal(7, 1.5, jobs))
    last, second = (np.round(usual * np.exp(rng.normal(0, 0.2, jobs))) + 1 for _ in range(2))
    known = rng.random(jobs) > 0.05
    columns = {
        "job_index": np.arange(jobs),
        "requested_walltime_s": np.round(usual * 10).astype(np.int64) + 60,
        "requested_procs": rng.integers(1, 64, jobs),
        "hour_of_day": rng.integers(0, 24, jobs),
        "day_of_week": rng.integers(1, 8, jobs),
        "user_jobs_ended": np.where(known, 5, 0),
        "alike_jobs_ended": np.where(known, 2, 0),
        "runtime_s": np.minimum(np.round(usual * np.exp(rng.normal(0, 0.2, jobs))) + 1, np.round(usual * 10) + 60),
    }
    frame = pl.DataFrame(columns).with_columns(
        queue=pl.Series(rng.choice(["long", "short", None], jobs).tolist(), dtype=pl.Utf8),
        runtime_s=pl.col("runtime_s").cast(pl.Int64),
    )
    history = {
        "last_runtime_s": last, "second_last_runtime_s": second, "last_two_runtime_s": (last + second) / 2,
        "user_mean_runtime_s": last, "last_requested_walltime_s": last * 10, "seconds_since_last_end": last,
        "alike_last_runtime_s": last, "alike_mean_runtime_s": last,
    }  # fmt: skip
    values = {name: pl.Series(np.where(known, column, np.nan)).fill_nan(None) for name, column in history.items()}
    submit = [dt.datetime(2026, 1, 1) + dt.timedelta(hours=k) for k in range(jobs)]
    frame = frame.with_columns(**values, submit_time=pl.Series(submit, dtype=pl.Datetime("us")))
    return frame.with_columns(end_time=pl.col("submit_time") + pl.duration(seconds=pl.col("runtime_s")))


def test_prediction_beats_request_and_is_within_it(rows: pl.DataFrame) -> None:
    train, test = rows[:900], rows[900:]
    model = train_runtime_model(train, RuntimeModelOptions(max_trees=150))
    predicted = predict_runtimes(model, test)
    true = test["runtime_s"].to_numpy().astype(float)
    requested = test["requested_walltime_s"].to_numpy().astype(float)
    assert np.isfinite(predicted).all()
    assert (predicted >= 1).all()
    assert (predicted <= requested).all()
    assert score(predicted, true)["mean_absolute_error_s"] < 0.5 * score(requested, true)["mean_absolute_error_s"]


def test_same_rows_same_bytes(rows: pl.DataFrame) -> None:
    options = RuntimeModelOptions(max_trees=20)
    first, again = (runtime_model_to_bytes(train_runtime_model(rows, options)) for _ in range(2))
    assert first == again
    model = train_runtime_model(rows, options)
    np.testing.assert_array_equal(
        predict_runtimes(model, rows), predict_runtimes(runtime_model_from_bytes(first), rows)
    )
    with pytest.raises(ValueError, match="not a run-time model"):
        runtime_model_from_bytes(b"{}")


def test_jobs_still_running_are_not_learned_from(rows: pl.DataFrame) -> None:
    moment = rows["submit_time"][99]  # the last job has just been submitted
    known = ended_before(rows[:100], moment)
    assert 50 < known.height < 100
    assert (known["end_time"] <= moment).all()
    unknown_end = rows[:100].with_columns(end_time=pl.lit(None, dtype=pl.Datetime("us")))
    assert ended_before(unknown_end, moment).height == known.height


def test_later_rows_do_not_change_earlier_features(rows: pl.DataFrame) -> None:
    queues = ["long", "short"]
    np.testing.assert_array_equal(feature_matrix(rows, queues)[:100], feature_matrix(rows[:100], queues))
    assert feature_matrix(rows, queues).shape == (1200, len(FEATURE_NAMES))
    unseen = rows[:5].with_columns(queue=pl.lit("never seen"))
    assert np.isnan(feature_matrix(unseen, queues)[:, -1]).all()


def test_last_two_falls_back_to_the_request_then_to_the_given_time(rows: pl.DataFrame) -> None:
    nothing = rows[:2].with_columns(
        last_two_runtime_s=pl.Series([None, None], dtype=pl.Float64),
        requested_walltime_s=pl.Series([500, None], dtype=pl.Int64),
    )
    assert predict_last_two(nothing, 1234.0).tolist() == [500.0, 1234.0]
    capped = rows[:1].with_columns(last_two_runtime_s=pl.lit(9e9))
    assert predict_last_two(capped, 1.0)[0] == rows["requested_walltime_s"][0]


def test_gain_interval_covers_the_mean_and_widens_with_few_users() -> None:
    rng = np.random.default_rng(1)
    users = np.repeat(np.arange(100), 20)
    baseline, error = rng.exponential(100, 2000), rng.exponential(80, 2000)
    mean, low, high = gain_interval(error, baseline, users, seed=1)
    assert low < mean < high
    assert mean == pytest.approx((baseline - error).mean())
    alike = np.repeat(rng.normal(0, 50, 5), 400)
    _, few_low, few_high = gain_interval(error + alike, baseline, np.repeat(np.arange(5), 400), seed=1)
    assert few_high - few_low > 2 * (high - low)
    mean, low, high = gain_interval(error, baseline, np.repeat("", 2000), seed=1)
    assert (low, high) == (None, None), "a log without users has nothing to resample"
