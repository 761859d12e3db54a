"""Figures for the UI and the report. Each function takes a frame or arrays and returns a matplotlib Figure. None reads data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from matplotlib.figure import Figure


INK, BLUE, ORANGE, GREEN, GREY = "#22303c", "#2b6cb0", "#dd6b20", "#2f855a", "#a0aec0"


POLICY_COLOURS = {
    "FCFS": "#718096",
    "SJF": "#2f855a",
    "SAF": "#805ad5",
    "WFP3": "#b7791f",
    "UNICEP": "#319795",
    "F1": "#c53030",
    "key": "#d69e2e",
    "learned": "#2b6cb0",
}


def figure(width: float = 9.6, height: float = 3.2, rows: int = 1, share_x: bool = False) -> tuple[Figure, np.ndarray]:
    """A figure and its axes, shape (rows,). It is made without pyplot, so that nothing global is left behind."""
    from matplotlib.figure import Figure

    canvas = Figure(figsize=(width, height), layout="constrained")
    axes = canvas.subplots(rows, 1, squeeze=False, sharex=share_x)[:, 0]
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(labelsize=9, colors=INK)
        ax.grid(axis="y", color="#e2e8f0", linewidth=0.6)
        ax.set_axisbelow(True)
    return canvas, axes


def plain_label(name: str | None) -> str:
    """A name from a log as a label. matplotlib would read the text between two `$` as a formula, and fail where it is not one."""
    return str(name).replace("$", r"\$")


def daily_load(daily: pl.DataFrame) -> Figure:
    """daily: day, jobs, offered_load (share of the cluster)."""
    canvas, (top, bottom) = figure(height=4.0, rows=2, share_x=True)
    top.bar(daily["day"].to_numpy(), daily["jobs"].to_numpy(), color=BLUE, width=1.0)
    top.set_ylabel("jobs submitted a day", fontsize=9)
    bottom.bar(daily["day"].to_numpy(), 100 * daily["offered_load"].to_numpy(), color=ORANGE, width=1.0)
    bottom.set_ylabel("offered load, %", fontsize=9)
    return canvas


def log_axis(axis: Any) -> None:
    """A logarithmic axis whose labels are plain numbers: `1`, `2` and `5` times powers of ten."""
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

    Processors are drawn from the lowest free ones up, in several parts if necessary. Arrays (jobs,), times in seconds.
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


RUN_COLOURS = (BLUE, ORANGE, GREEN, "#805ad5", "#c53030", "#319795", "#b7791f", "#718096")


WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def heat_map(ax: Any, hours: np.ndarray) -> Any:
    """A heat map of waits in hours. Its colours are on a logarithmic scale from a minute on, since waits range over decades."""
    from matplotlib.colors import LogNorm

    largest = float(np.nanmax(hours)) if not np.isnan(hours).all() else 1.0
    return ax.imshow(np.maximum(hours, 1 / 60), cmap="Blues", norm=LogNorm(1 / 60, max(largest, 1.0)), aspect="auto")
