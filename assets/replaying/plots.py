"""Figures of what-if replays: a stretch of the schedule, use and queue over time, and waits by job and by time. None reads data."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from assets.common.plots import INK, RUN_COLOURS, WEEKDAYS, figure, gantt, heat_map
from assets.replaying.running.run import ReplayRun
from simulator.jobs.jobs import Jobs
from simulator.jobs.schedule import Schedule
from simulator.metrics.metrics import RUNTIME_CLASSES, SIZE_CLASSES, metrics_by_class, size_classes
from simulator.topology.placement import compact_hop_cost

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GANTT_STARTS = 300
"""Starts in the stretch that the Gantt chart shows. More would be too narrow to be seen."""

SPREAD_COLOURS = ("#9aa5b1", "#4f8fc0", "#e08a3c")
"""Jobs that have no more hops than on an empty machine, up to SPREAD times as many, and more."""
SPREAD = 1.25

MOST_POINTS = 500
"""Points of a curve. Neighbouring steps are averaged, so that it can be read."""


def gantt_of(run: ReplayRun, title: str) -> Figure:
    """The schedule around the time when most jobs wait, jobs of a warm start included. Colours are as in the report."""
    jobs, running, started = run.all_jobs, run.cluster.running, run.all_starts.started
    start = np.concatenate([running.start, run.all_starts.start[started]])
    runtime = np.concatenate([running.runtime, jobs.runtime[started]])
    procs = np.concatenate([running.procs, jobs.procs[started]])
    begin, until, where = _busy_stretch(run)
    shown = (start < until) & (start + runtime > begin)
    width = size_classes(procs, run.cluster.procs)
    canvas = gantt(
        f"{title}{where}", start[shown], runtime[shown], procs[shown], width[shown], run.cluster.procs, begin, until
    )
    canvas.axes[0].set_xlabel(
        "hours; grey serial, blue up to 1/16 of the cluster, green up to 1/4, orange wider", fontsize=9
    )
    return canvas


def nodes_of_run(run: ReplayRun, title: str) -> Figure:
    """Which units each job holds around the time when most jobs wait. Time goes to the right and units go up. Lines separate leaves."""
    assert run.ground is not None and run.placement is not None
    from matplotlib.collections import PolyCollection

    begin, until, where = _busy_stretch(run)
    units, placement, start = run.ground.units, run.placement, run.all_starts.start
    end = start + run.all_jobs.runtime
    compact = compact_hop_cost(units, placement.size)
    spread = (placement.hop_cost > compact + 1e-9).astype(int) + (placement.hop_cost > SPREAD * compact)
    corners: list[list[tuple[float, float]]] = []
    colours: list[str] = []
    for job in np.flatnonzero((placement.size > 0) & (start < until) & (end > begin)).tolist():
        held = placement.units_of(job)
        left, right = (max(start[job], begin) - begin) / 3600, (min(end[job], until) - begin) / 3600
        for run_of_units in np.split(held, np.flatnonzero(np.diff(held) > 1) + 1):
            low, high = run_of_units[0], run_of_units[-1] + 1
            corners.append([(left, low), (left, high), (right, high), (right, low)])
            colours.append(SPREAD_COLOURS[spread[job]])
    canvas, axes = figure(height=4.6)
    ax = axes[0]
    ax.add_collection(PolyCollection(corners, facecolors=colours, edgecolors="white", linewidths=0.3))
    for first in units.first[units.leaf, 1 : units.switches[units.leaf]]:
        ax.axhline(first, color=INK, linewidth=0.4, alpha=0.5)
    ax.set(xlim=(0, (until - begin) / 3600), ylim=(0, units.switch.shape[1]))
    ax.set_ylabel("node" if units.leaf == 0 else "processor, in the order of the nodes", fontsize=9)
    ax.set_xlabel(
        f"hours; grey as compact as can be, blue up to {SPREAD:g} times the hops, orange more; lines part the leaves",
        fontsize=9,
    )
    ax.set_title(textwrap.fill(f"{title}: where jobs run{where}", 90), fontsize=10, loc="left")
    return canvas


def _busy_stretch(run: ReplayRun) -> tuple[int, int, str]:
    """Begin and end, seconds, of a stretch of GANTT_STARTS starts around the time when most jobs wait, and words on where it is."""
    started = run.all_starts.started
    start = np.concatenate([run.cluster.running.start, run.all_starts.start[started]])
    runtime = np.concatenate([run.cluster.running.runtime, run.all_jobs.runtime[started]])
    starts = np.sort(run.all_starts.start[started])
    first = int(np.searchsorted(starts, _longest_queue_at(run))) - GANTT_STARTS // 2
    first = max(0, min(first, len(starts) - GANTT_STARTS))
    first_submit = int(run.jobs.submit[0])
    begin = first_submit if first == 0 else int(starts[first])
    until = int(starts[min(first + GANTT_STARTS, len(starts)) - 1])
    if len(starts) <= GANTT_STARTS:
        until = int((start + runtime).max())
    days = (begin - first_submit) / 86400
    where = "" if first == 0 else f", from {days:.1f} days after the first submission, when most jobs wait"
    return begin, max(until, begin + 1), where


def use_and_queue(series: dict[str, pl.DataFrame], run_procs: dict[str, int], has_calendar: bool = True) -> Figure:
    """Utilisation of each run, and the queues of all. series: by run, rows of replay.run_series (time, step_s,
    procs_in_use, jobs_waiting). run_procs: processors of each run's cluster. Without a calendar, time is drawn in days."""
    canvas, axes = figure(height=1.3 * len(series) + 2.4, rows=len(series) + 1, share_x=True)
    waiting = axes[-1]
    for k, (name, rows) in enumerate(series.items()):
        rows = _fewer(rows)
        colour = RUN_COLOURS[k % len(RUN_COLOURS)]
        time: Any = rows["time"].to_numpy()
        if not has_calendar and rows.height:
            time = (rows["time"] - rows["time"][0]).dt.total_seconds().to_numpy() / 86400
        share = 100 * rows["procs_in_use"].to_numpy() / run_procs[name]
        axes[k].fill_between(time, share, step="post", color=colour, alpha=0.7, linewidth=0)
        axes[k].set_ylim(0, 100)
        axes[k].set_ylabel("% in use", fontsize=9)
        axes[k].set_title(name, fontsize=9, loc="left")
        waiting.plot(time, rows["jobs_waiting"], color=colour, linewidth=1.1, label=name)
    waiting.set_ylabel("jobs waiting", fontsize=9)
    waiting.set_ylim(bottom=0)
    if not has_calendar:
        waiting.set_xlabel("days since the first submission", fontsize=9)
    if len(series) > 1:
        waiting.legend(frameon=False, fontsize=9, ncols=4)
    return canvas


