"""The asset predictions/wait_times on a small warehouse, and on a log that knows no waits."""

from __future__ import annotations

import pytest

from assets.predictions.features import runtime_rows
from assets.predictions.runtime_predictions import write_predictions
from assets.predictions.wait_times import wait_times
from tests.assets.predictions.registry import materialized, night
from warehouse import Warehouse

SCORES = (
    "median_absolute_error_s", "mean_absolute_error_s", "within_10_min_share", "coverage_80", "below_share", "above_share",
    "mean_interval_s",
)  # fmt: skip


@pytest.fixture
def predicted(evaluated: Warehouse) -> Warehouse:
    night(evaluated, "user_mean")
    write_predictions(evaluated, "mine", runtime_rows(evaluated, "mine"))
    return evaluated


def test_waits_are_predicted_at_submission_and_scored(predicted: Warehouse) -> None:
    """Every job of this log waited 5 s although the machine is never full."""
    metadata = materialized(wait_times, predicted, jobs=40)
    assert metadata["jobs"] == 40 and metadata["dagster/row_count"] == 7
    with predicted.read() as connection:
        same = connection.execute(
            "SELECT count(*), count_if(predicted_at = submit_time AND p.wait_s = 5 AND replay_p50_s = 0) FROM "
            "predictions.wait_predictions AS p JOIN core.jobs AS j USING (source, job_index) WHERE source = 'mine'"
        ).fetchall()
        scores = dict(
            connection.execute("SELECT predictor, mean_absolute_error_s FROM predictions.wait_scores").fetchall()
        )
    assert same == [(40, 40)]
    mean = scores.pop("calibrated_mean")
    assert abs(mean - 5 / 3) < 1e-6, "two of three means say 5 s, and the replays 0 s"
    assert scores == {"calibrated": 0, "replay": 5, "similar_recent": 0, "similar_median": 0, "binomial": 0, "zero": 5}


def test_a_log_that_knows_no_starts_has_no_scores(predicted: Warehouse) -> None:
    with predicted.write() as connection:
        columns = "'mine' AS source, 'replay' AS predictor, 40 AS jobs"
        zeros = ", ".join(f"0 AS {name}" for name in SCORES)
        connection.execute(
            f"INSERT INTO predictions.wait_scores BY NAME SELECT {columns}, {zeros}"
        )  # of an earlier log
        connection.execute("UPDATE core.jobs SET start_time = NULL, wait_s = NULL WHERE source = 'mine'")
    metadata = materialized(wait_times, predicted, jobs=40)
    assert metadata["dagster/row_count"] == 0 and "does not say when jobs started" in metadata["why"]
    with predicted.read() as connection:
        assert connection.sql("FROM predictions.wait_scores").pl().is_empty()
