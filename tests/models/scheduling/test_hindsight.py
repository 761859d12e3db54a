"""The search that sees the future: better orders, which cost what it says."""

from __future__ import annotations

import numpy as np
import pytest

from models.scheduling.arena import Arena, Windows
from models.scheduling.hindsight import search_orders
from models.scheduling.options import (
    HindsightOptions,
)
from simulator.engine.replay import replay
from simulator.jobs.jobs import Jobs
from simulator.policies.registry import FIXED_SCORES
from tests.models.scheduling.conftest import PROCS


def test_hindsight_finds_better_orders_that_replay_as_told(arena: Arena, jobs: Jobs) -> None:
    windows = Windows(np.array([60, 200, 420]), 80)
    saf = np.asarray(FIXED_SCORES["SAF"](jobs), dtype=np.float64)
    found, again = (search_orders(arena, windows, saf, HindsightOptions(orders=400), 3) for _ in range(2))
    assert np.array_equal(found.score, again.score)
    np.testing.assert_allclose(found.first_cost, arena.costs("SAF", windows))
    assert (found.cost <= found.first_cost).all() and (found.cost < 0.97 * found.first_cost).any()
    # the order itself, replayed by the fast engine, costs what the search says
    from simulator.policies.registry import Policy
    from simulator.policies.scoring import FIXED

    for k, first in enumerate(windows.first):
        window = jobs.window(int(first), 80)
        order = Policy("order", FIXED, lambda _jobs, _procs, k=k: found.score[k])
        start = replay(window, PROCS, order).start[None]
        assert arena.costs_of(Windows(windows.first[k : k + 1], 80), start)[0] == pytest.approx(found.cost[k])


def test_orders_of_windows_with_a_backlog_replay_as_the_search_says(arena: Arena, jobs: Jobs) -> None:
    from simulator.policies.registry import Policy
    from simulator.policies.scoring import FIXED

    windows = arena.with_backlogs("SAF", Windows(np.array([60, 200, 420]), 80), after=60)
    assert windows.backlogs is not None and sum(len(state.queue) for state in windows.backlogs.states) > 0
    saf = np.asarray(FIXED_SCORES["SAF"](jobs), dtype=np.float64)
    found, again = (search_orders(arena, windows, saf, HindsightOptions(orders=300), 3) for _ in range(2))
    assert np.array_equal(found.score, again.score)
    np.testing.assert_allclose(found.first_cost, arena.costs("SAF", windows))
    assert (found.cost <= found.first_cost).all() and (found.cost < found.first_cost).any()
    for k, first in enumerate(windows.first.tolist()):
        besides, scores = found.others[k]
        waiting = windows.backlogs.states[k].queue
        assert set(waiting) <= set(besides) and set(range(first + 80, first + 140)) <= set(besides)
        order = np.zeros(len(jobs))
        order[besides], order[first : first + 80] = scores, found.score[k]
        one = windows.taken(np.array([k]))
        assert arena.costs(Policy("order", FIXED, lambda *_, order=order: order), one)[0] == pytest.approx(
            found.cost[k]
        )
