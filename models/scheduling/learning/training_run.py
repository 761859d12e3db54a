"""One training run: a recipe with several seeds, and every policy on windows that nothing was learned from.

Everything that trains policies goes this way: the nightly asset, `tracehouse train` and the experiments. They differ in their
windows, in where checkpoints are, and in what they write down.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models.scheduling.arena import Arena, Windows
from models.scheduling.learning.ppo import train_by_ppo
from models.scheduling.learning.recipes import PPOTraining, learn
from models.scheduling.learning.training import EpochReport, Lessons, TrainedPolicy
from models.scheduling.options import Recipe
from models.scheduling.trajectory_filter import filter_trajectories
from models.side_by_side import ProcessLost, cores, work_side_by_side

WARM_UP_JOBS = 400
"""Jobs of the small training by which everything that a training needs is compiled."""
WORTH_PROCESSES_S = 30.0
"""Seconds of training from which other processes pay. They take 5 to 8 CPU-seconds to start, more than a short training."""
MOST_WINDOWS = 4000
"""Windows to learn from that are spread over their part."""


@dataclass(frozen=True)
class Split:
    """Windows of the four parts. confirm: None where nothing confirms. trained_jobs: jobs before this position were open to training.
    after: as in Lessons."""

    learn: Windows
    choose: Windows
    confirm: Windows | None
    judge: Windows
    trained_jobs: int
    after: int | None = None

    @classmethod
    def by_shares(
        cls,
        jobs: int,
        window_jobs: int,
        closed_from: int | None = None,
        *,
        learn: float = 0.3,
        choose: float = 0.1,
        confirm: float = 0.1,
    ) -> Split:
        """A trace of so many jobs, cut by submission. What the three shares leave judges.

        Windows to learn from have so many jobs, on a short trace fewer. The others are blocks of one continuous replay. closed_from: where
        that is earlier than the end of the three parts, they are shorter, and end there.
        """
        ends = learn, learn + choose, learn + choose + confirm
        counted = jobs if closed_from is None else min(jobs, closed_from / ends[-1])
        learned, chosen, confirmed = (int(share * counted) for share in ends)
        length = min(window_jobs, learned // 2)
        return cls(
            Windows.spread(0, learned, length, MOST_WINDOWS),
            Windows.blocks(learned, chosen),
            Windows.blocks(chosen, confirmed),
            Windows.blocks(confirmed, jobs),
            confirmed,
            length,
        )

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


@dataclass(frozen=True)
class TrainingRun:
    """What all seeds of a run have in common. checkpoints: the file that a seed's training continues from, where it has one. by_ppo: as
    in models.scheduling.learning.recipes.learn."""

    arena: Arena
    lessons: Lessons
    judging: Windows
    recipe: Recipe
    checkpoints: Mapping[int, Path | None] = field(default_factory=dict)
    by_ppo: PPOTraining = train_by_ppo

    def train(self, seed: int, on_epoch: Callable[[EpochReport], None] = lambda report: None) -> JudgedPolicy:
        """Trains a policy and replays it on the judging windows. Same seed, same policy. Raises ValueError as `learn` does."""
        arena, checkpoint = self.arena, self.checkpoints.get(seed)
        trained = learn(arena, self.lessons, self.recipe, seed, on_epoch, checkpoint, self.by_ppo)
        return JudgedPolicy(self.recipe, seed, trained, arena.costs(trained.weights, self.judging))

    def train_seeds(
        self,
        seeds: Sequence[int],
        on_epoch: Callable[[int, EpochReport], None] = lambda seed, report: None,
        side_by_side: bool = False,
    ) -> Iterator[JudgedPolicy]:
        """Trains a policy per seed.

        on_epoch: takes the seed and the report of every epoch. side_by_side: where the first seed takes longer than WORTH_PROCESSES_S, the
        others train in processes, as many at once as there are cores. The policies are the same as one after the other, and several
        workers that train one policy use the cores anyway. Raises ValueError as `learn` does, and where a process is lost.
        """
        began_s = time.perf_counter()
        remaining = list(seeds)
        while remaining:
            is_slow = time.perf_counter() - began_s > WORTH_PROCESSES_S and len(remaining) < len(seeds)
            if side_by_side and is_slow and min(len(remaining), cores()) > 1 and self.by_ppo is train_by_ppo:
                yield from self._train_side_by_side(remaining, on_epoch)
                return
            seed = remaining.pop(0)
            yield self.train(seed, partial(on_epoch, seed))

    def _train_side_by_side(
        self, seeds: Sequence[int], on_epoch: Callable[[int, EpochReport], None]
    ) -> Iterator[JudgedPolicy]:
        run = replace(self, arena=replace(self.arena, threads=1))
        try:
            yield from work_side_by_side(run.train, seeds, on_epoch, run.warm_up)
        except ProcessLost as error:
            raise ValueError(
                f"{error}, perhaps for want of memory. The epochs of all seeds are kept: the same command goes on from there"
            ) from None

    def warm_up(self) -> None:
        """Compiles what the training needs, by a training of a moment. What is wrong is left to the training to say."""
        jobs = self.arena.jobs.window(0, min(WARM_UP_JOBS, len(self.arena.jobs)))
        length = min(self.lessons.windows.jobs, len(jobs) // 4)
        windows = Windows(np.zeros(1, dtype=np.int64), length)
        last = Windows.blocks(len(jobs) - length, len(jobs), 1) if self.lessons.validation.continuous else windows
        confirm = None if self.lessons.confirming is None else last
        lessons = Lessons(windows, windows, last, confirm, self.lessons.after and length)
        arena = replace(self.arena, jobs=jobs)
        try:
            replace(
                self, arena=arena, lessons=lessons, judging=last, recipe=self.recipe.shortest(), checkpoints={}
            ).train(0)
        except (ValueError, RuntimeError, ArithmeticError):
            return


def best_by_validation(policies: Sequence[JudgedPolicy]) -> JudgedPolicy:
    """The policy that costs least on what chooses, the first of several."""
    return min(policies, key=lambda policy: policy.trained.validation_cost)
