"""Many episodes side by side: their state, and how threads share them."""

from __future__ import annotations

import pytest

from simulator.agents.episodes import Threads, begin_anew, many
from simulator.engine.replay import rules_of
from simulator.jobs.schedule import CANCELLED


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize(("episodes", "least"), [(0, 1), (1, 1), (7, 3), (100, 1), (100, 60)])
def test_every_episode_is_taken_once(threads: int, episodes: int, least: int) -> None:
    ranges: list[tuple[int, int]] = []
    Threads(threads).share(episodes, least, lambda begin, end: ranges.append((begin, end)))
    assert sorted(e for begin, end in ranges for e in range(begin, end)) == list(range(episodes))
    assert len(ranges) == 1 or min(end - begin for begin, end in ranges) >= least


def test_what_a_thread_raises_is_raised() -> None:
    def work(begin: int, end: int) -> None:
        raise ValueError(f"episode {begin}")

    with pytest.raises(ValueError, match="episode"):
        Threads(2).share(10, 1, work)


def test_the_state_of_many_begins_anew() -> None:
    state = many(window_jobs=4, cluster_procs=8, episodes=3, users=2, rules=rules_of("easy", "requested", 8), inputs=5)
    assert {len(column) for column in state} == {3}
    assert (state.queue.shape, state.usage.shape, state.rows.shape[2]) == ((3, 4), (3, 3), 5)
    state.start[:] = 7
    state.counters[:] = 7
    begin_anew(state)
    assert (state.start == CANCELLED).all()
    assert not state.counters.any()
