"""The stored scores: every contestant on every window, and each is a replay that can be made again."""

from __future__ import annotations

from assets.common.trace import load_trained_trace
from assets.evaluation.contestants import EVALUATED_ESTIMATES, contestants_of, scores_of
from tests.tiny import SOURCE
from warehouse import Warehouse


def test_every_contestant_is_on_every_window(warehouse: Warehouse) -> None:
    trace, test_position = load_trained_trace(warehouse, SOURCE)
    contestants = [entry for entry in contestants_of(warehouse, SOURCE, test_position) if entry.in_windows]
    with warehouse.read() as connection:
        rows = connection.sql("SELECT * EXCLUDE (source) FROM replay.window_scores ORDER BY ALL").pl()
    windows = rows["first_position"].unique().sort().to_list()
    assert rows.height == len(EVALUATED_ESTIMATES) * len(contestants) * len(windows)
    assert windows[0] == test_position and windows[-1] + 64 == trace.rows.height
    for entry in (contestants[0], contestants[-1]):
        columns, _ = scores_of(trace, trace.jobs("predicted").window(windows[1], 64), entry, "predicted")
        same = rows.filter(policy=entry.policy, estimates="predicted", window_number=1)
        stored = next(row for row in same.iter_rows(named=True) if row["seed"] == entry.seed)
        assert {name: stored[name] for name in columns} == columns


def test_the_whole_period_has_a_start_for_every_job(warehouse: Warehouse) -> None:
    trace, test_position = load_trained_trace(warehouse, SOURCE)
    with warehouse.read() as connection:
        counts = connection.sql(
            "SELECT policy, estimates, count(*) AS jobs, count(DISTINCT job_index) AS different, min(wait_s) AS least "
            "FROM replay.schedules GROUP BY ALL"
        ).pl()
    assert (
        counts["jobs"].unique().to_list()
        == counts["different"].unique().to_list()
        == [trace.rows.height - test_position]
    )
    assert (counts["least"] >= 0).all()
