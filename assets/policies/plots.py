"""Figures of training. Each function takes a frame or arrays and returns a matplotlib Figure. None reads data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from assets.common.plots import BLUE, GREY, ORANGE, figure, log_axis

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def trajectory_distribution(score: np.ndarray, low: float, high: float, goal: str) -> Figure:
    """Histogram of the goal on each window under SJF. score: (windows,). low, high: the filter's range."""
    canvas, (ax,) = figure()
    top = float(np.percentile(score, 99.5)) * 1.05 + 1e-9
    ax.hist(np.minimum(score, top), bins=60, color=GREY)
    ax.axvspan(low, min(high, top), color=BLUE, alpha=0.15, label=f"kept: ({low:.2f}, {high:.2f})")
    ax.axvline(score.mean(), color=ORANGE, linewidth=1.2, label=f"mean {score.mean():.2f}")
    ax.set_xlabel(f"{goal} under SJF", fontsize=9)
    ax.set_ylabel("windows", fontsize=9)
    ax.legend(frameon=False, fontsize=9)
    return canvas


def training_curve(curve: pl.DataFrame, goal: str = "bsld") -> Figure:
    """Validation cost and entropy by epoch. curve: rows of policies.training_curve."""
    canvas, (top, bottom) = figure(height=4.4, rows=2, share_x=True)
    for seed in curve["seed"].unique().sort():
        part = curve.filter(pl.col("seed") == seed).sort("epoch")
        measured = part.filter(pl.col("validation_cost").is_not_null())
        top.plot(measured["epoch"], measured["validation_cost"], label=f"seed {seed}", linewidth=1.4)
        bottom.plot(part["epoch"], part["entropy"], linewidth=1.4)
    filtered = curve.filter(pl.col("phase") == "filtered")["epoch"].max()
    if isinstance(filtered, int):
        for ax in (top, bottom):
            ax.axvspan(1, filtered, color=GREY, alpha=0.15, linewidth=0)
    if (curve["validation_cost"] > 0).all():
        log_axis(top.yaxis)
    top.set_ylabel(f"{goal},\njobs that choose", fontsize=9)
    top.legend(frameon=False, fontsize=9, ncols=4)
    bottom.set_ylabel("entropy, nats", fontsize=9)
    bottom.set_xlabel("epoch (shaded: filtered windows only)", fontsize=9)
    return canvas


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
