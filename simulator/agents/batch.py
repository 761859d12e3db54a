"""Many windows of a trace at once, on all cores: stepped side by side by code that learns, or replayed under a policy.

No Python code runs for a decision. One call steps every episode to its next choice. The compiled loops release the GIL, so plain
threads share the work. It makes no difference to the result which thread steps an episode.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.agents.episodes import (
    Backlogs,
    Threads,
    WindowSchedules,
    begin_anew,
    check_backlogs,
    check_windows,
    episode_of,
    many,
    replay_from_backlogs,
    window_of,
)
from simulator.compiled import lean
from simulator.engine.episode import DONE, RESERVE, WANT_CHOICE, Episode, Rules, moment_of
from simulator.engine.general import advance
from simulator.engine.replay import check_outcome, inputs_of, replay, rules_for, rules_of, scoring_of
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs, column_of
from simulator.jobs.tasks import Tasks, tasks_of
from simulator.policies.network import VISIBLE_JOBS, NetworkInputs, jobs_within_cap, observe
from simulator.policies.observation import LAYOUTS, Layout, blank_network
from simulator.policies.registry import Policy, network_policy, parse_policy
from simulator.policies.sampling import no_recorder
from simulator.policies.scoring import ASKED_CHOICE, FIXED, Scoring
from simulator.published import RLSCHEDULER_WINDOWS, paper_part

IntArray = NDArray[np.int64]

LEAST_STEPPED = 256
"""Fewest episodes that a thread is woken for: stepping them takes about as long as waking it."""


class Observation(NamedTuple):
    """What is seen of every episode by the code that chooses. Features are zero beyond the visible jobs. An episode that is over
    has an empty mask."""

    features: NDArray[
        np.float32
    ]  # (episodes, VISIBLE_JOBS, inputs of the layout), see simulator/policies/observation.py
    mask: NDArray[np.bool_]  # (episodes, VISIBLE_JOBS), True where a job waits that may be chosen
    choosing: NDArray[np.bool_]  # (episodes,), False for an episode that is over


@dataclass(frozen=True)
class WindowRules:
    """How windows of a trace are replayed.

    backfill, correction: as in simulator.engine.replay.replay. rule_set: "standard", or "rlscheduler" or "rlscheduler-corrected"
    for the rules of that code (papers/rlscheduler/rules.py). threads: by default one per core. backlogs: what windows begin
    with under the standard rules, by default an empty cluster. protocol: faults of SchedInspector's code, under the other
    rules: an InspectorProtocol of papers/rlscheduler/inspecting.py.
    """

    backfill: str = "easy"
    correction: str = "requested"
    rule_set: str = "standard"
    threads: int | None = None
    backlogs: Backlogs | None = None
    protocol: Any = None


USUAL_RULES = WindowRules()


class Batch:
    """Episodes, each a window of consecutive jobs of one trace on an initially empty cluster, stepped side by side.

    Observation: an `Observation`. Of each episode the first VISIBLE_JOBS waiting jobs are seen, each as a row of the layout's inputs.
    Action: the place of the job to start next, int64 (episodes,), below VISIBLE_JOBS and within the mask. It starts if it fits.
    Otherwise jobs behind it start under the backfilling rule: in submit order (any, easy) or shortest first (easy-sjbf).
    Reward: none. The code that learns computes it from `start`, once an episode is over.
    Termination: when all jobs of the window have started. A choice is needed only where more than one job waits and one of them
    fits.

    Every step writes into the same arrays, both observations and `start`. Copy what you need after the next step.
    """

    def __init__(
        self,
        jobs: Jobs,
        cluster_procs: int,
        window_jobs: int,
        episodes: int,
        backfill: str = "easy",
        correction: str = "requested",
        threads: int | None = None,
        layout: Layout = LAYOUTS["plain"],
    ) -> None:
        """jobs: the trace, without cancellations. window_jobs: jobs in each window. episodes: how many. backfill, correction: as
        in simulator.engine.replay.replay. threads: by default one per core. layout: what is seen.

        Raises ValueError for jobs or rules that cannot be stepped, with the remedy.
        """
        check_windows(jobs, np.zeros(0, dtype=np.int64), window_jobs)
        self._jobs = jobs
        self._tasks = tasks_of(jobs, Cluster(cluster_procs))
        self._rules = rules_of(backfill, correction, cluster_procs)
        if self._rules.backfill == RESERVE:
            raise ValueError(
                f"episodes cannot be stepped under {backfill!r} backfilling: choose none, any, easy or easy-sjbf"
            )
        seen_by = network_policy(blank_network(layout))
        self._scoring = scoring_of(replace(seen_by, kind=ASKED_CHOICE), jobs, self._tasks, cluster_procs)
        users = int(jobs.user.max()) + 1 if seen_by.half_life_s > 0 else 0
        self._state = many(window_jobs, cluster_procs, episodes, users, self._rules, inputs=0)
        self._window_jobs = window_jobs
        self._first = np.zeros(episodes, dtype=np.int64)
        self._why = np.full(episodes, DONE, dtype=np.int64)
        self._seen = Observation(
            np.zeros((episodes, VISIBLE_JOBS, len(layout.inputs)), dtype=np.float32),
            np.zeros((episodes, VISIBLE_JOBS), dtype=np.bool_),
            np.zeros(episodes, dtype=np.bool_),
        )
        self._threads = Threads(threads)

    def reset(self, first: IntArray) -> Observation:
        """Begins from the start: episode e replays the jobs first[e] to first[e] + window_jobs - 1.

        first: int64 (episodes,).
        """
        first = np.asarray(first, dtype=np.int64)
        if first.shape != self._first.shape:
            raise ValueError(f"expected one window per episode, shape {self._first.shape}, got {first.shape}")
        check_windows(self._jobs, first, self._window_jobs)
        self._first[:] = first
        self._why[:] = WANT_CHOICE
        begin_anew(self._state)
        return self._step(np.zeros(len(first), dtype=np.int64))

    def step(self, action: IntArray) -> Observation:
        """Takes the chosen job of every episode that is choosing, and goes on to its next choice.

        action: place among the visible jobs, int64 (episodes,). It is not read where an episode is over. Raises ValueError for
        a place where no job waits.
        """
        action = np.asarray(action, dtype=np.int64)
        if action.shape != self._first.shape:
            raise ValueError(f"expected one action per episode, shape {self._first.shape}, got {action.shape}")
        episodes = np.arange(len(action))
        allowed = (action >= 0) & (action < VISIBLE_JOBS)
        allowed[allowed] = self._seen.mask[episodes[allowed], action[allowed]]
        if not (allowed | ~self._seen.choosing).all():
            wrong = int(np.argmax(~allowed & self._seen.choosing))
            raise ValueError(f"episode {wrong}: no job waits at place {action[wrong]}")
        return self._step(action)

    @property
    def start(self) -> IntArray:
        """Start times, seconds in the log's clock, int64 (episodes, window_jobs). They are valid once an episode is over."""
        return self._state.start

    @property
    def backfilled(self) -> NDArray[np.bool_]:
        """Whether each job started past a blocked choice, bool (episodes, window_jobs)."""
        return self._state.backfilled

    def _step(self, action: IntArray) -> Observation:
        stepped = _Stepped(self._first, action, self._why, *self._seen)

        def work(begin: int, end: int) -> None:
            trace = _Trace(self._tasks, self._rules, self._scoring, self._window_jobs)
            _step(trace, self._state, no_recorder(), stepped, begin, end)

        self._threads.share(len(action), LEAST_STEPPED, work)
        return self._seen


