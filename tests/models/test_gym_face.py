"""What all Gymnasium faces share: episodes that begin again at the step after their end, side by side and one at a time."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("gymnasium", reason="the extra `gym` is not installed")
from gymnasium import spaces

from models.gym_face import BoolArray, EpisodeEnv, FloatArray, OneByOneEnv


class Countdown(OneByOneEnv):
    """Each episode begins with a drawn number; an action takes so much away, and is its reward. Cut off at 1."""

    def __init__(self, episodes: int) -> None:
        super().__init__(episodes, spaces.Box(-10, 10, (1,), np.float32), 4)
        self.left = np.zeros(episodes, dtype=np.int64)

    def _begin(self, e: int) -> None:
        self.left[e] = self.np_random.integers(2, 6)

    def _act_in(self, e: int, action: int) -> tuple[float, bool, bool]:
        self.left[e] -= action
        return float(action), bool(self.left[e] == 0), bool(self.left[e] == 1)

    def _observed(self) -> FloatArray:
        return self.left[:, None].astype(np.float32)

    def _mask(self) -> BoolArray:
        return np.arange(4) <= self.left[:, None]


def test_an_episode_that_has_ended_begins_again_at_the_next_step() -> None:
    env = Countdown(2)
    seen, info = env.reset(seed=3)
    assert seen.shape == (2, 1) and info["action_mask"].shape == (2, 4)
    env.left[:] = (2, 5)
    env.action_space.offered[:] = 1
    seen, rewards, over, cut, _ = env.step(np.array([2, 1]))
    assert (rewards.tolist(), over.tolist(), cut.tolist()) == ([2, 1], [True, False], [False, False])
    seen, rewards, over, cut, _ = env.step(np.array([3, 1]))
    assert rewards.tolist() == [0, 1] and not over.any() and not cut.any()
    assert 2 <= seen[0, 0] < 6 and seen[1, 0] == 3


def test_an_episode_that_is_cut_off_is_not_over() -> None:
    env = Countdown(1)
    env.reset(seed=1)
    env.left[:] = 3
    assert [bool(flag[0]) for flag in env.step(np.array([2]))[2:4]] == [False, True]


def test_the_seed_decides_and_one_episode_is_the_first_of_many() -> None:
    several, alike, one = Countdown(3), Countdown(3), EpisodeEnv(Countdown(1))
    assert np.array_equal(several.reset(seed=5)[0], alike.reset(seed=[5, 6, 7])[0])
    seen, info = one.reset(seed=5)
    assert seen == several.left[0] and info["action_mask"].shape == (4,)
    assert one.step(1)[:4] == (seen - 1, 1.0, False, False)


@pytest.mark.parametrize(
    ("actions", "said"), [([0, 3], "3 is masked in episode 1"), ([-1, 0], "-1 is masked in episode 0")]
)
def test_a_masked_action_is_refused_and_changes_nothing(actions: list[int], said: str) -> None:
    env = Countdown(2)
    env.reset(seed=3)
    env.left[:] = 2
    env.step(np.array([0, 0]))
    with pytest.raises(ValueError, match=f"action {said}: take one of the 3 for which .* such as 0"):
        env.step(np.array(actions))
    with pytest.raises(ValueError, match=r"expected an action for each of 2 episodes, got shape \(1,\)"):
        env.step(np.array([0]))
    assert env.left.tolist() == [2, 2]


def test_a_drawn_action_is_one_that_is_offered() -> None:
    many, one = Countdown(3), EpisodeEnv(Countdown(1))
    many.reset(seed=1)
    one.reset(seed=1)
    for _ in range(50):
        many.step(many.action_space.sample())
        if any(one.step(one.action_space.sample())[2:4]):
            one.reset()
        assert np.array_equal(one.action_masks(), one._many._mask()[0])
    assert one.action_space.sample(np.array([0, 0, 1, 0], dtype=np.int8)) == 2
