"""Windows of a trace as Gymnasium environments, so that other libraries can train on them (extra `gym`).

One step chooses the next job; the reward comes at the end of the window and is minus the goal's cost. Places beyond the waiting
jobs are masked: choosing one takes the first job instead, and `info["action_mask"]` says which there are.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from models.scheduling.arena import Arena, Windows
from simulator.batch import Batch, Observation
from simulator.network import VISIBLE_JOBS
from simulator.observation import LAYOUTS, Layout

FloatArray = NDArray[np.float32]


class SchedulingVectorEnv(VectorEnv):
    """`episodes` windows side by side, each drawn from `windows`. Observations are float32 (episodes, VISIBLE_JOBS, inputs), zero
    beyond the waiting jobs; actions are places, int64 (episodes,). An episode that has ended begins anew at the next step, whose
    action is not read (next-step autoreset). Raises ValueError for rules that cannot be stepped."""

    metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(self, arena: Arena, windows: Windows, episodes: int, layout: Layout = LAYOUTS["plain"]) -> None:
        if arena.rules != "standard":
            raise ValueError("environments follow the standard rules only")
        self.num_envs = episodes
        self._arena, self._windows = arena, windows
        self._inputs = len(layout.inputs)
        self.single_observation_space = spaces.Box(0.0, np.inf, (VISIBLE_JOBS, self._inputs), np.float32)
        self.single_action_space = spaces.Discrete(VISIBLE_JOBS)
        self.observation_space = gymnasium.vector.utils.batch_space(self.single_observation_space, episodes)
        self.action_space = gymnasium.vector.utils.batch_space(self.single_action_space, episodes)
        self._batches = [
            Batch(arena.jobs, arena.cluster_procs, windows.jobs, 1, arena.backfill, layout=layout, threads=1)
            for _ in range(episodes)
        ]
        self._seen: list[Observation] = []
        self._first = np.zeros(episodes, dtype=np.int64)
        self._over = np.zeros(episodes, dtype=np.bool_)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[FloatArray, dict[str, Any]]:
        super().reset(seed=seed if isinstance(seed, int) or seed is None else seed[0])
        self._over[:] = False
        self._seen = [self._begin(e) for e in range(self.num_envs)]
        return self._observed(), self._info()

    def step(
        self, actions: NDArray[np.int64]
    ) -> tuple[FloatArray, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        rewards = np.zeros(self.num_envs)
        for e in range(self.num_envs):
            if self._over[e]:
                self._seen[e] = self._begin(e)
                self._over[e] = False
                continue
            place = int(actions[e])
            if not self._seen[e].mask[0, place]:
                place = 0
            self._seen[e] = self._batches[e].step(np.array([place]))
            if not self._seen[e].choosing[0]:
                rewards[e] = -self._cost(e)
                self._over[e] = True
        return self._observed(), rewards, self._over.copy(), np.zeros(self.num_envs, dtype=np.bool_), self._info()

    def _begin(self, e: int) -> Observation:
        """The first choice of a window that has one; in windows without a choice there is nothing to learn."""
        for _ in range(1000):
            self._first[e] = self.np_random.choice(self._windows.first)
            seen = self._batches[e].reset(self._first[e : e + 1])
            if seen.choosing[0]:
                return seen
        raise ValueError(
            "none of a thousand windows has a choice between two jobs: take busier windows, or longer ones"
        )

    def _cost(self, e: int) -> float:
        window = Windows(self._first[e : e + 1], self._windows.jobs)
        return float(self._arena.costs_of(window, self._batches[e].start)[0])

    def _observed(self) -> FloatArray:
        return np.concatenate([seen.features for seen in self._seen])

    def _info(self) -> dict[str, Any]:
        return {"action_mask": np.concatenate([seen.mask for seen in self._seen])}


class SchedulingEnv(gymnasium.Env):
    """The same with one window at a time, for libraries that take no vector environment."""

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(self, arena: Arena, windows: Windows, layout: Layout = LAYOUTS["plain"]) -> None:
        self._many = SchedulingVectorEnv(arena, windows, 1, layout)
        self.observation_space = self._many.single_observation_space
        self.action_space = self._many.single_action_space

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[FloatArray, dict[str, Any]]:
        super().reset(seed=seed)
        seen, info = self._many.reset(seed=seed)
        return seen[0], {"action_mask": info["action_mask"][0]}

    def step(self, action: int) -> tuple[FloatArray, float, bool, bool, dict[str, Any]]:
        seen, rewards, over, _, info = self._many.step(np.array([action]))
        return seen[0], float(rewards[0]), bool(over[0]), False, {"action_mask": info["action_mask"][0]}
