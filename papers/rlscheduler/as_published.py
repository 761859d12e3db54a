"""RLScheduler trained with its own settings, from nothing, on the jobs that its tables judge: `python -m papers.rlscheduler.as_published`.

Prints the column RL of Tables V, VI, VII, X and XI, and Figures 8 to 13, from the policies and curves of
docs/results/rlscheduler-policies.tar.xz. The first 22 were trained on an NVIDIA H100, in 73 minutes of CPU time. Each policy is replayed
again. The windows that judge are among those that policies have learned from, as in the paper. So this shows what the paper's training
does, and not what a policy is worth on later jobs.
`python -m studies rlscheduler_train` trains them. Curves end where a training was stopped.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np

from assets.policies.held_out import RANDOM, random_costs
from assets.policies.training import PolicyTask, arena_of_task
from models.scheduling.arena import Arena
from models.scheduling.policy_file import policy_from_bytes
from papers.archive import trace_of_log
from papers.kept_files import kept_archive, members_of
from papers.markdown import print_cells, print_heading
from papers.rlscheduler.study import GOALS, PAPER_LOGS, PAPER_RL, PAPER_TRANSFER
from papers.rlscheduler.ten_windows import BACKFILLINGS, PUBLISHED_HEURISTICS, PUBLISHED_JOBS, published_split
from simulator.policies.network import KernelWeights

KEPT_TRAININGS = kept_archive("rlscheduler")
CURVE_FILE, NETWORK_FILE = "curves.csv", "networks.csv"
"""Members of KEPT_TRAININGS: training, epoch, cost of the sampled windows and of those that choose. networks.csv has those of Figure 8.
All others are policy files."""
TRAINED_SEEDS = {"bsld": [1, 2], "utilisation_as_coded": [1, 2], "slowdown": [1], "wait": [1]}
"""By goal."""
SHOWN_EPOCHS = (1, 2, 5, 10, 20, 40, 60, 80, 100)
PAPER_TITLES = {goal: title for title, (goal, _) in GOALS.items()}
"""By goal: the paper's table, as GOALS calls it."""


class PublishedTraining(NamedTuple):
    """A training of the paper's. filtered: with the trajectory filter, which bounded slowdown alone has."""

    log: str
    goal: str
    filtered: bool
    seed: int

    @property
    def name(self) -> str:
        """Of its files."""
        return f"{self.log.lower()}-{self.goal}-{'filter' if self.filtered else 'plain'}-{self.seed}"


PUBLISHED_TRAININGS = tuple(
    PublishedTraining(log, goal, filtered, seed)
    for goal, seeds in TRAINED_SEEDS.items()
    for log in PAPER_LOGS
    for filtered in ((False, True) if goal == "bsld" else (False,))
    for seed in seeds
)


@cache
def arena_of(log: str, goal: str, backfill: str) -> Arena:
    """The first 10,000 jobs of a log, by the rules of that code."""
    arena = arena_of_task(trace_of_log(log), PolicyTask(goal, backfill, "requested", "rlscheduler", 256))
    return replace(arena, jobs=arena.jobs.window(0, PUBLISHED_JOBS))


def judged_cost(members: dict[str, bytes], training: PublishedTraining, which: str, backfill: str) -> float:
    """What a kept policy costs there."""
    return mean_cost(training.log, training.goal, backfill, kept_weights(members, training, which))


def kept_weights(members: dict[str, bytes], training: PublishedTraining, which: str) -> KernelWeights:
    """A kept policy. which: last or best, of its epochs."""
    return policy_from_bytes(members[f"{training.name}-{which}.json"])[0]


def mean_cost(log: str, goal: str, backfill: str, policy: str | KernelWeights) -> float:
    """The mean of the goal over the ten windows, of any policy, or of RANDOM ones. Utilisation is positive."""
    arena, windows = arena_of(log, goal, backfill), published_split(PUBLISHED_JOBS, 256, seen=True).judge
    costs = random_costs(arena, windows) if policy == RANDOM else arena.costs(policy, windows)
    return abs(float(costs.mean())) if goal.startswith("utilisation") else float(costs.mean())


def rival_cells(log: str, goal: str, backfill: str) -> tuple[str, str]:
    """Over the ten windows: the best heuristic, as its mean and its name, and the mean of random orders."""
    digits = GOALS[PAPER_TITLES[goal]][1]
    rules = {name: mean_cost(log, goal, backfill, name) for name in PUBLISHED_HEURISTICS}
    best = (max if goal.startswith("utilisation") else min)(rules, key=lambda name: rules[name])
    return f"{rules[best]:{digits}} ({best})", f"{mean_cost(log, goal, backfill, RANDOM):{digits}}"


def log_rows(members: dict[str, bytes], goal: str, log: str) -> Iterator[list[str]]:
    """The rows of one log of Table V, VI, X or XI."""
    title = PAPER_TITLES[goal]
    digits = GOALS[title][1]
    place = PAPER_LOGS.index(log)
    yield [log, "RL, as published", *(PAPER_RL[title, backfill][place] for backfill in BACKFILLINGS)]
    rivals = [rival_cells(log, goal, backfill) for backfill in BACKFILLINGS]
    yield [log, "best rule", *(rule for rule, _ in rivals)]
    yield [log, RANDOM, *(random for _, random in rivals)]
    for filtered in sorted({each.filtered for each in PUBLISHED_TRAININGS if (each.log, each.goal) == (log, goal)}):
        for which in ("last", "best"):
            cells = [
                ", ".join(
                    f"{judged_cost(members, PublishedTraining(log, goal, filtered, seed), which, backfill):{digits}}"
                    for seed in TRAINED_SEEDS[goal]
                )
                for backfill in BACKFILLINGS
            ]
            yield [log, f"ours, {'with' if filtered else 'without'} the filter, {which} epoch", *cells]


