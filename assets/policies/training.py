"""What a policy is trained for, on which windows, and what is written of it.

The nightly asset, the experiments and `tracehouse train` all train through TrainingSetup. They differ in their windows and in
which facts stand on the card of a policy.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from assets.common.storage import store_model
from assets.common.trace import Trace, trace_sha256
from assets.common.writing.outputs import write_output
from assets.policies import plots
from models.runtime.estimates import AS_LOGGED, Estimates
from models.scheduling.arena import Arena, Windows
from models.scheduling.goals import parse_goal
from models.scheduling.learning.ppo import train_by_ppo
from models.scheduling.learning.recipes import PPOTraining
from models.scheduling.learning.training import EpochReport, Lessons
from models.scheduling.learning.training_run import JudgedPolicy, Split, TrainingRun
from models.scheduling.options import PolicyRules, Recipe
from models.scheduling.policy_file import policy_to_bytes
from simulator.policies.agents import parse_agent
from simulator.policies.network import KernelWeights
from simulator.policies.registry import Policy
from simulator.published import INSPECTED_BASES, paper_part

LEAST_TRAINING_JOBS = 300


@dataclass(frozen=True)
class PolicyTask:
    """What is trained for. estimates: run times that the scheduler uses, as in assets.replaying.running.settings. agent: what a network
    decides, as simulator.policies.agents.parse_agent reads it, None for the order of the queue. base: the policy beside which an agent
    decides. cluster: on whose nodes, under whose Slurm. None for a row of processors."""

    goal: str = "bsld"
    backfill: str = "easy"
    estimates: str = "requested"
    rules: PolicyRules = "standard"
    window_jobs: int = 512
    agent: str | None = None
    base: str = "FCFS"
    cluster: str | None = None


def arena_of_task(trace: Trace, task: PolicyTask) -> Arena:
    """The trace as a place to train and compare policies in. Raises ValueError, with the remedy, for a task that cannot be."""

    estimates, rows = Estimates.parse(task.estimates), trace.rows
    if estimates.is_live:
        raise ValueError(
            "networks read estimates at submission and cannot follow live ones: train with --estimates predicted"
        )
    if task.rules == "rlscheduler":
        if estimates.kind != "requested" or task.backfill not in ("none", "easy"):
            raise ValueError(
                "the RLScheduler rules know requested times only, and the backfilling none or easy (their own): leave "
                "--estimates out and choose one of these, or train with --rules standard"
            )
        estimates, rows = AS_LOGGED, rows.with_columns(procs=pl.max_horizontal("procs", "requested_procs"))
    agent = None if task.agent is None else parse_agent(task.agent)
    goal = parse_goal(task.goal)
    jobs = trace.jobs_of(rows, estimates)
    base: str | Policy = task.base
    if task.rules == "rlscheduler" and agent is not None:
        base = paper_part(INSPECTED_BASES).inspector_base(task.base)
    return Arena(jobs, trace.cluster_procs, goal, task.backfill, task.rules, agent=agent, base=base)


def split_of(trace: Trace, window_jobs: int, least_jobs: int = LEAST_TRAINING_JOBS) -> Split:
    """The trace cut by submission into jobs to learn from, to choose by, to confirm the choice, and to judge by.

    Where run-time models have their test part earlier than usual, what is open to training ends there, too. Raises ValueError for a trace
    with fewer jobs than the least.
    """
    jobs = trace.rows.height
    if jobs < least_jobs:
        raise ValueError(f"{trace.source}: {jobs} jobs are too few to train on, at least {least_jobs} are needed")
    return Split.by_shares(jobs, window_jobs, trace.test_position)


@dataclass(frozen=True)
class TrainingSetup:
    """What a training run is given. trained_jobs: jobs of the trace before this position were open to it."""

    trace: Trace
    task: PolicyTask
    arena: Arena
    lessons: Lessons
    judging: Windows
    trained_jobs: int

    @classmethod
    def on_split(cls, trace: Trace, task: PolicyTask, split: Split, arena: Arena | None = None) -> TrainingSetup:
        """The setup on the windows of a split. arena: of the task, where it has a cluster. Raises ValueError as `arena_of_task` does."""
        arena = arena or arena_of_task(trace, task)
        if task.rules != "standard":
            split = replace(split, after=None)  # that code's windows begin on an empty cluster
        return cls(trace, task, arena, split.lessons(arena), split.judge, split.trained_jobs)

    def train(
        self,
        recipe: Recipe,
        seeds: Sequence[int],
        on_epoch: Callable[[int, EpochReport], None] = lambda seed, report: None,
        checkpoint_of: Callable[[int], Path | None] = lambda seed: None,
        by_ppo: PPOTraining = train_by_ppo,
        side_by_side: bool = False,
    ) -> Iterator[JudgedPolicy]:
        """A policy per seed; see models.scheduling.learning.training_run.TrainingRun."""
        checkpoints = {seed: checkpoint_of(seed) for seed in seeds}
        run = TrainingRun(self.arena, self.lessons, self.judging, recipe, checkpoints, by_ppo)
        return run.train_seeds(seeds, on_epoch, side_by_side)

    def card(self, policy: JudgedPolicy, names: Sequence[str], /, **others: Any) -> dict[str, Any]:
        """What a policy file says of itself: the facts `names`, in this order. others: facts that only the caller knows."""
        recipe, trained = policy.recipe, policy.trained
        facts = {
            "source": self.trace.source,
            "cluster_procs": self.trace.cluster_procs,
            "goal": self.task.goal,
            "backfill": self.task.backfill,
            "estimates": self.task.estimates,
            "rules": self.task.rules,
            "agent": self.task.agent,
            "base": self.task.base,
            "cluster": self.task.cluster,
            "window_jobs": self.lessons.windows.jobs,
            "trained_jobs": self.trained_jobs,
            "seed": policy.seed,
            "method": recipe.method,
            "layout": recipe.ppo.layout,
            "epochs": recipe.epochs,
            "best_epoch": trained.best_epoch,
            "validation_cost": trained.validation_cost,
            "parameters": trained.parameters,
        }
        if "trace_sha256" in names:
            facts["trace_sha256"] = trace_sha256(self.trace.rows)
        return {name: (facts | others)[name] for name in names}


def store_policy(
    source: str, name: str, weights: KernelWeights, card: dict[str, Any], agent: str | None = None
) -> dict[str, str]:
    """Writes a policy file with its card, or an agent's. Returns `file` and `sha256`, as the warehouse names it."""
    file, digest = store_model(source, name, policy_to_bytes(weights, card, agent))
    return {"file": file, "sha256": digest}


def draw_training(path: Path, curves: list[dict[str, Any]], goal: str) -> None:
    """The training curves so far (rows of policies.training_curve) as a PNG file that is never half written."""
    picture = io.BytesIO()
    rows = pl.DataFrame(curves, infer_schema_length=None)
    plots.training_curve(rows, goal=goal).savefig(picture, format="png", dpi=120)
    write_output(path, picture.getvalue())
