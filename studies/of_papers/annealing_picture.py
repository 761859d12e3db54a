"""The picture of cost by moves in Neural Simulated Annealing: `python -m studies annealing_picture docs/images/annealing-steps.png`.

It shows the stored tables of `papers.neural_annealing.annealing_steps`, with the figures that the paper prints.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import numpy as np

from assets.common.plots import BLUE, GREEN, GREY, INK, ORANGE
from papers.neural_annealing.annealing_steps import EQUAL_TIME, SEARCHES, STEPS, TWICE, Costs
from traces.catalogue.places import PROJECT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COSTS_OF_FIGURE_5 = {
    "sequential": 105_023.5,
    TWICE: 90_809.7,
    "learned CNN-3": 89_588.7,
    "learned FCN-1": 90_809.7 * 1.0027,
    "SCAS, exact": 83_092.3,
}
"""What the paper prints of 500 moves: Tables III and IV, and that NSA-500 with FCN-1 is 0.27 % above SA-1000."""
_STYLES = {
    "learned FCN-1": (GREY, ":"),
    "learned FCN-2": (GREY, "--"),
    "learned FCN-3": (GREY, "-"),
    "learned CNN-1": (BLUE, ":"),
    "learned CNN-2": (BLUE, "--"),
    "learned CNN-3": (BLUE, "-"),
    TWICE: (ORANGE, "-"),
    EQUAL_TIME: (GREEN, "-"),
    "SCAS, exact": (INK, "--"),
}


def main() -> None:
    """Draws into the file that is named."""
    stored = json.loads((PROJECT / "docs" / "results.json").read_text())
    tables = [costs_in_lines(stored[f"annealing_steps, {search}"]["lines"]) for search in SEARCHES]
    steps_picture(*tables).savefig(sys.argv[1], dpi=110, metadata={"Software": None})


def costs_in_lines(lines: list[str]) -> Costs:
    """The costs of a table as `steps_table` writes it."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]
    return {name: [float(cell.split()[0].replace(",", "")) for cell in cells] for name, *cells in rows}


def steps_picture(published_search: Costs, corrected_search: Costs) -> Figure:
    """Figure 5 three times: what the paper prints, its search, and the search that takes back rejected moves. Costs are percent of the
    sequential assignment's, so that panels with other windows can be compared."""
    from matplotlib.figure import Figure

    canvas = Figure(figsize=(11.0, 4.2), layout="constrained")
    panels = canvas.subplots(1, 3, sharey=True)
    titles = ("paper: what it prints of 500 moves", "its search, rebuilt", "ours: rejected moves are taken back")
    contents = ({name: [cost] for name, cost in COSTS_OF_FIGURE_5.items()}, published_search, corrected_search)
    for axis, title, costs in zip(panels, titles, contents, strict=True):
        _panel(axis, title, costs)
    panels[0].set_ylabel("cost of a window, % of the sequential one", fontsize=9)
    handles = {line.get_label(): line for axis in panels for line in axis.lines}
    named = [handles[name] for name in _STYLES if name in handles]
    canvas.legend(handles=named, loc="outside lower center", ncols=5, fontsize=8, frameon=False)
    return canvas


def _panel(axis: Axes, title: str, costs: Costs) -> None:
    for name, (colour, dashes) in _STYLES.items():
        if name in costs:
            shares = 100 * np.array(costs[name]) / np.array(costs["sequential"])
            marker = "o" if len(shares) == 1 else None
            axis.plot(STEPS[: len(shares)], shares, color=colour, linestyle=dashes, marker=marker, label=name)
    axis.set_title(title, fontsize=9, color=INK)
    axis.set_xlabel("moves of the learned search", fontsize=9)
    axis.set_xlim(STEPS[0] - 50, STEPS[-1] + 50)
    axis.spines[["top", "right"]].set_visible(False)
    axis.tick_params(labelsize=9, colors=INK)
    axis.grid(axis="y", color="#e2e8f0", linewidth=0.6)
