"""The tree of a population is drawn as its rows say."""

from __future__ import annotations

import polars as pl

from assets.common.plots import GREY, ORANGE
from assets.policies.population_plots import lineage


def test_a_population_of_which_nobody_was_chosen_is_drawn() -> None:
    rows = pl.DataFrame(
        {"generation": [1, 2], "member": [0, 0], "parent": [None, 0], "cost": [3.0, 2.0], "chosen": [False, False]}
    )
    (ax,) = lineage(rows, "bsld").axes
    assert [line.get_color() for line in ax.lines] == [GREY]


def test_lines_lead_to_parents_and_the_chosen_line_stands_out() -> None:
    costs = [[3.0, 4.0], [2.5, 2.0], [1.5, 1.0]]
    parents = [[None, None], [0, 0], [1, 1]]
    rows = pl.DataFrame(
        [
            {"generation": g + 1, "member": m, "parent": parents[g][m], "cost": costs[g][m], "chosen": (g, m) == (2, 1)}
            for g in range(3)
            for m in range(2)
        ],
        infer_schema_length=None,
    )
    (ax,) = lineage(rows, "bsld").axes
    drawn = {
        (tuple(line.get_xdata()), tuple(line.get_ydata())): (line.get_color(), line.get_linestyle())
        for line in ax.lines
    }
    assert drawn == {
        ((1, 2), (3.0, 2.5)): (GREY, "-"),
        ((1, 2), (3.0, 2.0)): (ORANGE, "--"),
        ((2, 3), (2.0, 1.5)): (GREY, "--"),
        ((2, 3), (2.0, 1.0)): (ORANGE, "-"),
    }
