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


class OfferedActions(spaces.Discrete):
    """Actions of one episode. `sample()` draws one that is offered now. offered: int8 (actions,)."""

    def __init__(self, actions: int) -> None:
        super().__init__(actions)
        self.offered = np.ones(actions, dtype=np.int8)

    def sample(self, mask: Any = None, probability: Any = None) -> np.int64:
        """An action that `mask` offers, by default one that the environment offers."""
        return super().sample(self.offered if mask is None and probability is None else mask, probability)


class OfferedBatch(spaces.MultiDiscrete):
    """Actions that the environment offers in episodes side by side. offered: int8 (episodes, actions)."""

    def __init__(self, episodes: int, actions: int) -> None:
        super().__init__(np.full(episodes, actions))
        self.offered = np.ones((episodes, actions), dtype=np.int8)

    def sample(self, mask: Any = None, probability: Any = None) -> NDArray[np.int64]:
        """An action for each episode, 0 for one that has ended."""
        return super().sample(tuple(self.offered) if mask is None and probability is None else mask, probability)


class EpisodesEnv(VectorEnv):
    """`episodes` of one kind, side by side. Subclasses say what is observed, what actions do, and what is rewarded.

    Observation: float32 (episodes, ...). Action: an integer for each episode. `info["action_mask"]`, bool (episodes, actions),
    says which are offered, and another raises ValueError. Termination: by the subclass. An episode that has ended begins again
    at the next step, whose action is not read (next-step autoreset).
    """

    metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(self, episodes: int, observation: spaces.Box, actions: int) -> None:
        self.num_envs = episodes
        self.single_observation_space, self.single_action_space = observation, spaces.Discrete(actions)
        self.observation_space = gymnasium.vector.utils.batch_space(observation, episodes)
        self.action_space: OfferedBatch = OfferedBatch(episodes, actions)
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
        return self._observed(), self._offers()

    def _offers(self) -> dict[str, Any]:
        mask = self._mask()
        self.action_space.offered = mask.astype(np.int8)
        return {"action_mask": mask}

    def step(
        self, actions: NDArray[np.int64]
    ) -> tuple[FloatArray, NDArray[np.float64], BoolArray, BoolArray, dict[str, Any]]:
        """Takes an action in every episode. actions: int64 (episodes,); not read where an episode has ended.

        Returns observations (episodes, ...), rewards, whether each is over, whether it is cut off, (episodes,) each, and info.
        Raises ValueError for an action that is not offered. Nothing has happened then.
        """
        acting = ~self._ended
        actions = np.asarray(actions, dtype=np.int64)
        self._check(actions, acting)
        rewards, over, cut = self._act(actions, acting)
        rewards, over, cut = np.where(acting, rewards, 0.0), over & acting, cut & acting
        for e in np.flatnonzero(self._ended).tolist():
            self._begin(e)
        self._ended = over | cut
        return self._observed(), rewards, over, cut, self._offers()

    def _check(self, actions: NDArray[np.int64], acting: BoolArray) -> None:
        """Raises ValueError for an action that is masked, and for one that there is not."""
        offered = self.action_space.offered.astype(np.bool_)
        if actions.shape != (self.num_envs,):
            raise ValueError(f"expected an action for each of {self.num_envs} episodes, got shape {actions.shape}")
        inside = (actions >= 0) & (actions < offered.shape[1])
        taken = inside & np.take_along_axis(offered, np.where(inside, actions, 0)[:, None], axis=1)[:, 0]
        for e in np.flatnonzero(acting & ~taken).tolist():
            where = f" in episode {e}" if self.num_envs > 1 else ""
            raise ValueError(
                f"action {actions[e]} is masked{where}: take one of the {offered[e].sum()} for which info['action_mask'] is true, "
                f"such as {np.argmax(offered[e])}"
            )


class OneByOneEnv(EpisodesEnv):
    """An environment of many episodes, each of which is stepped by itself."""

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
    """An environment of one episode at a time, for libraries that take no vector environment."""

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(self, many: EpisodesEnv) -> None:
        self._many = many
        self.observation_space = many.single_observation_space
        self.action_space: OfferedActions = OfferedActions(many.action_space.offered.shape[1])

    def action_masks(self) -> BoolArray:
        """Which actions are offered now, bool (actions,), as libraries with masked actions ask for it (sb3-contrib)."""
        return self.action_space.offered.astype(np.bool_)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[FloatArray, dict[str, Any]]:
        """Begins an episode. Returns its observation and info."""
        super().reset(seed=seed)
        seen, info = self._many.reset(seed=seed)
        return seen[0], self._offers(info)

    def step(self, action: int) -> tuple[FloatArray, float, bool, bool, dict[str, Any]]:
        """Takes an action. Returns observation, reward, whether the episode is over, whether it is cut off, and info.

        Raises ValueError for an action that is not offered. Nothing has happened then.
        """
        seen, rewards, over, cut, info = self._many.step(np.array([action]))
        return seen[0], float(rewards[0]), bool(over[0]), bool(cut[0]), self._offers(info)

    def _offers(self, info: dict[str, Any]) -> dict[str, Any]:
        mask = info["action_mask"][0]
        self.action_space.offered = mask.astype(np.int8)
        return {"action_mask": mask}
