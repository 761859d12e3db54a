"""Deep Back-Filling's episodes as Gymnasium environments, so that other libraries can train on them in the mode of the paper (extra `gym`).

One step is one action: place the job of a slot, or let time go on. Slots whose job does not fit, and empty ones, are masked:
`info["action_mask"]` says which there are, and choosing another raises ValueError.
"""

from __future__ import annotations

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from models.gym_face import BoolArray, EpisodeEnv, EpisodesEnv, FloatArray
from papers.deep_back_filling.episodes import PlacingBatch, PlacingRules, PlacingSight, placing_inputs
from papers.deep_back_filling.options import DeepBackFillingOptions
from simulator.jobs.jobs import Jobs

_OPTIONS = DeepBackFillingOptions()


class PlacingVectorEnv(EpisodesEnv):
    """`episodes` side by side, each from a drawn job of the trace on, on an empty cluster and with arrivals that go on.

    Observation: float32 (episodes, processors + 3 * slots), see papers.deep_back_filling.episodes.PlacingSight.
    Action: a slot, or, the last, to let time go on to the next event (Fwd), int64 (episodes,).
    Reward: 0 where a job was placed, else that of equation 2, see papers.deep_back_filling.episodes.PlacingBatch.
    Termination: when so many jobs have been placed. An agent that never places a job comes to an end, too.
    """

    def __init__(self, jobs: Jobs, cluster_procs: int, episodes: int, rules: PlacingRules | None = None) -> None:
        """jobs: the trace, without cancellations. rules: default, those of a training episode of DeepBackFillingOptions.

        Raises ValueError for jobs or rules that cannot be stepped, with the remedy.
        """
        rules = rules or _OPTIONS.placing_rules(_OPTIONS.training_later)
        self._batch = PlacingBatch(jobs, cluster_procs, episodes, rules)
        self._starts = len(jobs) - rules.later + 1
        self._first = np.zeros(episodes, dtype=np.int64)
        self._seen: PlacingSight = self._batch.reset(self._first, np.zeros(episodes, dtype=np.bool_))
        shape = (placing_inputs(cluster_procs, rules.slots),)
        super().__init__(episodes, spaces.Box(0.0, np.inf, shape, np.float32), rules.slots + 1)

    def _begin(self, e: int) -> None:
        self._first[e] = self.np_random.integers(self._starts)
        self._seen = self._batch.reset(self._first, np.arange(self.num_envs) == e)

    def _act(self, actions: NDArray[np.int64], acting: BoolArray) -> tuple[NDArray[np.float64], BoolArray, BoolArray]:
        self._seen = self._batch.step(np.where(acting, actions, 0))
        return self._seen.reward.copy(), ~self._seen.asking, np.zeros(self.num_envs, dtype=np.bool_)

    def _observed(self) -> FloatArray:
        return self._seen.features.copy()

    def _mask(self) -> BoolArray:
        return np.concatenate([self._seen.fits, self._seen.asking[:, None]], axis=1)


class PlacingEnv(EpisodeEnv):
    """One episode at a time; see `PlacingVectorEnv` for observation, action, reward and termination."""

    def __init__(self, jobs: Jobs, cluster_procs: int, rules: PlacingRules | None = None) -> None:
        super().__init__(PlacingVectorEnv(jobs, cluster_procs, 1, rules))
