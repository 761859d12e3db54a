"""Evolution strategies on the kernel network: a second way to train it, without gradients through decisions.

Salimans et al. 2017, algorithm 1: Gaussian perturbations in antithetic pairs, fitness by rank, steps by Adam. Every candidate
replays the same windows and takes its best choice every time, so what is judged is what will be used.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models.scheduling.arena import Arena
from models.scheduling.learning.checkpoint import TrainingProgress, fingerprint, load_checkpoint, save_checkpoint
from models.scheduling.learning.training import EpochReport, Lessons, TrainedPolicy
from models.scheduling.options import EvolutionOptions
from simulator.policies.network import KernelWeights

FloatArray = NDArray[np.float64]


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
    import torch

    centre = flatten(start)
    first_moment, second_moment = np.zeros_like(centre), np.zeros_like(centre)
    training = fingerprint(arena, lessons, ["evolution", options.model_dump(), seed], start)
    state = load_checkpoint(checkpoint, training)
    if state:
        progress = TrainingProgress.from_state(state["progress"])
        centre, first_moment, second_moment = (tensor.numpy() for tensor in state["search"])
    else:
        progress = TrainingProgress([], float(arena.costs(start, lessons.validation).mean()), 0, start)
    for report in progress.curve:
        on_generation(report)
    for generation in range(len(progress.curve) + 1, options.generations + 1):
        rng = np.random.default_rng([seed, generation])
        windows = lessons.begun(arena, lessons.windows.some(rng, options.windows), unflatten(centre, start))
        noise = rng.standard_normal((options.pairs, len(centre)))
        costs = np.empty((options.pairs, 2))
        for pair, x in enumerate(noise):
            for side, sign in enumerate((1.0, -1.0)):
                candidate = unflatten(centre + sign * options.spread * x, start)
                costs[pair, side] = arena.costs(candidate, windows).mean()
        rank = _ranks(costs) / (costs.size - 1) - 0.5
        slope = (rank[:, 0] - rank[:, 1]) @ noise / (2 * options.pairs * options.spread)
        first_moment = 0.9 * first_moment + 0.1 * slope
        second_moment = 0.99 * second_moment + 0.01 * slope**2
        step = (first_moment / (1 - 0.9**generation)) / (np.sqrt(second_moment / (1 - 0.99**generation)) + 1e-8)
        centre = centre - options.rate * (1 - 0.9 * (generation - 1) / options.generations) * step
        weights = unflatten(centre, start)
        score = None
        if generation % options.validate_every == 0 or generation == options.generations:
            score = float(arena.costs(weights, lessons.validation).mean())
        report = EpochReport(generation, "all", 0, float(costs.mean()), score, 0.0, 0.0, 1)
        progress.report(report, weights)
        search = [torch.from_numpy(array) for array in (centre, first_moment, second_moment)]
        save_checkpoint(checkpoint, training, {"progress": progress.to_state(), "search": search})
        on_generation(report)
    return progress.trained(options.model_dump() | {"seed": seed})


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
