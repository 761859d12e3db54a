"""Neural Simulated Annealing beside plain annealing and the exact optimum: `python -m papers.neural_annealing.study`.

Trains networks of Table II, prints their learning curves (Figure 4), and then the comparison of Table III with CNN-3, or the last one. An
epoch has 100 windows from an empty cluster. Every solver gets the same window, and the cluster goes on with what Neural Simulated Annealing
chose. Costs are in the paper's unit, 1,000 a hop. Times are CPU time of this machine. "published" is the public code's search, which
never undoes a rejected move. "softer" draws by logits times a factor, "random" by equal chances, among the nodes that the network sees.

    python -m papers.neural_annealing.study --tree code --checkpoints FOLDER
    python -m papers.neural_annealing.study --tree paper --variants paper --networks CNN-3 --recipe siblings --epochs 2

What was trained is kept in FOLDER, and an interrupted run goes on from there. Each policy is written beside its checkpoint.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from models.allocation.annealing import PAPERS_ANNEALING, PUBLISHED_ANNEALING, AnnealingRules, annealed_allocation
from models.allocation.neural.neural_annealing import NeuralAnnealer
from models.allocation.neural.repair_networks import PRINTED_WEIGHTS, REPAIR_NETWORKS, counted_weights
from models.allocation.neural.repair_policy import RepairPolicy, repair_to_bytes
from models.allocation.neural.repairing import LARGEST_JOB
from models.allocation.scas import scas_allocation
from models.allocation.window import Allocation, Window, sequential_allocation
from papers.neural_annealing.protocol import HOP_COST
from papers.neural_annealing.training import (
    EPOCH_JOBS,
    TEST_STREAM,
    RepairOptions,
    RepairUpdate,
    epoch_seed,
    train_repair,
)
from simulator.topology.closed_loop import published_jobs, run_closed_loop, selecting
from simulator.topology.tree import SwitchTree, regular_tree

WINDOWS = 100
CALIBRATION_WINDOWS = 20
CALIBRATION_STEPS = 5000
CURVE_POINTS = 8
SOFTER = 0.05
"""Factor of logits, chosen on windows that no table has."""


class TrainedCluster(NamedTuple):
    """tree: of switches. integer: the public code's costs. most_jobs: in a window."""

    tree: SwitchTree
    integer: bool
    most_jobs: int | None


TRAINED_CLUSTERS = {
    "code": TrainedCluster(regular_tree((10, 4, 25), (1, 3, 5)), True, 5),
    "paper": TrainedCluster(regular_tree((10, 10, 10)), False, None),
}


class RepairRecipe(NamedTuple):
    """settings: of RepairOptions. train: as `train_repair`. share: as `curve_share`."""

    settings: dict[str, Any]
    train: Callable[..., Any]
    share: Callable[[list[Any]], float]


def curve_share(part: list[RepairUpdate]) -> float:
    """Cost over that of random first nodes, in a part of a training."""
    return sum(report.cost for report in part) / sum(report.random_cost for report in part)


RECIPES = {
    "published": RepairRecipe({}, train_repair, curve_share),
    "siblings": RepairRecipe(
        {"update_windows": 4, "window_episodes": 8, "siblings": 16, "passes": 20, "entropy_weight": 0.03},
        train_repair,
        curve_share,
    ),
}
"""By name. `python -m studies exact_repairs` has another one."""

Solver = Callable[[Window, list[int]], Allocation]


def main() -> None:
    """Trains what the folder lacks, and prints curves and Table III."""
    parser = argparse.ArgumentParser(prog="python -m papers.neural_annealing.study")
    add_training_options(parser)
    parser.add_argument("--variants", default="paper,code", help="what is trained, separated by commas")
    arguments = parser.parse_args()
    policies: dict[str, RepairPolicy] = {}
    for variant in arguments.variants.split(","):
        networks = arguments.networks.split(",")
        curves = {network: trained_network(arguments, variant, network) for network in networks}
        policies |= {f"{network}, {variant}": policy for network, (policy, _) in curves.items()}
        print_curves(variant, {network: curve for network, (_, curve) in curves.items()}, RECIPES[arguments.recipe])
    cluster = TRAINED_CLUSTERS[arguments.tree]
    judged = [name for name, policy in policies.items() if policy.network == "CNN-3"] or list(policies)[-1:]
    for name, policy in policies.items():
        if name in judged:
            print_table_3(
                f"{name}, {arguments.recipe} training, {arguments.tree}'s tree", cluster, policy, arguments.epochs
            )


