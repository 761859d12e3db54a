"""What any repair step could gain, by trying every repair: `python -m papers.neural_annealing.best_repair`, three CPU-minutes.

The first table has single repairs of 300 test windows: the expected cost of one whose first nodes are drawn, and the cost of the best
one, which no network can beat. States are those after the sequential assignment and in the middle of a search. The second has whole
searches with repairs that are drawn or the best, among the first 100 idle nodes as in the paper. Windows are three epochs of 100 from an
empty cluster, and intervals resample blocks of ten. Costs are in the paper's unit, 1,000 a hop.

Repair steps that were trained have rows, too, on the tree that they were trained on: those of docs/results/repair-policies.tar.xz, or

    python -m papers.neural_annealing.best_repair --policies FILE,FILE

In a search a network draws the first nodes by its chances, or by chances that are nearer to equal: its logits times a factor.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from models.allocation.annealing import PAPERS_ANNEALING, PUBLISHED_ANNEALING, AnnealingRules, annealed_allocation
from models.allocation.neural.exact_repair import repair_values, repaired_costs
from models.allocation.neural.neural_annealing import NeuralAnnealer
from models.allocation.neural.repair_networks import repair_layers
from models.allocation.neural.repair_policy import RepairPolicy, repair_from_bytes
from models.allocation.neural.repairing import FEATURES, RepairBatch
from models.allocation.scas import scas_allocation
from models.allocation.window import Window
from models.scheduling.arena import Windows
from models.scheduling.comparison import paired_difference
from papers.kept_files import kept_archive, members_of
from papers.markdown import markdown
from papers.neural_annealing.protocol import HOP_COST
from papers.neural_annealing.study import SOFTER, TRAINED_CLUSTERS
from papers.neural_annealing.training import TEST_STREAM, RepairOptions, epoch_seed, epoch_windows

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

TEST_EPOCHS, BLOCK = 3, 10
"""Epochs of 100 windows, and windows that intervals resample together."""
MIDDLE = 250
"""Moves after which a search is in its middle."""
PLAYS = 20
"""Repairs of each state that a trained network draws."""
BEST_MOVES = (20, 100)
SEARCH_MOVES = 500
KEPT_REPAIRS = kept_archive("repair")
"""Repair steps that were trained, as `tracehouse place` takes them."""
COMPARED_SEARCHES = {"that undoes rejected moves": PAPERS_ANNEALING, "as published": PUBLISHED_ANNEALING}
Policies = dict[str, RepairPolicy]


def main() -> None:
    """Prints both tables."""
    parser = argparse.ArgumentParser(prog="python -m papers.neural_annealing.best_repair")
    parser.add_argument("--policies", default="", help="files of trained repair steps, separated by commas")
    parser.add_argument("--epochs", type=int, default=TEST_EPOCHS, help="epochs of 100 windows")
    arguments = parser.parse_args()
    files = {name: Path(name).read_bytes() for name in arguments.policies.split(",") if name}
    policies = policies_of(files or members_of(KEPT_REPAIRS))
    rows = [row for tree in TRAINED_CLUSTERS for row in single_repairs(tree, policies.get(tree, {}), arguments.epochs)]
    titles = ["tree", "before the repair", "repair", "cost", "below a random one", "95 %"]
    print(f"\na single repair\n\n{markdown(titles, rows)}", flush=True)
    rows = [row for tree in TRAINED_CLUSTERS for row in searches(tree, policies.get(tree, {}), arguments.epochs)]
    titles = ["tree", "search", "repairs", "moves", "cost of a window", "below random repairs", "95 %"]
    print(f"\nwhole searches\n\n{markdown(titles, rows)}", flush=True)


def policies_of(files: dict[str, bytes]) -> dict[str, Policies]:
    """By tree: trained repair steps by the names of their files."""
    policies: dict[str, Policies] = {}
    for name, content in files.items():
        policy, card = repair_from_bytes(content)
        policies.setdefault(card["tree"], {})[Path(name).stem] = policy
    return policies


def tested_windows(tree: str, epochs: int) -> list[tuple[IntArray, IntArray]]:
    """Idle nodes and sizes of windows that no training has."""
    cluster = TRAINED_CLUSTERS[tree]
    seeds = [epoch_seed(TEST_STREAM, epoch) for epoch in range(epochs)]
    return [window for seed in seeds for window in epoch_windows(cluster.tree, seed, cluster.most_jobs)]


def batch_of(tree: str, windows: list[tuple[IntArray, IntArray]]) -> RepairBatch:
    """Sequential assignments of windows."""
    cluster = TRAINED_CLUSTERS[tree]
    options = RepairOptions(integer=cluster.integer)
    batch = RepairBatch(options.problem(cluster.tree), windows, options.seen_nodes)
    batch.place_in_sequence()
    return batch


def single_repairs(tree: str, policies: Policies, epochs: int) -> list[list[str]]:
    """Rows of the first table."""
    rows = []
    for state in ("sequential", "in a search"):
        batch = batch_of(tree, tested_windows(tree, epochs))
        if state == "in a search":
            repaired_costs(batch, replace(PAPERS_ANNEALING, steps=MIDDLE), 1, best=False, begin=True)
        batch.destroy(np.random.default_rng(1), RepairOptions().most_removed)
        values = repair_values(batch)
        drawn = values.random
        costs = {"random": drawn}
        costs |= {name: played_costs(batch, policy) for name, policy in policies.items()}
        costs["the best"] = values.least
        rows += [[tree, state, name, *compared(cost, drawn)] for name, cost in costs.items()]
    return rows


def searches(tree: str, policies: Policies, epochs: int) -> list[list[str]]:
    """Rows of the second table."""
    windows, cluster = tested_windows(tree, epochs), TRAINED_CLUSTERS[tree]
    whole = [Window(cluster.tree, idle, sizes, cluster.integer) for idle, sizes in windows]
    rows = []
    for search, rules in COMPARED_SEARCHES.items():
        drawn = repaired_costs(batch_of(tree, windows), replace(rules, steps=SEARCH_MOVES), 1, best=False)
        costs: dict[tuple[str, str], FloatArray] = {("random", f"{SEARCH_MOVES}"): drawn}
        for name, policy in policies.items():
            for label, factor in ((name, 1.0), (f"{name}, softer", SOFTER)):
                annealer = NeuralAnnealer(policy.softened(factor), replace(rules, steps=SEARCH_MOVES))
                costs[label, f"{SEARCH_MOVES}"] = np.array(
                    [annealer.allocate(window, [1, seed]).cost for seed, window in enumerate(whole)]
                )
        for moves in BEST_MOVES:
            cheapest = repaired_costs(batch_of(tree, windows), replace(rules, steps=moves), 1, best=True)
            costs["the best", f"{moves}"] = cheapest
        if rules.undo:
            costs["random, all idle nodes", f"{SEARCH_MOVES}"] = everywhere(whole, rules)
            costs["none: SCAS, exact", ""] = np.array([scas_allocation(window).cost for window in whole])
        rows += [[tree, search, *names, *compared(cost, drawn)] for names, cost in costs.items()]
    return rows


def everywhere(windows: list[Window], rules: AnnealingRules) -> FloatArray:
    """Plain annealing, whose jobs may begin at any idle node."""
    rules = replace(rules, steps=SEARCH_MOVES)
    return np.array([annealed_allocation(window, rules, seed).cost for seed, window in enumerate(windows)])


def played_costs(batch: RepairBatch, policy: RepairPolicy) -> FloatArray:
    """Mean cost of what is left to place in each window, where the network draws the first nodes, (windows,)."""
    actor, rng = _actor_of(policy), np.random.default_rng(1)
    total = np.zeros(len(batch.jobs))
    for _ in range(PLAYS):
        playing = batch.rows(np.arange(len(batch.jobs)))
        while not playing.done:
            seen, choices = playing.look()
            rows = np.flatnonzero(choices)
            with torch.inference_mode():
                logits = actor(torch.from_numpy(seen[rows])).numpy()
            legal = np.arange(policy.seen_nodes) < choices[rows, None]
            action = np.zeros(len(choices), dtype=np.int64)
            action[rows] = np.where(legal, logits + rng.gumbel(size=logits.shape), -np.inf).argmax(axis=1)
            total -= playing.place(action)
    return total / PLAYS


def compared(cost: FloatArray, random: FloatArray) -> list[str]:
    """Mean cost, how much it is below that of random repairs, in percent, and the 95 % interval of that."""
    apart = paired_difference(random, cost, Windows(np.arange(len(cost), dtype=np.int64), BLOCK), 1)
    mean = [f"{HOP_COST * cost.mean():,.0f}"]
    if cost is random or apart.low is None or apart.high is None:
        return [*mean, "", ""]
    share = 100 / random.mean()
    return [*mean, f"{share * apart.mean:.1f} %", f"{share * apart.low:.1f} to {share * apart.high:.1f}"]


def _actor_of(policy: RepairPolicy) -> torch.nn.Sequential:
    actor = repair_layers(policy.network, FEATURES[policy.view], policy.seen_nodes, policy.seen_nodes)
    with torch.no_grad():
        for part, weights in zip(actor.parameters(), policy.weights, strict=True):
            part.copy_(torch.from_numpy(weights))
    return actor


if __name__ == "__main__":
    main()
