"""The priority key: its formula orders alike, and the search finds a good one."""

from __future__ import annotations

import math

import numpy as np
import pytest

from models.judging.judge import judge
from models.judging.verdict import Ratios
from models.scheduling.arena import Arena, Windows
from models.scheduling.options import KeySearchOptions
from models.scheduling.search.priority_key import (
    PENALTY,
    SEARCH_GUARD,
    PriorityKey,
    guarded_value,
    search_guarded_key,
    search_key,
    searched_jobs,
    tuned_constants,
)
from simulator.jobs.jobs import Jobs


def test_a_key_and_its_formula_order_alike(arena: Arena, jobs: Jobs) -> None:
    windows = Windows(np.array([100, 300]), 150)
    for key in (
        PriorityKey(1.0, 1.0, 0.5),
        PriorityKey(-2.0, 1.5, 2.0),
        PriorityKey(6.0, 0.0, 1.0),
        PriorityKey(1.0, 1.0, 0.5, 1800.0),
    ):
        assert np.array_equal(arena.starts(key.policy, windows), arena.starts(key.formula, windows)), key


def test_the_search_finds_a_good_key(arena: Arena) -> None:
    windows = Windows(np.arange(0, 600, 30), 100)
    asked = KeySearchOptions(random_keys=40, steps=40)
    found, again = (search_key(arena, windows, asked, 2) for _ in range(2))
    assert found.best == again.best and np.array_equal(found.tried, again.tried)
    assert len(found.tried) >= 80
    rivals = [arena.costs(name, windows).mean() for name in ("FCFS", "SJF", "SAF")]
    assert found.value == found.tried[:, 3].min() <= 1.02 * min(rivals)
    assert found.tried[40:, 3].min() <= found.tried[:40, 3].min()


def ratios(slowdown: float = 0.5, wait: float = 0.5, guard: float = 1.0, lost: float = 0.0) -> Ratios:
    return Ratios(slowdown, wait, 1.0, guard, 0.9, None, 3.0, lost)


def test_a_key_pays_for_what_others_pay() -> None:
    gains = 2 * math.log(0.5)
    assert guarded_value(ratios()) == guarded_value(ratios(guard=SEARCH_GUARD)) == pytest.approx(gains)
    assert guarded_value(ratios(guard=2.0)) == pytest.approx(gains + PENALTY * math.log(2.0 / SEARCH_GUARD))
    assert guarded_value(ratios(lost=0.03)) == pytest.approx(gains + PENALTY * 0.02)
    assert guarded_value(ratios(wait=2.0)) == pytest.approx(PENALTY * math.log(2.0))
    assert math.isfinite(guarded_value(ratios(wait=0.0, guard=math.inf))), "nobody waits under one of the two"


def test_the_search_under_guards_finds_a_key_that_keeps_them(arena: Arena) -> None:
    scored = searched_jobs(500)
    assert (scored.start, scored.stop) == (100, 500)
    searched, again = (
        search_guarded_key(arena, scored, KeySearchOptions(random_keys=60, steps=60), 2) for _ in range(2)
    )
    assert searched.best == again.best and searched.tried.shape[1] == 5
    found = judge([arena.replayed(searched.best.policy, scored)], [arena.replayed("FCFS", scored)]).verdict
    assert found.ratios[0].dominates
    assert guarded_value(found.ratios[0]) == pytest.approx(searched.value)
    free = search_key(
        arena, Windows(np.array([100]), 400, continuous=True), KeySearchOptions(random_keys=60, steps=60), 2
    )
    unguarded = judge([arena.replayed(free.best.policy, scored)], [arena.replayed("FCFS", scored)]).verdict
    assert found.ratios[0].bounded_slowdown < 1 and unguarded.ratios != found.ratios


def test_constants_are_tuned() -> None:
    tried: list[np.ndarray] = []

    def value(point: np.ndarray) -> float:
        tried.append(point)
        return float(((point - np.array([1.0, -2.0])) ** 2).sum())

    tuned_constants(value, np.zeros(2), 0.5, np.ones(2), 1, 200)
    assert min(value(point) for point in list(tried)) < 1e-3
    nothing: list[float] = []
    tuned_constants(lambda point: nothing.append(1.0) or 0.0, np.zeros(2), 0.5, np.ones(2), 1, 0)
    assert not nothing
