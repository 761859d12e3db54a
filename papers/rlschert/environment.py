"""RLSchert's cluster as Gymnasium environments, so that other libraries can train on it (extra `gym`).

One step is one action: select a slot, kill a place, or let time pass. Rewards come when time passes (equations 9 and 10).
Actions that are not offered are masked: `info["action_mask"]` says which are, and another raises ValueError.
"""

from __future__ import annotations

import numpy as np
from gymnasium import spaces

from models.gym_face import BoolArray, EpisodeEnv, FloatArray, OneByOneEnv
from papers.rlschert.cluster import Setting, SlotCluster
from papers.rlschert.rules import ACTIONS, HORIZON
from papers.rlschert.view import IMAGE_COLUMNS_BESIDE, SIGHT_FACTS
from papers.rlschert.workload import Workload, draw_sequences


class ClusterVectorEnv(OneByOneEnv):
    """`episodes` sequences side by side. Each is drawn from the workload when it begins.

    Observation: facts, float32 (episodes, SIGHT_FACTS), or with `images` state images, float32 (episodes, HORIZON, columns).
        See `papers.rlschert.view.look` and `draw_image`.
    Action: an integer below ACTIONS for each episode. It is a slot whose job is selected, a place whose job is killed, or, the
        last, to let a unit of time pass.
    Reward: for a unit of time, minus the sum over the jobs in the system of 1 / estimate (goal slowdown, equation 9) or of 1
        (goal completion, equation 10). Actions that take no time have the reward 0.
    Termination: all jobs of the sequence are done. Truncation: after `most_actions` actions.
    """

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
        shape = (HORIZON, self._setting.procs + IMAGE_COLUMNS_BESIDE) if images else (SIGHT_FACTS,)
        super().__init__(episodes, spaces.Box(-np.inf, np.inf, shape, np.float32), ACTIONS)
        self._clusters: dict[int, SlotCluster] = {}
        self._taken = np.zeros(episodes, dtype=np.int64)

    def _begin(self, e: int) -> None:
        seed = int(self.np_random.integers(2**31))
        self._clusters[e] = SlotCluster(draw_sequences(self._workload, 1, seed), self._setting, self._images)
        self._clusters[e].begin()
        self._taken[e] = 0

    def _act_in(self, e: int, action: int) -> tuple[float, bool, bool]:
        cluster = self._clusters[e]
        reward = cluster.step(np.array([action]))[0]
        self._taken[e] += 1
        over = bool(cluster.over[0])
        return reward, over, not over and bool(self._taken[e] >= self._most_actions)

    def _observed(self) -> FloatArray:
        return np.concatenate([self._clusters[e].seen for e in range(self.num_envs)])

    def _mask(self) -> BoolArray:
        return np.concatenate([self._clusters[e].mask for e in range(self.num_envs)])


class ClusterEnv(EpisodeEnv):
    """One sequence at a time. `ClusterVectorEnv` describes observation, action, reward and termination.

    Observation: float32 (SIGHT_FACTS,) or (HORIZON, columns). Action: one integer.
    """

    def __init__(
        self,
        workload: Workload | None = None,
        setting: Setting | None = None,
        images: bool = False,
        most_actions: int = 3000,
    ) -> None:
        super().__init__(ClusterVectorEnv(1, workload, setting, images, most_actions))
