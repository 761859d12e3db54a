"""A challenger against the champion, on the newest jobs that neither has seen: which jobs each learns from, and which is better."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import polars as pl

from models.runtime.named import make_predictor
from models.runtime.predictor import Prediction, Predictor, recent, runtimes
from models.runtime.prequential import ended_by
from models.runtime.scores import gain_interval, score

LEAST_TESTED = 100
"""A test on fewer jobs says nothing. The test goes back more days to have as many, but never beyond half of the jobs."""


@dataclass(frozen=True)
class Verdict:
    """Whether the challenger takes over, and why.

    gain, low, high: mean absolute error of the champion minus the challenger's in seconds, and its 95 % interval. None where there
    is no such number."""

    promote: bool
    gain: float | None
    low: float | None
    high: float | None
    reason: str


def test_start(rows: pl.DataFrame, days: int) -> datetime:
    """The moment from which jobs are kept for the test: the newest `days`, or more where they have fewer than LEAST_TESTED jobs."""
    submit = rows["submit_time"]
    newest: datetime = submit[-1]
    by_days = newest - timedelta(days=days)
    by_jobs: datetime = submit[max(rows.height // 2, rows.height - LEAST_TESTED)]
    return min(by_days, by_jobs) if by_days > submit[rows.height // 2] else submit[rows.height // 2]


def train_challenger(rows: pl.DataFrame, name: str, moment: datetime) -> tuple[Predictor, pl.DataFrame]:
    """A new predictor, fitted on what had ended before `moment`, and the rows that it learned from.

    Raises ValueError when there are none, and for an unknown name."""
    fitted = ended_by(rows.filter(pl.col("submit_time") < moment), moment)
    if fitted.is_empty():
        raise ValueError(f"predictor {name}: no job had ended by {moment}, there is nothing to learn from")
    predictor = make_predictor(name)
    predictor.fit(fitted)
    return predictor, recent(fitted, predictor.most_rows)


def judge_predictor(champion: Prediction, challenger: Prediction, rows: pl.DataFrame, seed: int) -> Verdict:
    """Compares both on the same jobs. The challenger must be significantly better.

    rows: the jobs that were predicted. Users are resampled whole, or days where there are fewer than five users."""
    true = runtimes(rows)
    errors = [np.abs(prediction.point - true) for prediction in (challenger, champion)]
    groups = rows["user_name"].fill_null("").to_numpy()
    gain, low, high = gain_interval(errors[0], errors[1], groups, seed)
    by = "users"
    if low is None:
        gain, low, high = gain_interval(
            errors[0], errors[1], rows["submit_time"].dt.date().cast(pl.Utf8).to_numpy(), seed
        )
        by = "days"
    if low is None or high is None:
        return Verdict(False, gain, None, None, "too few users and days to tell a difference from noise")
    difference = (
        f"mean error {abs(gain):,.0f} s {'lower' if gain > 0 else 'higher'} on {rows.height:,} newest jobs, 95 % interval of the "
        f"gain {low:,.0f} to {high:,.0f} s over {by}"
    )
    if low > 0:
        return Verdict(True, gain, low, high, f"significantly better: {difference}")
    return Verdict(False, gain, low, high, f"{'worse' if high < 0 else 'not significantly better'}: {difference}")


@dataclass(frozen=True)
class Challenge:
    """A trained challenger. fitted: rows that it learned from. moment: when they had ended. test: rows submitted from then on."""

    challenger: Predictor
    fitted: pl.DataFrame
    moment: datetime
    test: pl.DataFrame

    def card(self) -> dict[str, Any]:
        """What predictions.model_versions keeps of it, but its version and file."""
        values = score(self.challenger.predict(self.test), runtimes(self.test))
        kept = ("mean_absolute_error_s", "median_absolute_error_s", "underestimated_share", "pinball_loss_s")
        return {
            "predictor": self.challenger.name,
            "options": json.dumps(self.challenger.card()),
            "feature_names": json.dumps(self.challenger.features()),
            "trained_from": self.fitted["submit_time"][0],
            "trained_until": self.moment,
            "jobs_trained": self.fitted.height,
            "data_sha256": rows_sha256(self.fitted),
            "tested_until": self.test["submit_time"][-1],
            "jobs_tested": self.test.height,
        } | {name: values[name] for name in kept}

    def verdict(self, champion: Predictor, champion_until: datetime, seed: int) -> Verdict:
        """On the jobs that neither has seen. champion_until: all jobs that the champion learned from had ended by then."""
        shared = self.test.filter(pl.col("submit_time") >= champion_until)
        if shared.is_empty():
            reason = "the champion has learned from all newest jobs: no job is left that neither has seen"
            return Verdict(False, None, None, None, reason)
        return judge_predictor(champion.predict(shared), self.challenger.predict(shared), shared, seed)


def new_challenge(rows: pl.DataFrame, name: str, test_days: int) -> Challenge:
    """Trains a predictor on all but the newest days. rows: of the whole source, in order of submission.

    Raises ValueError as `train_challenger` does."""
    moment = test_start(rows, test_days)
    challenger, fitted = train_challenger(rows, name, moment)
    return Challenge(challenger, fitted, moment, rows.filter(pl.col("submit_time") >= moment))


def line_of_champions(champions: list[int]) -> list[int]:
    """Champions, each after its predecessor. The last is the present one."""
    line: list[int] = []
    for champion in champions:
        line = [*line[: line.index(champion)], champion] if champion in line else [*line, champion]
    return line


def rows_sha256(rows: pl.DataFrame) -> str:
    """Hash of jobs, by their number, submission, end, request and run time, in hexadecimal."""
    digest = hashlib.sha256(str(rows.height).encode())
    for name in ("job_index", "submit_time", "end_time", "requested_walltime_s", "requested_procs", "runtime_s"):
        values = rows[name].to_physical().cast(pl.Int64).fill_null(-1).to_numpy()
        digest.update(values.astype("<i8").tobytes())
    return digest.hexdigest()
