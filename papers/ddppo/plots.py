"""The pictures of experiments/ddppo and experiments/ddppo_transfer, like figures 3 and 5 to 9 of Sgambati et al. 2025.

`python -m papers.ddppo.plots` draws those of docs/results/ddppo.md from the warehouse, after the experiments were made.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

import sql
from assets.common.plots import BLUE, GREEN, GREY, INK, ORANGE, figure, log_axis
from assets.common.storage import open_warehouse
from assets.usage.plots import submissions
from papers.markdown import IMAGES
from traces.synthetic.centre import CENTRES
from warehouse import Warehouse

if TYPE_CHECKING:
    from matplotlib.figure import Figure


SHOWN_NAMES = {"population": "our population", "ppo": "our PPO", "dd-ppo": "DD-PPO"}
"""What tables and pictures call variants. Only the last is the paper's (docs/reference/differences.md)."""
COLOURS = (BLUE, ORANGE, GREEN, GREY)
METRIC_LABELS = {
    "bsld": "bounded slowdown",
    "wait": "wait, s",
    "turnaround": "turnaround, s",
    "utilisation": "utilisation",
}


def reward_curves(rows: pl.DataFrame) -> Figure:
    """What sampled windows cost over decisions, by goal and variant, mean of the seeds (figure 9).

    rows: of experiments.curves of one source. An epoch of a population is a generation.
    """
    rows = rows.with_columns(goal=pl.col("experiment").str.strip_prefix("ddppo, "))
    goals = rows["goal"].unique(maintain_order=True).to_list()
    canvas, axes = figure(height=2.3 * len(goals), rows=len(goals))
    for ax, goal in zip(axes, goals, strict=True):
        part = rows.filter(pl.col("goal") == goal)
        for variant, colour in zip(part["variant"].unique(maintain_order=True), COLOURS, strict=False):
            mean = (
                part.filter(pl.col("variant") == variant)
                .sort("seed", "epoch")
                .with_columns(pl.col("decisions").cum_sum().over("seed"))
                .group_by("epoch")
                .agg(pl.col("sampled_cost", "decisions").mean())
                .sort("epoch")
            )
            sampled = _sign(goal) * mean["sampled_cost"]
            ax.plot(
                mean["decisions"] / 1e6,
                sampled,
                color=colour,
                linewidth=1.4,
                label=SHOWN_NAMES.get(str(variant), variant),
            )
        if (part["sampled_cost"] > 0).all():
            log_axis(ax.yaxis)
        ax.set_ylabel(f"{goal}, sampled", fontsize=9)
    axes[0].legend(frameon=False, fontsize=9, ncols=4)
    axes[-1].set_xlabel("decisions, millions", fontsize=9)
    return canvas


def boxes(costs: pl.DataFrame) -> Figure:
    """The ten windows of each policy, mean of its seeds: median, quartiles, and the mean as a dot (figures 5 to 8).

    costs: rows of experiments.window_costs of one source. Of the learned policies, those for the metric itself. Policies that learned
    from several logs have a box for each.
    """
    canvas, axes = figure(height=2.6 * len(METRIC_LABELS), rows=len(METRIC_LABELS))
    for ax, (metric, label) in zip(axes, METRIC_LABELS.items(), strict=True):
        part = costs.filter(
            (pl.col("goal") == metric) & (pl.col("seed").is_null() | pl.col("policy").str.ends_with(f", for {metric}"))
        )
        several = part["trained_on"].drop_nulls().n_unique() > 1
        learned_from = pl.col("trained_on").fill_null("") if several else pl.lit("")
        short = pl.col("policy").str.replace(", for .*", "").str.replace("without ", "without\n")
        shown = short.replace({name: label.replace(" ", "\n") for name, label in SHOWN_NAMES.items()})
        named = part.with_columns(
            policy=pl.concat_str(shown.str.replace("bounded-key", "bounded\nkey"), learned_from, separator="\n")
        )
        windows = named.group_by("policy", "window_number", maintain_order=True).agg(pl.col("cost").mean())
        names = windows["policy"].unique(maintain_order=True).to_list()
        values = [_sign(metric) * windows.filter(pl.col("policy") == name)["cost"].to_numpy() for name in names]
        if not names:
            continue
        drawn = ax.boxplot(values, widths=0.55, showfliers=False, patch_artist=True, medianprops={"color": BLUE})
        for box in drawn["boxes"]:
            box.set(facecolor="white", edgecolor=INK)
        ax.plot(range(1, len(names) + 1), [np.mean(each) for each in values], "o", color=ORANGE, markersize=4)
        ax.set_xticks(range(1, len(names) + 1), [name.rstrip() for name in names], fontsize=8)
        ax.set_ylabel(label, fontsize=9)
    return canvas


def _sign(metric: str) -> float:
    """What a cost is multiplied by: that of utilisation is minus it."""
    return -1.0 if metric == "utilisation" else 1.0


def write_ddppo_pictures(warehouse: Warehouse, folder: Path) -> list[Path]:
    """Writes ddppo-rewards-LOG.png of each log that was learned from, ddppo-submissions-LOG.png of these and of falcon and lemhi, and
    ddppo-windows-LOG.png of each that judged. Returns their paths."""
    with warehouse.read() as connection:
        curves = connection.sql("FROM experiments.curves WHERE experiment LIKE 'ddppo, %' ORDER BY ALL").pl()
        costs = connection.sql("FROM experiments.window_costs WHERE experiment = 'ddppo' ORDER BY ALL").pl()
        learned_from = curves["source"].unique().sort().to_list()
        there = connection.sql("SELECT DISTINCT source FROM core.jobs").pl()["source"]
        shown = sorted({*learned_from, *(set(CENTRES) & set(there))})
        query = sql.load("marts.submissions")
        submitted = {source: connection.sql(query, params={"source": source}).pl() for source in shown}
    pictures = {f"submissions-{source}": submissions(jobs) for source, jobs in submitted.items()}
    pictures |= {f"rewards-{source}": reward_curves(curves.filter(source=source)) for source in learned_from}
    for (source,), part in costs.group_by("source", maintain_order=True):
        pictures[f"windows-{source}"] = boxes(part.with_columns(pl.col("cost").cast(pl.Float64)))
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"ddppo-{name}.png" for name in pictures]
    for path, picture in zip(paths, pictures.values(), strict=True):
        picture.savefig(path, format="png", dpi=80)
    return paths


def main() -> None:
    """Prints what was written."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=IMAGES, help="where the pictures go")
    for path in write_ddppo_pictures(open_warehouse(), parser.parse_args().folder):
        print(path)


if __name__ == "__main__":
    main()
