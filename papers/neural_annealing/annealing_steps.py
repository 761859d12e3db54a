"""Figure 5 of Neural Simulated Annealing, cost by moves: `python -m papers.neural_annealing.annealing_steps`, half a CPU-hour.

Trains the six networks of Table II, as `papers.neural_annealing.study` does, and searches each window of ten epochs with 500 to 1,000
moves. As in the figure, plain annealing has twice the moves. It also has a row in which it gets the CPU time of CNN-3. The cluster goes
on with the first solver, so all have the same windows. One table has the public code's search, which never undoes a rejected move, and
one the search that does. Cells have the mean cost of a window, and what it gains on plain annealing with twice the moves.

    python -m papers.neural_annealing.annealing_steps --epochs 1 --checkpoints FOLDER
    python -m papers.neural_annealing.annealing_steps --picture docs/images/annealing-steps.png

The second draws the stored tables, with the figures that the paper prints.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from assets.common.plots import BLUE, GREEN, GREY, INK, ORANGE
from models.allocation.annealing import PAPERS_ANNEALING, PUBLISHED_ANNEALING, AnnealingRules
from models.allocation.neural.repair_policy import RepairPolicy
from papers.markdown import markdown
from papers.neural_annealing.protocol import HOP_COST
from papers.neural_annealing.study import (
    TRAINED_CLUSTERS,
    Solver,
    TrainedCluster,
    add_training_options,
    annealed,
    equal_steps,
    exact,
    neural,
    run_epoch,
    sequential,
    trained_network,
)
from traces.catalogue.places import PROJECT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STEPS = (500, 600, 700, 800, 900, 1000)
SEARCHES = {
    "the public code's search": PUBLISHED_ANNEALING,
    "the search that takes back rejected moves": PAPERS_ANNEALING,
}
TWICE, EQUAL_TIME = "SA, twice the moves", "SA, equal CPU time"
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

Costs = dict[str, list[float]]
"""Mean cost of a window by solver, one for each number of moves."""


def main() -> None:
    """Trains what the folder lacks, and prints or draws costs by moves."""
    parser = argparse.ArgumentParser(prog="python -m papers.neural_annealing.annealing_steps")
    add_training_options(parser)
    parser.add_argument("--picture", type=Path, help="only draws the stored tables into this file")
    arguments = parser.parse_args()
    if arguments.picture:
        stored = json.loads((PROJECT / "docs" / "results.json").read_text())
        tables = [costs_in_lines(stored[f"annealing_steps, {search}"]["lines"]) for search in SEARCHES]
        steps_picture(*tables).savefig(arguments.picture, dpi=110, metadata={"Software": None})
        return
    policies = {
        f"learned {name}": trained_network(arguments, "paper", name)[0] for name in arguments.networks.split(",")
    }
    for search, rules in SEARCHES.items():
        costs = measured_costs(TRAINED_CLUSTERS[arguments.tree], policies, rules, arguments.epochs)
        print(f"\n{search}\n\n{steps_table(costs)}", flush=True)


def measured_costs(
    cluster: TrainedCluster,
    policies: dict[str, RepairPolicy],
    rules: AnnealingRules,
    epochs: int,
    steps: tuple[int, ...] = STEPS,
) -> Costs:
    """Means over epochs. Plain annealing gets the CPU time of the last network."""
    solvers: dict[tuple[str, int], Solver] = {}
    timed = list(policies.values())[-1]
    for count in steps:
        solvers |= {(name, count): neural(policy, rules, count) for name, policy in policies.items()}
        solvers[TWICE, count] = annealed(rules, 2 * count)
        solvers[EQUAL_TIME, count] = annealed(rules, equal_steps(cluster, neural(timed, rules, count)))
    whole: dict[str, Solver] = {"sequential": sequential, "SCAS, exact": exact}
    named = {f"{name}, {count}": solver for (name, count), solver in solvers.items()} | whole
    lead = next(iter(named))
    means = np.mean([run_epoch(cluster, named, lead, epoch)[0] for epoch in range(epochs)], axis=0)
    measured = dict(zip(named, (HOP_COST * means).tolist(), strict=True))
    rows = ["sequential", *policies, TWICE, EQUAL_TIME, "SCAS, exact"]
    return {row: [measured[row if row in whole else f"{row}, {count}"] for count in steps] for row in rows}


def steps_table(costs: Costs, steps: tuple[int, ...] = STEPS) -> str:
    """A row for each solver: costs, and in brackets what they gain on plain annealing with twice the moves."""
    lines = [
        [name, *(f"{cost:,.0f} ({1 - cost / twice:+.1%})" for cost, twice in zip(row, costs[TWICE], strict=True))]
        for name, row in costs.items()
    ]
    return markdown(["solver", *(f"{count:,} moves" for count in steps)], lines)


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


if __name__ == "__main__":
    main()
