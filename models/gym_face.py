"""What the Gymnasium faces of the simulators share: episodes side by side, and one at a time (extra `gym`)."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

FloatArray = NDArray[np.float32]
BoolArray = NDArray[np.bool_]


class EpisodesEnv(VectorEnv):
    """`episodes` of one kind, side by side. Subclasses say what is observed, what actions do, and what is rewarded.

    Observation: float32 (episodes, ...). Action: an integer for each episode. `info["action_mask"]`, bool (episodes, actions),
    says which are offered. Termination: by the subclass. An episode that has ended begins again at the next step, whose action
    is not read (next-step autoreset).
    """

    metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(self, episodes: int, observation: spaces.Box, actions: int) -> None:
        self.num_envs = episodes
        self.single_observation_space, self.single_action_space = observation, spaces.Discrete(actions)
        self.observation_space = gymnasium.vector.utils.batch_space(observation, episodes)
        self.action_space = gymnasium.vector.utils.batch_space(self.single_action_space, episodes)
        self._ended = np.zeros(episodes, dtype=np.bool_)

    @abstractmethod
    def _begin(self, e: int) -> None:
        """Begins episode e, drawing with self.np_random."""

    @abstractmethod
    def _act(self, actions: NDArray[np.int64], acting: BoolArray) -> tuple[NDArray[np.float64], BoolArray, BoolArray]:
        """Takes an action in every episode that is acting: (rewards, whether each is over, whether it is cut off).

        All are (episodes,). What is said of the other episodes is not read.
        """

    @abstractmethod
    def _observed(self) -> FloatArray:
        """Observations, (episodes, ...)."""

    @abstractmethod
    def _mask(self) -> BoolArray:
        """Which actions there are, (episodes, actions)."""

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[FloatArray, dict[str, Any]]:
        """Begins every episode. seed: of all draws; of a list the first. Returns observations, (episodes, ...), and info."""
        super().reset(seed=seed if isinstance(seed, int) or seed is None else seed[0])
        self._ended[:] = False
        for e in range(self.num_envs):
            self._begin(e)
        return self._observed(), {"action_mask": self._mask()}

    def step(
        self, actions: NDArray[np.int64]
    ) -> tuple[FloatArray, NDArray[np.float64], BoolArray, BoolArray, dict[str, Any]]:
        """Takes an action in every episode. actions: int64 (episodes,); not read where an episode has ended.

        Returns observations (episodes, ...), rewards, whether each is over, whether it is cut off, (episodes,) each, and info.
        """
        acting = ~self._ended
        rewards, over, cut = self._act(np.asarray(actions, dtype=np.int64), acting)
        rewards, over, cut = np.where(acting, rewards, 0.0), over & acting, cut & acting
        for e in np.flatnonzero(self._ended).tolist():
            self._begin(e)
        self._ended = over | cut
        return self._observed(), rewards, over, cut, {"action_mask": self._mask()}


class OneByOneEnv(EpisodesEnv):
    """The same where every episode is stepped by itself."""

    @abstractmethod
    def _act_in(self, e: int, action: int) -> tuple[float, bool, bool]:
        """Takes an action in episode e: (reward, whether it is over, whether it is cut off)."""

    def _act(self, actions: NDArray[np.int64], acting: BoolArray) -> tuple[NDArray[np.float64], BoolArray, BoolArray]:
        rewards = np.zeros(self.num_envs)
        over, cut = np.zeros(self.num_envs, dtype=np.bool_), np.zeros(self.num_envs, dtype=np.bool_)
        for e in np.flatnonzero(acting).tolist():
            rewards[e], over[e], cut[e] = self._act_in(e, int(actions[e]))
        return rewards, over, cut


class EpisodeEnv(gymnasium.Env):
    """The same with one episode at a time, for libraries that take no vector environment."""

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(self, many: EpisodesEnv) -> None:
        self._many = many
        self.observation_space = many.single_observation_space
        self.action_space = many.single_action_space

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[FloatArray, dict[str, Any]]:
        """Begins an episode. Returns its observation and info."""
        super().reset(seed=seed)
        seen, info = self._many.reset(seed=seed)
        return seen[0], {"action_mask": info["action_mask"][0]}

    def step(self, action: int) -> tuple[FloatArray, float, bool, bool, dict[str, Any]]:
        """Takes an action. Returns observation, reward, whether the episode is over, whether it is cut off, and info."""
        seen, rewards, over, cut, info = self._many.step(np.array([action]))
        return seen[0], float(rewards[0]), bool(over[0]), bool(cut[0]), {"action_mask": info["action_mask"][0]}
