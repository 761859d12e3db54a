"""Evolution strategies on the kernel network: a second way to train it, without gradients through decisions.

Salimans et al. 2017, algorithm 1: Gaussian perturbations in antithetic pairs, fitness by rank, steps by Adam. Every candidate
replays the same jobs and takes its best choice every time, so what is judged is what will be used. It needs no more than what a
candidate costs, on windows of one log or on several logs at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from models.scheduling.arena import Arena
from models.scheduling.learning.checkpoint import BestKept, Checkpoint, TrainingProgress, fingerprint, train_epochs
from models.scheduling.learning.training import EpochReport, Lessons, TrainedPolicy
from models.scheduling.options import EvolutionOptions
from simulator.policies.network import KernelWeights

FloatArray = NDArray[np.float64]
CostOf = Callable[[KernelWeights], float]


class Fitness(Protocol):
    """What candidates are compared by."""

    def cost_in_generation(self, rng: np.random.Generator, centre: KernelWeights) -> CostOf:
        """What candidates around this centre cost, on what the generation draws to replay."""
        ...

    def validated(self, weights: KernelWeights) -> float:
        """What a network costs on the jobs that choose."""
        ...

    def training(self, settings: object, start: KernelWeights) -> str:
        """The fingerprint of a training by it."""
        ...


def evolve(
    arena: Arena,
    lessons: Lessons,
    start: KernelWeights,
    options: EvolutionOptions,
    seed: int,
    on_generation: Callable[[EpochReport], None] = lambda report: None,
    checkpoint: Path | None = None,
) -> TrainedPolicy:
    """Improves a network. The best by the jobs that choose is kept, the one it started from included (epoch 0).

    checkpoint: as in models.scheduling.learning.ppo.train_by_ppo. Same arguments and seed, same weights.
    """
    return evolve_by(_OnWindows(arena, lessons, options.windows), start, options, seed, on_generation, checkpoint)


def evolve_by(
    fitness: Fitness,
    start: KernelWeights,
    options: EvolutionOptions,
    seed: int,
    on_generation: Callable[[EpochReport], None] = lambda report: None,
    checkpoint: Path | None = None,
) -> TrainedPolicy:
    """`evolve` by any fitness. `options.windows` counts only where windows are replayed."""
    search = _Search(fitness, start, options, seed)
    training = fitness.training(["evolution", options.model_dump(), seed], start)
    train_epochs(search, options.generations, Checkpoint(checkpoint, training), on_generation)
    return search.progress.trained(options.model_dump() | {"seed": seed})


@dataclass(frozen=True)
class _OnWindows:
    """The goal's mean over windows of one log."""

    arena: Arena
    lessons: Lessons
    drawn: int

    def cost_in_generation(self, rng: np.random.Generator, centre: KernelWeights) -> CostOf:
        windows = self.lessons.begun(self.arena, self.lessons.windows.some(rng, self.drawn), centre)
        return lambda weights: float(self.arena.costs(weights, windows).mean())

    def validated(self, weights: KernelWeights) -> float:
        return float(self.arena.costs(weights, self.lessons.validation).mean())

    def training(self, settings: object, start: KernelWeights) -> str:
        return fingerprint(self.arena, self.lessons, settings, start)


class _Search(BestKept):
    """The centre that candidates are drawn around, with the moments of its steps."""

    def __init__(self, fitness: Fitness, start: KernelWeights, options: EvolutionOptions, seed: int) -> None:
        self._fitness, self._start, self._options, self._seed = fitness, start, options, seed
        self._centre = flatten(start)
        self._first_moment, self._second_moment = np.zeros((2, len(self._centre)))

    def begin(self) -> None:
        """What the search starts from counts as generation 0."""
        self.progress = TrainingProgress([], self._fitness.validated(self._start), 0, self._start)

    def run_epoch(self, epoch: int) -> EpochReport:
        """One generation, whose candidates replay the same jobs."""
        options, start = self._options, self._start
        rng = np.random.default_rng([self._seed, epoch])
        cost_of = self._fitness.cost_in_generation(rng, unflatten(self._centre, start))
        noise = rng.standard_normal((options.pairs, len(self._centre)))
        costs = np.empty((options.pairs, 2))
        for pair, x in enumerate(noise):
            for side, sign in enumerate((1.0, -1.0)):
                costs[pair, side] = cost_of(unflatten(self._centre + sign * options.spread * x, start))
        rank = _ranks(costs) / (costs.size - 1) - 0.5
        self._step((rank[:, 0] - rank[:, 1]) @ noise / (2 * options.pairs * options.spread), epoch)
        weights = unflatten(self._centre, start)
        is_validated = epoch % options.validate_every == 0 or epoch == options.generations
        score = self._fitness.validated(weights) if is_validated else None
        report = EpochReport(epoch, "all", 0, float(costs.mean()), score, 0.0, 0.0, 1)
        self.progress.report(report, weights)
        return report

    def _step(self, slope: FloatArray, generation: int) -> None:
        """Adam, with a rate that falls to a tenth."""
        self._first_moment = 0.9 * self._first_moment + 0.1 * slope
        self._second_moment = 0.99 * self._second_moment + 0.01 * slope**2
        step = (self._first_moment / (1 - 0.9**generation)) / (
            np.sqrt(self._second_moment / (1 - 0.99**generation)) + 1e-8
        )
        rate = self._options.rate * (1 - 0.9 * (generation - 1) / self._options.generations)
        self._centre = self._centre - rate * step

    def to_state(self) -> dict[str, Any]:
        """The best generation so far, and where the search is."""
        import torch

        search = [torch.from_numpy(array) for array in (self._centre, self._first_moment, self._second_moment)]
        return {"progress": self.progress.to_state(), "search": search}

    def load_state(self, state: dict[str, Any]) -> None:
        """The inverse of `to_state`."""
        self.progress = TrainingProgress.from_state(state["progress"])
        self._centre, self._first_moment, self._second_moment = (tensor.numpy() for tensor in state["search"])


def _ranks(costs: FloatArray) -> FloatArray:
    """Rank of each from 0, ties share theirs: candidates that make the same schedules must not differ."""
    ordered = np.sort(costs, axis=None)
    return (np.searchsorted(ordered, costs, "left") + np.searchsorted(ordered, costs, "right") - 1) / 2


def flatten(weights: KernelWeights) -> FloatArray:
    """All weights one after another, float64."""
    return np.concatenate([a.ravel() for a in weights[2:]]).astype(np.float64)


def unflatten(values: FloatArray, like: KernelWeights) -> KernelWeights:
    """The inverse of `flatten`, for a network of the same layout."""
    arrays, used = [], 0
    for array in like[2:]:
        arrays.append(values[used : used + array.size].reshape(array.shape).astype(np.float32))
        used += array.size
    return KernelWeights(like.facts, like.signals, *arrays)
