"""Figures for the UI and the report. Each takes a frame or arrays and returns a matplotlib Figure; none reads data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK, BLUE, ORANGE, GREEN, GREY = "#22303c", "#2b6cb0", "#dd6b20", "#2f855a", "#a0aec0"
POLICY_COLOURS = {
    "FCFS": "#718096", "SJF": "#2f855a", "SAF": "#805ad5", "WFP3": "#b7791f", "UNICEP": "#319795",
    "F1": "#c53030", "key": "#d69e2e", "learned": "#2b6cb0",
}  # fmt: skip


def figure(width: float = 9.6, height: float = 3.2, rows: int = 1, share_x: bool = False) -> tuple[Figure, np.ndarray]:
    """A figure and its axes, shape (rows,); made without pyplot, so that nothing global is left behind."""
    from matplotlib.figure import Figure

    canvas = Figure(figsize=(width, height), layout="constrained")
    axes = canvas.subplots(rows, 1, squeeze=False, sharex=share_x)[:, 0]
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(labelsize=9, colors=INK)
        ax.grid(axis="y", color="#e2e8f0", linewidth=0.6)
        ax.set_axisbelow(True)
    return canvas, axes


def daily_load(daily: pl.DataFrame) -> Figure:
    """daily: day, jobs, offered_load (share of the cluster)."""
    canvas, (top, bottom) = figure(height=4.0, rows=2, share_x=True)
    top.bar(daily["day"].to_numpy(), daily["jobs"].to_numpy(), color=BLUE, width=1.0)
    top.set_ylabel("jobs submitted a day", fontsize=9)
    bottom.bar(daily["day"].to_numpy(), 100 * daily["offered_load"].to_numpy(), color=ORANGE, width=1.0)
    bottom.set_ylabel("offered load, %", fontsize=9)
    return canvas


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
    top.legend(frameon=False, fontsize=7, ncols=4)
    bottom.axhline(80, color=INK, linewidth=0.8)
    bottom.set_ylabel("% within the\n80 % quantile", fontsize=9)
    return canvas


def slowdown_and_wait(found: pl.DataFrame) -> Figure:
    """found: rows of replay.prediction_search of one source; the part that chose nothing stands out."""
    canvas, (ax,) = figure(height=4.2)
    tried = found.filter(pl.col("part") == "choosing")
    ax.plot(
        tried["average_wait_s"] / 3600, tried["average_bounded_slowdown"], ".", color=GREY, label="tried, choosing part"
    )
    tested = found.filter(pl.col("part") == "testing")
    for family, colour in (("rival", ORANGE), ("backfilling", GREEN), ("ordering", BLUE)):
        rows = tested.filter(pl.col("family") == family)
        ax.plot(
            rows["average_wait_s"] / 3600,
            rows["average_bounded_slowdown"],
            "o",
            color=colour,
            label=f"{family}, unseen jobs",
        )
        for row in rows.iter_rows(named=True):
            label = row["name"] if family == "rival" else "chosen"
            at = (row["average_wait_s"] / 3600, row["average_bounded_slowdown"])
            ax.annotate(label, at, fontsize=7, xytext=(4, 3), textcoords="offset points")
    _log_axis(ax.yaxis)
    ax.set_xlabel("average wait, hours", fontsize=9)
    ax.set_ylabel("average bounded slowdown", fontsize=9)
    ax.legend(frameon=False, fontsize=8)
    return canvas


def quantile_coverage(quantiles: np.ndarray, true: np.ndarray) -> Figure:
    """quantiles: (jobs, levels) in seconds, as predicted; true: run times, (jobs,)."""
    from models.runtime.predictor import LEVELS

    canvas, (ax,) = figure(width=4.8, height=3.6)
    observed = [100 * float((true <= quantiles[:, k]).mean()) for k in range(len(LEVELS))]
    ax.plot([0, 100], [0, 100], color=GREY, linewidth=0.8)
    ax.plot([100 * level for level in LEVELS], observed, "o-", color=BLUE, linewidth=1.3)
    ax.set_xlabel("level of the quantile, %", fontsize=9)
    ax.set_ylabel("% of jobs that ran no longer", fontsize=9)
    return canvas


def prediction_error(predicted: np.ndarray, true: np.ndarray, requested: np.ndarray) -> Figure:
    """Distribution of predicted over true run time, beside that of requested over true; seconds in, (jobs,)."""
    canvas, (ax,) = figure()
    bins = np.linspace(-3, 3, 61)
    known = np.isfinite(requested.astype(np.float64))
    for values, label, colour in (
        (np.log10(predicted / true), "predicted", BLUE),
        (np.log10(requested[known].astype(np.float64) / true[known]), "requested", ORANGE),
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


def trajectory_distribution(score: np.ndarray, low: float, high: float, goal: str) -> Figure:
    """score: the goal on each window under SJF, (windows,); low, high: the filter's range."""
    canvas, (ax,) = figure()
    top = float(np.percentile(score, 99.5)) * 1.05 + 1e-9
    ax.hist(np.minimum(score, top), bins=60, color=GREY)
    ax.axvspan(low, min(high, top), color=BLUE, alpha=0.15, label=f"kept: ({low:.2f}, {high:.2f})")
    ax.axvline(score.mean(), color=ORANGE, linewidth=1.2, label=f"mean {score.mean():.2f}")
    ax.set_xlabel(f"{goal} under SJF", fontsize=9)
    ax.set_ylabel("windows", fontsize=9)
    ax.legend(frameon=False, fontsize=9)
    return canvas


