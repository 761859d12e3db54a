"""Windows of a trace stepped side by side for an agent beside a policy: it picks what starts past others, or inspects what is picked.

Rules: docs/reference/semantics.md, "Picked backfilling" and "Inspected picks". Nothing of Python runs per decision, and plain threads
share the episodes, as in simulator/agents/batch.py.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.agents.batch import USUAL_RULES, WindowRules
from simulator.agents.episodes import Threads, begin_some_anew, check_windows, episode_of, many, window_of
from simulator.compiled import inlined, lean
from simulator.engine import episode as at
from simulator.engine.episode import DONE, WANT_PICK, WANT_VERDICT, Episode, Rules, moment_of
from simulator.engine.general import advance
from simulator.engine.picking import see_candidates, slot_of_row
from simulator.engine.replay import check_outcome, rules_for, scoring_of
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs
from simulator.jobs.tasks import Tasks, tasks_of
from simulator.policies.agents import NO_ONE, Agent
from simulator.policies.network import NetworkInputs
from simulator.policies.observation import AGENT_LAYOUTS, Layout, blank_network, observe_pick
from simulator.policies.registry import Policy, assisted, parse_policy
from simulator.policies.sampling import no_recorder
from simulator.policies.scoring import Scoring

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

ACCEPTING, REJECTING = 0, 1
"""Rows of an inspected job."""
LEAST_DECIDING = 64
"""Fewest episodes that a thread is woken for."""


class DecidingSight(NamedTuple):
    """What the agent is asked in every episode. A row is an answer.

    Whoever picks has a row for each candidate, in the order of the log, and behind them one for none, where none is an answer. Whoever
    inspects has two rows: ACCEPTING and REJECTING.
    """

    features: NDArray[
        np.float32
    ]  # (episodes, rows, inputs of the layout), docs/guides/backfilling.md; zero where no answer is
    mask: BoolArray  # (episodes, rows), where an answer is
    jobs: IntArray  # (episodes, rows), the job of the row, counted from the window's first one, or -1 for none and for no answer
    asking: BoolArray  # (episodes,), False for an episode that is over, whose mask is empty
    time: IntArray  # (episodes,), of the question, or of the last event where the episode is over, seconds in the log's clock


class DecidingBatch:
    """Episodes, each a window of consecutive jobs of one trace on an initially empty cluster, stepped side by side.

    Observation: a `DecidingSight`. The agent is asked where it has two answers or more, as a network would be. A single answer is taken
    unasked.
    Action: a row, int64 (episodes,), within the mask.
    Reward: none. Whoever learns computes it from `start` and the times of the questions.
    Termination: when all jobs of the window have started. Agents that never start anything come to an end, too: none is no answer
    where no event follows, and a job is rejected a limited number of times.

    Every step writes into the same arrays, observations and `start` alike: copy what must outlast the next one.
    """

    def __init__(
        self,
        jobs: Jobs,
        cluster_procs: int,
        window_jobs: int,
        episodes: int,
        agent: Agent,
        base: str | Policy = "FCFS",
        rules: WindowRules = USUAL_RULES,
        layout: Layout | None = None,
    ) -> None:
        """jobs: the trace, without cancellations. window_jobs: jobs in each window. episodes: how many. agent: what is decided.
        Its rule is not read. base: the policy beside it. rules: with the rule set "standard" and without backlogs. The backfilling is read
        for inspectors only. layout: what is seen of each answer, by default `picking` or `inspecting` of AGENT_LAYOUTS.

        Raises ValueError for jobs, agents, policies or rules that cannot be stepped, with the remedy.
        """
        check_windows(jobs, np.zeros(0, dtype=np.int64), window_jobs)
        picks = agent.picking.by != NO_ONE
        if rules.rule_set != "standard" or rules.backlogs is not None:
            raise ValueError("episodes of agents follow the standard rules, on a cluster that is empty at first")
        self._policy = _asked(agent, base, layout or AGENT_LAYOUTS["picking" if picks else "inspecting"])
        tasks = tasks_of(jobs, Cluster(cluster_procs))
        engine = rules_for(self._policy, rules.backfill, rules.correction, cluster_procs, asks=True)
        scoring = scoring_of(self._policy, jobs, tasks, cluster_procs)
        self._jobs, self._cluster_procs = jobs, cluster_procs
        self._trace = _DecidedTrace(tasks, engine, scoring, window_jobs)
        users = int(jobs.user.max()) + 1 if scoring.half_life_s > 0 else 0
        self._state = many(window_jobs, cluster_procs, episodes, users, engine, inputs=0)
        rows = agent.picking.front + agent.picking.back + 1 if picks else 2
        self._first, self._users, self._why = (np.zeros(episodes, dtype=np.int64) for _ in range(3))
        self._sight = DecidingSight(
            np.zeros((episodes, rows, scoring.weights.w1.shape[0]), dtype=np.float32),
            np.zeros((episodes, rows), dtype=np.bool_),
            np.full((episodes, rows), -1),
            np.zeros(episodes, dtype=np.bool_),
            np.zeros(episodes, dtype=np.int64),
        )
        self._threads = Threads(rules.threads)

    def reset(self, first: IntArray, again: BoolArray | None = None) -> DecidingSight:
        """Begins again, with the windows that begin at the jobs `first` of the trace, int64 (episodes,).

        again: bool (episodes,), which episodes begin again, by default all. The others stay where they are. Raises ValueError for windows
        that the trace does not have.
        """
        first = np.asarray(first, dtype=np.int64)
        if first.shape != self._first.shape:
            raise ValueError(f"expected one window per episode, shape {self._first.shape}, got {first.shape}")
        again = np.ones(len(first), dtype=np.bool_) if again is None else again
        window_jobs = self._trace.window_jobs
        check_windows(self._jobs, first[again], window_jobs)
        self._first[again] = first[again]
        if self._trace.scoring.half_life_s > 0:
            for e in np.flatnonzero(again).tolist():
                self._users[e] = len(np.unique(self._jobs.user[first[e] : first[e] + window_jobs]))
        begin_some_anew(self._state, again)
        return self._step(np.zeros(len(first), dtype=np.int64), again)

    def step(self, action: IntArray) -> DecidingSight:
        """Takes the answer of every episode that asks, and goes on to its next question.

        action: a row, int64 (episodes,), not read where an episode is over. Raises ValueError for a row that is no answer, and where
        the policy's formula fails.
        """
        action = np.asarray(action, dtype=np.int64)
        if action.shape != self._first.shape:
            raise ValueError(f"expected one action per episode, shape {self._first.shape}, got {action.shape}")
        mask, asking = self._sight.mask, self._sight.asking
        allowed = (action >= 0) & (action < mask.shape[1])
        allowed[allowed] = mask[np.flatnonzero(allowed), action[allowed]]
        wrong = asking & ~allowed
        if wrong.any():
            e = int(np.argmax(wrong))
            raise ValueError(f"episode {e}: row {action[e]} is no answer; expected one below {int(mask[e].sum())}")
        return self._step(action, asking.copy())

    @property
    def first(self) -> IntArray:
        """Index of each episode's first job in the trace, int64 (episodes,)."""
        return self._first

    @property
    def start(self) -> IntArray:
        """Start times, seconds in the log's clock, simulator.jobs.schedule.CANCELLED for a job that has not started yet. int64
        (episodes, window_jobs)."""
        return self._state.start

    @property
    def backfilled(self) -> BoolArray:
        """Whether each job started past others, bool (episodes, window_jobs). docs/reference/semantics.md says when."""
        return self._state.backfilled

    def _step(self, action: IntArray, going: BoolArray) -> DecidingSight:
        stepped = _StepOfAgent(self._first, self._users, action, going, self._why, *self._sight)

        def work(begin: int, end: int) -> None:
            _decide_range(self._trace, self._state, no_recorder(), stepped, begin, end)

        self._threads.share(len(action), LEAST_DECIDING, work)
        failed = going & ~self._sight.asking & (self._why != DONE)
        if failed.any():
            e = int(np.argmax(failed))
            window = self._jobs.window(int(self._first[e]), self._trace.window_jobs)
            columns: Any = [column[e] for column in self._state]
            tasks = tasks_of(window, Cluster(self._cluster_procs))
            check_outcome(int(self._why[e]), tasks, self._trace.rules, self._policy, Episode(*columns))
        return self._sight


