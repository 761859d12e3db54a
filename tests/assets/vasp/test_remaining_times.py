"""The asset predictions/remaining_times on a small warehouse."""

from __future__ import annotations

import json

import dagster as dg
import pytest

from assets.common.storage import read_model, store_model
from assets.vasp.remaining_time_model import remaining_time_model
from assets.vasp.remaining_times import remaining_times
from tests.assets.vasp.remaining import OPEN, SOURCE, materialized
from warehouse import Warehouse


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
