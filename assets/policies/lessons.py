"""Which windows of the training part are learned from, and which choose."""

from assets.common.trace import Trace
from models.scheduling.arena import Windows
from models.scheduling.learning.training import Lessons
from warehouse import Warehouse

VALIDATION_SHARE = 0.2
"""Last share of the training part that is kept from learning. Its first half chooses among epochs and seeds. Its second half,
the newest, judges: whether the chosen epoch is better than what training started from, and a challenger than the champion."""


def learning_part(test_position: int) -> int:
    """Jobs before this position are learned from."""
    return int(test_position * (1 - VALIDATION_SHARE))


def judging_part(test_position: int) -> int:
    """Jobs from this position to the test position judge."""
    return (learning_part(test_position) + test_position) // 2


def judged_jobs(test_position: int) -> range:
    """Positions of the jobs that judge a challenger: the newest of the training part."""
    return range(judging_part(test_position), test_position)


def lessons_of(warehouse: Warehouse, trace: Trace, test_position: int, goal: str) -> Lessons:
    """The windows of the trajectory filter, and the blocks that choose and that confirm.

    Raises ValueError where they do not fit the trace or the goal.
    """
    source = trace.source
    with warehouse.read() as connection:
        windows = connection.sql(
            "SELECT first_position, jobs, kept FROM policies.trajectory_windows WHERE source = $source ORDER BY 1",
            params={"source": source},
        ).pl()
        filtered_for = connection.execute(
            "SELECT goal FROM policies.trajectory_ranges WHERE source = ?", [source]
        ).fetchone()
    if windows.is_empty() or filtered_for is None:
        raise ValueError(f"source {source!r} has no trajectory filter: materialize policies/trajectory_filter first")
    if filtered_for[0] != goal:
        raise ValueError(
            f"source {source!r}: the trajectory filter was made for the goal {filtered_for[0]!r}, not {goal!r}: materialize "
            "policies/trajectory_filter with the same goal"
        )
    length, learning = int(windows["jobs"][0]), learning_part(test_position)
    first = windows["first_position"].to_numpy()
    middle = judging_part(test_position)
    if first.max() + length > learning:
        raise ValueError(
            f"source {source!r}: the trajectory filter was made for another split of the trace, its windows reach into "
            "jobs kept for choosing or testing: materialize policies/trajectory_filter again"
        )
    return Lessons(
        Windows(first, length),
        Windows(first[windows["kept"].to_numpy()], length),
        Windows.blocks(learning, middle),
        Windows.blocks(middle, test_position),
        after=length,
    )
