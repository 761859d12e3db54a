"""Windows, and what policies cost on them: against single replays."""

from __future__ import annotations

import numpy as np
import pytest

from models.scheduling.arena import Arena, Windows, relative
from simulator.engine.replay import replay
from simulator.jobs.jobs import Jobs
from tests.models.scheduling.conftest import PROCS
from tests.simulator.busy import random_weights


def test_windows_spread_inside_their_jobs() -> None:
    windows = Windows.spread(100, 500, 50, 9)
    assert windows.first.tolist() == [100, 143, 187, 231, 275, 318, 362, 406, 450]
    assert len(Windows.spread(100, 152, 50, 9)) == 3, "no window twice"
    assert windows.thinned(3).first.tolist() == [100, 231, 362]
    drawn = windows.some(np.random.default_rng(0), 40)
    assert len(drawn) == 40 and set(drawn.first) <= set(windows.first) and drawn.jobs == 50


@pytest.mark.parametrize("backfill", ["none", "easy"])
def test_starts_are_those_of_single_replays(backfill: str, arena: Arena, jobs: Jobs) -> None:
    place = Arena(jobs, PROCS, arena.goal, backfill, threads=2)
    windows = Windows(np.array([0, 200, 410]), 90)
    for policy in ("SJF", random_weights(2)):
        starts = place.starts(policy, windows)
        for k, first in enumerate(windows.first):
            window = jobs.window(int(first), 90)
            name, weights = (policy, None) if isinstance(policy, str) else ("learned", policy)
            assert np.array_equal(starts[k], replay(window, PROCS, name, backfill, weights).start)
        assert np.array_equal(place.costs(policy, windows), place.costs_of(windows, starts))


def test_relative_costs_weigh_windows_alike() -> None:
    costs, reference = np.array([2.0, 200.0, -0.4]), np.array([1.0, 100.0, -0.8])
    assert relative(costs, reference) == pytest.approx([1.0, 1.0, 0.5])
