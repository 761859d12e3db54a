"""Tests of assets/marts: leaderboard, prediction_error, report."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from assets.marts.leaderboard import board_of, readable
from assets.marts.prediction_error import prediction_error
from assets.pages.index import INDEX_COLUMNS
from assets.pages.page import HEAD_BYTES, summary_of_page
from assets.replay.evaluation import (
    EXPERT_RIVALS,
)
from assets.replay.random_orders import rank_policies
from tests.assets.predictions.registry import materialized
from tests.tiny import SOURCE as TINY_SOURCE
from tests.tiny import Home, busy_log, warehouse_of
from warehouse import Warehouse, replace_partition

# leaderboard: The stored leaderboard is the ranking of the stored scores.

SCORES = {  # verdict, bounded slowdown and wait over FCFS
    "small gain": ("dominates", 0.9, 0.9),
    "certain gain": ("dominates, certain", 0.8, 0.7),
    "FCFS": ("no difference", 1.0, 1.0),
    "twin": ("no difference", 1.0, 1.0),
    "dear": ("trades", 0.1, 0.1),
    "harmful": ("harms", 0.05, 0.05),
    "bad": ("worse", 1.5, 1.2),
}


def test_the_leaderboard_ranks_the_stored_scores(finished: Home) -> None:
    warehouse = Warehouse(finished.database)
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


# prediction_error: The asset marts/prediction_error on a small warehouse.


def test_one_row_per_predictor_and_period(evaluated: Warehouse) -> None:
    with evaluated.read() as connection:
        rows = connection.sql("FROM marts.prediction_error WHERE source = 'mine'").pl()
    assert rows.select("predictor", "period_start").n_unique() == rows.height == 2 * 4
    metadata = materialized(prediction_error, evaluated)
    assert metadata["dagster/row_count"] == rows.height
    newest = str(metadata["newest_period"])
    assert newest.count("| user_mean |") == newest.count("| last_two |") == 1


def test_a_source_without_predictions_has_no_rows(warehouse: Warehouse) -> None:
    """As after `tracehouse run NAME --job evaluate` on a source that is new."""
    assert materialized(prediction_error, warehouse)["dagster/row_count"] == 0


# report: The asset marts/report: one file that needs no network, as a finished run has left it.


def test_the_report_of_a_finished_run(finished: Home) -> None:
    folder = finished.folder / "warehouse" / "data" / "reports"
    page = (folder / f"{TINY_SOURCE}.html").read_text()
    assert page.startswith("<!doctype html>") and page.endswith("</html>\n")
    summary = summary_of_page(page[:HEAD_BYTES])
    assert summary is not None and summary["source"] == TINY_SOURCE
    assert len(page.encode()) < 8_000_000
    index = (folder / "_index.html").read_text()
    assert f'<a href="{TINY_SOURCE}.html">{TINY_SOURCE}</a>' in index and all(
        f">{name}</th>" in index for name in INDEX_COLUMNS
    )


# graded_leaderboard: The leaderboard as reports read it.


@pytest.mark.parametrize(
    ("letter", "fitted", "verdict", "read"),
    [
        ("A", "SAF", "dominates", ("dominates", "A", None)),
        ("A", "slurm", "dominates", ("dominates", None, "these orders were replayed over a row of processors")),
        ("D", "pbs", "dominates", (None, None, "these orders were replayed over a row of processors")),
        ("D", "SAF", "dominates", (None, "D", "grade D: the replays cannot be trusted")),
        (None, "SAF", "trades", ("trades", None, "hardly anybody waited")),
        ("B", "SAF", "no verdict", ("no verdict", "B", "most random orders dominate")),
    ],
)
def test_a_grade_is_beside_the_orders_that_earned_it(
    tmp_path: Path, letter: str | None, fitted: str, verdict: str, read: tuple[str | None, str | None, str | None]
) -> None:
    warehouse = warehouse_of(tmp_path, busy_log(20))
    grade = {
        "part": "all",
        "value": "",
        "jobs": 9,
        "grade": letter,
        "no_grade_because": None if letter else "hardly anybody waited",
    }
    configuration = {
        "place": 1,
        "policy": fitted,
        "backfill": "easy",
        "procs": 16,
        "jobs": 5,
        "factor": 2.0,
        "semantics": 5,
    }
    with warehouse.write() as connection:
        columns = connection.execute("DESCRIBE marts.leaderboard").fetchall()
        row = {name: "" if kind == "VARCHAR" else 1 for name, kind, *_ in columns if name != "source"}
        replace_partition(
            connection, "marts.leaderboard", "mine", pl.DataFrame([row | {"verdict": verdict, "cluster": None}])
        )
        replace_partition(connection, "replay.fidelity", "mine", pl.DataFrame([grade], infer_schema_length=None))
        replace_partition(connection, "replay.configurations", "mine", pl.DataFrame([configuration]))
        found = connection.execute(
            "SELECT verdict, grade, not_recommended_because FROM marts.graded_leaderboard"
        ).fetchone()
    assert found is not None and found[:2] == read[:2]
    assert (found[2] or "").startswith(read[2] or "") and (found[2] is None) == (read[2] is None)
