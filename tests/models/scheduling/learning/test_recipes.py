"""Recipes: what training starts from, and when what was learned is kept."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from models.scheduling.arena import Arena, Windows
from models.scheduling.goals import parse_goal
from models.scheduling.learning.recipes import SHARPNESS, learn, smallest_area_first
from models.scheduling.learning.training import EpochReport, Lessons
from models.scheduling.options import (
    EvolutionOptions,
    HindsightOptions,
    ImitationOptions,
    KeySearchOptions,
    PPOOptions,
    Recipe,
)
from simulator.jobs.jobs import Jobs
from simulator.policies.network import KernelWeights
from simulator.policies.observation import LAYOUTS
from tests.models.scheduling.conftest import PROCS
from tests.simulator.busy import PROCS as BUSY_PROCS
from tests.simulator.busy import busy_jobs

SHORT = EvolutionOptions(generations=6, pairs=6, windows=8, spread=0.1, rate=0.1, validate_every=2)


@pytest.mark.parametrize("sharpness", sorted(set(SHARPNESS.values())))
@pytest.mark.parametrize("layout", ["plain", "informed"])
def test_a_network_that_starts_from_saf_is_saf_however_deep_the_queue(layout: str, sharpness: float) -> None:
    jobs = busy_jobs(500, load=9.0)
    known = {name: np.zeros(len(jobs), dtype=np.float32) for name in LAYOUTS[layout].facts}
    arena = Arena(replace(jobs, facts=known), BUSY_PROCS, parse_goal("bsld"))
    deep = Windows(np.array([0, 100]), 400)
    weights = smallest_area_first(LAYOUTS[layout], sharpness, 1)
    assert np.array_equal(arena.starts(weights, deep), arena.starts("SAF", deep))


def test_saf_needs_the_area() -> None:
    with pytest.raises(ValueError, match="choose --layout plain or informed"):
        smallest_area_first(LAYOUTS["paper"], 1.0, 1)


def test_what_was_learned_is_kept_only_where_it_is_better_beyond_noise(jobs: Jobs) -> None:
    arena = Arena(jobs, PROCS, parse_goal("bsld"), "none", threads=1)
    recipe = Recipe(method="evolution", start="saf", evolution=SHORT)
    learned = Windows(np.arange(0, 400, 7), 48)
    begun = smallest_area_first(LAYOUTS["plain"], SHARPNESS["evolution"], 1)
    # one window to choose by: whatever is learned, nobody can tell whether it is better
    few = learn(arena, Lessons(learned, learned, Windows(np.array([450]), 64)), recipe, 1)
    assert few.best_epoch == 0 and np.array_equal(few.weights.w1, begun.w1) and len(few.curve) == 6
    # the windows it learns from, which it fits
    fitted = learn(arena, Lessons(learned, learned, learned), recipe, 1)
    assert fitted.best_epoch > 0 and not np.array_equal(fitted.weights.w1, begun.w1)
    assert fitted.validation_cost == arena.costs(fitted.weights, learned).mean() < arena.costs("SAF", learned).mean()


def test_the_best_start_is_the_better_one(arena: Arena) -> None:
    learned = Windows(np.arange(0, 400, 7), 48)
    lessons = Lessons(learned, learned, Windows(np.array([450]), 64))

    def begun(start: str) -> float:
        recipe = Recipe(method="evolution", start=start, evolution=EvolutionOptions(generations=1, pairs=1, windows=1))
        return float(arena.costs(learn(arena, lessons, recipe, 1).weights, learned).mean())

    costs = [begun(start) for start in ("saf", "key", "best")]
    assert costs[0] != costs[1] and costs[2] == min(costs[:2])


def same(a: KernelWeights, b: KernelWeights) -> bool:
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize("method", ["ppo", "evolution", "imitation"])
def test_recipes_begin_with_the_key(method: str, arena: Arena, lessons: Lessons) -> None:
    recipe = Recipe(
        method=method,
        ppo=PPOOptions(epochs=2, trajectories=8),
        evolution=EvolutionOptions(generations=2, pairs=2, windows=3),
        hindsight=HindsightOptions(orders=50),
        imitation=ImitationOptions(passes=4),
        key=KeySearchOptions(random_keys=10, steps=0, windows=6),
        shown_windows=10,
        hindsight_windows=10,
    )
    reports: list[EpochReport] = []
    found = learn(arena, lessons, recipe, 1, reports.append)
    assert len(reports) == recipe.epochs and found.parameters["method"] == method and found.parameters["seed"] == 1
    # what it starts from counts, so that it never ends worse on the windows that choose
    assert found.validation_cost <= arena.costs("FCFS", lessons.validation).mean()
    assert same(found.weights, learn(arena, lessons, recipe, 1).weights)
