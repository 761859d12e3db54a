"""Tests of models/runtime: challenge, named, predictor."""

from __future__ import annotations

import base64
import json
import math
import os
import pickle
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from models.runtime import challenge
from models.runtime.challenge import (
    LEAST_SHARE,
    LEAST_TESTED,
    input_drift,
    judge_predictor,
    population_stability,
    rows_sha256,
    train_challenger,
    usual_stability,
)
from models.runtime.named import PREDICTORS, SERVING, make_predictor, predictor_from_bytes, predictor_to_bytes
from models.runtime.predictor import (
    LEVELS,
    MEDIAN,
    QUANTILE_COLUMNS,
    Prediction,
    Predictor,
    from_points,
    ratio_quantiles,
    recent,
    requests,
    runtimes,
    within_request,
)
from tests.models.runtime.rows import Trial, assert_same, every_predictor

# challenge: Champion and challenger: which jobs are kept for the test, and who wins.

BEGIN = datetime(2026, 1, 1)


def submitted(hours: list[float]) -> pl.DataFrame:
    return pl.DataFrame({"submit_time": [BEGIN + timedelta(hours=hour) for hour in hours]})


def test_the_newest_days_are_kept_for_the_test() -> None:
    rows = submitted([float(hour) for hour in range(24 * 100)])  # 24 a day
    assert challenge.test_start(rows, 14) == rows["submit_time"][-1] - timedelta(days=14)
    assert rows.filter(pl.col("submit_time") >= challenge.test_start(rows, 14)).height == 14 * 24 + 1


def test_more_days_where_they_hold_too_few_jobs() -> None:
    rows = submitted([12.0 * k for k in range(400)])  # 2 a day: 14 days hold 29
    start = challenge.test_start(rows, 14)
    assert rows.filter(pl.col("submit_time") >= start).height == LEAST_TESTED
    # a few jobs on the last day after a long pause
    rows = submitted([*(1.0 * k for k in range(1000)), 5000.0, 5001.0])
    assert rows.filter(pl.col("submit_time") >= challenge.test_start(rows, 14)).height == LEAST_TESTED


def test_never_beyond_half_of_the_jobs() -> None:
    rows = submitted([12.0 * k for k in range(120)])
    assert challenge.test_start(rows, 14) == rows["submit_time"][60]
    rows = submitted([0.1 * k for k in range(4000)])  # 16 days
    assert challenge.test_start(rows, 14) == rows["submit_time"][2000]
    assert challenge.test_start(submitted([0.0]), 14) == BEGIN


def test_training_sees_no_job_of_the_test(rows: pl.DataFrame) -> None:
    moment = rows["end_time"].sort()[250]
    predictor, fitted = train_challenger(rows, "user_mean", moment)
    assert predictor.name == "user_mean"
    assert (fitted["end_time"] < moment).all() and (fitted["submit_time"] < moment).all()
    expected = [row["job_index"] for row in rows.to_dicts() if row["end_time"] < moment]
    assert fitted["job_index"].to_list() == expected and 200 < len(expected) <= 250


class Contest:
    """Jobs of some users, on some days, and predictions of any error."""

    def __init__(self, users: int, days: int = 30, jobs: int = 600) -> None:
        self.rng = np.random.default_rng(1)
        self.true = self.rng.uniform(2000, 4000, jobs)
        self.rows = pl.DataFrame({
            "submit_time": [BEGIN + timedelta(days=days * k / jobs) for k in range(jobs)],
            "user_name": [None if k % users == 0 else f"u{k % users}" for k in range(jobs)],
            "runtime_s": np.rint(self.true).astype(np.int64),
        })  # fmt: skip
        self.true = self.rows["runtime_s"].to_numpy().astype(float)

    def off_by(self, seconds: float, noise: float = 1.0) -> Prediction:
        point = self.true + seconds + self.rng.normal(0, noise, len(self.true))
        return Prediction(point, np.repeat(point[:, None], len(LEVELS), axis=1))


