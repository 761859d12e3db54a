"""Why scenarios change nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.assets.replay.scenarios.examples import results_of
from tests.assets.replay.scenarios.test_results import row_of


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"backfill": "easy"}, "its settings are those of the base"),
        ({"round_walltimes": "1s"}, "all requested times are multiples of 1s already"),
        ({"policy": "bounded-key:cap_hours=0.01"}, "meet its cap of 36 s"),
        ({"policy": "formula:-submit"}, "orders the jobs as they were submitted"),
    ],
    ids=str,
)
def test_a_scenario_that_changes_nothing_says_why(busy: Path, changes: dict[str, object], why: str) -> None:
    answer = results_of({"x": changes, "more": {"procs": 20}})
    assert why in row_of(answer, "x")["unchanged_because"] and row_of(answer, "more")["unchanged_because"] is None
    assert any(text.startswith("x: changes nothing: ") for text in answer.remarks)
    idle = results_of({"x": {"procs": 2000}}, base={"procs": 1000})
    assert row_of(idle, "x")["unchanged_because"] == "no job waits in the base, so nothing can be gained"
