"""Sequences of RLSchert's cluster, stepped side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from papers.rlschert.rules import (
    ACTIONS,
    COMPLETION,
    HORIZON,
    SLOWDOWN,
    ClusterRules,
    ClusterState,
    Sequences,
    new_state,
)
from papers.rlschert.view import (
    FUTURE,
    HEURISTICS,
    IMAGE_COLUMNS_BESIDE,
    SAF,
    SIGHT_FACTS,
    SJF,
    WHOLE_QUEUE_HEURISTICS,
    act_all,
    begin_all,
    draw_all,
    look_ahead_all,
    look_at_all,
    run_heuristic,
    run_whole_queue,
)

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Setting:
    """What kind of cluster it is.

    with_remaining: estimates follow the prediction while a job runs. goal: "slowdown" or "completion". true_lengths: rewards divide
    by real run times. stop_within, stop_ratio: the stopping rule (docs/reference/rlschert.md) stops jobs that have run for at most
    `stop_within` units when a job waits that is `stop_ratio` times shorter (0 units means no such rule). preemption_cost: units
    by which every run of a job after a kill is longer. printed_reward: equation 9 as it is
    printed. Raises ValueError for numbers that make no sense.
    """

    procs: int = 16
    with_remaining: bool = True
    kill_by_rule: bool = False
    goal: str = "slowdown"
    true_lengths: bool = False
    stop_within: int = 0
    stop_ratio: float = 3.0
    preemption_cost: int = 0
    printed_reward: bool = False

    def __post_init__(self) -> None:
        if self.stop_within < 0 or self.preemption_cost < 0:
            raise ValueError(
                "stop_within and preemption_cost are units of time, 0 or more: "
                f"got {self.stop_within} and {self.preemption_cost}"
            )
        if self.stop_ratio < 1:
            raise ValueError(f"stop_ratio is how many times shorter a job must be, 1 or more: got {self.stop_ratio}")

    def rules(self) -> ClusterRules:
        """The same in the form that the simulator takes."""
        goal = {"slowdown": SLOWDOWN, "completion": COMPLETION}[self.goal]
        return ClusterRules(
            self.procs,
            self.with_remaining,
            self.kill_by_rule,
            goal,
            self.true_lengths,
            self.stop_within,
            float(self.stop_ratio),
            self.preemption_cost,
            self.printed_reward,
        )


@dataclass(frozen=True)
class SlotOutcome:
    """What became of every job of many sequences. Times are units."""

    sequences: Sequences
    start: IntArray  # (sequences, jobs) of the last run
    finish: IntArray  # (sequences, jobs)
    kills: IntArray  # (sequences, jobs)
    killed_after: IntArray  # (sequences, jobs) units that the last kill threw away
    holes: IntArray  # (sequences,) free processors, summed over time
    busy: IntArray  # (sequences, units) processors in use in each unit
    over: NDArray[np.bool_]  # (sequences,) all jobs are done

    def slowdowns(self) -> FloatArray:
        """Mean of each sequence (equation 13), (sequences,). NaN where the sequence did not reach its end."""
        return self._mean((self.finish - self.sequences.arrive) / self.sequences.length)

    def completions(self) -> FloatArray:
        """Mean of each sequence (equation 14), units of time, (sequences,)."""
        return self._mean((self.finish - self.sequences.arrive).astype(np.float64))

    def waits(self) -> IntArray:
        """From arrival to the end, without the run itself, units of time, (sequences, jobs)."""
        return self.finish - self.sequences.arrive - self.sequences.length

    def _mean(self, values: FloatArray) -> FloatArray:
        return np.where(self.over, values.mean(axis=1), np.nan)


class SlotCluster:
    """Sequences side by side. Every step overwrites `seen`, `mask` and `over`. Copy what you need after the next step.

    images: whether observations are state images, or facts. mask: bool (sequences, ACTIONS), the actions that are offered.
    over: bool (sequences,), whether all jobs of a sequence are done.
    """

    def __init__(self, sequences: Sequences, setting: Setting, images: bool = False) -> None:
        count = len(sequences.arrive)
        self.sequences, self.setting = sequences, setting
        self._rules, self._images = setting.rules(), images
        self._state = new_state(sequences, setting.procs)
        self._facts = np.zeros((count, SIGHT_FACTS), dtype=np.float32)
        columns = setting.procs + IMAGE_COLUMNS_BESIDE
        self._drawn = np.zeros((count, HORIZON, columns) if images else (0, 0, 0), dtype=np.float32)
        self.mask = np.zeros((count, ACTIONS), dtype=np.bool_)
        self.over = np.zeros(count, dtype=np.bool_)

    @property
    def seen(self) -> NDArray[np.float32]:
        """Facts, (sequences, SIGHT_FACTS), or state images, (sequences, HORIZON, columns)."""
        return self._drawn if self._images else self._facts

    @property
    def state(self) -> ClusterState:
        """The simulator's own state, which every step changes."""
        return self._state

    def begin(self) -> None:
        """Sets every sequence to time 0."""
        begin_all(self.sequences, self._rules, self._state, self.over)
        self._look()

    def step(self, action: IntArray) -> FloatArray:
        """Takes an action in every sequence that is not over. Returns the rewards, (sequences,). A masked action waits."""
        reward = np.zeros(len(self.over))
        act_all(self.sequences, self._rules, self._state, self.over, np.asarray(action, dtype=np.int64), reward)
        self._look()
        return reward

    def future(self) -> NDArray[np.float32]:
        """What only a critic may see (`rlschert_view.look_ahead`), float32 (sequences, FUTURE)."""
        future = np.zeros((len(self.over), FUTURE), dtype=np.float32)
        look_ahead_all(self.sequences, self._rules, self._state, self.over, future)
        return future

    def outcome(self) -> SlotOutcome:
        """The outcome of the jobs so far."""
        state = self._state
        columns: tuple[Any, ...] = (
            state.start,
            state.finish,
            state.kills,
            state.killed_after,
            state.holes,
            state.busy,
            self.over,
        )
        return SlotOutcome(self.sequences, *(column.copy() for column in columns))

    def _look(self) -> None:
        look_at_all(self.sequences, self._rules, self._state, self.over, self._facts, self.mask)
        if self._images:
            draw_all(self.sequences, self._rules, self._state, self.over, self._drawn)