def test_a_better_challenger_takes_over() -> None:
    contest = Contest(users=12)
    verdict = judge_predictor(contest.off_by(500), contest.off_by(300), contest.rows, seed=1)
    assert verdict.promote and verdict.gain == pytest.approx(200, abs=1)
    assert verdict.low is not None and verdict.high is not None and 190 < verdict.low < verdict.high < 210
    assert verdict.reason.startswith("significantly better: mean error 200 s lower on 600 newest jobs")
    assert "users" in verdict.reason


def test_a_worse_challenger_does_not() -> None:
    contest = Contest(users=12)
    verdict = judge_predictor(contest.off_by(300), contest.off_by(500), contest.rows, seed=1)
    assert not verdict.promote and verdict.gain == pytest.approx(-200, abs=1)
    assert verdict.reason.startswith("worse: mean error 200 s higher")


def test_noise_is_no_reason() -> None:
    contest = Contest(users=12)
    verdict = judge_predictor(contest.off_by(0, 800), contest.off_by(0, 790), contest.rows, seed=1)
    assert not verdict.promote and verdict.low is not None and verdict.high is not None
    assert verdict.low <= 0 <= verdict.high
    assert verdict.reason.startswith("not significantly better")
    champion = contest.off_by(400)
    assert judge_predictor(champion, champion, contest.rows, seed=1).promote is False


def test_few_users_are_compared_by_days() -> None:
    contest = Contest(users=3)
    verdict = judge_predictor(contest.off_by(500), contest.off_by(300), contest.rows, seed=1)
    assert verdict.promote and "days" in verdict.reason and "users" not in verdict.reason


def test_few_users_and_few_days_tell_nothing() -> None:
    contest = Contest(users=3, days=3)
    verdict = judge_predictor(contest.off_by(500), contest.off_by(300), contest.rows, seed=1)
    assert not verdict.promote and verdict.gain == pytest.approx(200, abs=1)
    assert verdict.low is None and verdict.high is None
    assert verdict.reason == "too few users and days to tell a difference from noise"


def test_the_same_seed_gives_the_same_verdict() -> None:
    contest = Contest(users=12)
    champion, challenger = contest.off_by(0, 800), contest.off_by(0, 700)
    assert judge_predictor(champion, challenger, contest.rows, 1) == judge_predictor(
        champion, challenger, contest.rows, 1
    )
    assert judge_predictor(champion, challenger, contest.rows, 1) != judge_predictor(
        champion, challenger, contest.rows, 2
    )


HASHED = ("job_index", "submit_time", "end_time", "requested_walltime_s", "requested_procs", "runtime_s")


def test_the_hash_of_jobs_changes_with_them(rows: pl.DataFrame) -> None:
    rows = rows[:50]
    digest = rows_sha256(rows)
    assert digest == rows_sha256(rows.clone()) and len(digest) == 64
    others = {digest, rows_sha256(rows[:49]), rows_sha256(rows[1:]), rows_sha256(rows.reverse()), rows_sha256(rows[:0])}
    one = pl.int_range(pl.len()) == 20
    for name in HASHED:
        step = timedelta(microseconds=1) if rows.schema[name].is_temporal() else 1
        others.add(rows_sha256(rows.with_columns(pl.when(one).then(pl.col(name) + step).otherwise(name).alias(name))))
    for name in HASHED[2:]:
        others.add(rows_sha256(rows.with_columns(pl.when(~one | pl.col(name).is_null()).then(name).alias(name))))
    known = sum(rows[name][20] is not None for name in HASHED[2:])
    assert len(others) == 5 + sum(rows[name][20] is not None for name in HASHED) + known
    # what is no input of a fit's outcome may change
    assert rows_sha256(rows.with_columns(pl.lit("other").alias("status"))) == digest


# drift: The population stability index by hand.

SHIFTED = 0.25
"""From here on the check inputs_are_stable warns."""


