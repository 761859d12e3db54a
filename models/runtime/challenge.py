"""A challenger against the champion, on the newest jobs that neither has seen: which jobs each learns from, and which is better.

How far new jobs are from those that a model learned from: the population stability index of its inputs, and its error.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from models import NothingToLearn
from models.runtime.named import make_predictor
from models.runtime.predictor import FloatArray, Prediction, Predictor, recent, runtimes
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

    Raises NothingToLearn when there are none, and ValueError for an unknown name."""
    fitted = ended_by(rows.filter(pl.col("submit_time") < moment), moment)
    if fitted.is_empty():
        raise NothingToLearn(f"predictor {name}: no job had ended by {moment}, there is nothing to learn from")
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


# --- drift


BINS = 10
LEAST_SHARE = 1e-3
"""An empty bin counts as this much; else one job in a new bin would make the index infinite."""
LEAST_STRETCHES, MOST_STRETCHES, SHORTEST_STRETCH = 4, 20, 25
"""Past stretches, as long as the newest one, that show how much an input moves when nothing changes."""

OF_THE_LOGS_AGE = re.compile(
    r"similar_jobs|day_of_week|(user|alike|executable|group)_(jobs_ended|mean_.*|median_.*|log_spread|failed_share)"
    r"|(jobs|procs|user_jobs)_(running|waiting)"
)
"""Inputs that do not show whether users have changed. Counts of ended jobs only grow, and means over all of them settle. A test of
less than a week has its own days, and what runs and waits changes by the hour."""


def population_stability(before: FloatArray, now: FloatArray, bins: int = BINS) -> float:
    """Sum over bins of (now - before) ln(now / before), shares of jobs; 0 where either is empty.

    before, now: values of one input, (jobs,), NaN where unknown. Bins are the deciles of `before`, and one for unknown. A value that
    several deciles share is a bin by itself."""
    if not len(before) or not len(now):
        return 0.0
    edges = _edges(before, bins)
    old, new = (np.bincount(_bin_of(values, edges), minlength=len(edges) + 2) for values in (before, now))
    return float(_index(old, new))


def usual_stability(before: FloatArray, jobs: int, bins: int = BINS) -> float | None:
    """The largest index of the last MOST_STRETCHES stretches of so many jobs in `before`, each against all other jobs of it.

    If `before` has fewer than LEAST_STRETCHES of them, they are shorter, which makes the index larger. None where they would have fewer
    than SHORTEST_STRETCH jobs: nobody can say what is usual. Jobs of a user come in bursts, so a short stretch is never like the whole
    log, also where nothing changes.
    """
    jobs = min(jobs, len(before) // LEAST_STRETCHES)
    if jobs < SHORTEST_STRETCH:
        return None
    stretches = min(len(before) // jobs, MOST_STRETCHES)
    edges = _edges(before, bins)
    bin_of = _bin_of(before, edges)
    whole = np.bincount(bin_of, minlength=len(edges) + 2)
    first = len(before) - stretches * jobs
    parts = [
        np.bincount(bin_of[first + k * jobs : first + (k + 1) * jobs], minlength=len(whole)) for k in range(stretches)
    ]
    return max(float(_index(whole - part, part)) for part in parts)


def _edges(values: FloatArray, bins: int) -> FloatArray:
    """Where one bin ends and the next begins."""
    numbers = values[~np.isnan(values)]
    edges = np.quantile(numbers, np.linspace(0, 1, bins + 1)[1:-1]) if len(numbers) else np.zeros(0)
    # a value that fills whole bins (a flag, a count that mostly is 0) is a bin by itself, apart from all above it
    often = edges[1:][edges[1:] == edges[:-1]]
    return np.unique(np.append(edges, np.nextafter(often, np.inf)))


def _bin_of(values: FloatArray, edges: FloatArray) -> NDArray[np.intp]:
    """The bin of each value. The last one is for unknown values."""
    return np.where(np.isnan(values), len(edges) + 1, np.searchsorted(edges, values, side="right"))


def _index(before: NDArray[np.intp], now: NDArray[np.intp]) -> float:
    """The index of two counts by bin."""
    old, new = (np.maximum(counts / counts.sum(), LEAST_SHARE) for counts in (before, now))
    return ((new - old) * np.log(new / old)).sum()


def input_drift(before: pl.DataFrame, now: pl.DataFrame, columns: tuple[str, ...]) -> dict[str, float]:
    """The index of each column, most shifted first."""
    values = {}
    for name in columns:
        values[name] = population_stability(_numbers(before, name), _numbers(now, name))
    return dict(sorted(values.items(), key=lambda item: -item[1]))


def _numbers(rows: pl.DataFrame, name: str) -> FloatArray:
    return rows[name].cast(pl.Float64).to_numpy().astype(np.float64)


def champion_drift(
    rows: pl.DataFrame, champion: Predictor, trained_until: datetime, jobs_tested: int, tested_error_s: float
) -> pl.DataFrame:
    """The newest jobs beside those that the champion learned from: rows of predictions.model_drift, but for the version.

    rows: of the whole source, in order of submission. jobs_tested, tested_error_s: of the champion's test; as many newest jobs are
    looked at, and their mean absolute error is given as a multiple of that.
    """
    before = recent(ended_by(rows.filter(pl.col("submit_time") < trained_until), trained_until), champion.most_rows)
    now = rows.filter(pl.col("submit_time") >= trained_until)[-jobs_tested:]
    inputs = tuple(
        name for name in champion.features() if rows[name].dtype.is_numeric() and not OF_THE_LOGS_AGE.fullmatch(name)
    )
    error_s = float(np.abs(champion.predict(now).point - runtimes(now)).mean()) if now.height else 0.0
    usual = {name: usual_stability(_numbers(before, name), now.height) for name in inputs}
    shifts = [
        {"measure": "psi", "input": name, "value": value, "usual": usual[name]}
        for name, value in input_drift(before, now, inputs).items()
    ]
    error = {
        "measure": "error",
        "input": "mean_absolute_error_s",
        "value": error_s / max(tested_error_s, 1.0),
        "usual": None,
    }
    return pl.DataFrame([*shifts, error], schema_overrides={"usual": pl.Float64}).with_columns(
        data_until=pl.lit(rows["submit_time"][-1]), jobs=pl.lit(now.height)
    )
