"""Why scenarios change nothing."""

from __future__ import annotations

from pathlib import Path

from tests.assets.replay.scenarios.examples import results_of
from tests.assets.replay.scenarios.test_results import row_of


def test_a_scenario_that_changes_nothing_says_why(busy: Path) -> None:
    same: dict[str, tuple[dict[str, object], str]] = {
        "as the base": ({"backfill": "easy"}, "its settings are those of the base"),
        "rounded": ({"round_walltimes": "1s"}, "all requested times are multiples of 1s already"),
        "capped": ({"policy": "bounded-key:cap_hours=0.01"}, "meet its cap of 36 s"),
        "formula": ({"policy": "formula:-submit"}, "orders the jobs as they were submitted"),
    }
    answer = results_of({name: changes for name, (changes, _) in same.items()} | {"more": {"procs": 20}})
    assert row_of(answer, "more")["unchanged_because"] is None
    for name, (_, why) in same.items():
        assert why in row_of(answer, name)["unchanged_because"]
        assert any(text.startswith(f"{name}: changes nothing: ") for text in answer.remarks)
    idle = results_of({"x": {"procs": 2000}}, base={"procs": 1000})
    assert row_of(idle, "x")["unchanged_because"] == "no job waits in the base, so nothing can be gained"
