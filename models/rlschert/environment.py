"""RLSchert's cluster as Gymnasium environments, so that other libraries can train on it (extra `gym`).

One step is one action: select a slot, kill a place, or let time go on. Rewards come when time goes on (equations 9 and 10).
Actions that are not offered are masked: one of them is the same as waiting; `info["action_mask"]` says which there are.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from models.rlschert.cluster import Cluster, Setting
from models.rlschert.workload import Workload, draw_sequences
from simulator.rlschert import ACTIONS, HORIZON
from simulator.rlschert_view import FACTS, IMAGE_COLUMNS_BESIDE

FloatArray = NDArray[np.float32]


class ClusterVectorEnv(VectorEnv):
    """`episodes` sequences side by side, each drawn anew from the workload. Observations are facts, float32 (episodes, FACTS), or
    state images, float32 (episodes, HORIZON, columns). A sequence that has ended begins anew at the next step, whose action is
    not read (next-step autoreset); one of `most_actions` is cut off."""

    metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(
        self,
        episodes: int,
        workload: Workload | None = None,
        setting: Setting | None = None,
        images: bool = False,
        most_actions: int = 3000,
    ) -> None:
        self.num_envs = episodes
        self._workload, self._setting = workload or Workload(), setting or Setting()
        self._images, self._most_actions = images, most_actions
        shape = (HORIZON, self._setting.procs + IMAGE_COLUMNS_BESIDE) if images else (FACTS,)
        self.single_observation_space = spaces.Box(-np.inf, np.inf, shape, np.float32)
        self.single_action_space = spaces.Discrete(ACTIONS)
        self.observation_space = gymnasium.vector.utils.batch_space(self.single_observation_space, episodes)
        self.action_space = gymnasium.vector.utils.batch_space(self.single_action_space, episodes)
        self._clusters: list[Cluster] = []
        self._ended = np.zeros(episodes, dtype=np.bool_)
        self._taken = np.zeros(episodes, dtype=np.int64)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[FloatArray, dict[str, Any]]:
        super().reset(seed=seed if isinstance(seed, int) or seed is None else seed[0])
        self._ended[:] = False
        self._clusters = [self._begin(e) for e in range(self.num_envs)]
        return self._observed(), self._info()

    def step(
        self, actions: NDArray[np.int64]
    ) -> tuple[FloatArray, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        rewards = np.zeros(self.num_envs)
        over, cut = np.zeros(self.num_envs, dtype=np.bool_), np.zeros(self.num_envs, dtype=np.bool_)
        for e in range(self.num_envs):
            if self._ended[e]:
                self._clusters[e] = self._begin(e)
                self._ended[e] = False
                continue
            cluster, action = self._clusters[e], int(actions[e])
            action = action if cluster.mask[0, action] else ACTIONS - 1
            rewards[e] = cluster.step(np.array([action]))[0]
            self._taken[e] += 1
            over[e] = cluster.over[0]
            cut[e] = not over[e] and self._taken[e] >= self._most_actions
            self._ended[e] = over[e] or cut[e]
        return self._observed(), rewards, over, cut, self._info()

    def _begin(self, e: int) -> Cluster:
        seed = int(self.np_random.integers(2**31))
        cluster = Cluster(draw_sequences(self._workload, 1, seed), self._setting, self._images)
        cluster.begin()
        self._taken[e] = 0
        return cluster

    def _observed(self) -> FloatArray:
        return np.concatenate([cluster.seen for cluster in self._clusters])

    def _info(self) -> dict[str, Any]:
        return {"action_mask": np.concatenate([cluster.mask for cluster in self._clusters])}


class ClusterEnv(gymnasium.Env):
    """The same with one sequence at a time, for libraries that take no vector environment."""

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(
        self,
        workload: Workload | None = None,
        setting: Setting | None = None,
        images: bool = False,
        most_actions: int = 3000,
    ) -> None:
        self._many = ClusterVectorEnv(1, workload, setting, images, most_actions)
        self.observation_space = self._many.single_observation_space
        self.action_space = self._many.single_action_space

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[FloatArray, dict[str, Any]]:
        super().reset(seed=seed)
        seen, info = self._many.reset(seed=seed)
        return seen[0], {"action_mask": info["action_mask"][0]}

    def step(self, action: int) -> tuple[FloatArray, float, bool, bool, dict[str, Any]]:
        seen, rewards, over, cut, info = self._many.step(np.array([action]))
        return seen[0], float(rewards[0]), bool(over[0]), bool(cut[0]), {"action_mask": info["action_mask"][0]}
