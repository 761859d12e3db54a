"""Windows of a trace as Gymnasium environments, so that other libraries can train on them (extra `gym`).

One step chooses the next job. The reward comes at the end of the window and is minus the goal's cost. Places beyond the waiting
jobs are masked: `info["action_mask"]` says which there are, and choosing another raises ValueError.
"""

from __future__ import annotations

import numpy as np
from gymnasium import spaces

from models.gym_face import BoolArray, EpisodeEnv, FloatArray, OneByOneEnv
from models.scheduling.arena import Arena, Windows
from simulator.agents.batch import Batch, Observation
from simulator.policies.network import VISIBLE_JOBS
from simulator.policies.observation import LAYOUTS, Layout


class SchedulingVectorEnv(OneByOneEnv):
    """`episodes` windows side by side, each drawn from `windows`. Observations are float32 (episodes, VISIBLE_JOBS, inputs), zero
    beyond the waiting jobs. Actions are places, int64 (episodes,). Raises ValueError for rules that cannot be stepped."""

    def __init__(self, arena: Arena, windows: Windows, episodes: int, layout: Layout = LAYOUTS["plain"]) -> None:
        if arena.rules != "standard":
            raise ValueError("environments follow the standard rules only")
        super().__init__(
            episodes, spaces.Box(0.0, np.inf, (VISIBLE_JOBS, len(layout.inputs)), np.float32), VISIBLE_JOBS
        )
        self._arena, self._windows = arena, windows
        self._batches = [
            Batch(arena.jobs, arena.cluster_procs, windows.jobs, 1, arena.backfill, layout=layout, threads=1)
            for _ in range(episodes)
        ]
        self._seen: dict[int, Observation] = {}
        self._first = np.zeros(episodes, dtype=np.int64)

    def _begin(self, e: int) -> None:
        """The first choice of a window that has one. In windows without a choice there is nothing to learn."""
        for _ in range(1000):
            self._first[e] = self.np_random.choice(self._windows.first)
            self._seen[e] = self._batches[e].reset(self._first[e : e + 1])
            if self._seen[e].choosing[0]:
                return
        raise ValueError(
            "none of a thousand windows has a choice between two jobs: take busier windows, or longer ones"
        )

    def _act_in(self, e: int, action: int) -> tuple[float, bool, bool]:
        self._seen[e] = self._batches[e].step(np.array([action]))
        over = not self._seen[e].choosing[0]
        return -self._cost(e) if over else 0.0, over, False

    def _cost(self, e: int) -> float:
        window = Windows(self._first[e : e + 1], self._windows.jobs)
        return float(self._arena.costs_of(window, self._batches[e].start)[0])

    def _observed(self) -> FloatArray:
        return np.concatenate([self._seen[e].features for e in range(self.num_envs)])

    def _mask(self) -> BoolArray:
        return np.concatenate([self._seen[e].mask for e in range(self.num_envs)])


class SchedulingEnv(EpisodeEnv):
    """The same with one window at a time."""

    def __init__(self, arena: Arena, windows: Windows, layout: Layout = LAYOUTS["plain"]) -> None:
        super().__init__(SchedulingVectorEnv(arena, windows, 1, layout))
