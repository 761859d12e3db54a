"""The evidence for rules that a log shows, as one picture. It reads no data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from assets.common.plots import INK, figure
from models.identification.closed_hours import DAY_STEPS, STEP_MINUTES
from models.identification.identify import Identification
from models.identification.logged_jobs import StartedJobs, held_moments
from models.identification.plateaus import Pressure, pressure_of
from models.identification.replaying import RuledCluster
from models.identification.rules import AMOUNT_NAMES, BOUNDARY, HOURS, LIMIT_KINDS, OUTSTANDING_CPU, IdentifiedRule
from simulator.limits.rules import wall_clock

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_PANELS = 4
_MOST_HOLDERS = 5
MOST_BARS = 80
COLOUR, WITHOUT, WITH = "#4f8fc0", "#9aa5b1", "#e08a3c"
DAY_S, HOUR_S = 86_400, 3600


def rules_figure(log: StartedJobs, identification: Identification, title: str) -> Figure:
    """A panel for each rule whose evidence can be drawn, and one with the waits of the second half."""
    drawn = [rule for rule in identification.rules if rule.kind in (*LIMIT_KINDS, HOURS, BOUNDARY)][:MOST_PANELS]
    canvas, panels = figure(8, 3 * (len(drawn) + 1), len(drawn) + 1)
    moments = held_moments(log, identification.procs) if drawn else None
    for panel, rule in zip(panels, drawn, strict=False):
        if rule.kind in LIMIT_KINDS:
            assert moments is not None
            _draw_levels(panel, pressure_of(log, rule.scope, moments), rule)
        else:
            _draw_hours(panel, log, rule)
        panel.set_title(rule.sentence, fontsize=8, loc="left", wrap=True)
    _draw_waits(panels[-1], log, identification)
    canvas.suptitle(f"{title}: rules found in the log", fontsize=11)
    return canvas


def _draw_levels(panel: Axes, pressure: Pressure, rule: IdentifiedRule) -> None:
    """Levels behind starts while more jobs wait, with the common bound, or those of each holder over time."""
    unit = HOUR_S if rule.kind == OUTSTANDING_CPU else 1
    after = pressure.after[rule.kind] / unit
    if rule.value:
        panel.hist(after, bins=min(int(after.max()) + 1, MOST_BARS), color=COLOUR)
        panel.axvline(rule.value / unit + (0.5 if unit == 1 else 0), color=WITH, lw=2)
        panel.set_xlabel(
            f"{AMOUNT_NAMES[rule.kind]} behind a start, while more jobs of the {rule.scope} wait", fontsize=8
        )
        panel.set_ylabel("starts", fontsize=8)
        return
    counts = np.bincount(pressure.starter, minlength=len(pressure.names))
    held = {bound.holder for bound in rule.bounds}
    busiest = [place for place in np.argsort(-counts) if pressure.names[place] in held][:_MOST_HOLDERS]
    begin = min(bound.since_s for bound in rule.bounds)
    for number, place in enumerate(busiest):
        own, colour = pressure.starter == place, f"C{number}"
        panel.plot((pressure.start[own] - begin) / DAY_S, after[own], ".", ms=1, alpha=0.3, color=colour)
        steps = [bound for bound in rule.bounds if bound.holder == pressure.names[place]]
        days = [(bound.since_s - begin) / DAY_S for bound in steps] + [(pressure.start.max() - begin) / DAY_S]
        values = [np.nan if bound.value is None else bound.value / unit for bound in steps]
        panel.step(days, [*values, values[-1]], where="post", color=colour, label=pressure.names[place])
    panel.legend(fontsize=7, ncols=_MOST_HOLDERS)
    panel.set_xlabel("days", fontsize=8)
    panel.set_ylabel(AMOUNT_NAMES[rule.kind], fontsize=8)


def _draw_hours(panel: Axes, log: StartedJobs, rule: IdentifiedRule) -> None:
    """Running jobs by the time of day."""
    timezone, days = (
        (rule.gate.timezone, rule.gate.days) if rule.gate is not None else (rule.edges[0].timezone, rule.edges[0].days)
    )
    step, zero = STEP_MINUTES * 60, log.zero_s or 0
    seconds = np.arange((zero + int(log.jobs.submit[0])) // step * step, zero + int(log.jobs.submit[-1]), step)
    minute, day = wall_clock(seconds, timezone)
    chosen = np.isin(day, days)
    stops = np.ones(len(log.jobs), dtype=np.bool_)
    if rule.gate is not None and rule.gate.over_time_s is not None:
        stops = log.jobs.limit > rule.gate.over_time_s
    started, stopped = np.sort(log.start[stops]), np.sort((log.start + log.jobs.runtime)[stops])
    at = seconds - zero
    running = np.searchsorted(started, at) - np.searchsorted(stopped, at, side="right")
    if rule.kind == HOURS:
        running = np.searchsorted(started, at + step) - np.searchsorted(started, at)
    by_time = np.bincount(minute[chosen] // STEP_MINUTES, running[chosen], DAY_STEPS) / max(chosen.sum() / DAY_STEPS, 1)
    panel.bar(np.arange(DAY_STEPS) * STEP_MINUTES / 60, by_time, width=STEP_MINUTES / 70, color=COLOUR)
    marks = [edge.minute for edge in rule.edges]
    marks += [] if rule.gate is None else [rule.gate.begin_minute, rule.gate.end_minute]
    for mark in marks:
        panel.axvline(mark / 60, color=WITH, lw=2)
    panel.set_xlabel(f"hour of the day ({timezone})", fontsize=8)
    panel.set_ylabel("starts" if rule.kind == HOURS else "running jobs", fontsize=8)


def _draw_waits(panel: Axes, log: StartedJobs, identification: Identification) -> None:
    """Distribution of the waits of the second half: logged, and replayed without and with the rules."""
    half = slice(len(log.jobs) // 2, None)
    share = np.linspace(0, 1, 201)
    lines = [("the log", log.wait, INK)]
    for label, cluster, colour in (
        ("without the rules", RuledCluster(identification.procs, identification.declared), WITHOUT),
        ("with the rules", identification.cluster, WITH),
    ):
        waits = cluster.waits(log)
        if waits is not None:
            lines.append((label, waits, colour))
    for label, waits, colour in lines:
        panel.plot(np.maximum(np.quantile(waits[half], share), 1) / HOUR_S, share, color=colour, label=label)
    panel.set_xscale("log")
    panel.legend(fontsize=8)
    panel.set_xlabel("wait, h (second half of the log)", fontsize=8)
    panel.set_ylabel("share of jobs", fontsize=8)
