"""The asset predictions/remaining_time_model on a small warehouse."""

from __future__ import annotations

from assets.common.storage import data_folder, read_model
from assets.vasp.remaining_time_model import remaining_time_model
from models.remaining.model_file import remaining_from_bytes
from tests.assets.vasp.remaining import OPEN, RUNS, materialized
from warehouse import Warehouse


def test_one_file_whose_hash_stands_in_the_warehouse(vasp_warehouse: Warehouse) -> None:
    metadata = materialized(remaining_time_model, vasp_warehouse, predictor="inputs_only")
    assert metadata["runs"] == RUNS - OPEN and metadata["predictor"] == "inputs_only"
    with vasp_warehouse.read() as connection:
        ((file, sha256),) = connection.execute("SELECT file, sha256 FROM predictions.remaining_time_models").fetchall()
    assert remaining_from_bytes(read_model(file, sha256)).name == "inputs_only"
    assert [path.name for path in (data_folder() / file).parent.iterdir()] == [file.rpartition("/")[2]]
