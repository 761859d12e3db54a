"""Draws the teaching pictures of docs/images from their data (`docs/picture_data.py`). Nothing here reads anything."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Rectangle

from assets.common.plots import BLUE, GREEN, GREY, INK, ORANGE, WEEKDAYS

JSON = dict[str, Any]
DPI = 100
PALE = {BLUE: "#ebf4ff", ORANGE: "#fffaf0", GREEN: "#f0fff4", GREY: "#f7fafc"}
"""Ground of a box, by the colour of its edge."""
LINE_HEIGHT = 18
HEAD_HEIGHT = 34
MUTED = "#4a5568"
MONO = "DejaVu Sans Mono"

GROUP_PLACES = {
    "ingest": (1.5, 0),
    "replay": (0, 1),
    "operations": (1, 1),
    "predictions": (2, 1),
    "vasp": (3, 1),
    "policies": (2, 2),
    "experiments": (3, 2),
    "evaluation": (2, 3),
    "report": (0, 3),
}
"""Column and row of every group. A new group needs a place here."""
GROUP_COLUMNS = {"report": 1.84}
"""Groups that are wider than one column."""
GROUP_GAP = 46
GROUP_COLOURS = {"ingest": ORANGE, "report": GREEN}
LONG_JOB = "#90b4dc"
LEAST_WIDTH_S = 180
"""The Gantt draws no job shorter than this, else it would be too thin to be seen."""
FEWEST_JOBS = 10
"""Cells of the heat map with fewer jobs are empty."""


def board(width: int, height: int) -> tuple[Figure, Axes]:
    """A page of this many pixels, whose coordinates are pixels from the upper left corner."""
    canvas = Figure(figsize=(width / DPI, height / DPI), dpi=DPI)
    ax = canvas.add_axes((0, 0, 1, 1))
    ax.set(xlim=(0, width), ylim=(height, 0))
    ax.axis("off")
    return canvas, ax


def write(ax: Axes, x: float, y: float, text: str, size: float = 13, **style: Any) -> None:
    """Text whose upper left corner is here. size: pixels."""
    style = {"color": INK, "ha": "left", "va": "top"} | style
    ax.text(x, y, text, fontsize=size * 72 / DPI, **style)


def box(ax: Axes, x: float, y: float, width: float, height: float, colour: str) -> None:
    """A box with round corners."""
    patch = FancyBboxPatch(
        (x, y), width, height, boxstyle="round,pad=0,rounding_size=6", facecolor=PALE[colour], edgecolor=colour
    )
    patch.set_linewidth(1.4)
    ax.add_patch(patch)


def arrow(
    ax: Axes, begin: tuple[float, float], end: tuple[float, float], bend: float = 0.0, colour: str = MUTED
) -> None:
    """An arrow from one point to another."""
    style = {"arrowstyle": "-|>", "color": colour, "lw": 1.6, "mutation_scale": 14, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", end, begin, arrowprops=style | {"connectionstyle": f"arc3,rad={bend}"})


# --- assets by group


def draw_asset_groups(data: JSON) -> Figure:
    """Groups as boxes with their assets inside, from the logs at the top to the report at the foot."""
    groups = data["groups"]
    if homeless := groups.keys() - GROUP_PLACES.keys():
        raise ValueError(
            f"no place for {', '.join(sorted(homeless))}: add one to GROUP_PLACES in docs/picture_drawing.py"
        )
    heights = {name: HEAD_HEIGHT + LINE_HEIGHT * len(names) + 8 for name, names in groups.items()}
    tops = _tops_of_groups(heights)
    boxes = {
        name: (16 + GROUP_PLACES[name][0] * 296, tops[name], 296 * GROUP_COLUMNS.get(name, 1) - 16, heights[name])
        for name in groups
    }
    foot = max(tops[name] + heights[name] for name in groups)
    canvas, ax = board(1200, int(foot) + 42)
    for begin, end in data["arrows"]:
        _join_groups(ax, boxes[begin], boxes[end])
    for name, (x, y, wide, high) in boxes.items():
        box(ax, x, y, wide, high, GROUP_COLOURS.get(name, BLUE))
        write(ax, x + 12, y + 8, name, 16, weight="bold")
        for k, asset in enumerate(groups[name]):
            write(ax, x + 12, y + HEAD_HEIGHT + k * LINE_HEIGHT, asset, 12.5)
    note = "An arrow leads to a group that reads what the other one made. It is left out where a longer way leads there, too."
    write(ax, 16, foot + 14, note, 13, color=MUTED)
    return canvas


def _join_groups(ax: Axes, begin: tuple[float, ...], end: tuple[float, ...]) -> None:
    """An arrow between two boxes of x, y, width and height: down and round a corner, or to the left."""
    (x1, y1, wide1, high1), (x2, y2, wide2, high2) = begin, end
    if y1 + high1 > y2:
        arrow(ax, (x1, y2 + high2 / 2), (x2 + wide2, y2 + high2 / 2))
        return
    middle = x1 + wide1 / 2
    if x2 < middle < x2 + wide2 and wide1 <= wide2:
        arrow(ax, (middle, y1 + high1), (middle, y2))
        return
    level, onto = y2 - GROUP_GAP / 2, x2 + wide2 / 2 - (60 if wide1 == wide2 and y1 > 100 else 0)
    ax.plot([middle, middle, onto], [y1 + high1, level, level], color=MUTED, linewidth=1.6)
    arrow(ax, (onto, level), (onto, y2))


def _tops_of_groups(heights: dict[str, int]) -> dict[str, float]:
    """Where each box begins: all of a row on one level, below the boxes of earlier rows that are above one of them."""
    tops: dict[str, float] = {}
    for row in sorted({place[1] for place in GROUP_PLACES.values()}):
        names = [name for name in heights if GROUP_PLACES[name][1] == row]
        columns = {GROUP_PLACES[name][0] for name in names}
        above = [
            tops[name] + heights[name] + GROUP_GAP
            for name in tops
            if GROUP_PLACES[name][0] in columns or GROUP_PLACES[name][1] == 0
        ]
        tops |= dict.fromkeys(names, max(above, default=16.0))
    return tops


# --- waits


def draw_wait_heat_map(data: JSON) -> Figure:
    """Above how many jobs were submitted, below which share of them waited long; weekdays down, hours to the right."""
    jobs, waited = np.array(data["jobs"]), np.array(data["long_waits"])
    share = np.where(jobs >= FEWEST_JOBS, 100 * waited / np.maximum(jobs, 1), np.nan)
    canvas = Figure(figsize=(10, 6.4), dpi=DPI, layout="constrained")
    panels = canvas.subplots(2, 1)
    hours = data["long_wait_s"] / 3600
    unit = "1 hour" if hours == 1 else f"{hours:g} hours"
    titles = (
        f"{data['source']}, {data['days']} days: jobs submitted in each hour of the week",
        f"Share of these jobs that waited more than {unit}, % (empty: fewer than {FEWEST_JOBS} jobs)",
    )
    for ax, values, title, colours, most in zip(
        panels, (jobs, share), titles, ("Greys", "Oranges"), (int(jobs.max()), 100), strict=True
    ):
        image = ax.imshow(values, cmap=colours, aspect="auto", vmin=0, vmax=most)
        for day, hour in zip(*np.nonzero(~np.isnan(values)), strict=True):
            dark = values[day, hour] > 0.6 * most
            text = f"{values[day, hour]:.0f}"
            ax.text(hour, day, text, ha="center", va="center", fontsize=8, color="white" if dark else INK)
        canvas.colorbar(image, ax=ax, pad=0.01).ax.tick_params(labelsize=9)
        ax.set_title(title, fontsize=11, loc="left", color=INK)
        ax.set_xticks(range(0, 24, 3), [f"{hour}:00" for hour in range(0, 24, 3)], fontsize=9)
        ax.set_yticks(range(7), WEEKDAYS, fontsize=9)
        ax.tick_params(length=0)
        for side in ax.spines.values():
            side.set_visible(False)
    panels[1].set_xlabel("hour of submission, in the cluster's time zone", fontsize=10)
    return canvas


# --- schedules


def draw_gantt(data: JSON) -> Figure:
    """The same jobs without and with backfilling, each a box of time and processors; short jobs in a colour of their own."""
    canvas = Figure(figsize=(10.4, 7.2), dpi=DPI, layout="constrained")
    panels = canvas.subplots(2, 1, sharex=True)
    words = {"none": "FCFS without backfilling", "easy": "FCFS with EASY backfilling"}
    until = 0.0
    for ax, (backfill, jobs) in zip(panels, data["schedules"].items(), strict=True):
        _draw_schedule(ax, jobs, data)
        wait = np.mean([job["start"] - job["submit"] for job in jobs]) / 60
        passed = sum(job["backfilled"] for job in jobs)
        says = f"mean wait {wait:.0f} min" + (
            f", {passed} of {len(jobs)} jobs started past a blocked one" if passed else ""
        )
        ax.set_title(f"{words[backfill]}: {says}", fontsize=11, loc="left", color=INK)
        ax.set_ylabel("processors", fontsize=10)
        ax.set_ylim(0, data["cluster_procs"])
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(labelsize=9)
        until = max(until, *(job["start"] / 3600 for job in jobs))
    panels[1].set_xlim(0, 1.25 * until)
    panels[1].set_xlabel("hours since the first submission", fontsize=10)
    short = f"run time up to {data['short_job_s'] / 60:.0f} min, drawn as at least {LEAST_WIDTH_S / 60:.0f} min"
    keys = [
        Rectangle((0, 0), 1, 1, facecolor=ORANGE, label=short),
        Rectangle((0, 0), 1, 1, facecolor=LONG_JOB, label="longer"),
        Rectangle((0, 0), 1, 1, facecolor="white", edgecolor=INK, hatch="////", label="backfilled"),
    ]
    canvas.legend(handles=keys, loc="outside lower center", ncols=3, fontsize=10, frameon=False)
    return canvas


def _draw_schedule(ax: Axes, jobs: list[JSON], data: JSON) -> None:
    """Jobs take the lowest free processors, in pieces where need be. A box is at least wide enough to be seen."""
    free_from = np.full(data["cluster_procs"], -1.0)
    for job in sorted(jobs, key=lambda job: job["start"]):
        lanes = np.flatnonzero(free_from <= job["start"])[: job["procs"]]
        free_from[lanes] = job["start"] + job["runtime"]
        is_short = job["runtime"] <= data["short_job_s"]
        for piece in np.split(lanes, np.flatnonzero(np.diff(lanes) > 1) + 1):
            ax.add_patch(
                Rectangle(
                    (job["start"] / 3600, piece[0]),
                    max(job["runtime"], LEAST_WIDTH_S) / 3600,
                    len(piece),
                    facecolor=ORANGE if is_short else LONG_JOB,
                    edgecolor="#7b341e" if is_short else "#2a4f7c",
                    linewidth=0.5,
                    hatch="////" if job["backfilled"] else None,
                    hatch_linewidth=0.4,
                    zorder=3 if is_short else 2,
                )
            )


# --- the life of a policy


def draw_policy_life(data: JSON) -> Figure:
    """Which jobs a policy meets, and what happens to it."""
    canvas, ax = board(1100, 592)
    _draw_shares(ax, data["shares"])
    methods = ", ".join(data["methods"][:-1]) + f" or {data['methods'][-1]}"
    start = data["starts_from"].upper()
    loses = f"If it does not, {start} is kept."
    steps = [
        ("1  Learned", f"One network per seed, by {methods}. It begins as {start}, smallest area first."),
        ("2  Chosen", "Of each seed the epoch that costs least on jobs not learned from."),
        ("3  Confirmed", f"It {data['takes_over']} {start} on newer jobs, and not by chance. {loses}"),
        ("4  Challenger", "The seed that costs least meets the champion on the same newer jobs."),
    ]
    wide, high, top = 250, 118, 168
    for k, (title, text) in enumerate(steps):
        x = 20 + k * (wide + 20)
        box(ax, x, top, wide, high, ORANGE if k == 3 else BLUE)
        write(ax, x + 12, top + 10, title, 16, weight="bold")
        write(ax, x + 12, top + 38, textwrap.fill(text, 33), 13, linespacing=1.35)
        if k:
            arrow(ax, (x - 20, top + high / 2), (x, top + high / 2))
    _draw_events(ax, data, top + high)
    return canvas


def _draw_shares(ax: Axes, shares: dict[str, int]) -> None:
    write(ax, 20, 14, "The jobs of a log, in the order of submission", 15, weight="bold")
    colours = {"learned": BLUE, "chosen": "#63a0dc", "judged": ORANGE, "compared": GREEN}
    words = {
        "learned": "1  learned from",
        "chosen": "2  choose",
        "judged": "3, 4  judge",
        "compared": "5  compared with other policies",
    }
    x, whole = 20.0, 1060
    for name, share in shares.items():
        width = whole * share / 100
        ax.add_patch(Rectangle((x, 44), width, 34, facecolor=colours[name], edgecolor="white", linewidth=1.5))
        write(ax, x + width / 2, 61, f"{share} %", 14, color="white", ha="center", va="center", weight="bold")
        is_narrow = width < 100
        level, middle = (104 if name == "judged" else 84), x + width / 2
        if is_narrow and level > 84:
            ax.plot([middle, middle], [79, level], color=MUTED, linewidth=0.8)
        write(ax, middle, level, words[name], 13, ha="center", color=MUTED)
        x += width
    arrow(ax, (20, 138), (1080, 138))
    write(ax, 1080, 116, "time", 12, color=MUTED, ha="right")


def _draw_events(ax: Axes, data: JSON, above: float) -> None:
    """Outcomes of a challenge, one box for each word that the table of events has, and what follows."""
    words = {
        "first": "There was no champion.",
        "promoted": f"It {data['takes_over']} the champion, and not by chance.",
        "refused": "It does not, or it may be chance. The champion stays.",
        "replaced": "The champion had another goal or other rules, or its file is lost.",
    }
    top, wide, high, gap = above + 66, 250, 96, 20
    write(ax, 20, above + 20, "What became of the challenger (policies.policy_events, column kind)", 15, weight="bold")
    middles = [20 + k * (wide + gap) + wide / 2 for k in range(len(data["events"]))]
    level = top - 16
    ax.plot([middles[-1], middles[-1], middles[0]], [above, level, level], color=MUTED, linewidth=1.6)
    for k, event in enumerate(sorted(data["events"], key=list(words).index)):
        x, stays = 20 + k * (wide + gap), event == "refused"
        colour = GREY if stays else GREEN
        arrow(ax, (middles[k], level), (middles[k], top))
        box(ax, x, top, wide, high, colour)
        write(ax, x + 12, top + 10, event, 16, weight="bold")
        write(ax, x + 12, top + 38, textwrap.fill(words[event], 33), 13, linespacing=1.35)
        if not stays:
            arrow(ax, (x + wide / 2, top + high), (x + wide / 2, top + high + 36))
    foot = top + high + 36
    box(ax, 20, foot, 1060, 88, GREEN)
    write(ax, 32, foot + 10, "5  Champion", 16, weight="bold")
    says = (
        "--policy learned uses it. On the last jobs, which no earlier step has seen, it is compared with the other policies\n"
        "(marts.leaderboard). The next training challenges it again."
    )
    write(ax, 32, foot + 38, says, 13, linespacing=1.35)


# --- the walk of a job row


def draw_job_row(data: JSON) -> Figure:
    """A line of the log at the top, and below it the job's values in every table that it passes; arrows to what is computed from it."""
    titles = {
        "raw.pbs_records": ("1", "the line as columns", BLUE),
        "core.jobs": ("2", "a job like that of any log; times in UTC", BLUE),
        "features.job_features": ("3", "what was known at submission", BLUE),
        "predictions.runtime_predictions": ("4", "predicted run time, seconds", ORANGE),
        "replay.run_jobs": ("5", "its start under SAF with EASY", ORANGE),
        "marts.waits_by_size": ("6", "the row of a report that counts it", GREEN),
    }
    wide, gap, top = 342, 27, 112
    counts = [len(table["values"]) for table in data["tables"]]
    highs = [66 + max(counts[:3]) * 21, 66 + max(counts[3:]) * 21]
    canvas, ax = board(1120, top + sum(highs) + 50 + 20)
    write(
        ax,
        20,
        14,
        f"Line {data['line_number']:,} of the file {data['file']} in the log of {data['source']}",
        16,
        weight="bold",
    )
    box(ax, 20, 42, 1080, 36, GREY)
    write(ax, 32, 60, data["line"], 14, family=MONO, va="center")
    arrow(ax, (20 + wide / 2, 78), (20 + wide / 2, top))
    for k, table in enumerate(data["tables"]):
        number, says, colour = titles[table["table"]]
        high, column = highs[k // 3], k if k < 3 else 5 - k
        x, y = 20 + column * (wide + gap), top + (k // 3) * (highs[0] + 50)
        box(ax, x, y, wide, high, colour)
        write(ax, x + 12, y + 9, f"{number}  {table['table']}", 15, weight="bold")
        write(ax, x + 12, y + 32, says, 12.5, color=MUTED)
        for row, (name, value) in enumerate(table["values"].items()):
            level = y + 58 + row * 21
            write(ax, x + 12, level, name, 13)
            write(ax, x + wide - 12, level, _shown(value), 13, ha="right", family=MONO)
        if k in (1, 2):
            arrow(ax, (x - gap, y + high / 2), (x, y + high / 2))
    foot, (left, middle, right) = top + highs[0], (20 + k * (wide + gap) + wide / 2 for k in range(3))
    arrow(ax, (right, foot), (right, foot + 50))
    arrow(ax, (middle, foot), (middle, foot + 50))
    ax.plot([middle - 60, middle - 60, left], [foot, foot + 25, foot + 25], color=MUTED, linewidth=1.6)
    arrow(ax, (left, foot + 25), (left, foot + 50))
    return canvas


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "unknown" if value is None else f"{value:,}" if isinstance(value, int) else str(value)


def draw_users_react(data: JSON) -> Figure:
    """Two bars for each log: the change of its mean wait, open and closed."""
    logs = data["logs"]
    canvas = Figure(figsize=(1100 / DPI, 380 / DPI), dpi=DPI, layout="constrained")
    ax = canvas.subplots()
    for k, (way, colour) in enumerate((("open", GREY), ("closed", BLUE))):
        places, values = np.arange(len(logs)) + 0.38 * k, [each[way] for each in logs.values()]
        ax.bar_label(ax.bar(places, values, 0.36, color=colour, label=way), fmt="%+d %%", color=INK, padding=2)
    names = [f"{name}\n{each['follow']} % of the jobs follow" for name, each in logs.items()]
    ax.set_xticks(np.arange(len(logs)) + 0.19, names, color=INK)
    ax.set_ylabel("change of the mean wait, %", color=INK)
    ax.set_title(f"{data['change']}, where users keep the log's times (open) and their pace (closed)", color=INK)
    ax.margins(y=0.12)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    return canvas


DRAWN_BY = {
    "asset-groups": draw_asset_groups,
    "wait-heat-map": draw_wait_heat_map,
    "gantt": draw_gantt,
    "policy-life": draw_policy_life,
    "job-row": draw_job_row,
    "users-react": draw_users_react,
}
"""Name of each picture -> how its data is drawn."""
