"""The stored leaderboard is the ranking of the stored scores."""

from __future__ import annotations

from assets.evaluation.ranking import rank_policies
from warehouse import Warehouse


def test_the_leaderboard_ranks_the_stored_scores(warehouse: Warehouse) -> None:
    with warehouse.read() as connection:
        scores = connection.sql("SELECT * FROM replay.window_scores ORDER BY ALL").pl()
        board = connection.sql("SELECT * EXCLUDE (source) FROM marts.leaderboard ORDER BY rank").pl()
    ranked = rank_policies(scores, 2000, 1)
    assert board.equals(ranked.select(board.columns)) and board.height == 16
