"""Figures of compared policies are drawn from what the tables hold."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import sql
from assets.evaluation import plots
from models.judging.verdict import NO_DIFFERENCE
from tests.tiny import SOURCE
from warehouse import Warehouse


def rows_of(warehouse: Warehouse, query: str) -> pl.DataFrame:
    with warehouse.read() as connection:
        return connection.sql(query, params={"source": SOURCE} if "$source" in query else None).pl()


def test_every_rank_has_a_line(warehouse: Warehouse) -> None:
    board = rows_of(warehouse, "FROM marts.leaderboard ORDER BY rank, policy, estimates")
    (ax,) = plots.ranked_intervals(board).axes
    labels = [label.get_text() for label in ax.get_yticklabels()]
    best = board.row(0, named=True)
    assert len(labels) == board.height and labels[-1] == f"{best['policy']}, {best['estimates']}: {best['verdict']}"
    assert len(ax.lines) >= 2 * board.height, "slowdown and wait of each"


def test_the_tested_configurations_are_named(warehouse: Warehouse) -> None:
    searched = rows_of(warehouse, "FROM replay.prediction_search")
    (ax,) = plots.slowdown_and_wait(searched).axes
    texts = [text.get_text() for text in ax.texts]
    tested = searched.filter(part="testing")
    assert len(texts) == tested.height and f"EASY: {NO_DIFFERENCE}" in texts
    chosen = tested.filter("chosen")["verdict"].to_list()
    assert sorted(text for text in texts if text.startswith("chosen")) == sorted(f"chosen: {word}" for word in chosen)


def test_usage_has_a_panel_per_policy(warehouse: Warehouse) -> None:
    usage = rows_of(warehouse, sql.load("replay.usage_over_time"))
    axes = plots.usage_over_time(usage, 64).axes
    assert len(axes) == 3 and [line.get_label() for line in axes[-1].lines] == ["FCFS", "learned"]


def test_waits_of_log_and_replay_fall_from_all_jobs_to_the_longest_wait() -> None:
    (ax,) = plots.logged_and_replayed(np.array([0, 3600, 7200]), np.array([60, 60, 36_000])).axes
    assert [line.get_label() for line in ax.lines] == ["log", "replay"]
    assert list(ax.lines[0].get_xdata()) == [2.0, 1.0, 1 / 60] and ax.lines[1].get_xdata()[0] == 10.0
    assert ax.lines[0].get_ydata()[-1] == pytest.approx(100)