def beside_paper(rows: list[list[str]]) -> Iterator[list[str]]:
    """For each log and backfilling rule of `log_rows`: the paper, the best rule, random orders, and the least and most of our trainings at
    their last and at their best epoch."""
    for log in dict.fromkeys(row[0] for row in rows):
        for column, backfill in enumerate(BACKFILLINGS, start=2):
            cells = {row[1]: row[column] for row in rows if row[0] == log}
            ours = [
                sorted((cost for name in cells if name.endswith(end) for cost in cells[name].split(", ")), key=float)
                for end in ("last epoch", "best epoch")
            ]
            yield [
                log,
                backfill,
                cells["RL, as published"],
                cells["best rule"],
                cells[RANDOM],
                *(f"{of[0]} to {of[-1]}" for of in ours),
            ]


def transfer_rows(members: dict[str, bytes]) -> Iterator[list[str]]:
    """Table VII: policies for bounded slowdown on every log, the least and the most of the trainings on one log at their last epoch,
    beside the best heuristic and random orders."""
    for log, backfill in product(PAPER_LOGS, BACKFILLINGS):
        rivals = rival_cells(log, "bsld", backfill)
        for place, learned_from in enumerate(PAPER_LOGS):
            trainings = [each for each in PUBLISHED_TRAININGS if (each.log, each.goal) == (learned_from, "bsld")]
            ours = sorted(
                mean_cost(log, "bsld", backfill, kept_weights(members, training, "last")) for training in trainings
            )
            yield [
                log,
                backfill,
                learned_from,
                PAPER_TRANSFER[log, backfill][place],
                f"{ours[0]:.2f} to {ours[-1]:.2f}",
                *rivals,
            ]


def epoch_rows(text: str) -> dict[str, list[str]]:
    """By what was trained: the mean cost over its seeds at SHOWN_EPOCHS, a hyphen where it was not trained so far."""
    costs: dict[str, dict[int, list[float]]] = {}
    for name, epoch, _, cost in csv.reader(io.StringIO(text)):
        costs.setdefault(name.rpartition("-")[0], {}).setdefault(int(epoch), []).append(abs(float(cost)))
    return {
        name: [f"{np.mean(of[epoch]):.4g}" if epoch in of else "-" for epoch in SHOWN_EPOCHS]
        for name, of in costs.items()
    }


def costs_beside(training: PublishedTraining) -> tuple[str, str]:
    """On the windows of a training's curve: the heuristic that costs least, with its cost, and what random orders cost."""
    arena = arena_of(training.log, training.goal, "none")
    windows = published_split(PUBLISHED_JOBS, 256, seen=True).lessons(arena).validation
    costs = {name: float(arena.costs(name, windows).mean()) for name in PUBLISHED_HEURISTICS}
    best = min(costs, key=lambda name: costs[name])
    return f"{abs(costs[best]):.4g} ({best})", f"{abs(random_costs(arena, windows).mean()):.4g}"


def print_figures(members: dict[str, bytes]) -> None:
    """Figures 9 to 13, with the best heuristic and random orders on the same windows, and Figure 8."""
    print("\ntraining curves\n")
    print_heading("training", *(f"epoch {epoch}" for epoch in SHOWN_EPOCHS), "best rule", RANDOM)
    trained = {each.name.rpartition("-")[0]: each for each in PUBLISHED_TRAININGS}
    for name, cells in epoch_rows(members[CURVE_FILE].decode()).items():
        print_cells(name, *cells, *costs_beside(trained[name]))
    print("\nnetworks (Figure 8)\n")
    print_heading("training", *(f"epoch {epoch}" for epoch in SHOWN_EPOCHS))
    for name, cells in epoch_rows(members[NETWORK_FILE].decode()).items():
        print_cells(name, *cells)


def main() -> None:
    """Prints the tables."""
    members = members_of(KEPT_TRAININGS)
    for goal, seeds in TRAINED_SEEDS.items():
        print(f"\n{PAPER_TITLES[goal]}\n")
        print_heading(
            "log", f"policy, {'seeds' if seeds[1:] else 'seed'} {' and '.join(map(str, seeds))}", *BACKFILLINGS
        )
        rows = []
        for log in PAPER_LOGS:
            for row in log_rows(members, goal, log):
                print_cells(*row)
                rows.append(row)
        if goal == "bsld":
            print("\nbeside the paper\n")
            print_heading(
                "log", "backfilling", "RL, as published", "best rule", RANDOM, "our trainings, last epoch", "best epoch"
            )
            for row in beside_paper(rows):
                print_cells(*row)
    print("\ntransfer (VII)\n")
    ours = "our trainings, last epoch"
    print_heading("log", "backfilling", "learned from", "RL, as published", ours, "best rule", RANDOM)
    for row in transfer_rows(members):
        print_cells(*row)
    print_figures(members)


if __name__ == "__main__":
    main()
