"""Pictures like figures 3 to 7 of Wang, Harwood and Rodriguez 2022: `python -m studies split_pictures FOLDER`.

FOLDER is that of `python -m papers.deep_back_filling.split_windows`. docs/results/backfilling.md has the picture of the splits. With
`--paper FOLDER` figure 3 is drawn, from the checkpoints of `python -m papers.deep_back_filling.study --train`.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from assets.common.plots import BLUE, GREEN, GREY, INK, ORANGE, figure, log_axis
from models.scheduling.learning.checkpoint import read_checkpoint
from papers.deep_back_filling.protocol import window_splits
from papers.deep_back_filling.split_trial import JOB_SLOTS, SplitTrial
from papers.schedinspector.study import jobs_of_window_tables
from traces.catalogue.places import PROJECT

if TYPE_CHECKING:
    from matplotlib.figure import Figure

IMAGES = PROJECT / "docs" / "images"
SMOOTHED = 50
"""Episodes of training that a point of figure 3 is the mean of."""


def main() -> None:
    """Draws the pictures, and prints their paths."""
    parser = argparse.ArgumentParser(prog="python -m studies split_pictures")
    parser.add_argument("folder", type=Path, help="has what every training gave")
    parser.add_argument("--paper", type=Path, help="checkpoints of the paper's agents, for the picture of figure 3")
    parser.add_argument("--to", type=Path, default=IMAGES, help="where pictures go")
    arguments = parser.parse_args()
    trial = SplitTrial(jobs_of_window_tables("Lublin-1")[0], arguments.folder)
    for path in write_split_pictures(trial, arguments.to, arguments.paper):
        print(path)


def write_split_pictures(trial: SplitTrial, folder: Path = IMAGES, paper: Path | None = None) -> list[Path]:
    """Writes backfilling-rivals.png, -splits.png, -unseen.png and -jobs.png, and -learning.png of the checkpoints in `paper`. Returns
    their paths."""
    pictures = {
        "rivals": rivals(trial),
        "splits": splits(trial),
        "unseen": unseen(trial),
        "jobs": placed_by_class(trial),
    }
    if paper is not None:
        pictures["learning"] = learning_curves(paper_curves(paper))
    return [_written(picture, folder / f"backfilling-{name}.png") for name, picture in pictures.items()]


def rivals(trial: SplitTrial) -> Figure:
    """Figure 4: use, wait and queue of everybody who decides, by wait of arrived jobs."""
    means = {
        name: [np.mean([np.mean(each[metric]) for each in seeds]) for metric in ("wait_arrived", "queue", "use")]
        for name, seeds in (trial.rivals() | trial.agents()).items()
        if "closed" not in name and not (name.endswith("rule") and "-" in name)
    }
    order = sorted(means, key=lambda name: -means[name][0])
    canvas, axes = figure(height=10.0, rows=3, share_x=True)
    places = np.arange(len(order))
    for axis, column, label in zip(axes, range(3), ("wait, hours", "jobs that wait", "processors in use"), strict=True):
        values = np.array([means[name][column] for name in order]) / (3600 if column == 0 else 1)
        colours = [BLUE if name.endswith("agent") else ORANGE if "inspector" in name else GREY for name in order]
        axis.bar(places, values, color=colours)
        axis.set_ylabel(label, fontsize=9)
        if column < 2:
            log_axis(axis.yaxis)
    axes[-1].set_xticks(places, order, rotation=90, fontsize=7)
    return canvas


def splits(trial: SplitTrial) -> Figure:
    """Figure 5: the mean wait of arrived jobs against the slots at the end of the queue, a panel for each window size."""
    return _by_split(trial, {"wait_arrived": ("mean wait of arrived jobs, hours", 3600)})


def unseen(trial: SplitTrial) -> Figure:
    """Figure 6: jobs that the agent does not see, and the share of the time in which there are any."""
    return _by_split(trial, {"invisible": ("jobs unseen", 1), "partly_observed": ("share of the time", 1)})


def _by_split(trial: SplitTrial, metrics: dict[str, tuple[str, float]]) -> Figure:
    """The agents' seeds as points, and the rule as a line, against the share of the window that is at the end of the queue."""
    canvas, axes = figure(height=3.0 * len(metrics), rows=len(metrics), share_x=True)
    for axis, (metric, (label, unit)) in zip(axes, metrics.items(), strict=True):
        for k, slots in enumerate(trial.slots):
            places = k * 6 + np.arange(4)
            windows = list(window_splits(slots).values())
            rule = [np.mean(trial.window(*window, None)[metric]) / unit for window in windows]
            axis.plot(places, rule, color=GREY, marker="o", markersize=3, label="rule" if k == 0 else None)
            for place, window in zip(places, windows, strict=True):
                seeds = [np.mean(trial.window(*window, seed)[metric]) / unit for seed in trial.seeds]
                axis.plot([place] * len(seeds), seeds, "x", color=BLUE, label="agents" if k + place == 0 else None)
        if metric == "wait_arrived":
            log_axis(axis.yaxis)
        else:
            axis.set_yscale("symlog", linthresh=1.0)
            axis.yaxis.set_major_formatter("{x:g}")
        axis.set_ylabel(label, fontsize=9)
        axis.legend(fontsize=8, frameon=False)
    names = [f"{front}-{back}" for slots in trial.slots for front, back in window_splits(slots).values()]
    shown = [6 * k + place for k in range(len(trial.slots)) for place in range(4)]
    axes[-1].set_xticks(shown, names, rotation=90, fontsize=8, color=INK)
    axes[-1].set_xlabel("slots at the front and at the end of the queue", fontsize=9)
    return canvas


