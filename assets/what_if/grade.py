"""How far replays of a source can be trusted, as replay/fidelity has found it."""

from __future__ import annotations

from models.judging.fidelity import MEANING
from warehouse import Warehouse, first_row

POOR = ("C", "D")
MUCH_MORE = 0.1
"""The log's share of waited time with room is so much above the replay's where limits are the likely reason of a poor grade."""


def grade_text(warehouse: Warehouse, source: str) -> str | None:
    """The grade of a source in one line, or why it has none; None before replay/fidelity was made."""
    with warehouse.read() as connection:
        graded = first_row(
            connection,
            "SELECT grade, no_grade_because, logged_wait_s, replayed_wait_s, logged_room_share, replayed_room_share "
            "FROM replay.fidelity WHERE source = ? AND part = 'all'",
            [source],
        )
        fitted = first_row(
            connection, "SELECT policy, backfill FROM replay.configurations WHERE source = ? AND place = 1", [source]
        )
    if graded is None:
        return None
    grade, why, logged, replayed, logged_room, replayed_room = graded
    if grade is None:
        return f"no grade: {why}"
    assert fitted is not None
    return (
        f"grade {grade}: {MEANING[grade]} (mean wait {logged / 3600:.1f} h in the log, {replayed / 3600:.1f} h in the replay of what fits "
        f"it best, {fitted[0]} with backfilling {fitted[1]})" + held_back_text(grade, logged_room, replayed_room)
    )


def held_back_text(grade: str, logged_room: float | None, replayed_room: float | None) -> str:
    """Where a poor grade comes from, as far as the log shows it; empty where it does not. Shares of the waited time with room: those of
    replay.fidelity."""
    if grade not in POOR or logged_room is None or logged_room - (replayed_room or 0.0) < MUCH_MORE:
        return ""
    return (
        f". For {logged_room:.0%} of the waited time enough processors for the waiting job were idle ({replayed_room or 0.0:.0%} in the "
        "replay): something that the log does not tell held jobs back"
    )
