"""What the search for uses of predictions leaves behind."""

from __future__ import annotations

import polars as pl
import pytest

from assets.common.trace import load_trained_trace
from assets.replay.prediction_search import searched_uses, tried_uses
from models.judging.verdict import NO_DIFFERENCE
from models.runtime import search
from tests.tiny import SOURCE
from warehouse import Warehouse

SAME_IN_SCORES = (
    *("average_bounded_slowdown", "average_wait_s", "p99_wait_s", "max_wait_s", "area_weighted_wait_s", "wide_wait_s"),
    *("payers", "bounded_slowdown_ratio", "wait_ratio", "p99_wait_ratio", "area_wait_ratio"),
    *("wide_wait_ratio", "lost_capacity_change", "typical_slowdown_ratio", "typical_wait_low", "typical_wait_high"),
)
"""Columns that replay.period_scores has, too."""


@pytest.fixture
def rows(warehouse: Warehouse) -> pl.DataFrame:
    with warehouse.read() as connection:
        return connection.sql("SELECT * EXCLUDE (source) FROM replay.prediction_search").pl()


def test_the_chosen_are_tested_beside_the_rivals(rows: pl.DataFrame) -> None:
    tried, tested = rows.filter(part="choosing"), rows.filter(part="testing")
    by_lot = {f"random order, {shown}" for shown in ("mean", "5 %", "95 %")}
    assert set(tested.filter(family="rival")["name"]) == set(search.PREDICTION_RIVALS) | by_lot
    low, mean, high = (
        tested.filter(name=f"random order, {shown}")["wait_ratio"][0] for shown in ("5 %", "mean", "95 %")
    )
    assert low < mean < high
    for family in ("backfilling", "ordering"):
        chosen = tried.filter(pl.col("chosen"), family=family)
        assert chosen.height == 1 and tried.filter(family=family).height > 5
        assert tested.filter(family=family)["name"].to_list() == chosen["name"].to_list()
    assert (rows["average_bounded_slowdown"] >= 1).all() and (rows["average_wait_s"] >= 0).all()


def test_the_choice_dominates_where_one_can(rows: pl.DataFrame) -> None:
    for family in ("backfilling", "ordering"):
        tried = rows.filter(part="choosing", family=family)
        (chosen,) = tried.filter("chosen").iter_rows(named=True)
        assert chosen["dominates_in_search"] == tried["dominates_in_search"].any()
        rivals = tried.filter(dominates_in_search=chosen["dominates_in_search"])
        assert chosen["search_value"] == rivals["search_value"].min()
        (tested,) = rows.filter(part="testing", family=family).iter_rows(named=True)
        for name in ("dominates_in_search", "search_value"):
            assert tested[name] == chosen[name], "the tested row says how it was chosen"


def test_the_testing_part_is_judged_as_the_evaluation_judges(warehouse: Warehouse, rows: pl.DataFrame) -> None:
    """Both replay the whole log and score the same jobs."""
    with warehouse.read() as connection:
        scores = connection.sql("FROM replay.period_scores WHERE estimates = 'requested'").pl()
    tested = rows.filter(part="testing", family="rival")
    for rival, policy in (("EASY-SJBF", "EASY-SJBF"), ("SJF, requested", "SJF"), ("SAF, requested", "SAF")):
        ours, theirs = (
            frame.select(SAME_IN_SCORES).row(0, named=True)
            for frame in (tested.filter(name=rival), scores.filter(policy=policy))
        )
        assert ours == theirs, rival
        words = [
            frame["verdict"].str.split(", ")[0][0]
            for frame in (tested.filter(name=rival), scores.filter(policy=policy))
        ]
        assert words[0] == words[1], "being certain is corrected for the number of policies in the table"
    (easy,) = tested.filter(name="EASY").iter_rows(named=True)
    assert easy["verdict"] == NO_DIFFERENCE and easy["wait_ratio"] == 1.0
    assert tested.filter(name="EASY++")["replays"][0] > 1 == easy["replays"]


def test_searching_again_in_other_parts_gives_the_same_rows(warehouse: Warehouse, rows: pl.DataFrame) -> None:
    trace, test_position = load_trained_trace(warehouse, SOURCE)
    tried = [tried_uses(trace, test_position, 0, 1, which) for which in (slice(1, None, 2), slice(0, None, 2))]
    again = searched_uses(trace, test_position, pl.concat(tried, how="vertical_relaxed")).select(rows.columns)
    assert again.sort("part", "family", "name").equals(rows.sort("part", "family", "name"))