class _Trace(NamedTuple):
    """The trace whose windows are replayed, and how."""

    tasks: Tasks
    rules: Rules
    scoring: Scoring
    window_jobs: int


class _Stepped(NamedTuple):
    """By episode: what a step reads and fills."""

    first: IntArray  # (episodes,), the window's first job
    action: IntArray  # (episodes,)
    why: IntArray  # (episodes,), why the engine stopped
    features: NDArray[np.float32]  # this and the next two: see Observation
    mask: NDArray[np.bool_]
    choosing: NDArray[np.bool_]


def replay_windows(
    jobs: Jobs,
    cluster_procs: int,
    first: IntArray,
    window_jobs: int,
    policy: str | Policy = "FCFS",
    rules: WindowRules = USUAL_RULES,
) -> tuple[IntArray, NDArray[np.bool_]]:
    """Replays windows of a trace under one policy, each on an initially empty cluster or from its backlog, as `replay` would.

    first: index of each window's first job, int64 (windows,). Returns start times, seconds in the log's clock, int64
    (windows, window_jobs), and whether each job was backfilled, bool of that shape. Raises as `replay` does.
    """
    first = column_of(first)
    check_windows(jobs, first, window_jobs)
    if isinstance(policy, str):
        policy = parse_policy(policy)
    shape = (len(first), window_jobs)
    schedules = WindowSchedules(first, np.empty(shape, dtype=np.int64), np.empty(shape, dtype=np.bool_))
    if rules.backlogs is not None:
        check_backlogs(rules.backlogs, len(first), rules.rule_set)
        settings = policy, rules.backfill, rules.correction
        replay_some = replay_from_backlogs(jobs, cluster_procs, *settings, rules.backlogs, schedules)
        Threads(rules.threads).share(len(first), 1, replay_some)
    elif rules.rule_set != "standard":
        paper_part(RLSCHEDULER_WINDOWS).replay_published_windows(jobs, cluster_procs, policy, rules, schedules)
    elif policy.plug_in is not None or (policy.kind == FIXED and policy.scores_whole_replay):
        for k, position in enumerate(first.tolist()):
            window = jobs.window(position, window_jobs)
            schedule = replay(window, cluster_procs, policy, rules.backfill, correction=rules.correction)
            schedules.start[k], schedules.backfilled[k] = schedule.start, schedule.backfilled
    else:
        _standard_windows(jobs, cluster_procs, policy, rules, schedules)
    return schedules.start, schedules.backfilled