def add_training_options(parser: argparse.ArgumentParser) -> None:
    """Which networks are trained, how, and on what; and how many epochs judge."""
    parser.add_argument("--tree", choices=list(TRAINED_CLUSTERS), default="code", help="cluster and costs")
    parser.add_argument("--networks", default=",".join(REPAIR_NETWORKS), help="networks of Table II")
    parser.add_argument("--recipe", choices=list(RECIPES), default="published", help="how they are trained")
    parser.add_argument("--updates", type=int, default=40, help="updates of each training")
    parser.add_argument("--epochs", type=int, default=10, help="epochs of 100 windows")
    parser.add_argument("--seed", type=int, default=1, help="of the trainings")
    parser.add_argument("--checkpoints", type=Path, help="folder of what was trained")


def trained_network(arguments: argparse.Namespace, variant: str, network: str) -> tuple[RepairPolicy, list[Any]]:
    """The policy and its curve, from the checkpoint where there is one. The policy becomes a file."""
    cluster, recipe = TRAINED_CLUSTERS[arguments.tree], RECIPES[arguments.recipe]
    settings = {"variant": variant, "network": network, "integer": cluster.integer, "updates": arguments.updates}
    options = RepairOptions(**settings, **recipe.settings)
    name = f"repair-{arguments.tree}-{variant}-{network}-{arguments.recipe}-{arguments.seed}"
    folder = arguments.checkpoints
    file = folder / f"{name}.pt" if folder else None
    began = time.process_time()
    trained = recipe.train(cluster.tree, options, arguments.seed, file)
    print(f"{name}: {len(trained.curve):,} updates, {time.process_time() - began:.0f} CPU-s now", flush=True)
    policy = RepairPolicy.of_actor(
        trained.network.actor, options.network, options.variant, options.seen_nodes, options.largest
    )
    if folder:
        card = {"tree": arguments.tree, "seed": arguments.seed, "options": options.model_dump()}
        (folder / f"{name}.json").write_bytes(repair_to_bytes(policy, card))
    return policy, trained.curve


def print_curves(variant: str, curves: dict[Any, list[Any]], recipe: RepairRecipe) -> None:
    """Figure 4: what an episode costs, as a share of what random first nodes cost in the same episodes."""
    features = 5 if variant == "code" else 4
    print(f"\ncost of an episode over that of random repairs, variant of the {variant}, by parts of the training\n")
    print(f"| network | weights | printed | {' | '.join(f'part {k + 1}' for k in range(CURVE_POINTS))} |")
    print(f"|---|---|---|{'---|' * CURVE_POINTS}")
    for network, curve in curves.items():
        parts = [part for part in np.array_split(np.arange(len(curve)), CURVE_POINTS) if len(part)]
        shares = [recipe.share([curve[k] for k in part]) for part in parts]
        counts = f"{counted_weights(network, features):,} | {PRINTED_WEIGHTS[network]:,}"
        print(f"| {network} | {counts} | {' | '.join(f'{share:.3f}' for share in shares)} |", flush=True)


