"""The pictures of experiments/ddppo and experiments/ddppo_transfer, like figures 3 and 5 to 9 of Sgambati et al. 2025."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from assets.common.plots import BLUE, GREEN, GREY, INK, ORANGE, figure, log_axis

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