def waits(jobs: dict[str, pl.DataFrame], run_procs: dict[str, int], time_zone: str | None) -> Figure:
    """Who waits, and when. Each run has the mean wait by size and run time, and by weekday and hour of submission.

    jobs: by run, rows of replay.run_jobs. run_procs: processors of each run's cluster. time_zone: of the cluster. None leaves the hours
    out, where the log does not have the date of its second 0.
    """
    from matplotlib.figure import Figure

    canvas = Figure(figsize=(6.0 if time_zone is None else 12.5, 2.9 * len(jobs) + 0.2), layout="constrained")
    grid = canvas.subplots(
        len(jobs), 1 if time_zone is None else 2, squeeze=False, width_ratios=None if time_zone is None else [2, 3]
    )
    for row, (name, rows) in zip(grid, jobs.items(), strict=True):
        started = rows.drop_nulls("start_time")
        _class_map(row[0], started, run_procs[name], name)
        if time_zone is not None:
            _hour_map(row[1], started, time_zone)
    return canvas


def _longest_queue_at(run: ReplayRun) -> int:
    """The first second of the replay at which most jobs wait."""
    leaves = np.where(run.all_starts.started, run.all_starts.start, run.all_jobs.cancel)
    time = np.concatenate([np.maximum(run.all_jobs.submit, run.jobs.submit[0]), leaves])
    change = np.concatenate([np.ones(len(leaves), np.int64), -np.ones(len(leaves), np.int64)])
    order = np.lexsort((change, time))
    return int(time[order][np.cumsum(change[order]).argmax()])