def placed_by_class(trial: SplitTrial) -> Figure:
    """Figure 7: jobs by processors and run time. Colour is the mean wait when placed, size the share that is placed."""
    from matplotlib.colors import LogNorm
    from matplotlib.figure import Figure

    canvas = Figure(figsize=(9.6, 8.0), layout="constrained")
    axes = canvas.subplots(2, 2, sharex=True, sharey=True).ravel()
    shown: Any = None
    for axis, (front, back) in zip(axes, window_splits(JOB_SLOTS).values(), strict=True):
        procs, runtime, placed, waited, arrived = np.array(trial.classes(front, back, trial.seeds[0])["jobs"]).T
        hours = np.maximum(waited / np.maximum(placed, 1) / 3600, 0.01)
        never = placed == 0
        axis.scatter(procs[never], runtime[never] / 3600, s=6, marker="x", color=GREY, linewidths=0.5)
        shown = axis.scatter(
            procs[~never],
            runtime[~never] / 3600,
            s=12 * (placed / arrived)[~never],
            c=hours[~never],
            cmap="viridis_r",
            norm=LogNorm(0.01, 100),
        )
        axis.set_title(f"{front}-{back}", fontsize=9, color=INK)
        axis.set_xscale("log", base=2)
        axis.set_yscale("log")
        axis.xaxis.set_major_formatter("{x:g}")
        axis.yaxis.set_major_formatter("{x:g}")
    for axis in axes[2:]:
        axis.set_xlabel("processors", fontsize=9)
    for axis in axes[::2]:
        axis.set_ylabel("run time, hours", fontsize=9)
    canvas.colorbar(shown, ax=list(axes), label="mean wait when placed, hours", shrink=0.6, format="{x:g}")
    return canvas


def learning_curves(checkpoints: dict[str, list[dict[str, float]]]) -> Figure:
    """Figure 3: wait, queue and use while the paper's agents learn. checkpoints: of each agent one row for each update."""
    canvas, axes = figure(height=6.0, rows=3, share_x=True)
    columns = {"wait_arrived": ("wait, hours", 3600), "queue": ("jobs that wait", 1), "use": ("processors in use", 1)}
    for axis, (column, (label, unit)) in zip(axes, columns.items(), strict=True):
        for (name, rows), colour in zip(checkpoints.items(), (BLUE, ORANGE, GREEN, INK), strict=False):
            count = len(rows) // SMOOTHED * SMOOTHED
            parts = np.array([row[column] for row in rows[:count]]).reshape(-1, SMOOTHED) / unit
            episodes = np.array([row["episodes"] for row in rows[:count]]).reshape(-1, SMOOTHED)[:, -1]
            axis.errorbar(episodes, parts.mean(axis=1), parts.std(axis=1), color=colour, elinewidth=0.5, label=name)
        axis.set_ylabel(label, fontsize=9)
    axes[0].legend(fontsize=8, frameon=False)
    axes[-1].set_xlabel("training episodes", fontsize=9)
    return canvas


def paper_curves(folder: Path) -> dict[str, list[dict[str, float]]]:
    """The curves of the trainings whose checkpoints are in a folder, by window and seed."""
    files = sorted(folder.glob("dbf-*.pt"))
    kept = {file.stem.removeprefix("dbf-"): read_checkpoint(file) for file in files}
    return {name: content["state"]["curve"] for name, content in kept.items() if content is not None}


def _written(picture: Figure, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    picture.savefig(path, format="png", dpi=80)
    return path
