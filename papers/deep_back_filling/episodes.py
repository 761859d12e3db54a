"""Episodes of Deep Back-Filling stepped side by side: an agent places one job of its window after another, or lets time go on.

Wang, Harwood and Rodriguez, HPCC 2022, section III. Rules of the engine: docs/reference/semantics.md, "Picked backfilling", with every
event asked. Nothing of Python runs per decision, and plain threads share the episodes, as in simulator/agents/batch.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from papers.compiled import inlined, lean
from papers.deep_back_filling.protocol import LATER_JOBS, PLACED_JOBS
from simulator.agents.episodes import Threads, begin_some_anew, check_windows, episode_of, many, window_of
from simulator.engine import episode as at
from simulator.engine.episode import WANT_PICK, Rules
from simulator.engine.general import advance
from simulator.engine.replay import rules_of, scoring_of
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs
from simulator.jobs.tasks import Tasks, tasks_of
from simulator.policies.agents import ASKED
from simulator.policies.registry import parse_policy
from simulator.policies.sampling import no_recorder
from simulator.policies.scoring import Scoring

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

SLOT_NUMBERS = 3
"""Of each slot the agent sees processors, estimate and wait."""
WAIT_CAP_S = 12 * 3600
"""The wait that counts as 1."""
LEAST_PLACING = 64
"""Fewest episodes that a thread is woken for."""


class PlacingSight(NamedTuple):
    """What the agent sees of every episode, and what its last action brought.

    features: float32 (episodes, processors + 3 * slots), section III-A1. First one number for each core: 0 if it is free, else the
    time until it is free as estimated, over the longest run time. Nothing tells which core is which, so they come in the order in
    which they become free, free ones first: the number at place k is when k + 1 cores are free. Then of each slot
    (processors / the cluster's, estimate / the longest run time, wait / 12 h and at most 1), zeros where it is empty. Slots at the
    front of the queue come first, then those at its end, newest first.
    fits: bool (episodes, slots), where a job is that could start now. asking: bool (episodes,), False for an episode that is over;
    its features are zero. reward: float64 (episodes,), of the last action, 0 after `reset`.
    """

    features: NDArray[np.float32]
    fits: NDArray[np.bool_]
    asking: NDArray[np.bool_]
    reward: FloatArray


@dataclass(frozen=True)
class PlacingRules:
    """Which episodes are stepped, what is seen of them, and what is rewarded.

    front, back: slots at the front of the queue (the paper's M_h) and at its end (M_t). With no more jobs than `front` there are none
    at the end. placed: jobs that end an episode. later: jobs of the trace that an episode may come to see. weights: w1 to w3 of the
    reward, for processors that idle, the queue's length, and the summed waits of the queue. longest_s: the run time that counts as 1;
    default, the longest estimate of the trace. threads: default, one per core.
    """

    front: int = 20
    back: int = 0
    placed: int = PLACED_JOBS
    later: int = LATER_JOBS
    weights: tuple[float, float, float] = (1 / 3, 1 / 3, 1 / 3)
    longest_s: int | None = None
    threads: int | None = None

    @property
    def slots(self) -> int:
        """Visible jobs: the paper's M, and the number of the action Fwd."""
        return self.front + self.back


class PlacingBatch:
    """Episodes of one trace, each from one of its jobs on, on an initially empty cluster and with arrivals that go on.

    Observation: a `PlacingSight`. The agent is asked after every arrival (jobs of one second come one by one), after every
    completion, and again after every job that it has placed.
    Action: a slot, or Fwd (`rules.slots`), int64 (episodes,). A job that fits starts, and time stands still. Fwd, and a slot that is
    empty or whose job does not fit, let time go on to the next event.
    Reward: 0 where a job was placed. Else -(w1 (1 - use) + w2 L / Lmax + w3 W / Wmax), as it was when the agent was asked (equation 2);
    L is the length of the queue and W the sum of its jobs' waits. Lmax and Wmax are the largest so far in the episode, 0 / 0 is 0.
    Termination: when so many jobs have been placed. Behind the last of its later jobs nothing arrives any more. Once nothing runs, Fwd
    is no answer there, and the first job that fits is placed: so an agent that never places a job comes to an end, too.

    Every step writes into the same arrays, observations and `start` alike: copy what must outlast the next one.
    """

    def __init__(
        self,
        jobs: Jobs,
        cluster_procs: int,
        episodes: int,
        rules: PlacingRules = PlacingRules(),
    ) -> None:
        """jobs: the trace, without cancellations. Raises ValueError for jobs or rules that cannot be stepped, with the remedy."""
        if rules.front < 0 or rules.back < 0 or rules.slots < 1:
            raise ValueError(
                f"a window has at least one slot, got {rules.front} at the front and {rules.back} at the end"
            )
        if not 1 <= rules.placed <= rules.later:
            raise ValueError(f"placed must be 1 to later ({rules.later}), got {rules.placed}")
        check_windows(jobs, np.zeros(0, dtype=np.int64), rules.later)
        self._jobs, self.rules = jobs, rules
        tasks = tasks_of(jobs, Cluster(cluster_procs))
        engine = rules_of(f"pick:from=all,window={rules.front}-{rules.back}", "requested", cluster_procs)
        engine = engine._replace(picking=engine.picking._replace(by=ASKED, every_event=True))
        scoring = scoring_of(parse_policy("FCFS"), jobs, tasks, cluster_procs)
        longest_s = rules.longest_s or int(jobs.estimate.max())
        self._trace = _Played(tasks, engine, scoring, rules.later, rules.placed, *rules.weights, 1.0 / longest_s)
        self._state = many(rules.later, cluster_procs, episodes, 0, engine, inputs=0)
        self._first = np.zeros(episodes, dtype=np.int64)
        self._most = np.zeros((episodes, 2))
        self._sight = PlacingSight(
            np.zeros((episodes, placing_inputs(cluster_procs, rules.slots)), dtype=np.float32),
            np.zeros((episodes, rules.slots), dtype=np.bool_),
            np.zeros(episodes, dtype=np.bool_),
            np.zeros(episodes),
        )
        self._threads = Threads(rules.threads)

    def reset(self, first: IntArray, again: NDArray[np.bool_] | None = None) -> PlacingSight:
        """Begins again: episode e begins with the job first[e] of the trace; int64 (episodes,).

        again: bool (episodes,), which episodes begin again; default, all. The others stay where they are, and their rewards are 0.
        Raises ValueError where the trace has too few later jobs.
        """
        first = np.asarray(first, dtype=np.int64)
        if first.shape != self._first.shape:
            raise ValueError(f"expected one start per episode, shape {self._first.shape}, got {first.shape}")
        again = np.ones(len(first), dtype=np.bool_) if again is None else again
        check_windows(self._jobs, first[again], self.rules.later)
        self._first[again] = first[again]
        self._most[again] = 0.0
        begin_some_anew(self._state, again)
        return self._step(np.full(len(first), self.rules.slots), again)

    def step(self, action: IntArray) -> PlacingSight:
        """Takes the action of every episode that asks, and goes on to its next question.

        action: a slot, or `rules.slots` for Fwd, int64 (episodes,); not read where an episode is over. Raises ValueError for
        another number.
        """
        action = np.asarray(action, dtype=np.int64)
        if action.shape != self._first.shape:
            raise ValueError(f"expected one action per episode, shape {self._first.shape}, got {action.shape}")
        wrong = self._sight.asking & ((action < 0) | (action > self.rules.slots))
        if wrong.any():
            e = int(np.argmax(wrong))
            raise ValueError(f"episode {e}: expected a slot below {self.rules.slots}, or that for Fwd, got {action[e]}")
        return self._step(action, self._sight.asking.copy())

    @property
    def first(self) -> IntArray:
        """Index of each episode's first job in the trace, int64 (episodes,)."""
        return self._first

    @property
    def start(self) -> IntArray:
        """Start times, seconds in the log's clock, of the jobs from the first on; simulator.jobs.schedule.CANCELLED for one that has
        not been placed. int64 (episodes, later)."""
        return self._state.start

    @property
    def backfilled(self) -> NDArray[np.bool_]:
        """Which of these jobs were not the first of the queue when they were placed, bool (episodes, later)."""
        return self._state.backfilled

    def _step(self, action: IntArray, going: NDArray[np.bool_]) -> PlacingSight:
        stepped = _StepOf(self._first, action, going, self._most, *self._sight)

        def work(begin: int, end: int) -> None:
            _place_range(self._trace, self._state, no_recorder(), stepped, begin, end)

        self._threads.share(len(action), LEAST_PLACING, work)
        return self._sight


def placing_inputs(cluster_procs: int, slots: int) -> int:
    """How many numbers the agent sees: the paper's N + 3M."""
    return cluster_procs + SLOT_NUMBERS * slots


class _Played(NamedTuple):
    """The trace that is played on, and how."""

    tasks: Tasks
    rules: Rules
    scoring: Scoring
    later: int
    placed: int
    idle_weight: float
    queue_weight: float
    wait_weight: float
    per_second: float  # 1 / the longest run time


class _StepOf(NamedTuple):
    """By episode: what a step reads and fills."""

    first: IntArray  # (episodes,)
    action: IntArray  # (episodes,)
    going: NDArray[np.bool_]  # (episodes,), which episodes are stepped
    most: FloatArray  # (episodes, 2), Lmax and Wmax so far
    features: NDArray[np.float32]  # this and the next three: see PlacingSight
    fits: NDArray[np.bool_]
    asking: NDArray[np.bool_]
    reward: FloatArray


@lean
def _place_range(trace, state, recorder, stepped, begin, end):
    """Steps the episodes begin : end that are going to their next question, and fills what is seen there."""
    for e in range(begin, end):
        stepped.reward[e] = 0.0
        if not stepped.going[e]:
            continue
        tasks, scoring = window_of(trace.tasks, stepped.first[e], trace.later, trace.scoring, trace.scoring.users)
        episode = episode_of(state, e)
        counters = episode.counters
        begun = counters[at.BEGUN] == 1
        placed = counters[at.ARRIVED] - counters[at.QUEUED]
        reward = 0.0
        if begun:
            reward = reward_of(trace, tasks, episode, stepped.most[e])
        why = advance(tasks, trace.rules, scoring, episode, recorder, stepped.action[e])
        if counters[at.ARRIVED] - counters[at.QUEUED] == placed:
            stepped.reward[e] = reward
        placed = counters[at.ARRIVED] - counters[at.QUEUED]
        stepped.asking[e] = why == WANT_PICK and placed < trace.placed
        if stepped.asking[e]:
            look_at_cluster(trace, tasks, episode, stepped.features[e])
            look_at_slots(trace, tasks, episode, stepped.features[e], stepped.fits[e])
        else:
            stepped.features[e] = 0.0
            stepped.fits[e] = False


@inlined
def reward_of(trace, tasks, episode, most):
    """What it costs to let time go on now (equation 2); notes Lmax and Wmax."""
    counters = episode.counters
    queued, procs = counters[at.QUEUED], trace.rules.cluster_procs
    waits = np.int64(0)
    for k in range(queued):
        waits += counters[at.NOW] - tasks.submit[episode.queue[k]]
    most[0] = max(most[0], np.float64(queued))
    most[1] = max(most[1], np.float64(waits))
    cost = trace.idle_weight * counters[at.FREE] / procs
    if most[0] > 0.0:
        cost += trace.queue_weight * queued / most[0]
    if most[1] > 0.0:
        cost += trace.wait_weight * waits / most[1]
    return -cost


@inlined
def look_at_cluster(trace, tasks, episode, features):
    """The time until each core is free."""
    counters = episode.counters
    place = counters[at.FREE]
    features[:place] = 0.0
    for k in range(counters[at.RUNNING]):
        above = place + tasks.procs[episode.est_job[k]]
        features[place:above] = np.float32((episode.est_end[k] - counters[at.NOW]) * trace.per_second)
        place = above


@inlined
def look_at_slots(trace, tasks, episode, features, fits):
    """The job of each slot, and whether it could start now."""
    counters, procs = episode.counters, trace.rules.cluster_procs
    k = procs
    for slot in range(len(fits)):
        if slot < counters[at.SLOTS]:
            job = episode.queue[episode.order[slot]]
            waited = counters[at.NOW] - tasks.submit[job]
            features[k] = np.float32(tasks.procs[job] / procs)
            features[k + 1] = np.float32(tasks.estimate[job] * trace.per_second)
            features[k + 2] = np.float32(min(waited / WAIT_CAP_S, 1.0))
            fits[slot] = episode.candidate[slot]
        else:
            features[k], features[k + 1], features[k + 2] = np.float32(0.0), np.float32(0.0), np.float32(0.0)
            fits[slot] = False
        k += SLOT_NUMBERS
