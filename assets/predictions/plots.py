"""Figures of run-time and wait-time predictions. Each takes a frame or arrays and returns a matplotlib Figure. None reads data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from assets.common.plots import BLUE, GREY, INK, ORANGE, figure
from models.runtime.predictor import LEVELS
from models.waits.neighbours import POINTS

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def feature_importance(gain: dict[str, float], most: int = 20) -> Figure:
    """gain: mean gain of the splits on each feature."""
    canvas, (ax,) = figure(height=3.6)
    names = sorted(gain, key=lambda name: (gain[name], name))[-most:]
    ax.barh(names, [gain[name] for name in names], color=BLUE)
    ax.tick_params(labelsize=7)
    ax.set_xlabel("mean gain of a split", fontsize=9)
    return canvas


def error_over_time(by_period: pl.DataFrame) -> Figure:
    """by_period: rows of predictions.runtime_scores_by_period of one source."""
    canvas, (top, bottom) = figure(height=4.6, rows=2, share_x=True)
    best = by_period.group_by("predictor").agg(
        (pl.col("mean_absolute_error_s") * pl.col("jobs")).sum() / pl.col("jobs").sum()
    )
    for name in best.sort("mean_absolute_error_s", "predictor")["predictor"]:
        part = by_period.filter(pl.col("predictor") == name).sort("period_start")
        top.plot(part["period_start"], part["mean_absolute_error_s"] / 3600, linewidth=1.3, label=name)
        bottom.plot(part["period_start"], 100 * part["coverage_80"], linewidth=1.3)
    top.set_ylabel("mean error, hours", fontsize=9)
    if by_period.height:
        top.legend(frameon=False, fontsize=7, ncols=4)
    bottom.axhline(80, color=INK, linewidth=0.8)
    bottom.set_ylabel("% within the\n80 % quantile", fontsize=9)
    return canvas


def quantile_coverage(quantiles: np.ndarray, true: np.ndarray) -> Figure:
    """quantiles: (jobs, levels) in seconds, as predicted. true: run times, (jobs,)."""

    canvas, (ax,) = figure(width=4.8, height=3.6)
    observed = [100 * float((true <= quantiles[:, k]).mean()) for k in range(len(LEVELS))]
    ax.plot([0, 100], [0, 100], color=GREY, linewidth=0.8)
    ax.plot([100 * level for level in LEVELS], observed, "o-", color=BLUE, linewidth=1.3)
    ax.set_xlabel("level of the quantile, %", fontsize=9)
    ax.set_ylabel("% of jobs that ran no longer", fontsize=9)
    return canvas


def estimates_over_true(predicted: np.ndarray, true: np.ndarray, requested: np.ndarray) -> Figure:
    """Distribution of predicted over true run time, beside that of requested over true. All are in seconds, (jobs,)."""
    canvas, (ax,) = figure()
    bins = np.linspace(-3, 3, 61)
    has_request = np.isfinite(requested.astype(np.float64))
    for values, label, colour in (
        (np.log10(predicted / true), "predicted", BLUE),
        (np.log10(requested[has_request].astype(np.float64) / true[has_request]), "requested", ORANGE),
    ):
        if len(values):
            share = np.full(len(values), 100 / len(values))
            ax.hist(
                np.clip(values, -3, 3),
                bins=bins,
                weights=share,
                histtype="stepfilled",
                alpha=0.55,
                color=colour,
                label=label,
            )
    ax.axvline(0, color=INK, linewidth=0.8)
    ax.set_xticks(range(-3, 4), ["1/1000\nor less", "1/100", "1/10", "exact", "10x", "100x", "1000x\nor more"])
    ax.set_xlabel("estimate over true run time", fontsize=9)
    ax.set_ylabel("% of jobs", fontsize=9)
    ax.legend(frameon=False, fontsize=9)
    return canvas


def calibration_plot(rows: pl.DataFrame) -> Figure:
    """rows: of `predict_history`. Shows the share of true waits up to each predicted quantile, beside the level. Ties count half,
    since many jobs start in the very second that is predicted."""

    canvas, (ax,) = figure(width=4.2, height=3.6)
    true = rows["wait_s"].to_numpy()
    ax.plot([0, 1], [0, 1], color=INK, linewidth=0.8, linestyle="--")
    for prefix, points, colour, name in (
        ("wait", POINTS, BLUE, "calibrated"),
        ("replay", (0.1, 0.5, 0.9), ORANGE, "replay"),
    ):
        predicted = [rows[f"{prefix}_p{round(100 * point)}_s"].to_numpy() for point in points]
        observed = [float((true < at).mean() + 0.5 * (true == at).mean()) for at in predicted]
        ax.plot(points, observed, color=colour, marker="o", markersize=4, label=name)
    ax.set_xlabel("predicted share of waits up to here", fontsize=9)
    ax.set_ylabel("observed share", fontsize=9)
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 1)
    ax.legend(frameon=False, fontsize=8)
    return canvas