def _asked(agent: Agent, base: str | Policy, layout: Layout) -> Policy:
    """The policy with an agent that is asked. Its weights say what is seen."""
    if (agent.picking.by == NO_ONE) == (agent.inspecting.by == NO_ONE):
        raise ValueError("episodes are of one agent: one that picks, or one that inspects")
    base = parse_policy(base) if isinstance(base, str) else base
    if base.scores_whole_replay or base.plug_in is not None:
        raise ValueError(
            f"policy {base.name} cannot be beside an agent that is stepped: choose a built-in one or a formula"
        )
    policy = assisted(base, agent.learned(blank_network(layout)))
    return replace(policy, agent=agent.asked())


class _DecidedTrace(NamedTuple):
    """The trace whose windows are stepped, and how."""

    tasks: Tasks
    rules: Rules
    scoring: Scoring  # of the policy, with the layout
    window_jobs: int


class _StepOfAgent(NamedTuple):
    """By episode: what a step reads and fills."""

    first: IntArray  # (episodes,), the window's first job
    users: IntArray  # (episodes,), how many the window has, where usage counts
    action: IntArray  # (episodes,)
    going: BoolArray  # (episodes,), which episodes are stepped
    why: IntArray  # (episodes,), why the engine stopped
    features: NDArray[np.float32]  # this and those below: see DecidingSight
    mask: BoolArray
    jobs: IntArray
    asking: BoolArray
    time: IntArray


