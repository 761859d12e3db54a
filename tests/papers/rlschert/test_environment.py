"""RLSchert's cluster behind the Gymnasium face, by its own checker, and against what its rewards stand for."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

pytest.importorskip("gymnasium", reason="the extra `gym` is not installed")
from gymnasium.utils.env_checker import check_env

from papers.rlschert.cluster import Setting
from papers.rlschert.environment import ClusterEnv, ClusterVectorEnv
from papers.rlschert.rules import WAIT
from papers.rlschert.workload import Workload

WORKLOAD = Workload(jobs=12)


@pytest.mark.parametrize("images", [False, True])
def test_the_standard_checker_passes(images: bool) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of bounds and render modes, which nothing here has
        check_env(ClusterEnv(WORKLOAD, images=images))


def test_rewards_are_slowdowns_and_seeds_decide() -> None:
    setting = Setting(true_lengths=True)
    several, alike = (ClusterVectorEnv(3, WORKLOAD, setting) for _ in range(2))
    seen, info = several.reset(seed=4)
    alike.reset(seed=4)
    total, ended = np.zeros(3), 0
    for _ in range(400):
        offered = info["action_mask"]
        action = np.where(offered[:, :5].any(axis=1), offered[:, :5].argmax(axis=1), WAIT)
        again = alike.step(action)
        seen, reward, over, cut, info = several.step(action)
        assert np.array_equal(seen, again[0]) and np.array_equal(reward, again[1]) and not cut.any()
        assert several.observation_space.contains(seen)
        total += reward
        for e in np.flatnonzero(over):
            outcome = several._clusters[e].outcome()
            assert total[e] == pytest.approx(-outcome.slowdowns()[0] * 12)
            total[e], ended = 0.0, ended + 1
    assert ended > 6


def test_a_sequence_of_too_many_actions_is_cut_off() -> None:
    env = ClusterVectorEnv(1, WORKLOAD, most_actions=4)
    env.reset(seed=1)
    ends = [env.step(env.action_space.sample())[2:4] for _ in range(5)]
    assert [bool(cut[0]) for _, cut in ends] == [False, False, False, True, False]
    assert not any(over[0] for over, _ in ends)


def test_nothing_can_be_killed_where_nothing_runs() -> None:
    env = ClusterEnv(WORKLOAD)
    env.reset(seed=1)
    with pytest.raises(ValueError, match="action 12 is masked: take one of the "):
        env.step(12)
