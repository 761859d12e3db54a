"""Cost by moves with two small networks, its table, and the picture of the stored tables."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from papers.neural_annealing import annealing_steps as benchmark
from papers.neural_annealing import study
from papers.neural_annealing.annealing_steps import (
    COSTS_OF_FIGURE_5,
    EQUAL_TIME,
    SEARCHES,
    TWICE,
    costs_in_lines,
    steps_picture,
    steps_table,
)
from studies.publishing.results import stored, tables_of

COSTS = {"sequential": [200.0] * 6, "learned CNN-3": [90.0, 80, 80, 80, 80, 80], TWICE: [100.0, 100, 80, 80, 80, 80]}


def test_a_small_run_prints_both_searches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(study, "WINDOWS", 4)
    monkeypatch.setattr(study, "CALIBRATION_WINDOWS", 2)
    monkeypatch.setitem(study.RECIPES, "published", {"update_windows": 2, "window_episodes": 2, "passes": 2})
    command = ["-", "--networks", "FCN-1,CNN-3", "--updates", "2", "--epochs", "2", "--checkpoints", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", command)
    benchmark.main()
    tables = {name: costs_in_lines(table.splitlines()) for name, table in tables_of(capsys.readouterr().out).items()}
    assert list(tables) == list(SEARCHES)
    published, corrected = tables.values()
    assert list(corrected) == ["sequential", "learned FCN-1", "learned CNN-3", TWICE, EQUAL_TIME, "SCAS, exact"]
    for costs in tables.values():
        assert all(len(row) == 6 and max(row) <= costs["sequential"][0] for row in costs.values())
        assert min(costs["SCAS, exact"]) <= min(costs["sequential"])
    assert np.mean(corrected[TWICE]) <= np.mean(published[TWICE])  # what the undo is worth
    assert (tmp_path / "repair-code-paper-FCN-1-published-1.json").exists()


def test_a_table_has_costs_and_gains_and_is_read_again() -> None:
    lines = steps_table(COSTS).splitlines()
    assert lines[0].startswith("| solver | 500 moves |") and lines[3].startswith(
        "| learned CNN-3 | 90 (+10.0%) | 80 (+20.0%) |"
    )
    assert costs_in_lines(lines) == COSTS


def test_the_picture_has_the_paper_beside_both_searches() -> None:
    canvas = steps_picture(COSTS, COSTS | {"SCAS, exact": [60.0] * 6})
    paper, rebuilt, ours = canvas.axes
    (cnn,) = (line for line in paper.lines if line.get_label() == "learned CNN-3")
    assert cnn.get_ydata() == pytest.approx([100 * 89_588.7 / 105_023.5]) and cnn.get_xdata() == [500]
    assert len(paper.lines) == len(COSTS_OF_FIGURE_5) - 1
    assert {line.get_label(): line.get_ydata()[1] for line in rebuilt.lines} == {"learned CNN-3": 40.0, TWICE: 50.0}
    assert [line.get_label() for line in ours.lines] == ["learned CNN-3", TWICE, "SCAS, exact"]
    (legend,) = canvas.legends
    assert [text.get_text() for text in legend.get_texts()][-1] == "SCAS, exact"


def test_the_stored_tables_can_be_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "steps.png"
    monkeypatch.setattr(sys, "argv", ["-", "--picture", str(file)])
    benchmark.main()
    assert file.read_bytes().startswith(b"\x89PNG") and file.stat().st_size > 10_000
    assert {f"annealing_steps, {search}" for search in SEARCHES} <= set(stored())
