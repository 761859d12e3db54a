"""Sequences of RLSchert's cluster, stepped side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.published.rlschert import (
    ACTIONS,
    COMPLETION,
    HORIZON,
    SLOWDOWN,
    ClusterRules,
    ClusterState,
    Sequences,
    new_state,
)
from simulator.published.rlschert_view import (
    FACTS,
    FUTURE,
    HEURISTICS,
    IMAGE_COLUMNS_BESIDE,
    act_all,
    begin_all,
    draw_all,
    look_ahead_all,
    look_at_all,
    run_heuristic,
)

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Setting:
    """What kind of cluster: procs; with_remaining: estimates follow the prediction while a job runs; kill_by_rule; goal:
    "slowdown" or "completion"; true_lengths: rewards divide by real run times."""

    procs: int = 16
    with_remaining: bool = True
    kill_by_rule: bool = False
    goal: str = "slowdown"
    true_lengths: bool = False

    def rules(self) -> ClusterRules:
        goal = {"slowdown": SLOWDOWN, "completion": COMPLETION}[self.goal]
        return ClusterRules(self.procs, self.with_remaining, self.kill_by_rule, goal, self.true_lengths)


@dataclass(frozen=True)
class Outcome:
    """What became of every job, (sequences, jobs): finish and start (of the last run), units of time; kills; killed_after: units
    that the last kill threw away. holes: free processors summed over time, (sequences,). busy: processors in use in each unit,
    (sequences, units). over: all jobs are done."""

    sequences: Sequences
    start: IntArray
    finish: IntArray
    kills: IntArray
    killed_after: IntArray
    holes: IntArray
    busy: IntArray
    over: NDArray[np.bool_]

    def slowdowns(self) -> FloatArray:
        """Mean of each sequence (equation 13), (sequences,); NaN where it did not come to its end."""
        return self._mean((self.finish - self.sequences.arrive) / self.sequences.length)

    def completions(self) -> FloatArray:
        """Mean of each sequence (equation 14), units of time, (sequences,)."""
        return self._mean((self.finish - self.sequences.arrive).astype(np.float64))

    def waits(self) -> IntArray:
        """From arrival to the end, without the run itself, units of time, (sequences, jobs)."""
        return self.finish - self.sequences.arrive - self.sequences.length

    def _mean(self, values: FloatArray) -> FloatArray:
        return np.where(self.over, values.mean(axis=1), np.nan)


class Cluster:
    """Sequences side by side. images: whether observations are state images, float32 (sequences, HORIZON, columns), or facts,
    float32 (sequences, FACTS). seen and mask (bool, (sequences, ACTIONS)) are overwritten by every step."""

    def __init__(self, sequences: Sequences, setting: Setting, images: bool = False) -> None:
        count = len(sequences.arrive)
        self.sequences, self.setting = sequences, setting
        self._rules, self._images = setting.rules(), images
        self._state = new_state(sequences, setting.procs)
        self._facts = np.zeros((count, FACTS), dtype=np.float32)
        columns = setting.procs + IMAGE_COLUMNS_BESIDE
        self._drawn = np.zeros((count, HORIZON, columns) if images else (0, 0, 0), dtype=np.float32)
        self.mask = np.zeros((count, ACTIONS), dtype=np.bool_)
        self.over = np.zeros(count, dtype=np.bool_)

    @property
    def seen(self) -> NDArray[np.float32]:
        return self._drawn if self._images else self._facts

    @property
    def state(self) -> ClusterState:
        return self._state

    def begin(self) -> None:
        begin_all(self.sequences, self._rules, self._state, self.over)
        self._look()

    def step(self, action: IntArray) -> FloatArray:
        """Takes an action in every sequence that is not over; returns the rewards, (sequences,). An action that is masked is the
        same as waiting."""
        reward = np.zeros(len(self.over))
        act_all(self.sequences, self._rules, self._state, self.over, np.asarray(action, dtype=np.int64), reward)
        self._look()
        return reward

    def future(self) -> NDArray[np.float32]:
        """What only a critic may be told (`rlschert_view.look_ahead`), float32 (sequences, FUTURE)."""
        told = np.zeros((len(self.over), FUTURE), dtype=np.float32)
        look_ahead_all(self.sequences, self._rules, self._state, self.over, told)
        return told

    def outcome(self) -> Outcome:
        s = self._state
        return Outcome(
            self.sequences, s.start.copy(), s.finish.copy(), s.kills.copy(), s.killed_after.copy(), s.holes.copy(),
            s.busy.copy(), self.over.copy(),
        )  # fmt: skip

    def _look(self) -> None:
        look_at_all(self.sequences, self._rules, self._state, self.over, self._facts, self.mask)
        if self._images:
            draw_all(self.sequences, self._rules, self._state, self.over, self._drawn)


def run_heuristic_on(sequences: Sequences, setting: Setting, name: str, seed: int = 1) -> Outcome:
    """One of HEURISTICS on every sequence. Raises ValueError for another name."""
    if name not in HEURISTICS:
        raise ValueError(f"unknown heuristic {name!r}; expected one of {', '.join(HEURISTICS)}")
    if sequences.procs.max() > setting.procs:
        raise ValueError(
            f"a job of {sequences.procs.max()} processors never fits on {setting.procs}: take a larger cluster"
        )
    state = new_state(sequences, setting.procs)
    run_heuristic(sequences, setting.rules(), state, HEURISTICS.index(name), seed, 10**7)
    done = state.done == sequences.arrive.shape[1]
    return Outcome(sequences, state.start, state.finish, state.kills, state.killed_after, state.holes, state.busy, done)


def some(sequences: Sequences, which: IntArray) -> Sequences:
    columns: list[Any] = [column[which] for column in sequences]
    return Sequences(*columns)
