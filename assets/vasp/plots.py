"""Figures of VASP runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from assets.common.plots import BLUE, GREEN, GREY, ORANGE, figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOURS = {"inputs_only": GREY, "progress": BLUE, "multimodal": ORANGE, "ends_now": GREEN}


def error_by_progress(scores: pl.DataFrame) -> Figure:
    """scores: rows of predictions.remaining_time_scores of one source. RLSchert, figure 6, with the median below: the predictors and
    the rival ends_now on systems that were not learned from."""
    scores = scores.filter((pl.col("split") == "unseen") & pl.col("predictor").is_in(list(_COLOURS)))
    canvas, axes = figure(height=5.6, rows=2, share_x=True)
    for axis, column, label in zip(axes, ("mape", "median_error"), ("MAPE, %", "median error, %"), strict=True):
        for name in scores["predictor"].unique(maintain_order=True):
            for ionic, style in (("single", "-"), ("multiple", "--")):
                rows = scores.filter(
                    (pl.col("predictor") == name) & (pl.col("ionic") == ionic) & (pl.col("progress") > 0)
                )
                if rows.height:
                    axis.plot(
                        100 * rows["progress"].to_numpy(),
                        rows[column].to_numpy(),
                        style,
                        marker="o",
                        markersize=3,
                        color=_COLOURS[name],
                        label=f"{name}, {ionic}",
                    )
        axis.set_ylabel(label, fontsize=9)
        axis.set_ylim(bottom=0)
    axes[0].legend(fontsize=8, frameon=False)
    axes[-1].set_xlabel("electronic steps that were over, % of the run's", fontsize=9)
    return canvas
