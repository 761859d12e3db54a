"""Tests of studies/of_papers: annealing_picture, ddppo_pictures."""

from __future__ import annotations

import sys
from pathlib import Path

import polars as pl
import pytest

from papers.neural_annealing.annealing_steps import SEARCHES, TWICE, steps_table
from studies.of_papers import annealing_picture
from studies.of_papers.annealing_picture import COSTS_OF_FIGURE_5, costs_in_lines, steps_picture
from studies.of_papers.ddppo_pictures import write_ddppo_pictures
from studies.publishing.results import stored
from tests.tiny import busy_log, warehouse_of
from warehouse import replace_partition

COSTS = {"sequential": [200.0] * 6, "learned CNN-3": [90.0, 80, 80, 80, 80, 80], TWICE: [100.0, 100, 80, 80, 80, 80]}


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
    monkeypatch.setattr(sys, "argv", ["-", str(file)])
    annealing_picture.main()
    assert file.read_bytes().startswith(b"\x89PNG") and file.stat().st_size > 10_000
    assert {f"annealing_steps, {search}" for search in SEARCHES} <= set(stored())


# plots_pictures: Pictures of decentralised PPO, from rows of the warehouse.


def test_every_log_that_was_learned_from_or_judged_has_its_pictures(tmp_path: Path) -> None:
    warehouse = warehouse_of(tmp_path, busy_log(60))
    warehouse_of(tmp_path, busy_log(60, seed=1), "lemhi")  # nothing was learned from it
    curve = {
        "experiment": "ddppo, bsld",
        "variant": "ppo",
        "seed": 1,
        "phase": "all",
        "decisions": 9,
        "sampled_cost": 2.0,
    }
    cost = {
        "experiment": "ddppo", "rules": "standard", "backfill": "easy", "estimates": "requested", "trained_on": None, "seed": None,
        "window_jobs": 10, "cost": 2.0, "policy": "SAF",
    }  # fmt: skip
    rows = [
        cost | {"goal": goal, "window_number": k, "first_position": k} for goal in ("bsld", "wait") for k in range(4)
    ]
    with warehouse.write() as connection:
        curves = pl.DataFrame([curve | {"epoch": epoch, "validation_cost": 1.0} for epoch in (1, 2)])
        replace_partition(connection, "experiments.curves", "mine", curves)
        columns = {"trained_on": pl.Utf8, "seed": pl.Int64}
        replace_partition(connection, "experiments.window_costs", "other", pl.DataFrame(rows, schema_overrides=columns))
    paths = write_ddppo_pictures(warehouse, tmp_path / "images")
    assert [path.name for path in paths] == [
        "ddppo-submissions-lemhi.png",
        "ddppo-submissions-mine.png",
        "ddppo-rewards-mine.png",
        "ddppo-windows-other.png",
    ]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in paths)
