"""The Gymnasium face, by its own checker, and against replays."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from models.scheduling.arena import Arena, Windows
from models.scheduling.goals import parse_goal
from simulator.jobs.jobs import Jobs

pytest.importorskip("gymnasium", reason="the extra `gym` is not installed")
from gymnasium.utils.env_checker import check_env

from models.scheduling.environment import SchedulingEnv, SchedulingVectorEnv


def test_the_standard_checker_passes(arena: Arena) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of bounds and render modes, which nothing here has
        check_env(SchedulingEnv(arena, Windows(np.arange(0, 600, 50), 40)))


def test_rewards_are_what_replays_cost(arena: Arena) -> None:
    """Always taking the smallest area is SAF as a choice of heads; every episode's reward is its window's cost, negative."""
    windows = Windows(np.arange(0, 600, 50), 40)
    several = SchedulingVectorEnv(arena, windows, 3)
    alike = SchedulingVectorEnv(arena, windows, 3)
    seen, info = several.reset(seed=4)
    alike.reset(seed=4)
    rewards = []
    for _ in range(300):
        area = np.where(info["action_mask"], seen[:, :, 2], np.inf)
        action = area.argmin(axis=1)
        again = alike.step(action)
        seen, reward, over, cut, info = several.step(action)
        assert np.array_equal(seen, again[0]) and np.array_equal(reward, again[1]) and not cut.any()
        assert (reward[~over] == 0).all() and (reward[over] <= -1).all()
        assert seen.dtype == np.float32 and several.observation_space.contains(seen)
        rewards += reward[over].tolist()
    assert len(rewards) > 6 and len(set(rewards)) > 3


def test_a_place_without_a_job_is_refused(arena: Arena) -> None:
    env = SchedulingEnv(arena, Windows(np.arange(0, 600, 50), 40))
    _, info = env.reset(seed=1)
    waiting = int(info["action_mask"].sum())
    with pytest.raises(ValueError, match=f"action {waiting} is masked: take one of the {waiting} for which"):
        env.step(waiting)


def test_what_cannot_be_an_environment(arena: Arena, jobs: Jobs) -> None:
    windows = Windows(np.array([0]), 40)
    other = Arena(jobs, arena.cluster_procs, parse_goal("bsld"), "easy", "rlscheduler")
    with pytest.raises(ValueError, match="standard rules"):
        SchedulingVectorEnv(other, windows, 1)
    idle = SchedulingVectorEnv(arena, Windows(np.array([0]), 1), 1)
    with pytest.raises(ValueError, match="busier windows"):
        idle.reset(seed=1)