def test_two_bins_by_hand() -> None:
    """Half of the values on either side of the median; now three quarters are above: 2 x 1/4 x ln 3/2 or ln 2."""
    before = np.arange(100.0)
    now = np.concatenate([np.arange(25), np.arange(50, 100), np.arange(50, 75)]).astype(float)
    expected = (0.75 - 0.5) * math.log(0.75 / 0.5) + (0.25 - 0.5) * math.log(0.25 / 0.5)
    assert population_stability(before, now, bins=2) == pytest.approx(expected)


def test_a_bin_that_was_empty_counts_a_thousandth() -> None:
    before, now = np.arange(10.0), np.full(10, 3.0)
    shares = [0.1] * 10, [LEAST_SHARE] * 3 + [1.0] + [LEAST_SHARE] * 6
    expected = sum((new - old) * math.log(new / old) for old, new in zip(*shares, strict=True))
    assert population_stability(before, now) == pytest.approx(expected)


def test_the_same_population_has_not_moved() -> None:
    rng = np.random.default_rng(1)
    values = np.concatenate([rng.lognormal(5, 2, 800), np.full(100, np.nan), np.zeros(300)])
    assert population_stability(values, values) == 0
    assert population_stability(values, rng.permutation(values)) == pytest.approx(0, abs=1e-12)
    drawn = [rng.lognormal(5, 2, 4000) for _ in range(2)]
    assert 0 < population_stability(*drawn) < 0.02


def test_unknown_values_are_a_bin() -> None:
    before, now = np.arange(100.0), np.concatenate([np.arange(50.0), np.full(50, np.nan)])
    assert population_stability(np.arange(100.0), np.arange(100.0)) == 0
    assert population_stability(before, now) > SHIFTED
    assert population_stability(now, before) > SHIFTED
    half = np.concatenate([np.arange(100.0), np.full(100, np.nan)])
    quarter = np.concatenate([np.repeat(np.arange(100.0), 3), np.full(100, np.nan)])
    expected = (0.25 - 0.5) * math.log(0.5) + 10 * (0.075 - 0.05) * math.log(1.5)
    assert population_stability(half, quarter) == pytest.approx(expected)
    nothing = np.full(10, np.nan)
    assert population_stability(nothing, nothing) == 0
    assert population_stability(nothing, np.arange(10.0)) == pytest.approx(
        2 * (1 - LEAST_SHARE) * math.log(1 / LEAST_SHARE)
    )


def test_up_and_down_are_alike() -> None:
    before = np.random.default_rng(2).normal(0, 1, 1000)
    up, down = population_stability(before, before + 100), population_stability(before, before - 100)
    assert up == pytest.approx(down) and up > 5
    assert population_stability(before, before + 0.3) == pytest.approx(
        population_stability(-before, -before - 0.3), rel=0.02
    )
    assert population_stability(before + 100, before) == pytest.approx(up, rel=1e-9)


@pytest.mark.parametrize(("before", "now"), [(0.05, 0.6), (0.6, 0.05), (0.95, 0.4), (0.0, 0.5), (1.0, 0.5)])
def test_a_flag_that_comes_more_or_less_often(before: float, now: float) -> None:
    """Most of its deciles are the same value, and yet the shares of 0 and 1 have changed."""
    first, second = (np.where(np.arange(1000) < 1000 * share, 1.0, 0.0) for share in (before, now))
    assert population_stability(first, second) > SHIFTED
    old, new = (max(LEAST_SHARE, share) for share in (before, now))
    empty = [max(LEAST_SHARE, 1 - share) for share in (before, now)]
    expected = (new - old) * math.log(new / old) + (empty[1] - empty[0]) * math.log(empty[1] / empty[0])
    assert population_stability(first, second) == pytest.approx(expected)


def test_a_constant_that_changes() -> None:
    for other in (-1.0, 6.0):
        assert population_stability(np.full(100, 5.0), np.full(100, other)) > SHIFTED
    assert population_stability(np.full(100, 5.0), np.full(100, 5.0)) == 0


