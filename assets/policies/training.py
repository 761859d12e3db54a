"""What a policy is trained for, on which windows, and what it is worth: pipeline, experiments and `tracehouse train` alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from assets.common.storage import write_whole
from assets.common.trace import Trace, trace_sha256
from assets.policies import plots
from models.runtime.estimates import AS_LOGGED, Estimates
from models.scheduling.arena import Arena, Windows
from models.scheduling.comparison import Difference, compare
from models.scheduling.goals import parse_goal
from models.scheduling.learning.recipes import learn
from models.scheduling.learning.training import EpochReport, Lessons, TrainedPolicy
from models.scheduling.options import Recipe
from models.scheduling.trajectory_filter import filter_trajectories

TRAIN_SHARE, CHOOSE_SHARE = 0.35, 0.15
"""Shares of the jobs, by submission, that are learned from, and that choose; the rest judges."""
CHOOSING_WINDOWS = 100
LEAST_JOBS = 300


@dataclass(frozen=True)
class Task:
    """What is trained for. rules: standard or rlscheduler."""

    goal: str = "bsld"
    backfill: str = "easy"
    estimates: str = "requested"
    rules: str = "standard"
    window_jobs: int = 256


@dataclass(frozen=True)
class Split:
    """Windows to learn from, to choose by and to judge by, in this order in time."""

    learn: Windows
    choose: Windows
    judge: Windows
    trained_jobs: int


@dataclass(frozen=True)
class Rival:
    """mean: of the costs on the judging windows; minus_saf: difference from SAF on the same windows with the same estimates."""

    name: str
    mean: float
    minus_saf: Difference


def arena_of_task(trace: Trace, task: Task) -> Arena:
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
    return Arena(trace.jobs_of(rows, estimates), trace.cluster_procs, parse_goal(task.goal), task.backfill, task.rules)


def split_of(trace: Trace, window_jobs: int, judged: int = 50, judged_jobs: int | None = None) -> Split:
    """The trace cut by submission. judged_jobs: in a window that judges; default: 1,024, fewer where
    eight would not fit. Raises ValueError where it is too short."""

    jobs = trace.rows.height
    if jobs < LEAST_JOBS:
        raise ValueError(f"{trace.source}: {jobs} jobs are too few to train on, at least {LEAST_JOBS} are needed")
    learned, chosen = int(TRAIN_SHARE * jobs), int((TRAIN_SHARE + CHOOSE_SHARE) * jobs)
    length = min(window_jobs, learned // 2, chosen - learned)
    judged_length = min(judged_jobs or min(1024, (jobs - chosen) // 8), (jobs - chosen) // 2)

    return Split(
        Windows.spread(0, learned, length, 4000),
        Windows.spread(
            learned, chosen, min(length, (chosen - learned) // 5), CHOOSING_WINDOWS
        ),  # five that share no job
        Windows.spread(chosen, jobs, judged_length, judged),
        chosen,
    )


def train_seeds(
    trace: Trace, task: Task, recipe: Recipe, seeds: list[int], checkpoint: Path | None,
    on_epoch: Callable[[int, EpochReport], None],
) -> tuple[list[TrainedPolicy], Arena, Split]:  # fmt: skip
    """A policy per seed. checkpoint: a path whose name gets the seed."""

    arena, split = arena_of_task(trace, task), split_of(trace, task.window_jobs)
    lessons = Lessons(split.learn, filter_trajectories(arena, split.learn).kept_windows, split.choose)
    found = []
    for seed in seeds:
        path = checkpoint and checkpoint.with_name(f"{checkpoint.name}-{seed}")
        found.append(learn(arena, lessons, recipe, seed, lambda report, seed=seed: on_epoch(seed, report), path))  # type: ignore[misc]
    return found, arena, split


def draw_training(path: Path, curves: list[dict[str, Any]], goal: str) -> None:
    """The training curves so far (rows of policies.training_curve) as a PNG file that is never half written."""
    import io

    picture = io.BytesIO()
    plots.training_curve(pl.DataFrame(curves, infer_schema_length=None), goal=goal).savefig(
        picture, format="png", dpi=120
    )
    write_whole(path, picture.getvalue())


def judge(arena: Arena, split: Split, policies: dict[str, Any]) -> list[Rival]:
    """Policies on the judging windows, SAF first; a list of networks is the seeds of one way of training."""

    saf = arena.costs("SAF", split.judge)
    rivals = []
    for name, policy in ({"SAF": "SAF"} | policies).items():
        several = policy if isinstance(policy, list) else [policy]
        costs = np.stack([arena.costs(one, split.judge) for one in several])
        rivals.append(Rival(name, float(costs.mean()), compare(costs, saf, split.judge, 1)))
    return rivals


def card_of(trace: Trace, task: Task, split: Split, found: TrainedPolicy, rivals: list[Rival]) -> dict[str, Any]:
    """What a policy file says of itself."""

    return {
        "source": trace.source,
        "trace_sha256": trace_sha256(trace.rows),
        "cluster_procs": trace.cluster_procs,
        "goal": task.goal,
        "backfill": task.backfill,
        "estimates": task.estimates,
        "rules": task.rules,
        "window_jobs": split.learn.jobs,
        "trained_jobs": split.trained_jobs,
        "best_epoch": found.best_epoch,
        "validation_cost": found.validation_cost,
        "parameters": found.parameters,
        "unseen_windows": {
            rival.name: {
                "cost": rival.mean,
                "minus_saf": [rival.minus_saf.mean, rival.minus_saf.low, rival.minus_saf.high],
            }
            for rival in rivals
        },
    }
