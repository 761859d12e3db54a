"""RLSchert's cluster as Gymnasium environments, so that other libraries can train on it (extra `gym`).

One step is one action: select a slot, kill a place, or let time go on. Rewards come when time goes on (equations 9 and 10).
Actions that are not offered are masked: one of them is the same as waiting; `info["action_mask"]` says which there are.
"""

from __future__ import annotations

import numpy as np
from gymnasium import spaces

from models.gym_face import BoolArray, EpisodeEnv, EpisodesEnv, FloatArray
from models.rlschert.cluster import Cluster, Setting
from models.rlschert.workload import Workload, draw_sequences
from simulator.published.rlschert import ACTIONS, HORIZON, WAIT
from simulator.published.rlschert_view import FACTS, IMAGE_COLUMNS_BESIDE


class ClusterVectorEnv(EpisodesEnv):
    """`episodes` sequences side by side, each drawn anew from the workload. Observations are facts, float32 (episodes, FACTS), or
    state images, float32 (episodes, HORIZON, columns). A sequence of `most_actions` is cut off."""

    def __init__(
        self,
        episodes: int,
        workload: Workload | None = None,
        setting: Setting | None = None,
        images: bool = False,
        most_actions: int = 3000,
    ) -> None:
        self._workload, self._setting = workload or Workload(), setting or Setting()
        self._images, self._most_actions = images, most_actions
        shape = (HORIZON, self._setting.procs + IMAGE_COLUMNS_BESIDE) if images else (FACTS,)
        super().__init__(episodes, spaces.Box(-np.inf, np.inf, shape, np.float32), ACTIONS)
        self._clusters: dict[int, Cluster] = {}
        self._taken = np.zeros(episodes, dtype=np.int64)

    def _begin(self, e: int) -> None:
        seed = int(self.np_random.integers(2**31))
        self._clusters[e] = Cluster(draw_sequences(self._workload, 1, seed), self._setting, self._images)
        self._clusters[e].begin()
        self._taken[e] = 0

    def _act(self, e: int, action: int) -> tuple[float, bool, bool]:
        cluster = self._clusters[e]
        reward = cluster.step(np.array([action if cluster.mask[0, action] else WAIT]))[0]
        self._taken[e] += 1
        over = bool(cluster.over[0])
        return reward, over, not over and bool(self._taken[e] >= self._most_actions)

    def _observed(self) -> FloatArray:
        return np.concatenate([self._clusters[e].seen for e in range(self.num_envs)])

    def _mask(self) -> BoolArray:
        return np.concatenate([self._clusters[e].mask for e in range(self.num_envs)])


class ClusterEnv(EpisodeEnv):
    """The same with one sequence at a time."""

    def __init__(
        self,
        workload: Workload | None = None,
        setting: Setting | None = None,
        images: bool = False,
        most_actions: int = 3000,
    ) -> None:
        super().__init__(ClusterVectorEnv(1, workload, setting, images, most_actions))
