"""Champion and challenger: which jobs are kept for the test, and who wins."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import polars as pl
import pytest

from models.runtime import challenge
from models.runtime.challenge import LEAST_TESTED, judge_predictor, rows_sha256, train_challenger
from models.runtime.predictor import LEVELS, Prediction

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
