"""What an experiment of RLSchert's paper trains and on which sequences: its plan, before anything is computed.

Hyper-parameters of RLSchert's training. Every field says what it is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel, Field

from papers.rlschert.cluster import Setting
from papers.rlschert.rules import WIDEST, Sequences
from papers.rlschert.workload import Workload, draw_sequences

RLSCHERT_NETWORKS = ("facts", "image_mlp", "image_cnn")


class RLSchertOptions(BaseModel):
    """The defaults are ours. They reach the score of the paper's in a small part of the time. PAPER_OPTIONS: Table 4."""

    network: str = Field(
        default="facts",
        pattern="^(facts|image_mlp|image_cnn)$",
        description="facts: shared weights over what a scheduler needs to know. image_mlp, image_cnn: over the state image, as "
        "in the paper",
    )
    algorithm: str = Field(
        default="ppo",
        pattern="^(ppo|pg)$",
        description="ppo: clipped, several passes. pg: the plain policy gradient, one pass",
    )
    iterations: int = Field(
        default=150, ge=1, description="Iterations, each of which samples sequences and then passes over them"
    )
    sequences: int = Field(default=48, ge=1, description="Parallel simulators, one sequence each an iteration")
    pool: int = Field(default=256, ge=1, description="Training sequences, from which they are drawn")
    passes: int = Field(default=4, ge=1, description="Most passes over an iteration's decisions")
    minibatch: int = Field(default=2048, ge=1, description="Decisions in a gradient step")
    rate: float = Field(default=3e-3, gt=0, description="Adam learning rate")
    clip: float = Field(default=0.2, gt=0, description="Clip range of the probability ratio")
    kl_target: float = Field(default=0.01, gt=0, description="Passes stop at 1.5 times this approximate KL divergence")
    gamma: float = Field(
        default=0.99, gt=0, le=1, description="Discount of a unit of time. Actions that take no time are not discounted"
    )
    gae_lambda: float = Field(default=0.99, ge=0, le=1, description="Lambda of the advantages")
    value_weight: float = Field(default=0.25, ge=0, description="Weight of the value loss")
    entropy_weight: float = Field(default=0.02, ge=0, description="Weight of the entropy bonus")
    teacher_weight: float = Field(
        default=0.5, ge=0, description="Weight of the imitation loss at the beginning (equation 11)"
    )
    teacher_iterations: int = Field(default=40, ge=0, description="Iterations in which it falls to zero")
    averaging: float = Field(
        default=0.85,
        ge=0,
        lt=1,
        description="Share of the earlier iterations in the averaged weights that are tried and kept",
    )
    validate_every: int = Field(default=5, ge=1, description="Iterations from one validation to the next")
    max_actions: int = Field(default=3000, ge=100, description="Most actions in a sequence")
    true_lengths: bool = Field(
        default=False, description="Whether rewards divide by the real run time instead of the predicted one"
    )
    goal: str = Field(default="slowdown", pattern="^(slowdown|completion)$", description="What is made small")
    printed_reward: bool = Field(
        default=False,
        description="Whether a running job's reward divides by what it still needs, as equation 9 is printed",
    )
    falling: bool = Field(default=True, description="Whether learning rate and entropy bonus fall to a tenth")
    stop_each: str = Field(
        default="pass",
        pattern="^(pass|minibatch)$",
        description="After what the divergence is compared with its target. minibatch: also while a teacher is imitated",
    )
    largest_gradient: float = Field(default=1.0, ge=0, description="Norm to which gradients are clipped, 0 for any")
    critic_sees_future: bool = Field(
        default=True, description="Whether the value sees how much of a sequence is left, in training"
    )


PAPER_OPTIONS = RLSchertOptions(
    network="image_mlp",
    iterations=250,
    sequences=16,
    pool=16,
    passes=5,
    minibatch=128,
    rate=1e-4,
    gae_lambda=0.95,
    entropy_weight=0.02,
    averaging=0.0,
    printed_reward=True,
    falling=False,
    stop_each="minibatch",
    largest_gradient=0.0,
    critic_sees_future=False,
)
"""Table 4, equation 9 as printed, and algorithm 1, which trains on 16 sequences only. 250 iterations: section 4.3."""


# --- plan


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
