"""Evolution strategies make a network better."""

from __future__ import annotations

import numpy as np

from models.scheduling.arena import Arena
from models.scheduling.learning.evolution import evolve, flatten, unflatten
from models.scheduling.learning.ppo import train_by_ppo
from models.scheduling.learning.training import Lessons
from models.scheduling.options import (
    EvolutionOptions,
    PPOOptions,
)
from tests.simulator.busy import random_weights


def test_learning_helps(arena: Arena, lessons: Lessons) -> None:
    """On the windows it learns from, evolution must improve a network that knows nothing, and much."""
    start = train_by_ppo(arena, lessons, PPOOptions(epochs=1, trajectories=4), 1).weights
    options = EvolutionOptions(generations=20, pairs=8, windows=12, spread=0.2, rate=0.2)
    on_lessons = Lessons(lessons.windows, lessons.filtered, lessons.windows)
    found = evolve(arena, on_lessons, start, options, 1)
    before = arena.costs(start, lessons.windows).mean()
    assert found.validation_cost < 0.95 * before and found.best_epoch > 0


def test_weights_come_back_from_a_flat_array() -> None:
    weights = random_weights(3, "informed")
    values = flatten(weights)
    assert values.shape == (sum(array.size for array in weights[2:]),)
    assert all(np.array_equal(a, b) for a, b in zip(unflatten(values, weights), weights, strict=True))
