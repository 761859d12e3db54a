"""Figures of compared policies. Each takes a frame and returns a matplotlib Figure; none reads data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from assets.common.plots import BLUE, GREY, INK, POLICY_COLOURS, figure, log_axis

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def usage_over_time(
    usage: pl.DataFrame,
    cluster_procs: int,
    has_calendar: bool = True,
    policies: tuple[str, ...] = ("FCFS", "learned"),
) -> Figure:
    """Daily means, with a panel of utilisation per policy. usage: policy, hour, procs_in_use, jobs_waiting.

    has_calendar: whether the hours are dates (UTC); if not, time is drawn in days since the first."""
    daily = (
        usage.sort("policy", "hour")
        .group_by_dynamic("hour", every="1d", group_by="policy")
        .agg(pl.col("procs_in_use").mean(), pl.col("jobs_waiting").mean())
    )
    if not has_calendar:
        daily = daily.with_columns(hour=(pl.col("hour") - pl.col("hour").min()).dt.total_days())
    canvas, axes = figure(height=5.0, rows=len(policies) + 1, share_x=True)
    waiting = axes[-1]
    for ax, policy in zip(axes, policies, strict=False):
        part = daily.filter(pl.col("policy") == policy)
        colour = POLICY_COLOURS.get(policy, POLICY_COLOURS["FCFS"])
        ax.fill_between(part["hour"], 100 * part["procs_in_use"] / cluster_procs, step="mid", color=colour, alpha=0.7)
        ax.set_ylim(0, 100)
        ax.set_ylabel(f"{policy}:\n% in use", fontsize=9)
        waiting.plot(part["hour"], part["jobs_waiting"], color=colour, linewidth=1.2, label=policy)
    waiting.set_ylabel("jobs waiting", fontsize=9)
    if not has_calendar:
        waiting.set_xlabel("days since the first submission", fontsize=9)
    waiting.legend(frameon=False, fontsize=9)
    return canvas


def ranked_intervals(rows: pl.DataFrame) -> Figure:
    """Bounded slowdown (circles) and wait (diamonds) over the incumbent in the typical block, with 95 % intervals. rows: of
    marts.leaderboard of one source, best first."""
    canvas, (ax,) = figure(height=0.36 * rows.height + 1.1)
    rows = rows.reverse()
    for y, row in enumerate(rows.iter_rows(named=True)):
        colour = POLICY_COLOURS.get(row["policy"], GREY)
        filled = "white" if row["estimates"] == "requested" else colour
        for name, marker, at in (("typical_slowdown", "o", y + 0.15), ("typical_wait", "D", y - 0.15)):
            ratio, low, high = (row[f"{name}_{what}"] for what in ("ratio", "low", "high"))
            if low is not None:
                ax.plot([low, high], [at, at], color=colour, linewidth=1.6)
            ax.plot([ratio], [at], marker, color=colour, markerfacecolor=filled, markersize=5)
    names = [f"{row['policy']}, {row['estimates']}: {row['verdict']}" for row in rows.iter_rows(named=True)]
    ax.set_yticks(range(rows.height), names)
    ax.axvline(1.0, color=GREY, linewidth=1.0)
    log_axis(ax.xaxis)
    ax.grid(axis="x", color="#e2e8f0", linewidth=0.6)
    ax.set_xlabel(
        "over the incumbent in the typical block (log scale), with 95 % intervals\n"
        "circles: bounded slowdown, diamonds: wait; hollow: requested times",
        fontsize=9,
    )
    return canvas


def logged_and_replayed(logged: np.ndarray, replayed: np.ndarray) -> Figure:
    """Shares of jobs that waited longer than so many hours, in the log and in a replay. Both in seconds, one value a job."""
    canvas, (ax,) = figure(height=2.8)
    for waits, colour, label in ((logged, INK, "log"), (replayed, BLUE, "replay")):
        hours = np.sort(waits)[::-1] / 3600
        ax.plot(np.maximum(hours, 1 / 60), 100 * np.arange(1, len(hours) + 1) / len(hours), color=colour, label=label)
    log_axis(ax.xaxis)
    ax.set_xlabel("wait, h (a minute and less at the left)", fontsize=9)
    ax.set_ylabel("jobs that waited longer, %", fontsize=9)
    ax.legend(frameon=False, fontsize=8)
    return canvas
