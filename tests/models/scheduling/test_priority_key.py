"""The priority key: its formula orders alike, and the search finds a good one."""

from __future__ import annotations

import numpy as np

from models.scheduling.arena import Arena, Windows
from models.scheduling.options import (
    KeySearchOptions,
)
from models.scheduling.priority_key import PriorityKey, search_key
from simulator.jobs.jobs import Jobs


def test_a_key_and_its_formula_order_alike(arena: Arena, jobs: Jobs) -> None:
    windows = Windows(np.array([100, 300]), 150)
    for key in (PriorityKey(1.0, 1.0, 0.5), PriorityKey(-2.0, 1.5, 2.0), PriorityKey(6.0, 0.0, 1.0)):
        assert np.array_equal(arena.starts(key.policy, windows), arena.starts(key.formula, windows)), key


def test_the_search_finds_a_good_key(arena: Arena) -> None:
    windows = Windows(np.arange(0, 600, 30), 100)
    asked = KeySearchOptions(random_keys=40, steps=40)
    found, again = (search_key(arena, windows, asked, 2) for _ in range(2))
    assert found.best == again.best and np.array_equal(found.tried, again.tried)
    assert len(found.tried) >= 80
    rivals = [arena.costs(name, windows).mean() for name in ("FCFS", "SJF", "SAF")]
    assert found.cost == found.tried[:, 3].min() <= 1.02 * min(rivals)
    assert found.tried[40:, 3].min() <= found.tried[:40, 3].min()
