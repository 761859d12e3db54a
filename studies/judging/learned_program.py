"""Does a network add anything to the program that it starts from? `python -m studies learned_program`.

The kernel network starts as `searched:balanced`, reads what that reads, and may leave it within its cap. It learns from the first 30 %
of a log, by PPO and by evolution strategies. The next jobs choose the epoch, and the second half judges it over the program. Other orders
and random ones are next to the program in `learned_on_all`. With `tried` it prints what settings cost on the jobs that choose.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

import numpy as np

from assets.policies.training import PolicyTask, TrainingSetup, split_of
from models.judging.chance import ChanceCloud, RandomOrder
from models.judging.judge import Judgement, beside_cloud, judge
from models.scheduling.learning.recipes import is_confirmed, starting_weights
from models.scheduling.learning.training import TrainedPolicy
from models.scheduling.options import LearningMethod, PPOOptions, Recipe
from papers.markdown import print_cells, print_heading
from simulator.policies.network import CAP_S, KernelWeights
from studies.judging.searched import TITLES, panel_ratios
from studies.judging.searched_logs import LEARNED_FROM, whole_trace
from studies.judging.verdicts import shown

PROGRAM = "searched:balanced"
SEEDS = (1, 2, 3, 4, 5)
METHODS: tuple[LearningMethod, ...] = ("ppo", "evolution")
RATE = 1e-2
"""Of PPO. The jobs that choose the epoch chose it."""
RATES = (1e-2, 3e-3, 1e-3)
RIVALS = ("searched:fast", "SAF", "SJF", "WFP3", "FCFS")
RANDOM_ORDERS = 20


def recipe(method: LearningMethod, rate: float = RATE) -> Recipe:
    """What is learned is judged, whether or not later jobs confirm it."""
    return Recipe(method=method, start="program", ppo=PPOOptions(layout="program", policy_rate=rate), cautious=False)


def setup_of(log: str) -> TrainingSetup:
    """The split of `tracehouse train`."""
    trace, task = whole_trace(log), PolicyTask()
    return TrainingSetup.on_split(trace, task, split_of(trace, task.window_jobs))


def rows_of(
    setup: TrainingSetup, trained: Mapping[int, TrainedPolicy], cloud: ChanceCloud | None = None
) -> Iterator[list[str]]:
    """Cells of a row for each seed, and of one for all of them together: ratios over the program on the second half.

    cloud: as in `_cells`.
    """
    arena, scored = setup.arena, setup.judging.scored
    theirs = arena.replayed(PROGRAM, scored)
    ours = {seed: arena.replayed(policy.weights, scored) for seed, policy in trained.items()}
    for seed, policy in trained.items():
        confirmed = "yes" if _is_confirmed(setup, policy.weights) else "no"
        judgement = judge([ours[seed]], [theirs])
        yield [f"{seed}", f"{policy.best_epoch}", confirmed, *_cells(judgement, shown(judgement.wait), cloud)]
    yield ["all", "", "", *_cells(judge(list(ours.values()), [theirs] * len(ours)), "", cloud)]


def rival_rows(setup: TrainingSetup, cloud: ChanceCloud) -> Iterator[list[str]]:
    """The same of orders that learn nothing, over the program, and of random orders within its cap in the mean."""
    arena, scored = setup.arena, setup.judging.scored
    theirs = arena.replayed(PROGRAM, scored)
    for name in RIVALS:
        judgement = judge([arena.replayed(name, scored)], [theirs])
        yield [name, "", "", *_cells(judgement, shown(judgement.wait), cloud)]
    lots = [arena.replayed(RandomOrder(CAP_S, seed).policy, scored) for seed in range(RANDOM_ORDERS)]
    yield [f"{RANDOM_ORDERS} random orders", "", "", *_cells(judge(lots, [theirs] * len(lots)), "", None), ""]


def _cells(judgement: Judgement, block: str, cloud: ChanceCloud | None) -> list[str]:
    """Both averages and the guard that grows most, in the mean over the replays, the verdict, and the typical block.

    cloud: of the program. With it, the share of its orders that are as good, as of the worst replay, which the verdict then heeds.
    """
    judgement = judgement if cloud is None else beside_cloud(judgement, cloud)
    verdict = judgement.verdict
    ratios = np.array([panel_ratios(each) for each in verdict.ratios])
    slowdown, wait, *guards = np.exp(np.log(ratios).mean(axis=0))
    worst = int(np.argmax(guards))
    cells = [f"{slowdown:.2f}", f"{wait:.2f}", f"{guards[worst]:.2f} ({TITLES[2 + worst]})", str(verdict), block]
    return cells if cloud is None else [*cells, f"{verdict.share_as_good:.1%}"]


def _is_confirmed(setup: TrainingSetup, weights: KernelWeights) -> bool:
    """Whether `tracehouse train` would keep it in the place of the program."""
    start = starting_weights(setup.arena, setup.lessons, recipe("ppo"), 1)
    assert start is not None
    return is_confirmed(setup.arena, setup.lessons, recipe("ppo"), weights, start)


def print_tried() -> None:
    """The mean cost of each setting on the windows that choose, next to the program's."""
    setups = {log: setup_of(log) for log in LEARNED_FROM}
    print_heading("setting", *setups)
    tried = {f"ppo, rate {rate:g}": recipe("ppo", rate) for rate in RATES} | {"evolution": recipe("evolution")}
    for name, each in tried.items():
        costs = []
        for setup in setups.values():
            policies = setup.train(each, SEEDS[:3], side_by_side=True)
            costs.append(np.mean([policy.trained.validation_cost for policy in policies]))
        print_cells(name, *(f"{cost:.1f}" for cost in costs))
    programs = [setup.arena.costs(PROGRAM, setup.lessons.validation).mean() for setup in setups.values()]
    print_cells("the program", *(f"{cost:.1f}" for cost in programs))


def main() -> None:
    """Prints the tables."""
    if sys.argv[1:] == ["tried"]:
        print_tried()
        return
    for log in LEARNED_FROM:
        setup = setup_of(log)
        print(f"\n{log}\n")
        titles = ["method", "seed", "best epoch", "confirmed", "bounded slowdown", "mean wait", "worst guard"]
        print_heading(*titles, "verdict", "typical block: wait")
        for method in METHODS:
            policies = setup.train(recipe(method), SEEDS, side_by_side=True)
            for row in rows_of(setup, {policy.seed: policy.trained for policy in policies}):
                print_cells(method, *row)


if __name__ == "__main__":
    main()