def training_curve(curve: pl.DataFrame, chosen: tuple[int, int] | None = None, goal: str = "bsld") -> Figure:
    """curve: rows of policies.training_curve; chosen: seed and epoch of the policy that is used."""
    canvas, (top, bottom) = figure(height=4.4, rows=2, share_x=True)
    for seed in curve["seed"].unique().sort():
        part = curve.filter(pl.col("seed") == seed).sort("epoch")
        measured = part.filter(pl.col("validation_cost").is_not_null())
        top.plot(measured["epoch"], measured["validation_cost"], label=f"seed {seed}", linewidth=1.4)
        bottom.plot(part["epoch"], part["entropy"], linewidth=1.4)
        best = part.filter(pl.col("epoch") == (chosen[1] if chosen else 0))
        if chosen and seed == chosen[0] and best.height:
            top.plot(best["epoch"], best["validation_cost"], "o", color=INK, label="chosen", zorder=5)
    filtered = curve.filter(pl.col("phase") == "filtered")["epoch"].max()
    if isinstance(filtered, int):
        for ax in (top, bottom):
            ax.axvspan(1, filtered, color=GREY, alpha=0.15, linewidth=0)
    if (curve["validation_cost"] > 0).all():
        _log_axis(top.yaxis)
    top.set_ylabel(f"{goal},\nvalidation windows", fontsize=9)
    top.legend(frameon=False, fontsize=9, ncols=4)
    bottom.set_ylabel("entropy, nats", fontsize=9)
    bottom.set_xlabel("epoch (shaded: filtered windows only)", fontsize=9)
    return canvas


def usage_over_time(usage: pl.DataFrame, cluster_procs: int, policies: tuple[str, ...] = ("FCFS", "learned")) -> Figure:
    """usage: policy, hour, procs_in_use, jobs_waiting; drawn as daily means, with a panel of utilisation per policy."""
    daily = (
        usage.sort("policy", "hour")
        .group_by_dynamic("hour", every="1d", group_by="policy")
        .agg(pl.col("procs_in_use").mean(), pl.col("jobs_waiting").mean())
    )
    canvas, axes = figure(height=5.0, rows=len(policies) + 1, share_x=True)
    waiting = axes[-1]
    for ax, policy in zip(axes, policies, strict=False):
        part = daily.filter(pl.col("policy") == policy)
        colour = POLICY_COLOURS[policy]
        ax.fill_between(part["hour"], 100 * part["procs_in_use"] / cluster_procs, step="mid", color=colour, alpha=0.7)
        ax.set_ylim(0, 100)
        ax.set_ylabel(f"{policy}:\n% in use", fontsize=9)
        waiting.plot(part["hour"], part["jobs_waiting"], color=colour, linewidth=1.2, label=policy)
    waiting.set_ylabel("jobs waiting", fontsize=9)
    waiting.legend(frameon=False, fontsize=9)
    return canvas