def print_table_3(title: str, cluster: TrainedCluster, policy: RepairPolicy, epochs: int) -> None:
    """Mean cost of a window by epoch and solver, and CPU milliseconds of a window below."""
    solvers = {"Seq.": sequential, "learned-500": neural(policy, PAPERS_ANNEALING, 500)}
    equal = equal_steps(cluster, solvers["learned-500"])
    solvers |= {
        "SA-500": annealed(PAPERS_ANNEALING, 500),
        "SA-1000": annealed(PAPERS_ANNEALING, 1000),
        f"SA-{equal}": annealed(PAPERS_ANNEALING, equal),
        "learned-500 published": neural(policy, PUBLISHED_ANNEALING, 500),
        "SA-500 published": annealed(PUBLISHED_ANNEALING, 500),
        "SA-1000 published": annealed(PUBLISHED_ANNEALING, 1000),
        f"SA-{equal} published": annealed(PUBLISHED_ANNEALING, equal),
        "softer-500": neural(policy.softened(SOFTER), PAPERS_ANNEALING, 500),
        "random-500": annealed(replace(PAPERS_ANNEALING, entries=policy.seen_nodes), 500),
        "SCAS exact": exact,
    }
    print(f"\n{title}\n\n| epoch | {' | '.join(solvers)} |\n|---|{'---|' * len(solvers)}")
    rows = []
    for epoch in range(epochs):
        costs, times = run_epoch(cluster, solvers, "learned-500", epoch)
        rows.append((costs, times))
        print(f"| {epoch + 1} | {' | '.join(f'{HOP_COST * cost:,.0f}' for cost in costs)} |", flush=True)
    costs, times = (np.mean([row[part] for row in rows], axis=0) for part in (0, 1))
    print(f"| mean | {' | '.join(f'{HOP_COST * cost:,.1f}' for cost in costs)} |")
    print(f"| CPU ms | {' | '.join(f'{1000 * seconds:.2f}' for seconds in times)} |")
    names = list(solvers)
    for kind in ("", " published"):
        ours = names.index(f"learned-500{kind}")
        for rival in (
            f"SA-500{kind}",
            f"SA-1000{kind}",
            f"SA-{equal}{kind}",
            "SCAS exact",
            *(["softer-500", "random-500"] if not kind else []),
        ):
            other = names.index(rival)
            gains = [1 - row[0][ours] / row[0][other] for row in rows]
            print(f"learned-500{kind} is {100 * np.mean(gains):+.2f} % below {rival}, mean over epochs")


def run_epoch(
    cluster: TrainedCluster, solvers: dict[str, Solver], lead: str, epoch: int, count: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Mean cost and CPU seconds of a window, one of each solver. The cluster goes on with what `lead` chose.

    count: windows; the others of the epoch are not measured.
    """
    costs: list[list[float]] = []
    seconds: list[list[float]] = []

    def solve(idle: np.ndarray, sizes: np.ndarray) -> list[np.ndarray]:
        window = Window(cluster.tree, idle, sizes, cluster.integer)
        if len(costs) == (count or WINDOWS):
            return list(sequential_allocation(window).nodes)
        costs.append([])
        seconds.append([])
        for name, solver in solvers.items():
            began = time.process_time()
            allocation = solver(window, [epoch, len(costs)])
            seconds[-1].append(time.process_time() - began)
            costs[-1].append(allocation.cost)
            if name == lead:
                chosen = list(allocation.nodes)
        return chosen

    jobs = published_jobs(EPOCH_JOBS, epoch_seed(TEST_STREAM, epoch), (1, LARGEST_JOB))
    run_closed_loop(cluster.tree, jobs, selecting(solve, cluster.most_jobs))
    return np.mean(costs, axis=0), np.mean(seconds, axis=0)


def equal_steps(cluster: TrainedCluster, solver: Solver) -> int:
    """Moves that plain annealing makes in the CPU time of this solver."""
    solvers = {"rival": solver, "SA": annealed(PAPERS_ANNEALING, CALIBRATION_STEPS)}
    for _ in range(2):  # the first time compiles
        _, seconds = run_epoch(cluster, solvers, "SA", 0, CALIBRATION_WINDOWS)
    return int(round(CALIBRATION_STEPS * seconds[0] / seconds[1], -2))


def annealed(rules: AnnealingRules, steps: int) -> Solver:
    """Plain annealing. Its seed is made of the epoch and the window."""
    rules = replace(rules, steps=steps)
    return lambda window, seed: annealed_allocation(window, rules, seed[0] * WINDOWS + seed[1])


def neural(policy: RepairPolicy, rules: AnnealingRules, steps: int) -> Solver:
    """Neural Simulated Annealing."""
    return NeuralAnnealer(policy, replace(rules, steps=steps)).allocate


def sequential(window: Window, _: list[int]) -> Allocation:
    """The first solution of all searches."""
    return sequential_allocation(window)


def exact(window: Window, _: list[int]) -> Allocation:
    """The optimum of static continuity assignment."""
    return scas_allocation(window)


if __name__ == "__main__":
    main()
