"""Figure 5 of Neural Simulated Annealing, cost by moves: `python -m papers.neural_annealing.annealing_steps`, half a CPU-hour.

Trains the six networks of Table II, as `papers.neural_annealing.study` does, and searches each window of ten epochs with 500 to 1,000
moves. As in the figure, plain annealing has twice the moves. It also has a row in which it gets the CPU time of CNN-3. The cluster goes
on with the first solver, so all have the same windows. One table has the public code's search, which never undoes a rejected move, and
one the search that does. Cells have the mean cost of a window, and what it gains on plain annealing with twice the moves.

    python -m papers.neural_annealing.annealing_steps --epochs 1 --checkpoints FOLDER

`python -m studies annealing_picture` draws the stored tables.
"""

from __future__ import annotations

import argparse

import numpy as np

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

STEPS = (500, 600, 700, 800, 900, 1000)
SEARCHES = {
    "the public code's search": PUBLISHED_ANNEALING,
    "the search that takes back rejected moves": PAPERS_ANNEALING,
}
TWICE, EQUAL_TIME = "SA, twice the moves", "SA, equal CPU time"
Costs = dict[str, list[float]]
"""Mean cost of a window by solver, one for each number of moves."""


def main() -> None:
    """Trains what the folder lacks, and prints costs by moves."""
    parser = argparse.ArgumentParser(prog="python -m papers.neural_annealing.annealing_steps")
    add_training_options(parser)
    arguments = parser.parse_args()
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


if __name__ == "__main__":
    main()
