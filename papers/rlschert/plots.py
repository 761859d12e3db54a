"""Figures of RLSchert's cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from assets.common.plots import BLUE, GREY, INK, ORANGE, figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOURS = {
    ("Random", "none"): "#cbd5e0",
    ("SJF", "none"): "#2f855a",
    ("SAF", "none"): "#805ad5",
    ("SJF, whole queue", "none"): "#68d391",
    ("SJF, whole queue", "stopping"): "#1a202c",
    ("Tetris", "none"): GREY,
    ("Tetris*", "none"): "#b7791f",
    ("DeepRM", "none"): "#c53030",
    ("RLSchert", "none"): ORANGE,
    ("RLSchert", "rule"): "#63b3ed",
    ("RLSchert", "learned"): BLUE,
}


def curves_plot(curves: pl.DataFrame) -> Figure:
    """curves: rows of experiments.rlschert_curves of one experiment. Shows means over seeds (figures 7 to 9)."""
    canvas, (axis,) = figure(height=3.6)
    measured = curves.filter(pl.col("validation").is_not_null())
    means = measured.group_by("policy", "kill", "iteration", maintain_order=True).agg(pl.col("validation").mean())
    for (policy, kill), rows in means.group_by("policy", "kill", maintain_order=True):
        rows = rows.sort("iteration")
        colour = _COLOURS.get((str(policy), str(kill)), INK)
        x, y = rows["iteration"].to_numpy(), rows["validation"].to_numpy()
        axis.plot(x, y, color=colour, label=f"{policy}, kill: {kill}")
    if means.height:
        axis.set_ylim(0, 2 * float(means["validation"].median()))  # type: ignore[arg-type]
    axis.legend(fontsize=8, frameon=False)
    axis.set_xlabel("iteration", fontsize=9)
    axis.set_ylabel("mean cost, validation", fontsize=9)
    return canvas


def sweep_plot(rows: pl.DataFrame, label: str) -> Figure:
    """rows: of experiments.rlschert of one experiment that varies a setting (figures 10 and 11)."""
    canvas, (axis,) = figure(height=3.6)
    means = rows.group_by("policy", "kill", "setting").agg(pl.col("slowdown").mean()).sort("setting")
    _lines(axis, means, "setting", "slowdown", marker="o", markersize=3)
    axis.set_yscale("log")
    axis.set_xlabel(label, fontsize=9)
    axis.set_ylabel("mean slowdown", fontsize=9)
    return canvas


def holes_plot(holes: pl.DataFrame) -> Figure:
    """holes: rows of experiments.rlschert_holes (figure 12a)."""
    canvas, (axis,) = figure(height=3.6)
    _lines(axis, holes.sort("unit"), "unit", "holes")
    axis.set_xlabel("unit of time", fontsize=9)
    axis.set_ylabel("free processors so far", fontsize=9)
    return canvas


def waits_plot(jobs: pl.DataFrame) -> Figure:
    """jobs: rows of experiments.rlschert_jobs. Shows the share of the jobs that waited at most so long (figure 12b)."""
    canvas, (axis,) = figure(height=3.6)
    group = ("policy", "kill")
    rank = pl.col("wait").rank("ordinal").over(group) / pl.len().over(group)
    _lines(axis, jobs.with_columns(share=rank).sort("share"), "wait", "share")
    axis.set_xscale("symlog")
    axis.set_xlabel("wait, units of time", fontsize=9)
    axis.set_ylabel("share of the jobs", fontsize=9)
    return canvas


def _lines(axis: Axes, rows: pl.DataFrame, x: str, y: str, **style: Any) -> None:
    """A line for each policy in the rows."""
    for (policy, kill), colour in _COLOURS.items():
        mine = rows.filter((pl.col("policy") == policy) & (pl.col("kill") == kill))
        if mine.height:
            label = policy if kill == "none" else f"{policy}, kill: {kill}"
            axis.plot(mine[x].to_numpy(), mine[y].to_numpy(), color=colour, label=label, **style)
    axis.legend(fontsize=8, frameon=False, ncols=2)


def killed_plot(jobs: pl.DataFrame) -> Figure:
    """jobs: rows of experiments.rlschert_jobs. Shows which jobs RLSchert kills (figure 13)."""
    canvas, (axis,) = figure(height=3.6)
    for kill, colour in (("rule", ORANGE), ("learned", BLUE)):
        mine = jobs.filter((pl.col("policy") == "RLSchert") & (pl.col("kill") == kill) & (pl.col("kills") > 0))
        x, y, size = (
            mine["first_prediction"].to_numpy(),
            mine["length"].to_numpy(),
            8 + 2 * mine["killed_after"].to_numpy(),
        )
        axis.scatter(x, y, s=size, color=colour, alpha=0.6, label=f"killed, {kill} (larger: later)")
    axis.plot([1, 100], [1, 100], color=GREY, linewidth=0.8)
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.legend(fontsize=8, frameon=False)
    axis.set_xlabel("run time as predicted before the run, units", fontsize=9)
    axis.set_ylabel("real run time, units", fontsize=9)
    return canvas
