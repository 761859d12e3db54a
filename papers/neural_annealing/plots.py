"""The picture of Neural Simulated Annealing's protocol: what each way of choosing nodes costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from assets.common.plots import BLUE, INK, ORANGE, figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PRINTED_SHARES = {
    "SA-500 as published": 91_813.2 / 105_023.5,
    "SA-1000 as published": 90_809.7 / 105_023.5,
    "SCAS, exact": 83_092.3 / 105_023.5,
}
"""Means of Tables III and IV over the sequential assignment's."""
_TREES = {"paper": ("paper's tree", ORANGE), "code": ("public code's tree", BLUE)}
_PROTOCOLS = {"window": "one window at a time", "closed_loop": "each method in a cluster of its own"}


def allocation_costs(rows: pl.DataFrame) -> Figure:
    """rows: of experiments.topology. Cost over that of the sequential assignment, a panel for each protocol: a small dot for each epoch,
    a large one for their mean, and crosses where the paper prints a number."""
    shown = [protocol for protocol in _PROTOCOLS if rows.filter(protocol=protocol).height]
    canvas, axes = figure(height=3.4 * len(shown), rows=len(shown))
    for axis, protocol in zip(axes, shown, strict=True):
        part = rows.filter(protocol=protocol)
        methods = part["method"].unique(maintain_order=True).to_list()[::-1]
        place = {method: k for k, method in enumerate(methods)}
        for k, (tree, (label, colour)) in enumerate(_TREES.items()):
            mine = part.filter(tree=tree)
            heights = [place[method] + 0.16 * (1 - 2 * k) for method in mine["method"]]
            axis.scatter(mine["of_sequential"].to_numpy(), heights, s=8, color=colour, alpha=0.5)
            means = mine.group_by("method", maintain_order=True).agg(pl.col("of_sequential").mean())
            heights = [place[method] + 0.16 * (1 - 2 * k) for method in means["method"]]
            axis.scatter(means["of_sequential"].to_numpy(), heights, s=40, color=colour, label=label)
        printed = {name: share for name, share in PRINTED_SHARES.items() if protocol == "window" and name in place}
        if printed:
            axis.scatter(
                list(printed.values()),
                [place[name] for name in printed],
                marker="x",
                color=INK,
                label="printed in the paper",
            )
        axis.set_yticks(range(len(methods)), methods)
        axis.set_title(_PROTOCOLS[protocol], fontsize=9, color=INK)
        axis.set_xlabel("cost over that of the sequential assignment", fontsize=9)
        axis.legend(fontsize=8, frameon=False, loc="lower right")
    return canvas
