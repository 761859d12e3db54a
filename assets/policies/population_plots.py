"""The tree of a population: who descends from whom, and what each member cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from assets.common.plots import BLUE, GREY, ORANGE, figure, log_axis

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def lineage(rows: pl.DataFrame, goal: str) -> Figure:
    """Cost by generation, with a line from each member to its parent. rows: of policies.population, of one source.

    The line of the chosen member is orange, and those of members that went on from a copy are dashed.
    """
    canvas, (ax,) = figure(height=3.6)
    at = {(row["generation"], row["member"]): row for row in rows.iter_rows(named=True)}
    chosen = _line_of_chosen(at)
    for (generation, member), row in at.items():
        if row["parent"] is None:
            continue
        before = at[generation - 1, row["parent"]]
        of_chosen = (generation, member) in chosen
        ax.plot(
            [generation - 1, generation],
            [before["cost"], row["cost"]],
            color=ORANGE if of_chosen else GREY,
            linewidth=1.8 if of_chosen else 0.9,
            linestyle="-" if row["parent"] == member else "--",
            zorder=3 if of_chosen else 1,
        )
    ax.scatter(rows["generation"], rows["cost"], s=14, color=BLUE, zorder=4, label="member")
    best = rows.filter("chosen")
    ax.scatter(best["generation"], best["cost"], s=60, facecolors="none", edgecolors=ORANGE, zorder=5, label="chosen")
    if (rows["cost"] > 0).all():
        log_axis(ax.yaxis)
    ax.set_xticks(sorted(rows["generation"].unique().to_list()))
    ax.set_xlabel("generation (dashed: went on from a copy of another member)", fontsize=9)
    ax.set_ylabel(f"{goal}, jobs that choose", fontsize=9)
    ax.legend(frameon=False, fontsize=9)
    return canvas


def _line_of_chosen(at: dict[tuple[int, int], dict[str, object]]) -> set[tuple[int, int]]:
    """The chosen member and its ancestors, as (generation, member). None where the policy is what training started from."""
    places = [place for place, row in at.items() if row["chosen"]]
    if not places:
        return set()
    place = places[0]
    line = {place}
    while (parent := at[place]["parent"]) is not None:
        assert isinstance(parent, int)
        place = (place[0] - 1, parent)
        line.add(place)
    return line
