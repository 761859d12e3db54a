"""The registry of run-time models and the pickles of older versions: converted where the warehouse knows them, else refused."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from assets.common.storage import data_folder, store_model
from assets.predictions.features import runtime_rows
from assets.predictions.model_registry import load_champion, roll_back
from models.runtime.named import make_predictor
from models.runtime.predictor import Predictor
from models.runtime.prequential import ended_by
from tests.assets.predictions.registry import kinds, model_file, night, registry, stored
from tests.models.runtime.older import older_sklearn_file, with_pickle
from tests.tiny import assert_same_tables
from warehouse import Warehouse


def fitted_rows(warehouse: Warehouse) -> pl.DataFrame:
    """What version 1 learned from."""
    until = stored(warehouse, "model_versions")[0]["trained_until"]
    rows = runtime_rows(warehouse, "mine")
    return ended_by(rows.filter(pl.col("submit_time") < until), until)


def make_older(warehouse: Warehouse, predictor: str) -> None:
    """A first model whose file is the one that an older tracehouse would have written, with its hash in the warehouse."""
    night(warehouse, predictor)
    older, _ = older_sklearn_file(fitted_rows(warehouse))
    today = model_file(warehouse, 1)
    file, digest = store_model("mine", "runtime-model", older)
    os.utime(data_folder() / file, (0, 0))  # written long ago
    with warehouse.write() as connection:
        connection.execute("UPDATE predictions.model_versions SET file = ?, sha256 = ?", [file, digest])
    today.unlink()


def load_sklearn(warehouse: Warehouse) -> Predictor:
    predictor = make_predictor("sklearn")
    predictor.fit(fitted_rows(warehouse))
    return predictor


def hash_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


class Harmful:
    """Makes a folder when it is loaded."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


def test_an_older_pickled_champion_is_converted_once(warehouse: Warehouse) -> None:
    """File and hash change; version, scores, events and predictions do not, and the way back stays."""
    make_older(warehouse, "sklearn")
    before, older = registry(warehouse), model_file(warehouse, 1)
    version, champion = load_champion(warehouse, "mine")
    after = registry(warehouse)
    assert (version, champion.name) == (1, "sklearn")
    changed = ("file", "sha256")
    assert_same_tables({k: v.drop(changed, strict=False) for k, v in before.items()},
                       {k: v.drop(changed, strict=False) for k, v in after.items()})  # fmt: skip
    assert (
        model_file(warehouse, 1) != older and hash_of(model_file(warehouse, 1)) == after["model_versions"]["sha256"][0]
    )
    assert b"gASV" not in model_file(warehouse, 1).read_bytes()  # how pickles of protocol 4 and 5 begin in base 64
    load_champion(warehouse, "mine")
    assert_same_tables(after, registry(warehouse))
    assert "nothing new: version 1" in night(warehouse, "sklearn")  # trained again, it is the very same file
    night(warehouse, "user_mean")
    assert kinds(warehouse)[0] == ("first", 1, 1)


def test_a_way_back_to_an_older_pickled_version(warehouse: Warehouse) -> None:
    make_older(warehouse, "sklearn")
    with warehouse.write() as connection:  # another champion came meanwhile
        connection.execute(
            "INSERT INTO predictions.model_versions BY NAME SELECT * REPLACE (2 AS version) FROM predictions.model_versions"
        )
        connection.execute(
            "INSERT INTO predictions.model_events BY NAME SELECT * REPLACE (2 AS event, 2 AS version, 2 AS champion) "
            "FROM predictions.model_events"
        )
    assert roll_back(warehouse, "mine") == (2, 1)
    cards = stored(warehouse, "model_versions")
    assert cards[0]["file"] == cards[1]["file"] and hash_of(model_file(warehouse, 1)) == cards[0]["sha256"]
    assert load_champion(warehouse, "mine")[1].name == "sklearn"


def test_a_night_converts_older_versions_first(warehouse: Warehouse) -> None:
    make_older(warehouse, "sklearn")
    assert "nothing new: version 1 was trained and judged on the same jobs" in night(warehouse, "sklearn")
    assert kinds(warehouse) == [("first", 1, 1)]


def test_a_pickle_that_the_warehouse_does_not_know_is_not_loaded(warehouse: Warehouse) -> None:
    """Its bytes are not those of the row: nobody even looks into it."""
    make_older(warehouse, "sklearn")
    model_file(warehouse, 1).write_bytes(with_pickle(load_sklearn(warehouse), Harmful(data_folder() / "harm")))
    before = registry(warehouse)
    with pytest.raises(ValueError, match="is not the one that was trained: train it again with `tracehouse run`"):
        load_champion(warehouse, "mine")
    assert_same_tables(before, registry(warehouse))
    assert not (data_folder() / "harm").exists()


def test_a_pickle_of_another_class_is_refused_with_the_remedy(warehouse: Warehouse) -> None:
    """Although its hash stands in the warehouse."""
    make_older(warehouse, "sklearn")
    file, digest = store_model(
        "mine", "runtime-model", with_pickle(load_sklearn(warehouse), Harmful(data_folder() / "harm"))
    )
    with warehouse.write() as connection:
        connection.execute("UPDATE predictions.model_versions SET file = ?, sha256 = ?", [file, digest])
    before = registry(warehouse)
    with pytest.raises(
        ValueError, match=r"cannot be converted .*: train it again with `tracehouse run NAME --job train`"
    ):
        load_champion(warehouse, "mine")
    assert_same_tables(before, registry(warehouse))
    assert not (data_folder() / "harm").exists()
    assert "version 2 (user_mean): first, version 1 cannot be used any more" in night(warehouse, "user_mean")
