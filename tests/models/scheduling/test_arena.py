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


def test_continuous_windows_are_parts_of_one_replay(arena: Arena, jobs: Jobs) -> None:
    blocks = Windows.blocks(301, 700, 16)
    assert blocks.continuous and len(blocks) == 16 and blocks.jobs == 24
    assert (blocks.scored.start, blocks.scored.stop) == (316, 700), "what is left over is in front"
    assert np.array_equal(np.diff(blocks.first), np.full(15, 24))
    assert len(Windows.blocks(0, 5, 16)) == 5
    for policy in ("SJF", random_weights(2)):
        name, weights = (policy, None) if isinstance(policy, str) else ("learned", policy)
        whole = replay(jobs.window(0, 700), PROCS, name, "easy", weights)
        assert np.array_equal(arena.starts(policy, blocks).ravel(), whole.start[316:700])
        replayed = arena.replayed(policy, blocks.scored)
        assert np.array_equal(replayed.schedule.start, whole.start) and replayed.scored.sum() == 700 - 316
        assert np.array_equal(replayed.schedule.backfilled, whole.backfilled)


def test_windows_keep_their_backlogs(arena: Arena) -> None:
    windows = arena.with_backlogs("SAF", Windows(np.array([100, 300, 500]), 80), after=700)
    whole = arena.replayed("SAF", range(0, 800)).schedule.start
    for taken in (
        windows,
        windows.thinned(2),
        windows.some(np.random.default_rng(1), 5),
        windows.taken(np.array([2, 0])),
    ):
        starts = arena.starts("SAF", taken)
        assert all(np.array_equal(starts[k], whole[first : first + 80]) for k, first in enumerate(taken.first))