def _standard_windows(
    jobs: Jobs, cluster_procs: int, policy: Policy, rules: WindowRules, schedules: WindowSchedules
) -> None:
    tasks = tasks_of(jobs, Cluster(cluster_procs))
    engine_rules = rules_for(policy, rules.backfill, rules.correction, cluster_procs)
    window_jobs = schedules.start.shape[1]
    trace = _Trace(tasks, engine_rules, scoring_of(policy, jobs, tasks, cluster_procs), window_jobs)
    users = int(jobs.user.max()) + 1 if policy.half_life_s > 0 else 0

    def work(begin: int, end: int) -> None:
        state = many(window_jobs, cluster_procs, 1, users, engine_rules, inputs_of(policy))
        first_of_each: Any = [column[0] for column in state]
        why, failed = _replay_range(trace, state, no_recorder(), schedules, begin, end)
        if why != DONE:
            window = tasks_of(jobs.window(int(schedules.first[failed]), window_jobs), Cluster(cluster_procs))
            check_outcome(why, window, engine_rules, policy, Episode(*first_of_each))

    Threads(rules.threads).share(len(schedules.first), 1, work)


@lean
def _num_users(user, seen):
    """How many users there are. seen: float64 (users of the trace,), which is overwritten."""
    seen[:] = 0.0
    count = 0
    for number in user:
        if seen[number] == 0.0:
            seen[number] = 1.0
            count += 1
    return count


@lean
def _step(trace, state, recorder, stepped, begin, end):
    """Steps the choosing episodes, from `begin` to before `end`, to their next choice, and fills in what is seen there."""
    for e in range(begin, end):
        if stepped.why[e] != WANT_CHOICE:
            continue
        window, scoring = window_of(
            trace.tasks, stepped.first[e], trace.window_jobs, trace.scoring, trace.scoring.users
        )
        episode = episode_of(state, e)
        why = advance(window, trace.rules, scoring, episode, recorder, stepped.action[e])
        stepped.why[e] = why
        stepped.features[e] = 0.0
        stepped.mask[e] = False
        stepped.choosing[e] = why == WANT_CHOICE
        if why == WANT_CHOICE:
            moment = moment_of(window, trace.rules, scoring, episode)
            inputs = NetworkInputs(scoring.weights, scoring.facts)
            visible = min(moment.queued, VISIBLE_JOBS)
            visible = jobs_within_cap(scoring.weights.signals, moment.submit, moment.queue, visible)
            observe(moment, inputs, 0, visible, episode.room, stepped.features[e])
            stepped.mask[e, :visible] = True


@lean
def _replay_range(trace, state, recorder, schedules, begin, end):
    """Replays the windows from `begin` to before `end` one after another in one state.

    Returns why the last one stopped, and its number.
    """
    window_jobs, first = trace.window_jobs, schedules.first
    for k in range(begin, end):
        users = trace.scoring.users
        if trace.scoring.half_life_s > 0.0:
            users = _num_users(trace.tasks.user[first[k] : first[k] + window_jobs], state.usage[0])
        window, scoring = window_of(trace.tasks, first[k], window_jobs, trace.scoring, users)
        begin_anew(state)
        episode = episode_of(state, 0)
        why = advance(window, trace.rules, scoring, episode, recorder, 0)
        if why != DONE:
            return why, k
        for i in range(window_jobs):
            schedules.start[k, i] = episode.start[i]
            schedules.backfilled[k, i] = episode.backfilled[i]
    return DONE, -1