def leaderboard(rows: pl.DataFrame) -> Figure:
    """rows of marts.leaderboard of one source, best first: means with their 95 % confidence intervals."""
    canvas, (ax,) = figure(height=0.32 * rows.height + 1.1)
    rows = rows.reverse()
    for y, row in enumerate(rows.iter_rows(named=True)):
        mean, low, high = (row[name] for name in ("average_bounded_slowdown", *_BOUNDS))
        colour = POLICY_COLOURS[row["policy"]]
        if low is not None:
            ax.plot([low, high], [y, y], color=colour, linewidth=2)
        filled = colour if row["estimates"] == "predicted" else "white"
        ax.plot([mean], [y], "o", color=colour, markerfacecolor=filled, markersize=6)
    ax.set_yticks(range(rows.height), [f"{r['policy']}, {r['estimates']}" for r in rows.iter_rows(named=True)])
    _log_axis(ax.xaxis)
    ax.grid(axis="x", color="#e2e8f0", linewidth=0.6)
    ax.set_xlabel(
        "average bounded slowdown on the evaluation windows (log scale) with 95 % interval; hollow: requested times, "
        "filled: predicted",
        fontsize=9,
    )
    return canvas


_BOUNDS = ("bounded_slowdown_low", "bounded_slowdown_high")


def _log_axis(axis: Any) -> None:
    """A logarithmic axis with plain numbers at 1, 2 and 5 times powers of ten."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    getattr(axis.axes, f"set_{axis.axis_name}scale")("log")
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def gantt(
    title: str,
    start: np.ndarray,
    runtime: np.ndarray,
    procs: np.ndarray,
    width_class: np.ndarray,
    cluster_procs: int,
    origin: int,
    until: int,
) -> Figure:
    """A schedule as boxes of time x processors, from second `origin` to `until`.

    Processors are drawn from the lowest free ones up, in pieces where need be. Arrays (jobs,), times in seconds;
    width_class: an index into the palette.
    """
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    canvas, (ax,) = figure(height=4.0)
    palette = np.array([GREY, BLUE, GREEN, ORANGE])
    free_from = np.full(cluster_procs, -np.inf)  # by processor: when it becomes free
    boxes, colours = [], []
    for job in np.lexsort((np.arange(len(start)), start)):
        lanes = np.flatnonzero(free_from <= start[job])[: procs[job]]
        free_from[lanes] = start[job] + runtime[job]
        for piece in np.split(lanes, np.flatnonzero(np.diff(lanes) > 1) + 1):
            boxes.append(Rectangle(((start[job] - origin) / 3600, piece[0]), runtime[job] / 3600, len(piece)))
            colours.append(palette[width_class[job] % len(palette)])
    ax.add_collection(PatchCollection(boxes, facecolor=colours, edgecolor="white", linewidth=0.3))
    ax.set_xlim(0, (until - origin) / 3600)
    ax.set_ylim(0, cluster_procs)
    ax.set_title(title, fontsize=10, loc="left")
    ax.set_xlabel("hours since the first submission", fontsize=9)
    ax.set_ylabel("processors", fontsize=9)
    return canvas


def waits_by_class(
    waits: pl.DataFrame, title: str, policies: tuple[str, ...] = ("FCFS", "SJF", "SAF", "learned")
) -> Figure:
    """waits: policy, class_label (in order), average_wait_s."""
    canvas, (ax,) = figure(height=3.4)
    labels = waits["class_label"].unique(maintain_order=True).to_list()
    width = 0.8 / len(policies)
    for i, policy in enumerate(policies):
        part = waits.filter(pl.col("policy") == policy)
        known = dict(zip(part["class_label"], part["average_wait_s"], strict=True))
        hours = [known.get(label, 0.0) / 3600 for label in labels]
        ax.bar(np.arange(len(labels)) + i * width, hours, width, color=POLICY_COLOURS[policy], label=policy)
    ax.set_xticks(np.arange(len(labels)) + 0.4 - width / 2, labels)
    ax.set_title(title, fontsize=10, loc="left")
    ax.set_ylabel("average wait, hours", fontsize=9)
    ax.legend(frameon=False, fontsize=9)
    return canvas
