"""Tests of assets/predictions: remaining_time_evaluation, remaining_time_model, remaining_times."""

from __future__ import annotations

import json

import dagster as dg
import polars as pl
import pytest

from assets.common.storage import data_folder, read_model, store_model
from assets.predictions.remaining_time_evaluation import error_by_progress, remaining_time_evaluation
from assets.predictions.remaining_time_model import remaining_time_model
from assets.predictions.remaining_times import remaining_times
from models.remaining.evaluation import remaining_from_bytes
from tests.assets.predictions.remaining import OPEN, RUNS, SOURCE, materialized
from warehouse import Warehouse

# remaining_time_evaluation: The asset predictions/remaining_time_evaluation on a small warehouse.


def test_every_finished_run_is_tried_at_ten_moments(vasp_warehouse: Warehouse) -> None:
    metadata = materialized(remaining_time_evaluation, vasp_warehouse, predictors=["inputs_only"], folds=2)
    with vasp_warehouse.read() as connection:
        scores = connection.sql(
            "SELECT progress, runs, seeds FROM predictions.remaining_time_scores WHERE ionic = 'all' AND split = 'unseen' "
            "AND predictor = 'inputs_only' ORDER BY progress"
        ).fetchall()
        trials = connection.sql(
            "SELECT split, predictor, count(*) FROM predictions.remaining_time_trials GROUP BY ALL ORDER BY ALL"
        ).fetchall()
    assert [round(row[0], 1) for row in scores] == [k / 10 for k in range(11)]
    assert {row[1:] for row in scores} == {(RUNS - OPEN, 1)}
    names = ["constant_median", "constant_share", "ends_now", "inputs_only"]
    assert trials == [("unseen", name, 10 * (RUNS - OPEN)) for name in names]  # no system has two runs
    assert metadata["dagster/row_count"] == sum(row[2] for row in trials)


def test_the_error_of_ends_now_is_what_is_left(vasp_warehouse: Warehouse) -> None:
    materialized(remaining_time_evaluation, vasp_warehouse, predictors=["inputs_only"], folds=2)
    with vasp_warehouse.read() as connection:
        ((wrong, rows),) = connection.sql(
            "SELECT count_if(abs(error - remaining_s / (used_s + remaining_s)) > 1e-9 OR remaining_p90_s > 0), count(*) "
            "FROM predictions.remaining_time_trials WHERE predictor = 'ends_now'"
        ).fetchall()
    assert wrong == 0 and rows > 0


def test_a_wrong_name_is_refused(vasp_warehouse: Warehouse) -> None:
    with pytest.raises(dg.Failure, match="unknown predictor 'oracle'; expected inputs_only, progress, multimodal"):
        materialized(remaining_time_evaluation, vasp_warehouse, predictors=["oracle"])


def test_a_line_per_predictor_and_kind_of_run() -> None:
    scores = pl.DataFrame({
        "predictor": ["progress"] * 3, "ionic": ["single", "single", "all"], "progress": [0.0, 0.5, 0.5],
        "split": ["unseen"] * 3, "mape": [90.0, 10.0, 20.0], "median_error": [80.0, 5.0, 8.0],
    })  # fmt: skip
    above, below = error_by_progress(scores).axes
    (line,) = above.lines  # neither what is said before the start nor all runs together
    assert (line.get_xdata().tolist(), line.get_ydata().tolist()) == ([50.0], [10.0])
    assert below.lines[0].get_ydata().tolist() == [5.0] and line.get_label() == "progress, single"


# remaining_time_model: The asset predictions/remaining_time_model on a small warehouse.


def test_one_file_whose_hash_stands_in_the_warehouse(vasp_warehouse: Warehouse) -> None:
    metadata = materialized(remaining_time_model, vasp_warehouse, predictor="inputs_only")
    assert metadata["runs"] == RUNS - OPEN and metadata["predictor"] == "inputs_only"
    with vasp_warehouse.read() as connection:
        ((file, sha256),) = connection.execute("SELECT file, sha256 FROM predictions.remaining_time_models").fetchall()
    assert remaining_from_bytes(read_model(file, sha256)).name == "inputs_only"
    assert [path.name for path in (data_folder() / file).parent.iterdir()] == [file.rpartition("/")[2]]


# remaining_times: The asset predictions/remaining_times on a small warehouse.


def test_before_there_is_a_model_nothing_is_predicted(vasp_warehouse: Warehouse) -> None:
    assert materialized(remaining_times, vasp_warehouse) == {"dagster/row_count": 0}


def test_runs_without_an_end_are_predicted(vasp_warehouse: Warehouse) -> None:
    materialized(remaining_time_model, vasp_warehouse, predictor="inputs_only")
    assert materialized(remaining_times, vasp_warehouse)["dagster/row_count"] == OPEN
    with vasp_warehouse.read() as connection:
        rows = connection.sql("FROM predictions.remaining_times").pl()
    assert rows.height == OPEN and (rows["used_s"] > 0).all() and set(rows["predictor"]) == {"inputs_only"}
    assert (rows["remaining_p10_s"] <= rows["remaining_p90_s"]).all()
    assert (rows["expected_end"] >= rows["at_time"]).all()

    with vasp_warehouse.read() as connection:
        ((file, sha256),) = connection.execute("SELECT file, sha256 FROM predictions.remaining_time_models").fetchall()
    other = json.loads(read_model(file, sha256)) | {"version": 0}
    with vasp_warehouse.write() as connection:
        connection.execute(
            "UPDATE predictions.remaining_time_models SET file = ?, sha256 = ?",
            list(store_model(SOURCE, "remaining_time", json.dumps(other).encode())),
        )
    with pytest.raises(dg.Failure, match="is of another version: materialize remaining_time_model again"):
        materialized(remaining_times, vasp_warehouse)