@lean
def _decide_range(trace, state, recorder, stepped, begin, end):
    """Steps the episodes begin : end that are going to their next question, and fills what is seen there."""
    for e in range(begin, end):
        if not stepped.going[e]:
            continue
        tasks, scoring = window_of(trace.tasks, stepped.first[e], trace.window_jobs, trace.scoring, stepped.users[e])
        episode = episode_of(state, e)
        picks = trace.rules.inspecting.by == NO_ONE
        choice = choice_of(picks, episode, stepped.action[e])
        why, rows = np.int64(DONE), np.int64(1)
        while rows == 1:
            why = advance(tasks, trace.rules, scoring, episode, recorder, choice)
            stepped.features[e] = 0.0
            stepped.jobs[e] = -1
            rows = np.int64(0)
            if why == WANT_PICK:
                rows = see_candidates(tasks, trace.rules, scoring, episode, stepped.features[e])
                for row in range(episode.counters[at.CANDIDATES]):
                    stepped.jobs[e, row] = episode.sighted[row]
                choice = choice_of(picks, episode, np.int64(0))
            elif why == WANT_VERDICT:
                rows = see_inspected(tasks, trace.rules, scoring, episode, stepped.features[e], stepped.jobs[e])
        stepped.why[e] = why
        stepped.asking[e] = rows > 0
        stepped.time[e] = episode.counters[at.NOW]
        stepped.mask[e, :rows] = True
        stepped.mask[e, rows:] = False


@inlined
def choice_of(picks, episode, row):
    """The answer of a row as the engine takes it: the slot of this candidate, -1 for none, or whether the job is accepted."""
    return slot_of_row(episode, row) if picks else np.int64(1 if row == ACCEPTING else 0)


@inlined
def see_inspected(tasks, rules, scoring, episode, features, jobs):
    """Fills the two rows of whoever inspects. Returns their number."""
    job = episode.counters[at.INSPECTED_JOB]
    moment = moment_of(tasks, rules, scoring, episode)
    inputs = NetworkInputs(scoring.weights, scoring.facts)
    episode.sighted[0] = job
    observe_pick(moment, episode.rejected_s[job], inputs, episode.sighted, tasks.admit, episode.room, features)
    jobs[ACCEPTING], jobs[REJECTING] = job, job
    return np.int64(2)
