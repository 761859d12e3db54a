"""What an experiment of RLSchert's paper trains and on which sequences: its plan, before anything is computed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from papers.rlschert.cluster import Setting
from papers.rlschert.options import PAPER_OPTIONS, RLSchertOptions
from papers.rlschert.rules import WIDEST, Sequences
from papers.rlschert.workload import Workload, draw_sequences

Scheduler = tuple[str, str]
"""Name of a scheduler, and how it kills: none, rule, learned or stopping."""
TRAINED: dict[Scheduler, dict[str, Any]] = {
    ("DeepRM", "none"): {"with_remaining": False},
    ("RLSchert", "none"): {},
    ("RLSchert", "rule"): {"kill_by_rule": True},
    ("RLSchert", "learned"): {},
}
"""Schedulers that learn, and their cluster. RLSchert without killing is the teacher of the last."""
NETWORKS_TRIED = (("image_mlp", "pg"), ("image_cnn", "ppo"), ("image_mlp", "ppo"))
"""Table 3: network and algorithm."""
POOL_SEED, VALIDATION_SEED, TEST_SEED, SWEEP_SEED = 1, 2, 3, 4
VALIDATION_SEQUENCES = 32


@dataclass(frozen=True)
class RLSchertPlan:
    """Settings of the experiment. docs/reference/rlschert.md explains each table and figure.

    workload: of the training and of the main trials. options: of training. procs: of the cluster. test_sequences: how many
    judge. completion_seeds: how many of the seeds also train for completion time. network_iterations: of the networks of Table 3,
    0 for none. job_rates, cluster_sizes, predictable_shares: varied without training again. other_error: of predictions
    for the half of the jobs of Table 11 that are not VASP. preemption_cost: of the cluster that trains and tries.
    preemption_costs: tried without training again. stop_within, stop_ratio: of the stopping rule. Costs and stop_within in units.
    Raises ValueError for settings that make no sense, before hours of training.
    """

    workload: Workload
    options: RLSchertOptions
    seeds: tuple[int, ...]
    procs: int
    test_sequences: int
    completion_seeds: int
    network_iterations: int
    job_rates: tuple[float, ...]
    cluster_sizes: tuple[int, ...]
    predictable_shares: tuple[float, ...]
    other_error: float
    preemption_cost: int = 0
    preemption_costs: tuple[int, ...] = ()
    stop_within: int = 5
    stop_ratio: float = 3.0

    def __post_init__(self) -> None:
        if self.options.goal != "slowdown":
            raise ValueError(
                "training.goal: policies are trained for slowdown, and for completion with completion_seeds"
            )
        if self.options.network != "facts" and any(size != self.procs for size in self.cluster_sizes):
            raise ValueError(
                "cluster_sizes: a network over state images fits one cluster size only, so give [] or [procs]"
            )
        if any(size < WIDEST for size in self.cluster_sizes):
            raise ValueError(f"cluster_sizes: jobs have up to {WIDEST} processors, got {list(self.cluster_sizes)}")
        if self.stop_within < 1:
            raise ValueError(f"stop_within: the stopping rule needs at least 1 unit, got {self.stop_within}")
        Setting(stop_ratio=self.stop_ratio, preemption_cost=min(self.preemption_cost, *self.preemption_costs, 0))
        for rate in self.job_rates:
            replace(self.workload, job_rate=rate)
        for share in self.predictable_shares:
            replace(self.workload, predictable_share=share)

    def pool(self) -> Sequences:
        """The sequences that training draws from."""
        return draw_sequences(self.workload, self.options.pool, POOL_SEED)

    def test(self) -> Sequences:
        """The sequences that judge. Their jobs are held out from training."""
        return draw_sequences(self.workload, self.test_sequences, TEST_SEED)


@dataclass(frozen=True)
class LadderTask:
    """What one process trains, one after the other: schedulers with their clusters, with one seed."""

    experiment: str
    pool: Sequences
    validation: Sequences
    settings: dict[Scheduler, Setting]
    options: RLSchertOptions
    seed: int


def ladder_tasks(plan: RLSchertPlan) -> list[LadderTask]:
    """Every scheduler with every seed.

    Where the plan asks for them, also those of Table 8, trained for completion time, and the networks of Table 3 on state
    images, with Table 4's settings.
    """
    pool, validation = plan.pool(), draw_sequences(plan.workload, VALIDATION_SEQUENCES, VALIDATION_SEED)

    def task(
        experiment: str, rules: dict[Scheduler, dict[str, Any]], options: RLSchertOptions, seed: int
    ) -> LadderTask:
        settings = {
            scheduler: Setting(
                procs=plan.procs,
                goal=options.goal,
                true_lengths=options.true_lengths,
                printed_reward=options.printed_reward,
                preemption_cost=plan.preemption_cost,
                **rule,
            )
            for scheduler, rule in rules.items()
        }
        return LadderTask(experiment, pool, validation, settings, options, seed)

    tasks = [task("main", TRAINED, plan.options, seed) for seed in plan.seeds]
    for_completion = plan.options.model_copy(update={"goal": "completion"})
    tasks += [task("completion", TRAINED, for_completion, seed) for seed in plan.seeds[: plan.completion_seeds]]
    for network, algorithm in NETWORKS_TRIED if plan.network_iterations else ():
        changed = {"network": network, "algorithm": algorithm, "iterations": plan.network_iterations}
        options = PAPER_OPTIONS.model_copy(update=changed | {"max_actions": plan.options.max_actions})
        tasks += [task("networks", {(f"{algorithm}_{network}", "none"): {}}, options, seed) for seed in plan.seeds]
    return tasks


def count_iterations(tasks: list[LadderTask]) -> int:
    """Iterations of training, in all."""
    return sum(task.options.iterations * len(task.settings) for task in tasks)