def test_what_is_usual_is_the_largest_of_past_stretches() -> None:
    """Three stretches are like the whole, one is not: its index against the other three."""
    calm = np.tile(np.arange(100.0), 3)
    odd = np.arange(50.0, 150.0)
    before = np.concatenate([calm[:200], odd, calm[200:]])
    edges = np.unique(np.quantile(before, np.linspace(0, 1, 11)[1:-1]))
    shares = [np.bincount(np.searchsorted(edges, values, side="right"), minlength=10) for values in (calm, odd)]
    old, new = (np.maximum(counts / counts.sum(), LEAST_SHARE) for counts in shares)
    assert usual_stability(before, 100) == pytest.approx(((new - old) * np.log(new / old)).sum())


def test_too_few_stretches_say_nothing() -> None:
    values = np.arange(100.0)
    assert usual_stability(values, 25) == usual_stability(values, 80), "four shorter ones in the place of one"
    assert usual_stability(values[:-1], 25) is None and usual_stability(values, 24) is None


def test_bursts_are_no_shift_and_a_shift_is_one() -> None:
    """Jobs of a user come ten in a row. Of 40 stretches of a log that does not change few stand out; a changed one does."""
    rng = np.random.default_rng(4)
    before = np.repeat(rng.lognormal(5, 2, 400), 10)
    usual = usual_stability(before, 200)
    assert usual is not None
    values = [population_stability(before, np.repeat(rng.lognormal(5, 2, 20), 10)) for _ in range(40)]
    assert np.mean([value > 0.25 for value in values]) > 0.5, "the custom alone warns most of the time"
    assert np.mean([value > max(0.25, 2 * usual) for value in values]) < 0.1
    assert population_stability(before, np.repeat(rng.lognormal(12, 0.1, 20), 10)) > 2 * usual


def test_nothing_to_compare() -> None:
    assert population_stability(np.zeros(0), np.arange(3.0)) == population_stability(np.arange(3.0), np.zeros(0)) == 0


def test_columns_most_shifted_first() -> None:
    before = pl.DataFrame({"same": range(100), "far": range(100), "near": range(100), "none": [None] * 100})
    now = before.with_columns(pl.col("far") + 1000, pl.col("near") + 8)
    found = input_drift(before, now, ("same", "far", "near", "none"))
    assert list(found)[:2] == ["far", "near"]
    assert found["same"] == found["none"] == 0 and found["far"] > found["near"] > 0
    assert found["near"] == population_stability(np.arange(100.0), np.arange(8.0, 108.0))


# named: The list of predictors.


def test_an_unknown_name_is_told_the_known_ones() -> None:
    with pytest.raises(ValueError, match="'oracle'") as raised:
        make_predictor("oracle")
    assert all(name in str(raised.value) for name in PREDICTORS)


def test_every_predictor_has_its_name() -> None:
    for name in PREDICTORS:
        predictor: Predictor = make_predictor(name)
        assert predictor.name == name


def test_who_serves_is_one_of_them() -> None:
    assert make_predictor(SERVING).name == SERVING


@every_predictor
def test_a_file_predicts_what_its_predictor_did(trials: dict[str, Trial], name: str) -> None:
    trial = trials[name]
    again = predictor_from_bytes(trial.content)
    assert type(again) is type(trial.predictor) and again.name == name
    assert_same(again.predict(trial.later), trial.found)
    assert again.features() == trial.predictor.features()
    assert again.card() == trial.predictor.card()
    assert again.importance() == trial.predictor.importance()


@every_predictor
def test_the_same_rows_give_the_same_bytes(trials: dict[str, Trial], name: str) -> None:
    trial = trials[name]
    again = make_predictor(name)
    again.fit(trial.later)  # something else first: a fit forgets it
    again.fit(trial.fitted)
    assert predictor_to_bytes(again) == trial.content
    other = make_predictor(name)
    other.fit(trial.fitted[:-40])
    assert (predictor_to_bytes(other) == trial.content) == (name == "similar_jobs")


