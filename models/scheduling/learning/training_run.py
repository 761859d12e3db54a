"""One training run: a recipe with several seeds, and every policy on windows that nothing was learned from.

Everything that trains policies goes this way: the nightly asset, `tracehouse train` and the experiments. They differ in their
windows, in where checkpoints are, and in what they write down.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models.scheduling.arena import Arena, Windows
from models.scheduling.learning.ppo import train_by_ppo
from models.scheduling.learning.recipes import PPOTraining, learn
from models.scheduling.learning.training import EpochReport, Lessons, TrainedPolicy
from models.scheduling.options import Recipe
from models.scheduling.trajectory_filter import filter_trajectories


@dataclass(frozen=True)
class TrainingSplit:
    """Windows to learn from, to choose by and to judge by. trained_jobs: jobs before this position were open to training.
    confirm, after: as in Lessons."""

    learn: Windows
    choose: Windows
    judge: Windows
    trained_jobs: int
    confirm: Windows | None = None
    after: int | None = None

    def lessons(self, arena: Arena) -> Lessons:
        """With the windows that the trajectory filter keeps for the first epochs."""
        kept = filter_trajectories(arena, self.learn).kept_windows
        return Lessons(self.learn, kept, self.choose, self.confirm, self.after)


@dataclass(frozen=True)
class JudgedPolicy:
    """What one seed of a recipe gave."""

    recipe: Recipe
    seed: int
    trained: TrainedPolicy
    costs: NDArray[np.float64]  # of the judging windows, (windows,)


def train_and_judge(
    arena: Arena,
    lessons: Lessons,
    judging: Windows,
    recipe: Recipe,
    seeds: Sequence[int],
    on_epoch: Callable[[int, EpochReport], None] = lambda seed, report: None,
    checkpoint_of: Callable[[int], Path | None] = lambda seed: None,
    by_ppo: PPOTraining = train_by_ppo,
) -> Iterator[JudgedPolicy]:
    """Trains a policy per seed, one after the other, and replays each on the judging windows.

    on_epoch: takes the seed and the report of every epoch. checkpoint_of: the file that a seed's training is continued from.
    by_ppo: as in models.scheduling.learning.recipes.learn. Same arguments, same policies. Raises ValueError as `learn` there does.
    """
    for seed in seeds:

        def report_epoch(report: EpochReport, seed: int = seed) -> None:
            on_epoch(seed, report)

        trained = learn(arena, lessons, recipe, seed, report_epoch, checkpoint_of(seed), by_ppo)
        yield JudgedPolicy(recipe, seed, trained, arena.costs(trained.weights, judging))


def best_by_validation(policies: Sequence[JudgedPolicy]) -> JudgedPolicy:
    """The policy that costs least on what chooses, the first of several."""
    return min(policies, key=lambda policy: policy.trained.validation_cost)
