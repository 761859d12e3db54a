"""The stored leaderboard is the ranking of the stored scores."""

from __future__ import annotations

from assets.evaluation.ranking import rank_policies
from warehouse import Warehouse


def test_the_leaderboard_ranks_the_stored_scores(warehouse: Warehouse) -> None:
    with warehouse.read() as connection:
        scores = connection.sql("SELECT * FROM replay.period_scores ORDER BY ALL").pl()
        board = connection.sql("SELECT * EXCLUDE (source) FROM marts.leaderboard").pl()
    ranked = rank_policies(scores).select(board.columns)
    assert board.sort("rank", "policy", "estimates").equals(ranked.sort("rank", "policy", "estimates"))
    assert board.height == scores.height == 19 and board["typical_wait_ratio"].null_count() == 0
