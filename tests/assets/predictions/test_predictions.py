"""Tests of assets/predictions: plots, runtime_evaluation, runtime_model, stored_runs, runtime_predictions, runtimes_now, wait_times."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import numpy as np
import polars as pl
import pytest

from assets.common.asset import PASSED_OVER
from assets.common.learnable import LEAST_JOBS
from assets.features.tables import runtime_rows
from assets.ingest.vasp_folders import update_vasp_log
from assets.predictions import plots
from assets.predictions import runtime_predictions as module
from assets.predictions.model_registry import roll_back
from assets.predictions.runtime_evaluation import runtime_evaluation
from assets.predictions.runtime_model import runtime_model
from assets.predictions.runtime_predictions import runtime_predictions, write_predictions
from assets.predictions.stored_runs import load_open_runs, load_runs
from assets.predictions.wait_times import wait_times
from models.remaining.score_tables import used_seconds
from models.runtime.predictor import LEVELS
from models.waits.neighbours import POINTS
from tests.assets.predictions.registry import JOBS, kinds, materialized, night, stored
from tests.assets.predictions.remaining import OPEN, RUNS, SOURCE, restarted_run
from traces.catalogue.catalogue import VaspSource
from warehouse import Warehouse

# plots: Figures of predictions show the numbers they are given.


def test_the_most_important_features_stand_on_top() -> None:
    (axis,) = plots.feature_importance({"a": 1.0, "b": 3.0, "c": 2.0}, most=2).axes
    assert [label.get_text() for label in axis.get_yticklabels()] == ["c", "b"]
    assert [bar.get_width() for bar in axis.patches] == [2.0, 3.0]


def test_errors_over_time_are_in_hours_and_percent() -> None:
    rows = pl.DataFrame({
        "predictor": ["x", "x"], "period_start": [datetime(2026, 1, 1), datetime(2026, 2, 1)], "jobs": [5, 5],
        "mean_absolute_error_s": [3600.0, 7200.0], "coverage_80": [0.5, 0.75],
    })  # fmt: skip
    top, bottom = plots.error_over_time(rows).axes
    assert top.lines[0].get_ydata().tolist() == [1.0, 2.0]
    assert bottom.lines[0].get_ydata().tolist() == [50.0, 75.0]


def test_coverage_of_quantiles() -> None:
    quantiles = np.repeat(np.arange(1.0, len(LEVELS) + 1)[None], 4, axis=0)
    (axis,) = plots.quantile_coverage(quantiles, np.array([1.0, 1.0, 3.0, 99.0])).axes
    assert axis.lines[1].get_ydata().tolist() == [50, 50, 75, 75, 75, 75, 75, 75]


def test_requests_that_are_unknown_are_left_out() -> None:
    true, requested = np.array([10.0, 10.0]), np.array([100.0, np.nan])
    (axis,) = plots.estimates_over_true(np.array([10.0, 1.0]), true, requested).axes
    assert [text.get_text() for text in axis.get_legend().get_texts()] == ["requested", "predicted"] or len(
        axis.patches
    ) == 2


def test_ties_count_half_in_the_calibration_of_waits() -> None:
    names = [f"wait_p{round(100 * point)}_s" for point in POINTS] + [f"replay_p{p}_s" for p in (10, 50, 90)]
    rows = pl.DataFrame({"wait_s": [0, 10]} | {name: [0.0, 0.0] for name in names})
    (axis,) = plots.calibration_plot(rows).axes
    assert axis.lines[1].get_ydata().tolist() == [0.25] * len(POINTS)


# runtime_evaluation: The asset predictions/runtime_evaluation and the mart of its errors, on a small warehouse.


def table(warehouse: Warehouse, name: str) -> pl.DataFrame:
    with warehouse.read() as connection:
        return connection.sql(f"FROM predictions.{name} WHERE source = 'mine' ORDER BY ALL").pl()


def test_every_predictor_is_scored_and_one_is_kept_job_by_job(warehouse: Warehouse) -> None:
    """last_two is always among them: the others are compared with it."""
    metadata = materialized(runtime_evaluation, warehouse, predictors=["requested"], predictor="user_mean", days=10)
    scores = table(warehouse, "runtime_scores").filter(pl.col("user_class") == "all users")
    assert scores["predictor"].to_list() == ["last_two", "requested", "user_mean"]
    assert metadata["jobs"] == JOBS and set(scores["jobs"]) == {JOBS}
    gains = dict(scores.select("predictor", "mae_gain_over_last_two_s").iter_rows())
    assert gains["last_two"] is None and gains["requested"] < 0 < gains["user_mean"]
    by_period = table(warehouse, "runtime_scores_by_period")
    assert by_period["period_start"].n_unique() == metadata["periods"] == 4
    assert by_period.group_by("predictor").agg(pl.col("jobs").sum())["jobs"].to_list() == [JOBS] * 3
    kept = table(warehouse, "prequential_predictions")
    assert kept.height == JOBS and set(kept["predictor"]) == {"user_mean"}


def test_a_row_says_how_many_of_its_jobs_another_predictor_answered(warehouse: Warehouse) -> None:
    """Trees wait for 200 jobs that have ended; the request of every job is known, so that `requested` never falls back."""
    metadata = materialized(runtime_evaluation, warehouse, predictors=["requested"], predictor="xgboost", days=10)
    scores = table(warehouse, "runtime_scores").filter(pl.col("user_class") == "all users")
    fallback = dict(scores.select("predictor", "fallback_jobs").iter_rows())
    by_period = table(warehouse, "runtime_scores_by_period").filter(pl.col("predictor") == "xgboost")
    early = by_period.filter(pl.col("jobs_fitted") < 200)
    assert early.height == 2 and early["jobs"].equals(early["fallback_jobs"])
    assert by_period.filter(pl.col("jobs_fitted") >= 200)["fallback_jobs"].to_list() == [0, 0]
    assert fallback == {"requested": 0, "last_two": 0, "xgboost": early["jobs"].sum()}
    kept = table(warehouse, "prequential_predictions").sort("job_index")["predictor"].to_list()
    assert kept == ["similar_jobs"] * fallback["xgboost"] + ["xgboost"] * (JOBS - fallback["xgboost"])
    assert all("| fallback_jobs |" in metadata[name] for name in ("scores", "by_user_class"))


def test_the_request_is_scored_as_the_request(warehouse: Warehouse) -> None:
    """In a log of four days nothing had ended before the first period; the error is that of the requests all the same."""
    materialized(runtime_evaluation, warehouse, source="short", predictors=["requested"], predictor="similar_jobs")
    with warehouse.read() as connection:
        found = dict(
            connection.sql(
                "SELECT predictor, mean_absolute_error_s FROM predictions.runtime_scores "
                "WHERE source = 'short' AND user_class = 'all users'"
            ).fetchall()
        )
        (expected,) = connection.sql(
            "SELECT avg(abs(requested_walltime_s - runtime_s)) FROM core.jobs WHERE source = 'short'"
        ).fetchall()[0]
    assert found["requested"] == pytest.approx(expected)
    assert len(set(found.values())) == 3


def test_a_wrong_name_is_refused_before_hours_of_work(warehouse: Warehouse) -> None:
    with pytest.raises(dg.Failure, match="unknown predictor 'oracle'"):
        materialized(runtime_evaluation, warehouse, predictors=["oracle"])
    assert table(warehouse, "runtime_scores").is_empty()


def test_a_source_without_jobs(warehouse: Warehouse) -> None:
    metadata = materialized(runtime_evaluation, warehouse, source="none")
    assert "source 'none': 0 jobs with a known run time are too few" in metadata[PASSED_OVER]


# runtime_model: The asset predictions/runtime_model on a small warehouse: the champion, its drift and the split for
# policies.


def test_a_first_champion_its_drift_and_the_split(warehouse: Warehouse) -> None:
    metadata = materialized(runtime_model, warehouse, predictor="user_mean", test_days=10, train_share=0.5)
    assert metadata["happened"] == "version 1 (user_mean): first, the first model of this source"
    assert metadata["champion"] == 1 and kinds(warehouse) == [("first", 1, 1)]
    assert {row["version"] for row in stored(warehouse, "model_drift")} == {1}
    with warehouse.read() as connection:
        split = connection.execute(
            "SELECT test_job_index, train_share FROM predictions.training_splits WHERE source = 'mine'"
        ).fetchall()
    assert split == [(runtime_rows(warehouse, "mine")["job_index"][JOBS // 2], 0.5)]


def test_too_few_jobs_are_passed_over_with_what_works(warehouse: Warehouse) -> None:
    with warehouse.write() as connection:
        connection.execute("DELETE FROM core.jobs WHERE source = 'mine' AND job_index >= 100")
    metadata = materialized(runtime_model, warehouse)
    assert "100 jobs with a known run time are too few" in metadata[PASSED_OVER]
    assert f"at least {LEAST_JOBS} are needed; `tracehouse replay" in metadata[PASSED_OVER]
    assert kinds(warehouse) == []


def test_jobs_without_features_say_what_comes_first(warehouse: Warehouse) -> None:
    with warehouse.write() as connection:
        connection.execute("DELETE FROM features.job_features")
    with pytest.raises(dg.Failure, match="source 'mine' has no features: materialize features/job_features first"):
        materialized(runtime_model, warehouse)


# runtime_predictions: The asset predictions/runtime_predictions on a small warehouse: the evaluation's for older
# jobs, the champion's for new ones.


def test_old_jobs_by_the_evaluation_new_ones_by_the_champion(evaluated: Warehouse) -> None:
    night(evaluated, "user_mean")
    metadata = materialized(runtime_predictions, evaluated)
    with evaluated.read() as connection:
        rows = connection.sql(
            "SELECT p.*, j.submit_time FROM predictions.runtime_predictions AS p JOIN core.jobs AS j USING (source, job_index) "
            "WHERE source = 'mine' ORDER BY job_index"
        ).pl()
    until = stored(evaluated, "model_versions")[0]["trained_until"]
    new = pl.col("submit_time") >= until
    assert rows.height == JOBS and metadata["from_the_champion"] == rows.filter(new).height
    assert set(rows.filter(new).select("predictor", "version").rows()) == {("user_mean", 1)}
    assert set(rows.filter(~new).select("predictor", "version").rows()) == {("last_two", None)}


def test_an_evaluation_of_other_jobs_is_refused(evaluated: Warehouse) -> None:
    night(evaluated, "user_mean")
    with pytest.raises(ValueError, match="materialize predictions/runtime_evaluation again"):
        write_predictions(evaluated, "mine", runtime_rows(evaluated, "mine")[:-1])


def test_a_rollback_while_jobs_are_predicted_is_obeyed(evaluated: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    night(evaluated, "requested")
    night(evaluated, "user_mean")
    load, loaded = module.load_champion, []

    def load_late(*arguments: Any) -> Any:
        loaded.append(load(*arguments))
        if len(loaded) == 1:
            roll_back(evaluated, "mine")
        return loaded[-1]

    monkeypatch.setattr(module, "load_champion", load_late)
    predictions = write_predictions(evaluated, "mine", runtime_rows(evaluated, "mine"))
    assert [version for version, _ in loaded] == [2, 1]
    assert set(predictions["version"].drop_nulls()) == {1}


# wait_times: The asset predictions/wait_times on a small warehouse, and on a log that knows no waits.

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
    assert metadata["dagster/row_count"] == 0 and "does not say when jobs started" in metadata[PASSED_OVER]
    with predicted.read() as connection:
        assert connection.sql("FROM predictions.wait_scores").pl().is_empty()


# stored_runs: VASP runs as the warehouse gives them to predictors.


def test_runs_and_their_steps_come_in_one_order(vasp_warehouse: Warehouse) -> None:
    runs = load_runs(vasp_warehouse, SOURCE)
    assert len(runs) == RUNS and runs.keys["folder"].is_sorted() and np.isnan(runs.total_s).sum() == OPEN
    with vasp_warehouse.read() as connection:
        counts = connection.execute(
            "SELECT electronic_steps, ionic_steps FROM raw.vasp_runs ORDER BY folder, outcar, launch"
        ).fetchall()
    assert np.diff(runs.step).tolist() == [row[0] for row in counts]
    assert np.diff(runs.ionic).tolist() == [row[1] for row in counts]


def test_a_condition_chooses_runs_and_steps(vasp_warehouse: Warehouse) -> None:
    whole = load_runs(vasp_warehouse, SOURCE)
    some = load_runs(vasp_warehouse, SOURCE, "elapsed_s IS NULL")
    which = np.flatnonzero(np.isnan(whole.total_s))
    assert some.keys.equals(whole.keys[which])
    assert np.diff(some.step).tolist() == np.diff(whole.step)[which].tolist()


@pytest.mark.parametrize("earlier", ["appended", "moved", "copied"])
@pytest.mark.parametrize("ended", [True, False])
def test_time_used_is_that_of_the_launch(earlier: str, ended: bool, tmp_path: Path) -> None:
    """The first launch made an hour of steps, and was started again three days later; the second one has run for an hour."""
    begin = restarted_run(tmp_path / "runs" / "run", earlier, ended)
    warehouse, now = Warehouse(tmp_path / "w.duckdb"), begin + timedelta(seconds=259_600)
    update_vasp_log(warehouse, VaspSource(SOURCE, tmp_path / "runs"), "UTC", now.astimezone(UTC).replace(tzinfo=None))
    rows = load_open_runs(warehouse, SOURCE)[0].with_columns(used_s=used_seconds())
    first = ("OUTCAR" if earlier == "appended" else "OUTCAR.1", 1, "cut_off", 3500.0)
    second = ("OUTCAR", 2 if earlier == "appended" else 1, "running", 3577.0)
    expected = sorted([first] if ended else [first, second])
    assert rows.select("outcar", "launch", "state", "used_s").rows() == expected
    with warehouse.read() as connection:
        reasons = connection.execute("SELECT state_reason FROM raw.vasp_runs WHERE state = 'cut_off'").fetchall()
    assert reasons == [(f"started again in {'the same file' if earlier == 'appended' else 'OUTCAR'}",)]
