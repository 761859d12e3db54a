"""Decisions of our PBS against recorded ones."""

from __future__ import annotations

import pytest

from studies.pbs.decisions import judge_run
from studies.pbs.recorded_runs import read_recorded_run
from tests.shared import shared_file


@pytest.mark.parametrize("scenario", ["P1f", "P3", "P4", "P5", "P6", "P7"])
def test_our_pass_starts_what_pbs_started(scenario: str) -> None:
    count = judge_run(read_recorded_run(shared_file("golden", "pbs", scenario, "run1"))).counts
    assert count["same_starts"] == count["starts"] > 60
    assert count["same"] >= 0.999 * count["decisions"]
    assert count["same_tops"] >= 0.985 * count["tops"] and count["same_seconds"] >= 0.97 * count["same_tops"]
    assert count["same_nodes"] >= (0.9 if scenario == "P4" else 1) * count["same_starts"]
