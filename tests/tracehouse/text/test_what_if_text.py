"""What `tracehouse what-if` prints: tables that fit the terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from assets.replay.scenarios.results import ScenarioResults
from tests.assets.replay.scenarios.examples import SIX, busy_home, results_of, write_grade
from tracehouse.text.what_if_text import what_if_text

LONG = "a scenario whose name is much longer than any terminal likes"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> ScenarioResults:
    with pytest.MonkeyPatch.context() as patch:
        busy_home(patch, tmp_path_factory.mktemp("results"))
        return results_of(SIX | {LONG: {"procs": 20}})


@pytest.mark.parametrize("width", [80, 100, 132, 200])
def test_every_line_fits_the_terminal(results: ScenarioResults, width: int) -> None:
    lines = what_if_text(results, width, 2).splitlines()
    assert max(len(line) for line in lines) <= width
    tables = [line for line in lines if line.startswith(("waits ", "against the base"))]
    assert len(tables) == (1 if width >= 170 else 2)
    for name in SIX:
        assert any(line.startswith(name) for line in lines)
    assert any(line.startswith(LONG[:20]) for line in lines)


def test_nothing_is_cut_for_a_file_or_a_pipe(results: ScenarioResults) -> None:
    lines = what_if_text(results, None, 1).splitlines()
    assert any(line.startswith(f"{LONG} ") for line in lines)
    assert "verdict" in next(line for line in lines if line.startswith("waits "))
    assert not any("…" in line for line in lines)


def test_the_answer_begins_with_base_and_trust(results: ScenarioResults) -> None:
    lines = what_if_text(results, 200, 1).splitlines()
    assert lines[0] == (
        "base: FCFS, backfilling easy, requested times, 16 processors: what most centres run, since neither catalogue nor header name a "
        "scheduler, and no fitted scheduler has a grade"
    )
    assert lines[1] == "mine: all 400 jobs"
    assert lines[2] == "trust: no grade: `tracehouse run mine` gives it one"
    assert lines[3].startswith("trust: A log does not tell everything: partitions, reservations")


def test_a_good_grade_needs_no_warning(busy: Path) -> None:
    write_grade("A", "FCFS")
    lines = what_if_text(results_of({"x": {"procs": 20}}), 200, 1).splitlines()
    assert lines[2].startswith("trust: grade A: the replay gives back what happened")
    assert lines[3] == "x: FCFS, backfilling none, requested times, 20 processors" and lines[4] == ""


def test_figures_are_those_of_the_rows(results: ScenarioResults) -> None:
    cells = {line[:16].strip(): line.split() for line in what_if_text(results, 200, 1).splitlines()}
    row = results.rows.filter(scenario="base").to_dicts()[0]
    assert f"{row['average_wait_h']:.1f}" in cells["base"] or f"{row['average_wait_h']:.2f}" in cells["base"]
    assert f"{100 * row['utilisation']:.0f}" in cells["base"]


def test_so_many_groups_as_are_asked_for(results: ScenarioResults) -> None:
    def groups(top: int) -> int:
        return sum(line.startswith(("  longer", "  shorter")) for line in what_if_text(results, 120, top).splitlines())

    assert groups(0) == 0 < groups(1) < groups(3)
    text = what_if_text(results, 120, 1)
    assert " over 1 h" in text and "  longer  user " in text
    assert what_if_text(results, 120, 0).count("nobody's") == len(SIX) + 1