def _fewer(rows: pl.DataFrame) -> pl.DataFrame:
    """At most MOST_POINTS rows: means of neighbouring steps."""
    together = -(-rows.height // MOST_POINTS)
    if together <= 1:
        return rows
    return (
        rows.with_row_index("step")
        .group_by(pl.col("step") // together, maintain_order=True)
        .agg(pl.col("time").first(), pl.col("procs_in_use", "jobs_waiting").mean())
    )


def _class_map(ax: Any, started: pl.DataFrame, cluster_procs: int, name: str) -> None:
    hours = np.full((len(SIZE_CLASSES), len(RUNTIME_CLASSES)), np.nan)
    jobs = np.zeros(hours.shape, dtype=np.int64)
    for row in _by_class(started, cluster_procs):
        place = SIZE_CLASSES.index(str(row["size_class"])), RUNTIME_CLASSES.index(str(row["runtime_class"]))
        hours[place], jobs[place] = float(row["average_wait_s"]) / 3600, int(row["jobs"])
    image = heat_map(ax, hours)
    for (y, x), value in np.ndenumerate(hours):
        if not np.isnan(value):
            shade = "white" if image.norm(max(value, image.norm.vmin)) > 0.55 else INK
            ax.text(x, y, f"{_hours(value)} h\n{jobs[y, x]:,}", ha="center", va="center", fontsize=8, color=shade)
    ax.set_xticks(range(len(RUNTIME_CLASSES)), RUNTIME_CLASSES, fontsize=8)
    ax.set_yticks(range(len(SIZE_CLASSES)), SIZE_CLASSES, fontsize=8)
    short = textwrap.shorten(name, 60, placeholder=" ...")
    ax.set_title(f"{short}\nmean wait and jobs, by size and run time", fontsize=9, loc="left")


def _hours(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _by_class(started: pl.DataFrame, cluster_procs: int) -> list[dict[str, str | int | float]]:
    """As simulator.metrics.metrics.metrics_by_class, of rows of replay.run_jobs that have started."""
    wait, procs = started["wait_s"].to_numpy(), started["procs"].to_numpy()
    start = started["start_time"].dt.epoch("s").to_numpy()
    runtime = (started["end_time"] - started["start_time"]).dt.total_seconds().to_numpy()
    jobs = Jobs(start - wait, runtime, procs, runtime, runtime)
    return metrics_by_class(jobs, Schedule(start, started["backfilled"].to_numpy()), cluster_procs)


def _hour_map(ax: Any, started: pl.DataFrame, time_zone: str) -> None:
    submitted = (pl.col("start_time") - pl.duration(seconds="wait_s")).dt.replace_time_zone("UTC")
    local = (
        started.select(time=submitted.dt.convert_time_zone(time_zone), hours=pl.col("wait_s") / 3600)
        .group_by(day=pl.col("time").dt.weekday() - 1, hour=pl.col("time").dt.hour())
        .agg(pl.col("hours").mean())
    )
    hours = np.full((7, 24), np.nan)
    hours[local["day"].to_numpy(), local["hour"].to_numpy()] = local["hours"].to_numpy()
    image = heat_map(ax, hours)
    ax.figure.colorbar(image, ax=ax, label="hours", pad=0.01).ax.tick_params(labelsize=8)
    ax.set_xticks(range(0, 24, 3), [f"{hour}:00" for hour in range(0, 24, 3)], fontsize=8)
    ax.set_yticks(range(7), WEEKDAYS, fontsize=8)
    ax.set_title(f"mean wait by submission ({time_zone})", fontsize=9, loc="left")
