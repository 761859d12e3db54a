"""How good predicted waits are, on a real log."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from models.runtime.predictor import LEVELS, QUANTILE_COLUMNS
from models.waits.history import history_of
from models.waits.scoring import LEAST_SCORED, WaitsUnknown, predict_history, wait_scores
from tests.models.waits.states import rows_of
from tests.shared import shared_file


def hpc2n_rows(first: int, jobs: int) -> pl.DataFrame:
    """Part of HPC2N, with run-time quantiles that are shares of the request, as they were in the jobs before it."""
    log: Path = shared_file("traces", "swf", "HPC2N-2002-2.2-cln.swf.gz")
    with gzip.open(log, "rt") as file:
        lines = [line.split() for line in file if line.strip() and not line.startswith(";")]
    table = np.array(lines, dtype=np.float64).astype(np.int64)
    rows = pl.DataFrame({
        "submit_s": table[:, 1], "start_s": table[:, 1] + table[:, 2], "runtime_s": table[:, 3], "procs": table[:, 4],
        "requested_walltime_s": table[:, 8], "user_number": table[:, 11],
    }).filter(pl.col("runtime_s") > 0, pl.col("procs") > 0).sort("submit_s", maintain_order=True)  # fmt: skip
    before = rows[:first]
    shares = np.quantile((before["runtime_s"] / before["requested_walltime_s"]).to_numpy(), LEVELS).clip(0, 1)
    requests = pl.col("requested_walltime_s").clip(lower_bound=1)
    return rows[first : first + jobs].with_row_index("job_index").with_columns(
        (requests * share).clip(lower_bound=1).alias(name) for name, share in zip(QUANTILE_COLUMNS, shares, strict=True)
    ).with_columns(cancel_s=pl.lit(None, dtype=pl.Int64))  # fmt: skip


def test_waits_of_hpc2n_are_predicted_better_than_by_similar_jobs() -> None:
    rows = predict_history(history_of(hpc2n_rows(100_000, 40_000), 240), last_share=0.5, jobs=400, seed=1)
    assert (rows["wait_p10_s"] <= rows["wait_p50_s"]).all() and (rows["wait_p50_s"] <= rows["wait_p90_s"]).all()
    scores = {row["predictor"]: row for row in wait_scores(rows).to_dicts()}
    error = {name: row["median_absolute_error_s"] for name, row in scores.items()}
    assert error["calibrated"] < error["similar_median"] < error["similar_recent"]
    assert 0.76 <= scores["calibrated"]["coverage_80"] <= 0.84 < scores["binomial"]["coverage_80"]
    squared = {name: row["root_mean_squared_error_s"] for name, row in scores.items()}
    assert squared["calibrated_mean"] < min(squared["similar_recent"], squared["zero"])


def test_scores_by_hand() -> None:
    """Two jobs that waited 100 s and 1000 s."""
    rows = pl.DataFrame({
        "wait_s": [100, 1000], "wait_p10_s": [50.0, 1100.0], "wait_p50_s": [100.0, 1200.0], "wait_p90_s": [150.0, 1300.0],
        "replay_p10_s": [0.0, 0.0], "replay_p50_s": [0.0, 0.0], "replay_p90_s": [10.0, 5000.0],
        "similar_p10_s": [0.0, 0.0], "similar_p50_s": [700.0, 1000.0], "similar_p90_s": [1000.0, 1000.0],
        "similar_mean_s": [800.0, 800.0], "wait_mean_s": [100.0, 1400.0],
        "binomial_p10_s": [0.0, 0.0], "binomial_p50_s": [0.0, 0.0], "binomial_p90_s": [90.0, 1000.0],
    })  # fmt: skip
    scores = {row["predictor"]: row for row in wait_scores(rows).to_dicts()}
    assert scores["calibrated"] == {
        "predictor": "calibrated", "statistic": "median", "jobs": 2, "median_absolute_error_s": 100.0, "mean_absolute_error_s": 100.0,
        "root_mean_squared_error_s": 20_000**0.5,
        "within_10_min_share": 1.0, "coverage_80": 0.5, "below_share": 0.5, "above_share": 0.0, "mean_interval_s": 150.0,
    }  # fmt: skip
    assert scores["replay"]["above_share"] == 0.5 and scores["replay"]["within_10_min_share"] == 0.5
    assert scores["similar_recent"]["mean_absolute_error_s"] == 450.0
    assert scores["similar_median"]["mean_absolute_error_s"] == 300.0
    assert {name: row["statistic"] for name, row in scores.items()} == {
        "replay": "median", "calibrated": "median", "similar_recent": "mean", "similar_median": "median", "zero": "constant",
        "calibrated_mean": "mean", "binomial": "bound",
    }  # fmt: skip
    assert scores["calibrated_mean"]["root_mean_squared_error_s"] == 80_000**0.5, "a mean has a column of its own"
    assert scores["binomial"]["above_share"] == 0.5
    zero = scores["zero"]
    assert (zero["median_absolute_error_s"], zero["mean_absolute_error_s"]) == (550.0, 550.0)
    assert (zero["coverage_80"], zero["above_share"], zero["mean_interval_s"]) == (0.0, 1.0, 0.0)


def test_a_history_is_predicted_as_its_jobs_were_submitted() -> None:
    """The same rows twice, progress is reported, and what comes later changes nothing of what is predicted."""
    told = []

    def watch(parts: list, name: str) -> list:
        told.append((name, len(parts)))
        return parts

    history = history_of(rows_of(), 16)
    rows = predict_history(history, 0.4, 40, seed=1, watch=watch)
    assert rows.equals(predict_history(history, 0.4, 40, seed=1))
    assert [name for name, _ in told] == ["past jobs", "jobs"]
    assert rows["submit_s"].is_sorted() and LEAST_SCORED <= rows.height <= 40
    assert not rows.equals(predict_history(history, 0.4, 40, seed=2))


def test_too_few_jobs_are_not_scored() -> None:
    with pytest.raises(WaitsUnknown, match="jobs in the last 5% of the log are too few"):
        predict_history(history_of(rows_of(), 16), 0.05, 40, seed=1)
