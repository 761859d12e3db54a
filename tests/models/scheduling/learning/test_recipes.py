"""Recipes: what training starts from, and when what was learned is kept."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray

from models.judging.judge import judge, takes_over
from models.scheduling.arena import Arena, Windows
from models.scheduling.goals import parse_goal
from models.scheduling.learning import checkpoint
from models.scheduling.learning.checkpoint import fingerprint
from models.scheduling.learning.recipes import SHARPNESS, is_confirmed, learn, program_network, smallest_area_first
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
from simulator.policies.network import CAP_S, KernelWeights
from simulator.policies.observation import LAYOUTS
from tests.models.scheduling.conftest import PROCS
from tests.simulator.busy import PROCS as BUSY_PROCS
from tests.simulator.busy import busy_jobs, random_weights

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


@pytest.mark.parametrize("sharpness", sorted(set(SHARPNESS.values())))
def test_a_network_that_starts_from_the_program_is_the_program(sharpness: float) -> None:
    arena = Arena(spread_jobs(), BUSY_PROCS, parse_goal("bsld"))
    whole = Windows(np.array([0, 100]), 400)
    starts = arena.starts(program_network(LAYOUTS["program"], sharpness, 1), whole)
    assert np.array_equal(starts, arena.starts("searched:balanced", whole))
    assert not np.array_equal(starts, arena.starts("FCFS", whole))
    with pytest.raises(ValueError, match="choose --layout program"):
        program_network(LAYOUTS["plain"], 1.0, 1)


def spread_jobs() -> Jobs:
    """Jobs of eight caps, that wait for longer than one."""
    jobs = busy_jobs(500, load=3.0)
    stretch = 8 * CAP_S / float(jobs.submit[-1] - jobs.submit[0])
    longer = {
        name: np.rint(getattr(jobs, name) * stretch).astype(np.int64)
        for name in ("submit", "runtime", "estimate", "limit")
    }
    return replace(jobs, **longer)


def test_whatever_is_learned_from_the_program_keeps_its_promise() -> None:
    """Without backfilling jobs start as they are chosen. A network that does not read what the program does breaks the promise."""
    jobs = spread_jobs()
    arena = Arena(jobs, BUSY_PROCS, parse_goal("bsld"), "none")
    whole = Windows(np.array([0]), len(jobs))
    broken = {layout: [] for layout in ("plain", "program")}
    for layout, seen in broken.items():
        for seed in range(3):
            (start,) = arena.starts(random_weights(seed, layout), whole)
            seen.append(is_passed_by_more_than_the_cap(jobs.submit, start))
    assert broken == {"plain": [True] * 3, "program": [False] * 3}


def is_passed_by_more_than_the_cap(submit: NDArray[np.int64], start: NDArray[np.int64]) -> bool:
    """Whether a job starts before one that was submitted earlier by more than the cap, and could have gone first at that second."""
    return any((start[submit > submit[job] + CAP_S] < start[job]).any() for job in range(len(submit)))


def test_choices_are_drawn_within_the_cap() -> None:
    arena = Arena(spread_jobs(), BUSY_PROCS, parse_goal("bsld"))
    drawn = arena.sample(program_network(LAYOUTS["program"], 1.0, 1), Windows(np.array([0]), 500), 1)
    wait = drawn.features[:, LAYOUTS["program"].inputs.index("wait_of_cap")]
    spans = np.maximum.reduceat(wait, drawn.first_row) - np.minimum.reduceat(wait, drawn.first_row)
    assert drawn.decisions > 100 and (drawn.num_rows > 1).all()
    assert 0.9 < spans.max() <= 1.0 + 1e-5


def test_the_rules_of_the_paper_know_no_cap() -> None:
    arena = Arena(spread_jobs(), BUSY_PROCS, parse_goal("bsld"), rules="rlscheduler")
    with pytest.raises(ValueError, match="know no cap"):
        arena.starts(program_network(LAYOUTS["program"], 1.0, 1), Windows(np.array([0]), 100))


def test_a_training_with_other_inputs_is_not_continued(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    learned = Windows(np.arange(0, 400, 7), 48)
    training = partial(fingerprint, arena, Lessons(learned, learned, learned), [], None)
    before = training()
    monkeypatch.setattr(checkpoint, "FACTS", (*checkpoint.FACTS, "colour"))
    assert training() != before


def test_training_goes_on_from_the_program(arena: Arena) -> None:
    learned = Windows(np.arange(0, 400, 7), 48)
    lessons = Lessons(learned, learned, Windows(np.array([450]), 64))
    options = PPOOptions(layout="program", epochs=2, trajectories=8)
    trained = learn(arena, lessons, Recipe(start="program", ppo=options, cautious=False), 1)
    begun = program_network(LAYOUTS["program"], SHARPNESS["ppo"], 1)
    assert len(trained.curve) == 2 and trained.curve[0].decisions > 100
    assert trained.validation_cost <= arena.costs("searched:balanced", lessons.validation).mean()
    assert (trained.best_epoch > 0) != same(trained.weights, begun)


def test_what_was_learned_is_kept_only_where_it_dominates_beyond_chance(jobs: Jobs) -> None:
    arena = Arena(jobs, PROCS, parse_goal("bsld"), "none", threads=1)
    learned, later = Windows(np.arange(0, 400, 7), 48), Windows.blocks(500, 800)
    lessons = Lessons(learned, learned, Windows(np.array([450]), 64), later)
    begun = smallest_area_first(LAYOUTS["plain"], SHARPNESS["evolution"], 1)
    weights = {accept: learn(arena, lessons, recipe(accept), 1) for accept in (False, True)}
    for accept, trained in weights.items():
        free = learn(arena, lessons, recipe(accept).model_copy(update={"cautious": False}), 1)
        judgement = judge(*([arena.replayed(each, later.scored)] for each in (free.weights, begun)))
        kept = free if takes_over(judgement, accept) else None
        assert free.best_epoch > 0 and len(trained.curve) == 6
        assert same(trained.weights, free.weights if kept else begun) and (trained.best_epoch > 0) == bool(kept)
    with pytest.raises(ValueError, match="the published protocols leave none: set cautious to false"):
        learn(arena, Lessons(learned, learned, learned), recipe(False), 1)


def recipe(accept_trade: bool) -> Recipe:
    return Recipe(method="evolution", start="saf", evolution=SHORT, accept_trade=accept_trade)


@pytest.mark.parametrize(("ratio", "taken"), [(0.8, True), (0.999, False), (1.25, False)])
def test_a_policy_is_confirmed_by_later_jobs(
    ratio: float, taken: bool, arena: Arena, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The schedule of the learned policy is SAF's with waits that are this ratio of SAF's, job for job."""
    later = Windows.blocks(300, 800)
    lessons = Lessons(later, later, later, later)
    saf = arena.replayed("SAF", later.scored)
    wait = saf.schedule.start - saf.jobs.submit
    shrunk = replace(saf.schedule, start=saf.jobs.submit + np.rint(ratio * wait).astype(np.int64))
    schedules, replayed = iter([replace(saf, schedule=shrunk), saf]), Arena.replayed
    monkeypatch.setattr(
        Arena, "replayed", lambda self, policy, scored: next(schedules, None) or replayed(self, policy, scored)
    )
    begun = smallest_area_first(LAYOUTS["plain"], 1.0, 1)
    assert is_confirmed(arena, lessons, recipe(False), begun, begun) == taken


def test_the_best_start_is_the_better_one(arena: Arena) -> None:
    learned = Windows(np.arange(0, 400, 7), 48)
    lessons = Lessons(learned, learned, Windows(np.array([450]), 64))

    def begun(start: str) -> float:
        recipe = Recipe(
            method="evolution",
            start=start,
            evolution=EvolutionOptions(generations=1, pairs=1, windows=1),
            cautious=False,
        )
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
        cautious=False,
    )
    reports: list[EpochReport] = []
    found = learn(arena, lessons, recipe, 1, reports.append)
    assert len(reports) == recipe.epochs and found.parameters["method"] == method and found.parameters["seed"] == 1
    # what it starts from counts, so that it never ends worse on the windows that choose
    assert found.validation_cost <= arena.costs("FCFS", lessons.validation).mean()
    assert same(found.weights, learn(arena, lessons, recipe, 1).weights)
