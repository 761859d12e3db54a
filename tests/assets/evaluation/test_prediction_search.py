"""What the search for uses of predictions leaves behind."""

from __future__ import annotations

import polars as pl

from models.runtime import search
from warehouse import Warehouse


def test_the_chosen_are_tested_beside_the_rivals(warehouse: Warehouse) -> None:
    with warehouse.read() as connection:
        rows = connection.sql("FROM replay.prediction_search").pl()
    tried, tested = rows.filter(part="choosing"), rows.filter(part="testing")
    assert set(tested.filter(family="rival")["name"]) == set(search.PREDICTION_RIVALS)
    for family in ("backfilling", "ordering"):
        chosen = tried.filter(pl.col("chosen"), family=family)
        assert chosen.height == 1 and tried.filter(family=family).height > 5
        assert tested.filter(family=family)["name"].to_list() == chosen["name"].to_list()
    assert (rows["average_bounded_slowdown"] >= 1).all() and (rows["average_wait_s"] >= 0).all()
