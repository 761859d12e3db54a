"""Tests of models/scheduling: environment. The Gymnasium face, by its own checker, and against replays.

The Gymnasium face of agents beside a policy: its own checker, rewards that add up, and the same schedules as the rules.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pytest

from models.scheduling.arena import Arena, Windows
from models.scheduling.goals import parse_goal
from simulator.agents.deciding import ACCEPTING, REJECTING
from simulator.engine.replay import replay
from simulator.jobs.jobs import Jobs
from simulator.policies.agents import parse_agent
from simulator.policies.observation import AGENT_LAYOUTS
from simulator.policies.registry import assisted
from tests.simulator.busy import PROCS, busy_jobs

pytest.importorskip("gymnasium", reason="the extra `gym` is not installed")
from gymnasium.utils.env_checker import check_env

from models.scheduling.environment import AgentEnv, AgentVectorEnv, SchedulingEnv, SchedulingVectorEnv


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


# --- agent environment


JOBS = busy_jobs(700, load=1.4)
WINDOWS = Windows(np.arange(0, 600, 50), 60)
FITS = AGENT_LAYOUTS["inspecting"].inputs.index("fits")
AGENTS = ["pick:window=10-10", "pick:from=all,window=3-3", "inspect:accept"]


def arena_of(agent: str, goal: str = "wait", base: str = "FCFS") -> Arena:
    return Arena(JOBS, PROCS, parse_goal(goal), agent=parse_agent(agent), base=base, threads=1)


@pytest.mark.parametrize("agent", AGENTS)
def test_the_standard_checker_passes_agents(agent: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of bounds and render modes, which nothing here has
        check_env(AgentEnv(arena_of(agent), WINDOWS))


@pytest.mark.parametrize("goal", ["wait", "0.5*wait + 2*turnaround", "bsld"])
@pytest.mark.parametrize("agent", AGENTS)
def test_rewards_add_up_to_what_is_waited_after_the_first_question(agent: str, goal: str) -> None:
    several = AgentVectorEnv(arena_of(agent, goal, "SAF"), WINDOWS, 4)
    _, info = several.reset(seed=2)
    rng = np.random.default_rng(1)
    begin, total, ended = several._seen.time.copy(), np.zeros(4), 0
    rate = 1 / np.maximum(JOBS.runtime, 10) if goal == "bsld" else np.full(len(JOBS), 1.0 if goal == "wait" else 2.5)
    fresh = np.zeros(4, dtype=np.bool_)
    while ended < 8:
        action = np.where(info["action_mask"], rng.random(info["action_mask"].shape), -1.0).argmax(axis=1)
        _, reward, over, cut, info = several.step(action)
        assert (reward <= 1e-9).all() and not cut.any() and not reward[fresh].any() and not over[fresh].any()
        begin[fresh], total[fresh] = several._seen.time[fresh], 0.0
        total += reward
        for e in np.flatnonzero(over):
            own = slice(several._first[e], several._first[e] + WINDOWS.jobs)
            waited = np.maximum(several._batch.start[e] - np.maximum(JOBS.submit[own], begin[e]), 0)
            assert total[e] == pytest.approx(-(rate[own] * waited).mean())
            ended += 1
        fresh = over


@pytest.mark.parametrize("goal", ["utilisation", "bsld:max_user"])
def test_other_goals_are_rewarded_at_the_end(goal: str) -> None:
    env = AgentEnv(arena_of("pick:window=10-10", goal), WINDOWS)
    env.reset(seed=1)
    rewards, over = [], False
    while not over:
        _, reward, over, _, _ = env.step(0)
        rewards.append(reward)
    first = env._many._first
    start = replay(JOBS.window(int(first[0]), 60), PROCS, "FCFS").start
    cost = arena_of("inspect:accept", goal).costs_of(Windows(first, 60), start[None])[0]
    assert len(rewards) > 3 and not any(rewards[:-1]) and rewards[-1] == pytest.approx(-cost)


def by_estimate(seen: np.ndarray, mask: np.ndarray) -> int:
    no = AGENT_LAYOUTS["picking"].inputs.index("answers_no")
    return int(np.where(mask & (seen[:, no] == 0), seen[:, 0], np.inf).argmin())


@pytest.mark.parametrize(
    ("agent", "rule", "act"),
    [
        ("pick:window=120-0", "pick:by=shortest,window=120-0", by_estimate),
        ("pick:window=5-5,guard=none", "pick:by=shortest,window=5-5,guard=none", by_estimate),
        ("pick:from=all,window=0-9", "pick:by=shortest,from=all,window=0-9", by_estimate),
        ("inspect", "inspect:accept", lambda seen, mask: ACCEPTING),
        ("inspect", "inspect:unfit", lambda seen, mask: ACCEPTING if seen[0, FITS] else REJECTING),
    ],
)
def test_an_agent_that_decides_as_a_rule_has_its_starts(
    agent: str, rule: str, act: Callable[[np.ndarray, np.ndarray], int]
) -> None:
    env = AgentEnv(arena_of(agent), WINDOWS)
    for seed in range(3):
        seen, info = env.reset(seed=seed)
        over = False
        while not over:
            seen, _, over, _, info = env.step(act(seen, info["action_mask"]))
        window = JOBS.window(int(env._many._first[0]), 60)
        expected = replay(window, PROCS, assisted("FCFS", parse_agent(rule))).start
        assert env._many._batch.start[0].tolist() == expected.tolist()


@pytest.mark.parametrize("agent", AGENTS)
def test_the_same_seed_is_the_same_episode(agent: str) -> None:
    several, alike, alone = (AgentVectorEnv(arena_of(agent), WINDOWS, count) for count in (3, 3, 1))
    seen, info = several.reset(seed=4)
    seen_alone, info_alone = alone.reset(seed=4)
    alike.reset(seed=4)
    rng, first = np.random.default_rng(1), True
    for _ in range(300):
        if first:  # of many the first episode is that of one alone
            assert np.array_equal(seen[0], seen_alone[0])
        action = np.where(info["action_mask"], rng.random(info["action_mask"].shape), -1.0).argmax(axis=1)
        seen, reward, over, _, info = several.step(action)
        again = alike.step(action)
        if first:
            seen_alone, *_, info_alone = alone.step(action[:1])
        assert np.array_equal(seen, again[0]) and np.array_equal(reward, again[1])
        assert np.array_equal(info["action_mask"], again[4]["action_mask"])
        assert several.observation_space.contains(seen) and seen.dtype == np.float32
        first = first and not over[0]
    assert not first and info_alone["action_mask"].shape == info["action_mask"][:1].shape


def test_a_row_that_is_no_answer_is_refused() -> None:
    env = AgentEnv(arena_of("pick:window=10-10"), WINDOWS)
    _, info = env.reset(seed=1)
    wrong = int(np.flatnonzero(~info["action_mask"])[0])
    with pytest.raises(ValueError, match=f"action {wrong} is masked"):
        env.step(wrong)


def test_agents_that_always_say_no_come_to_an_end() -> None:
    for agent in AGENTS:
        env = AgentEnv(arena_of(agent), WINDOWS)
        _, info = env.reset(seed=1)
        over = False
        while not over:
            _, _, over, _, info = env.step(int(np.flatnonzero(info["action_mask"])[-1]))


def test_what_cannot_be_an_environment_of_agents() -> None:
    arena = arena_of("pick:window=5-5")
    with pytest.raises(ValueError, match="no agent"):
        AgentEnv(Arena(JOBS, PROCS, arena.goal), WINDOWS)
    with pytest.raises(ValueError, match="standard rules"):
        AgentEnv(Arena(JOBS, PROCS, arena.goal, rules="rlscheduler", agent=arena.agent), WINDOWS)
    with pytest.raises(ValueError, match="busier windows"):
        AgentEnv(arena, Windows(np.array([0]), 1)).reset(seed=1)
