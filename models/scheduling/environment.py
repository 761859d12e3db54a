"""Windows of a trace as Gymnasium environments, so that other libraries can train on them (extra `gym`).

One step chooses the next job. The reward comes at the end of the window and is minus the goal's cost. Places beyond the waiting
jobs are masked: `info["action_mask"]` says which there are, and choosing another raises ValueError.

Windows of a trace as Gymnasium environments for agents beside a policy, which pick what is backfilled or inspect picks (extra `gym`).

One step is one answer to a question (docs/reference/semantics.md, "Picked backfilling" and "Inspected picks"). Rows that are no answer are
masked: `info["action_mask"]` says which there are, and choosing another raises ValueError.
"""

from __future__ import annotations

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from models.gym_face import BoolArray, EpisodeEnv, EpisodesEnv, FloatArray, OneByOneEnv
from models.scheduling.arena import Arena, Windows
from models.scheduling.rewards import comes_on_the_way, waited_so_far, waiting_weights
from simulator.agents.batch import Batch, Observation, WindowRules
from simulator.agents.deciding import DecidingBatch, DecidingSight
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


# --- agent environment


class AgentVectorEnv(EpisodesEnv):
    """`episodes` windows side by side, each drawn from `windows`, in which the arena's agent is asked beside its base policy.

    Observation: float32 (episodes, rows, inputs of the layout), zero where no answer is. docs/guides/backfilling.md lists the inputs, and
        simulator.agents.deciding says when there is a question.
    Action: a row, int64 (episodes,). For whoever picks it is the candidate that starts, or the row behind the last one for none. An
        inspector accepts (0) or rejects (1).
    Reward: minus what waiting of the window's jobs adds to the goal from this question to the next, the last one's until all have
        started. For goals to which waiting does not add job by job (models.scheduling.rewards.comes_on_the_way), minus the goal's cost
        at the end, and 0 before.
    Termination: all jobs of the window have started.
    """

    def __init__(self, arena: Arena, windows: Windows, episodes: int, layout: Layout | None = None) -> None:
        """layout: what is seen of an answer; default, that of the agent's kind. Raises ValueError for an arena without an agent, for
        other rules than the standard ones, and for what cannot be stepped."""
        if arena.agent is None:
            raise ValueError("the arena has no agent: take SchedulingVectorEnv, or an arena with one")
        rules = WindowRules(arena.backfill, rule_set=arena.rules, threads=arena.threads, backlogs=windows.backlogs)
        place = arena.jobs, arena.cluster_procs, windows.jobs, episodes
        self._batch = DecidingBatch(*place, arena.agent, arena.base, rules, layout)
        self._arena, self._windows = arena, windows
        self._first = np.zeros(episodes, dtype=np.int64)
        self._seen: DecidingSight = self._batch.reset(self._first, np.zeros(episodes, dtype=np.bool_))
        self._weights = None
        if comes_on_the_way(arena.goal):
            self._weights = waiting_weights(arena.goal, arena.jobs) / windows.jobs
        self._waited = np.zeros(episodes)
        rows, inputs = self._seen.features.shape[1:]
        super().__init__(episodes, spaces.Box(0.0, np.inf, (rows, inputs), np.float32), rows)

    def _begin(self, e: int) -> None:
        """The first question of a window that has one; in windows without a question there is nothing to learn."""
        again = np.arange(self.num_envs) == e
        for _ in range(1000):
            self._first[e] = self.np_random.choice(self._windows.first)
            self._seen = self._batch.reset(self._first, again)
            if self._seen.asking[e]:
                self._waited[e] = self._waited_by_now()[e]
                return
        raise ValueError("in none of a thousand windows is the agent asked: take busier windows, or longer ones")

    def _act(self, actions: NDArray[np.int64], acting: BoolArray) -> tuple[NDArray[np.float64], BoolArray, BoolArray]:
        self._seen = self._batch.step(np.where(acting, actions, 0))
        over = ~self._seen.asking
        if self._weights is None:
            rewards = np.zeros(self.num_envs)
            for e in np.flatnonzero(over & acting).tolist():
                window = Windows(self._first[e : e + 1], self._windows.jobs)
                rewards[e] = -self._arena.costs_of(window, self._batch.start[e : e + 1])[0]
        else:
            waited = self._waited_by_now()
            rewards, self._waited = self._waited - waited, waited
        return rewards, over, np.zeros_like(over)

    def _waited_by_now(self) -> NDArray[np.float64]:
        """What the jobs' waits have added to the goal, by episode, without waits of jobs that are still to come."""
        if self._weights is None:
            return np.zeros(self.num_envs)
        where = self._first[:, None] + np.arange(self._windows.jobs)
        return waited_so_far(self._arena.jobs.submit[where], self._batch.start, self._weights[where], self._seen.time)

    def _observed(self) -> FloatArray:
        return self._seen.features.copy()

    def _mask(self) -> BoolArray:
        return self._seen.mask.copy()


class AgentEnv(EpisodeEnv):
    """The same with one window at a time."""

    def __init__(self, arena: Arena, windows: Windows, layout: Layout | None = None) -> None:
        super().__init__(AgentVectorEnv(arena, windows, 1, layout))
