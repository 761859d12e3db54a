"""Tests of assets/replaying/scenarios/remarks.py and unchanged.py."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from assets.replaying.scenarios.remarks import scenario_remarks
from assets.replaying.scenarios.results import ROW_SCHEMA
from assets.replaying.scenarios.unchanged import why_like_itself

ROW: dict[str, Any] = dict.fromkeys(ROW_SCHEMA)


def _runs(*waits_h: float) -> Any:
    return SimpleNamespace(
        mean_waits_s=[3600 * each for each in waits_h], settings=SimpleNamespace(own_scheduler="slurm")
    )


def test_two_ranges_that_hardly_overlap_are_noise_and_not_nothing() -> None:
    """A change of 7.6 % is none that so few runs could show, and the sentence says which could."""
    because = why_like_itself(_runs(0.16, 0.15), _runs(0.16, 0.18))
    assert because is not None
    (said,) = scenario_remarks(ROW | {"unchanged_because": because}, has_figures=True)
    assert said == (
        "within the noise of two runs: mean waits of all jobs are 0.16 to 0.18 h, those of the base 0.15 to 0.16 h, since Slurm differs as "
        "much from itself. A change of 9.7 % or more would have been seen"
    )
    assert why_like_itself(_runs(0.15, 0.16), _runs(0.17, 0.18)) is None


def test_a_scenario_that_is_the_base_changes_nothing() -> None:
    same = ROW | {"unchanged_because": "its settings are those of the base"}
    assert scenario_remarks(same, has_figures=True) == ["changes nothing: its settings are those of the base"]
