"""Training curves for each goal on each log, RLScheduler's Figures 10 to 13: `python -m papers.rlscheduler.goal_curves [EPOCHS]`.

The kernel network learns by PPO from random weights, one seed, by that code's rules without backfilling, in windows of 256 jobs that
lie outside the ten published ones. After every epoch it is tried on other windows, beside SJF on the same. SDSC-SP2 is the derived log.
"""

from __future__ import annotations

import sys

from assets.common.trace import Trace
from assets.policies.training import PolicyTask, TrainingSetup
from models.scheduling.learning.recipes import learn
from models.scheduling.learning.training import EpochReport
from models.scheduling.options import PPOOptions, Recipe
from papers.archive import trace_of_log
from papers.markdown import print_cells, print_heading
from papers.rlscheduler.ten_windows import published_split

FIGURES = {"bsld": "10", "utilisation_as_coded": "11", "slowdown": "12", "wait": "13"}
"""Figure, by goal."""
CURVE_LOGS = ("Lublin-1", "SDSC-SP2", "HPC2N", "Lublin-2")
EPOCHS, SHOWN = 6, (1, 2, 3, 4, 6, 10, 20, 50, 100)
WINDOW_JOBS = 256


def main() -> None:
    """Prints a row for each goal and log."""
    epochs = int(sys.argv[1]) if len(sys.argv) > 1 else EPOCHS
    shown = [epoch for epoch in SHOWN if epoch <= epochs]
    titles = ["figure, goal", "log", *(f"epoch {epoch}" for epoch in shown), "SJF"]
    print_heading(*titles)
    for goal, figure in FIGURES.items():
        for name in CURVE_LOGS:
            curve, shortest_first = goal_curve(trace_of_log(name), goal, epochs)
            cells = [shown_cost(goal, curve[epoch]) for epoch in shown]
            print_cells(f"{figure}, {goal}", name, *cells, shown_cost(goal, shortest_first))


def goal_curve(trace: Trace, goal: str, epochs: int, trajectories: int = 100) -> tuple[dict[int, float], float]:
    """By epoch the mean cost on the windows that choose, and SJF's there."""
    task = PolicyTask(goal, "none", "requested", "rlscheduler", WINDOW_JOBS)
    setup = TrainingSetup.on_split(trace, task, published_split(trace.rows.height, WINDOW_JOBS))
    curve: dict[int, float] = {}

    def keep(report: EpochReport) -> None:
        if report.validation_cost is not None:
            curve[report.epoch] = report.validation_cost

    ppo = PPOOptions(epochs=epochs, reward="plain", baseline="critic", siblings=1, trajectories=trajectories)
    learn(setup.arena, setup.lessons, Recipe(start="nothing", cautious=False, ppo=ppo), 1, keep)
    return curve, float(setup.arena.costs("SJF", setup.lessons.validation).mean())


def shown_cost(goal: str, cost: float) -> str:
    """A cost as the metric, which is minus the cost of a utilisation."""
    if goal.startswith("utilisation"):
        return f"{-cost:.3f}"
    return f"{cost:,.0f}" if goal == "wait" else f"{cost:.1f}"


if __name__ == "__main__":
    main()
