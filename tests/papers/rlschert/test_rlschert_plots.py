"""Figures of RLSchert's cluster show what the rows say."""

from __future__ import annotations

import polars as pl

from papers.rlschert.rlschert import curves_plot, holes_plot, killed_plot, sweep_plot, waits_plot

RESULTS = pl.DataFrame(
    {
        "policy": ["SAF", "SAF", "RLSchert", "RLSchert"],
        "kill": ["none", "none", "learned", "learned"],
        "setting": [0.3, 0.9, 0.3, 0.9],
        "slowdown": [1.5, 4.0, 1.2, 3.0],
    }
)
JOBS = pl.DataFrame(
    {
        "policy": ["RLSchert"] * 3,
        "kill": ["rule", "learned", "learned"],
        "wait": [1, 2, 5],
        "kills": [1, 0, 2],
        "first_prediction": [3, 4, 5],
        "length": [9, 4, 30],
        "killed_after": [1, 0, 6],
    }
)


def test_a_line_for_each_scheduler_that_is_there() -> None:
    (axis,) = sweep_plot(RESULTS, "job rate").axes
    assert {text.get_text() for text in axis.get_legend().get_texts()} == {"SAF", "RLSchert, kill: learned"}
    assert axis.get_xlabel() == "job rate"
    (axis,) = waits_plot(JOBS).axes
    assert axis.lines[-1].get_ydata().tolist() == [0.5, 1.0]


def test_curves_show_the_mean_of_the_seeds() -> None:
    curves = pl.DataFrame(
        {
            "policy": ["RLSchert"] * 3,
            "kill": ["none"] * 3,
            "seed": [1, 2, 1],
            "iteration": [5, 5, 6],
            "validation": [2.0, 4.0, None],
        }
    )
    (axis,) = curves_plot(curves).axes
    assert axis.lines[0].get_ydata().tolist() == [3.0]


def test_holes_are_drawn_over_time() -> None:
    holes = pl.DataFrame({"policy": ["SAF"] * 2, "kill": ["none"] * 2, "unit": [1, 0], "holes": [5.0, 2.0]})
    (axis,) = holes_plot(holes).axes
    assert axis.lines[0].get_ydata().tolist() == [2.0, 5.0]


def test_only_killed_jobs_are_shown() -> None:
    (axis,) = killed_plot(JOBS).axes
    assert [len(points.get_offsets()) for points in axis.collections] == [1, 1]
