"""The stored leaderboard is the ranking of the stored scores."""

from __future__ import annotations

import polars as pl
import pytest

from assets.evaluation.leaderboard import board_of, rank_policies, readable
from assets.evaluation.rivals import EXPERT_RIVALS
from warehouse import Warehouse

SCORES = {  # verdict, bounded slowdown and wait over FCFS
    "small gain": ("dominates", 0.9, 0.9),
    "certain gain": ("dominates, certain", 0.8, 0.7),
    "FCFS": ("no difference", 1.0, 1.0),
    "twin": ("no difference", 1.0, 1.0),
    "dear": ("trades", 0.1, 0.1),
    "harmful": ("harms", 0.05, 0.05),
    "bad": ("worse", 1.5, 1.2),
}


def test_the_leaderboard_ranks_the_stored_scores(warehouse: Warehouse) -> None:
    with warehouse.read() as connection:
        scores = connection.sql("SELECT * FROM replay.period_scores ORDER BY ALL").pl()
        board = connection.sql("SELECT * EXCLUDE (source) FROM marts.leaderboard").pl()
    assert board.equals(board_of(scores).select(board.columns)), "best first, as it is stored"
    ranked, by_lot = board.filter(pl.col("rank").is_not_null()), board.filter(pl.col("rank").is_null())
    assert ranked.height == scores["verdict"].count() == 19 + len(EXPERT_RIVALS)
    assert by_lot.height == 3 and ranked["typical_wait_ratio"].null_count() == 0


def scores(names: list[str]) -> pl.DataFrame:
    rows = [(name, *SCORES[name]) for name in names]
    frame = pl.DataFrame(rows, schema=["policy", "verdict", "bounded_slowdown_ratio", "wait_ratio"], orient="row")
    interval = {"ratio": 0.5, "low": 0.25, "high": 1.0}
    typical = {f"typical_{name}_{what}": interval[what] for name in ("slowdown", "wait") for what in interval}
    typical |= {f"{name}_wait_ratio": 1.0 for name in ("p99", "area", "wide")} | {"max_wait_s": 86400.0}
    same = {"backfill": "easy", "estimates": "requested", "payers": "", **typical}
    return frame.with_columns(**{name: pl.lit(value) for name, value in same.items()})


def test_what_dominates_goes_before_what_gains_more_at_others_cost() -> None:
    rows = rank_policies(scores(list(SCORES)))
    order = ["certain gain", "small gain", "FCFS", "twin", "dear", "harmful", "bad"]
    assert rows["policy"].to_list() == order
    assert rows["rank"].to_list() == [1, 2, 3, 3, 5, 6, 7], "ties are one rank"


def test_order_of_rows_does_not_matter() -> None:
    frame = scores(list(SCORES))
    assert rank_policies(frame).equals(rank_policies(frame.sample(fraction=1.0, shuffle=True, seed=3)))


def test_a_log_in_which_nobody_waits_ranks_nothing() -> None:
    rows = rank_policies(scores(["twin", "FCFS"]))
    assert rows["rank"].to_list() == [None, None] and rows["policy"].to_list() == ["FCFS", "twin"]


def test_an_unknown_verdict_is_an_error() -> None:
    with pytest.raises(pl.exceptions.PolarsError):
        rank_policies(scores(["FCFS"]).with_columns(verdict=pl.lit("splendid")))


def test_readers_see_intervals_in_one_cell() -> None:
    frame = rank_policies(scores(["dear", "FCFS"])).with_columns(random_orders_as_good=0.5)
    shown = readable(frame)
    assert shown.columns[:4] == ["rank", "policy", "estimates", "verdict"]
    assert shown["longest wait, days"].to_list() == [1.0, 1.0] and "wide jobs" in shown.columns
    assert shown["slowdown, typical block"].to_list() == ["0.50 (0.25 to 1.00)"] * 2
    none = readable(frame.with_columns(typical_wait_low=pl.lit(None, dtype=pl.Float64)))
    assert none["wait, typical block"].to_list() == ["0.50"] * 2