@every_predictor
def test_damaged_bytes_are_an_error(trials: dict[str, Trial], name: str) -> None:
    content = trials[name].content
    document = json.loads(content)
    damaged = [b"", b"\xff\xfe", content[: len(content) // 2], content[:-1], content[1:], b"[]", b"3", b"{}"]
    damaged += [json.dumps(document | change).encode() for change in (
        {"levels": [0.5]}, {"levels": None}, {"predictor": "oracle"}, {"predictor": None},
    )]  # fmt: skip
    if document["state"]:  # what is never read cannot be damaged
        damaged += [json.dumps(document | {"state": state}).encode() for state in (None, [1], {})]
    damaged += [json.dumps(document | {"state": state}).encode() for state in without_a_part(document["state"])]
    for content in damaged:
        with pytest.raises(ValueError, match="not a run-time predictor of this tracehouse"):
            predictor_from_bytes(content)


@pytest.mark.parametrize("name", ["sklearn", "xgboost"])
def test_a_damaged_model_is_an_error(trials: dict[str, Trial], name: str) -> None:
    document = json.loads(trials[name].content)
    model = document["state"]["model"]
    broken: list[Any] = [None, 1, "", "bm8=", {}]
    if name == "sklearn":
        broken += [model | {key: values[:-1]} for key, values in model.items() if key != "base"]
        broken += without_a_part(model)
        broken += [model | {"left": [0] * len(model["left"])}]  # a walk without an end
        broken += [model | {"feature": [999] * len(model["feature"])}]
    else:
        broken += [{"version": [1, 0, 0]}, {"learner": {}}]
    for part in broken:
        damaged = document | {"state": document["state"] | {"model": part}}
        with pytest.raises(ValueError, match="not a run-time predictor of this tracehouse"):
            predictor_from_bytes(json.dumps(damaged).encode())


def without_a_part(state: dict[str, Any]) -> list[dict[str, Any]]:
    return [{key: value for key, value in state.items() if key != left_out} for left_out in state]


def test_a_pickle_is_never_loaded_with_a_file(trials: dict[str, Trial], tmp_path: Path) -> None:
    """Old builds kept models as pickles. Such a file is refused, and the message says to train again."""
    document = json.loads(trials["sklearn"].content)
    document["state"]["model"] = base64.b64encode(pickle.dumps(Harmful(tmp_path / "harm"))).decode()
    with pytest.raises(ValueError, match="holds a pickle, which is not loaded: train it again with `tracehouse run"):
        predictor_from_bytes(json.dumps(document).encode())
    assert not (tmp_path / "harm").exists()


class Harmful:
    """Makes a folder when it is loaded."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


# predictor: What all predictors share: bounds of a prediction, and the spread around points.

ROWS = pl.DataFrame({"requested_walltime_s": [100, None, 0, -1], "runtime_s": [0, 50, 60, 70]})


def test_requests_and_runtimes_in_seconds() -> None:
    np.testing.assert_array_equal(requests(ROWS), [100, np.nan, np.nan, np.nan])
    assert runtimes(ROWS).tolist() == [1, 50, 60, 70]  # never below 1 s


def test_points_lie_between_one_second_and_the_request() -> None:
    assert within_request(np.array([500.0, 500.0, 0.2, -3.0]), ROWS).tolist() == [100, 500, 1, 1]


def test_the_spread_of_earlier_jobs_around_new_points() -> None:
    ratios = ratio_quantiles(np.full(101, 10.0), np.arange(101.0))
    np.testing.assert_allclose(ratios, [10 * level for level in LEVELS])
    prediction = from_points(np.array([2.0, 100.0]), ratios)
    assert prediction.quantiles[:, MEDIAN].tolist() == [10, 500] and prediction.quantiles[0, 0] == 1
    assert len(prediction) == 2 and len(QUANTILE_COLUMNS) == len(LEVELS)


def test_the_newest_rows() -> None:
    assert recent(ROWS, 2).equals(ROWS[2:]) and recent(ROWS, 9).equals(ROWS) and recent(ROWS, None).equals(ROWS)