def run_heuristic_on(sequences: Sequences, setting: Setting, name: str, seed: int = 1) -> SlotOutcome:
    """One of HEURISTICS or WHOLE_QUEUE_HEURISTICS on every sequence. Raises ValueError for another name."""
    if name not in HEURISTICS + WHOLE_QUEUE_HEURISTICS:
        names = "; ".join(HEURISTICS + WHOLE_QUEUE_HEURISTICS)
        raise ValueError(f"unknown heuristic {name!r}: expected one of {names}")
    if sequences.procs.max() > setting.procs:
        raise ValueError(
            f"a job of {sequences.procs.max()} processors never fits on {setting.procs}: take a larger cluster"
        )
    state = new_state(sequences, setting.procs)
    if name in HEURISTICS:
        run_heuristic(sequences, setting.rules(), state, HEURISTICS.index(name), seed, 10**7)
    else:
        number = (SJF, SAF)[WHOLE_QUEUE_HEURISTICS.index(name)]
        run_whole_queue(sequences, setting.rules(), state, number, 10**7)
    done = state.done == sequences.arrive.shape[1]
    return SlotOutcome(
        sequences, state.start, state.finish, state.kills, state.killed_after, state.holes, state.busy, done
    )


def cost_of(outcome: SlotOutcome, goal: str) -> FloatArray:
    """Mean slowdown or completion time of each sequence, (sequences,). Infinite where the sequence did not reach its end."""
    costs = outcome.slowdowns() if goal == "slowdown" else outcome.completions()
    return np.where(np.isnan(costs), np.inf, costs)


def take_sequences(sequences: Sequences, which: IntArray) -> Sequences:
    """The sequences with these numbers, in this order. which: int64 (taken,)."""
    columns: list[Any] = [column[which] for column in sequences]
    return Sequences(*columns)
