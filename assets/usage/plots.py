"""Figures of the real system. Each function takes rows of a mart and returns a matplotlib Figure. None reads data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from assets.common.plots import BLUE, GREY, INK, ORANGE, RUN_COLOURS, WEEKDAYS, figure, heat_map, plain_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_SHOWN = 7
"""Queues or accounts with a colour of their own. The rest are `other`."""


def waits_by_queue(waits: pl.DataFrame, partial: pl.Series) -> Figure:
    """waits: rows of marts.waits_by_queue of one source. partial: months that the log covers in part. Shows median and 95th percentile a
    month of the queues with most jobs."""
    canvas, (top, bottom) = figure(height=4.6, rows=2, share_x=True)
    busiest = waits.group_by("queue").agg(pl.col("jobs").sum()).sort("jobs", "queue", descending=[True, False])
    for k, queue in enumerate(busiest["queue"].head(MOST_SHOWN)):
        rows = waits.filter(pl.col("queue") == queue).sort("month")
        style = {"color": RUN_COLOURS[k], "linewidth": 1.3, "marker": "o", "markersize": 3}
        top.plot(rows["month"].to_numpy(), rows["median_wait_s"].to_numpy() / 3600, label=plain_label(queue), **style)
        bottom.plot(rows["month"].to_numpy(), rows["p95_wait_s"].to_numpy() / 3600, **style)
    for ax, name in ((top, "median"), (bottom, "95th percentile")):
        ax.set_ylabel(f"wait, h: {name}", fontsize=9)
        ax.set_ylim(bottom=0)
        _shade(ax, partial)
    if waits.height:
        top.legend(frameon=False, fontsize=8, ncols=4, title="queue", title_fontsize=8)
    return canvas


def _shade(ax: Axes, partial: pl.Series) -> None:
    """Puts months that the log covers in part on grey, and says so in the legend."""
    label = "month covered in part"
    for begin, end in zip(partial, partial.dt.offset_by("1mo"), strict=True):
        ax.axvspan(begin, end, color=GREY, alpha=0.2, linewidth=0, label=label)
        label = ""


def capacity(days: pl.DataFrame) -> Figure:
    """days: rows of core.capacity of one source and cluster_procs. Shows most and mean processors in use by day."""
    canvas, (ax,) = figure(height=2.6)
    day = days["day"].to_numpy()
    ax.fill_between(day, days["mean_procs"].to_numpy(), color=BLUE, alpha=0.35, linewidth=0, label="mean")
    ax.plot(day, days["peak_procs"].to_numpy(), color=BLUE, linewidth=1.0, label="most at one time")
    ax.plot(day, days["cluster_procs"].to_numpy(), color=INK, linewidth=0.8, linestyle="--", label="of the cluster")
    ax.set_ylabel("processors in use", fontsize=9)
    ax.set_ylim(bottom=0)
    ax.legend(frameon=False, fontsize=8, ncols=3)
    return canvas


def waits_by_hour(waits: pl.DataFrame) -> Figure:
    """waits: weekday 1 to 7, hour_of_day, hours (mean wait)."""
    canvas, (ax,) = figure(width=8.0, height=2.6)
    hours = np.full((7, 24), np.nan)
    hours[waits["weekday"].to_numpy() - 1, waits["hour_of_day"].to_numpy()] = waits["hours"].to_numpy()
    image = heat_map(ax, hours)
    canvas.colorbar(image, ax=ax, label="hours", pad=0.01).ax.tick_params(labelsize=8)
    ax.grid(visible=False)
    ax.set_xticks(range(0, 24, 3), [f"{hour}:00" for hour in range(0, 24, 3)], fontsize=8)
    ax.set_yticks(range(7), WEEKDAYS, fontsize=8)
    ax.set_title("mean wait by submission", fontsize=9, loc="left")
    return canvas


def submissions(jobs: pl.DataFrame) -> Figure:
    """When jobs are submitted, and how wide they are (like figure 3 of Sgambati et al. 2025).

    jobs: weekday 1 to 7, hour_of_day, procs_up_to (the next power of two), jobs (how many).
    """
    canvas, (ax,) = figure(height=2.6)
    ax.remove()
    panels = (("hour_of_day", "hour of submission"), ("weekday", "weekday"), ("procs_up_to", "processors, up to"))
    for k, (column, label) in enumerate(panels):
        counts = jobs.group_by(column).agg(pl.col("jobs").sum()).sort(column)
        values = counts[column].to_list()
        places = range(len(values)) if column == "procs_up_to" else values
        panel = canvas.add_subplot(1, 3, k + 1)
        panel.bar(places, 100 * counts["jobs"].to_numpy() / max(jobs["jobs"].sum(), 1), color=BLUE, width=0.8)
        panel.set_xlabel(label, fontsize=9)
        panel.tick_params(labelsize=8)
        panel.spines[["top", "right"]].set_visible(False)
        if column == "weekday":
            panel.set_xticks(range(1, 8), WEEKDAYS, fontsize=8)
        if column == "procs_up_to":
            panel.set_xticks(places[::3], [f"{value:,}" for value in values[::3]], fontsize=8)
        if k == 0:
            panel.set_ylabel("jobs, %", fontsize=9)
    return canvas


def core_hours_by_account(core_hours: pl.DataFrame, partial: pl.Series) -> Figure:
    """core_hours: month, account, core_hours. partial: months that the log covers in part. The areas of the accounts are stacked."""
    canvas, (ax,) = figure(height=3.0)
    total = (
        core_hours.group_by("account")
        .agg(pl.col("core_hours").sum())
        .sort("core_hours", "account", descending=[True, False])
    )
    largest = total["account"].head(MOST_SHOWN).to_list()
    named = core_hours.with_columns(
        account=pl.when(pl.col("account").is_in(largest)).then("account").otherwise(pl.lit("other"))
    )
    months = named["month"].unique().sort()
    bottom = np.zeros(len(months))
    for k, account in enumerate([*largest, "other"]):
        part = named.filter(pl.col("account") == account).group_by("month").agg(pl.col("core_hours").sum())
        if part.is_empty():
            continue
        amount = (
            pl.DataFrame({"month": months}).join(part, on="month", how="left")["core_hours"].fill_null(0).to_numpy()
        )
        colour = GREY if account == "other" else RUN_COLOURS[k]
        ax.bar(
            months.to_numpy(), amount, bottom=bottom, width=25, align="edge", color=colour, label=plain_label(account)
        )
        bottom += amount
    _shade(ax, partial)
    ax.set_ylabel("core hours a month", fontsize=9)
    ax.legend(frameon=False, fontsize=8, ncols=4, title="account", title_fontsize=8)
    return canvas


def walltime_used(share: pl.DataFrame) -> Figure:
    """share: share_from, jobs and median of each step, as the query marts.walltime_used has them."""
    canvas, (ax,) = figure(height=2.8)
    if jobs := share["jobs"].sum():
        ax.bar(share["share_from"], share["jobs"] * 100 / jobs, width=0.025, align="edge", color=BLUE)
        median = share["median"][0]
        ax.axvline(min(median, 1.2), color=ORANGE, linewidth=1.2, label=f"median {100 * median:.0f} %")
        ax.legend(frameon=False, fontsize=9)
    ax.axvline(1, color=INK, linewidth=0.8)
    ax.set_xticks([0, 0.25, 0.5, 0.75, 1, 1.2], ["0", "25 %", "50 %", "75 %", "100 %", "more"])
    ax.set_xlabel("run time over requested time", fontsize=9)
    ax.set_ylabel("% of jobs", fontsize=9)
    return canvas
