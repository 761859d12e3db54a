"""How far replays of a source can be trusted, as replay/fidelity has found it."""

from __future__ import annotations

from models.judging.fidelity import MEANING
from warehouse import Warehouse, first_row


def grade_text(warehouse: Warehouse, source: str) -> str | None:
    """The grade of a source in one line, or why it has none; None before replay/fidelity was made."""
    with warehouse.read() as connection:
        graded = first_row(
            connection,
            "SELECT grade, no_grade_because, logged_wait_s, replayed_wait_s FROM replay.fidelity WHERE source = ? AND part = 'all'",
            [source],
        )
        fitted = first_row(
            connection, "SELECT policy, backfill FROM replay.configurations WHERE source = ? AND place = 1", [source]
        )
    if graded is None:
        return None
    grade, why, logged, replayed = graded
    if grade is None:
        return f"no grade: {why}"
    assert fitted is not None
    return (
        f"grade {grade}: {MEANING[grade]} (mean wait {logged / 3600:.1f} h in the log, {replayed / 3600:.1f} h in the replay of what fits "
        f"it best, {fitted[0]} with backfilling {fitted[1]})"
    )
