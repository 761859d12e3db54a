"""Does the pipeline's training learn? `python -m studies learning`, after `tracehouse run birch larch`.

It trains five seeds from random weights, as the pipeline does, and prints their costs on held-out windows beside heuristics. With `tried`
it prints what other settings cost on the windows that choose. A CPU-minute for each row of that, and for the first tables together.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np

from assets.common.storage import open_warehouse
from assets.policies.held_out import FIXED, SeenLearning, seen_learning
from assets.policies.lessons import window_setup
from assets.policies.training import PolicyTask, TrainingSetup
from models.scheduling.comparison import Difference
from models.scheduling.options import PIPELINE_PPO, PPOOptions, Recipe
from papers.markdown import print_cells, print_heading

LOGS, SEEDS = ("birch", "larch"), (1, 2, 3, 4, 5)
TASK = PolicyTask(estimates="predicted")
TRIED = {
    "the pipeline's": {},
    "no trajectory filter": {"filtered_epochs": 0},
    "rate 2e-3": {"policy_rate": 2e-3},
    "rate 5e-3": {"policy_rate": 5e-3},
    "64 windows an epoch, rate 1e-3, 20 epochs": {
        "trajectories": 64,
        "policy_rate": 1e-3,
        "epochs": 20,
        "filtered_epochs": 10,
    },
}
"""Changes to the pipeline's settings."""


def trained(setup: TrainingSetup, options: PPOOptions) -> tuple[SeenLearning, list[float]]:
    """How the seeds went on held-out windows, and what each costs on the windows that choose."""
    policies = list(setup.train(Recipe(start="nothing", ppo=options), SEEDS, side_by_side=True))
    return seen_learning(setup, policies), [policy.trained.validation_cost for policy in policies]


def rows_of(seen: SeenLearning) -> Iterator[list[str]]:
    """Cells of the table, a row for each seed, for all seeds, and for each heuristic."""
    learned = {f"learned, seed {seed}": costs for seed, costs in seen.learned.items()}
    learned["learned, all seeds"] = seen.all_seeds
    for name, costs in (learned | dict(seen.fixed)).items():
        rivals = [seen.beside(costs, rival) for rival in ("FCFS", seen.best_fixed)]
        begun = [
            seen.curves[seed][0] for seed in seen.learned if name in (f"learned, seed {seed}", "learned, all seeds")
        ]
        first = f"{np.mean(begun):.2f}" if begun else ""
        yield [name, first, f"{costs.mean():.2f}", *map(_cell, rivals)]


def _cell(apart: Difference) -> str:
    if apart.low is None or apart.high is None:
        return f"{apart.mean:+.2f}"
    return f"{apart.mean:+.2f} ({apart.low:+.2f} to {apart.high:+.2f})"


def print_tried() -> None:
    """What each setting costs on the windows that choose, mean and worst of the seeds, beside the best heuristic there."""
    setups = {log: window_setup(open_warehouse(), log, TASK) for log in LOGS}
    print_heading("settings", *(f"{log}, {what}" for log in LOGS for what in ("mean", "worst seed")))
    for name, changes in TRIED.items():
        options = PIPELINE_PPO.model_copy(update=changes)
        costs = [trained(setup, options)[1] for setup in setups.values()]
        print_cells(name, *(f"{cost:.2f}" for each in costs for cost in (float(np.mean(each)), max(each))))
    fixed = [
        min(float(setup.arena.costs(name, setup.lessons.validation).mean()) for name in FIXED)
        for setup in setups.values()
    ]
    print_cells("best heuristic", *(cell for cost in fixed for cell in (f"{cost:.2f}", "")))


def main() -> None:
    """Prints the tables."""
    if sys.argv[1:] == ["tried"]:
        print_tried()
        return
    for log in LOGS:
        seen, _ = trained(window_setup(open_warehouse(), log, TASK), PIPELINE_PPO)
        print(f"\n{log}\n")
        print_heading("order", "random weights", "bounded slowdown", "minus FCFS", "minus the best heuristic")
        for cells in rows_of(seen):
            print_cells(*cells)


if __name__ == "__main__":
    main()
