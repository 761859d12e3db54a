"""Replays: they take jobs and return a schedule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from simulator.engine import episode as at
from simulator.engine.asking import ask_plug_in
from simulator.engine.episode import (
    ANY,
    DONE,
    EASY,
    EASY_SJBF,
    FORMULA_FAILED,
    NO_BACKFILL,
    RESERVE,
    STUCK,
    WANT_PICK,
    WANT_VERDICT,
    Episode,
    Rules,
    new_episode,
)
from simulator.engine.general import advance
from simulator.engine.queue_tree import MOST_PROCS, queue_by
from simulator.engine.running import CORRECTION_IDS
from simulator.engine.states import (
    ReplayState,
    keep_state,
    keep_static_state,
    take_up,
    take_up_static,
    waiting_state,
)
from simulator.engine.static import Queues, StaticEpisode, new_static_episode, run_static
from simulator.formula.parsing import explain_failure
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import NEVER, Jobs
from simulator.jobs.schedule import CANCELLED, Schedule
from simulator.jobs.tasks import Tasks, closed_tasks_of
from simulator.jobs.words import BACKFILLING, CORRECTIONS, one_of, unknown_word
from simulator.policies.agents import ASKED, NO_INSPECTING, NO_ONE, NO_PICKING, Question, parse_picking
from simulator.policies.closed import closed_policy, scores_at_submission
from simulator.policies.network import KernelWeights
from simulator.policies.observation import facts_of, no_weights
from simulator.policies.registry import Policy, parse_options, parse_policy
from simulator.policies.sampling import TAKE_BEST, no_recorder
from simulator.policies.scoring import FIXED, Scoring
from simulator.replayer import BY_ORDER, Outcome, watched

IntArray = NDArray[np.int64]

SELECTIVE_OPTIONS = {"threshold": 2.0}

_IDS = {"none": NO_BACKFILL, "any": ANY, "easy": EASY, "easy-sjbf": EASY_SJBF, "pick": EASY}


def replay(
    jobs: Jobs,
    cluster: int | Cluster,
    policy: str | Policy = "FCFS",
    backfill: str = "easy",
    weights: KernelWeights | None = None,
    correction: str = "requested",
) -> Schedule:
    """Replays all jobs on a cluster (its processors, or a Cluster with running and waiting jobs and outages).

    policy: see simulator.policies.registry.parse_policy. The policy "learned" needs the `weights` of a kernel network.
    backfill: a name in BACKFILLING, or selective with a threshold, as `selective:threshold=X`. correction: a name in CORRECTIONS.
    Rules and tie-breaks: docs/reference/semantics.md. Raises ValueError for what cannot be replayed, with the remedy, also for jobs that
    follow others: OrderReplayer also returns when those are submitted.
    """
    jobs.require_open("a replay that returns the schedule alone")
    stoppable = StoppableReplay(jobs, cluster, policy, backfill, weights, correction)
    with watched("jobs of the replay", stoppable.schedule.start):
        stoppable.run()
    return stoppable.schedule


@dataclass(frozen=True)
class OrderReplayer:
    """An order of the queue and a backfilling rule, as arguments of `replay`."""

    policy: str | Policy = "FCFS"
    backfill: str = "easy"
    correction: str = "requested"
    honours: ClassVar = BY_ORDER | {"agent", "inspector", "warm-start", "outages", "cancelled", "nodes", "users"}

    def replay(self, jobs: Jobs, cluster: Cluster) -> Outcome:
        """The schedule, and the submissions of jobs that follow others. Raises as `replay` does, and for an order or an agent that cannot
        be followed where a schedule decides when jobs come."""
        stoppable = StoppableReplay(jobs, cluster, self.policy, self.backfill, correction=self.correction)
        with watched("jobs of the replay", stoppable.schedule.start):
            stoppable.run()
        return Outcome(stoppable.schedule, submit=stoppable.submit)


class StoppableReplay:
    """A replay that may stop between two events and keep its state. It may continue from there or from a state of another replay, unless
    jobs follow others."""

    def __init__(
        self,
        jobs: Jobs,
        cluster: int | Cluster,
        policy: str | Policy = "FCFS",
        backfill: str = "easy",
        weights: KernelWeights | None = None,
        correction: str = "requested",
    ) -> None:
        """Arguments and errors as those of `replay`."""
        if isinstance(policy, str):
            policy = parse_policy(policy, weights)
        cluster = Cluster.of(cluster)
        policy = closed_policy(policy, jobs, cluster.procs)
        tasks = closed_tasks_of(jobs, cluster)
        planned = len(tasks.announced) > 0
        rules = rules_for(policy, backfill, correction, cluster.procs, planned, asks=policy.plug_in is None)
        if rules.backfill == RESERVE and ((jobs.hold != jobs.estimate) | (jobs.admit != jobs.estimate)).any():
            raise ValueError(
                f"backfilling {backfill!r} plans every job by its estimate, and can use no other time for jobs that run or are "
                "backfilled: use reserve_by='estimate' and admit_by='estimate', or easy backfilling"
            )
        if rules.picking.every_event and len(tasks.cancel_order):
            raise ValueError(
                "where an agent decides after every event, jobs come one by one and cannot be cancelled: leave cancellations out"
            )
        if rules.picking.every_event:
            jobs.require_open("an agent that decides after every event")
        self._tasks, self._is_closed = tasks, jobs.is_closed
        plain = rules.backfill != RESERVE and not rules.planned and cluster.procs <= MOST_PROCS
        fixed = policy.kind == FIXED and policy.half_life_s == 0.0
        decided = rules.picking.by != NO_ONE or rules.inspecting.by != NO_ONE
        engine = _FastEngine if fixed and plain and not decided and not self._is_closed else _GeneralEngine
        self._engine = engine(jobs, tasks, rules, policy) if len(jobs) else None
        if cluster.waiting:
            begin = cluster.begins(jobs.submit)
            self.take_up(waiting_state(begin, tasks, cluster.procs, _users_of(tasks, policy)))

    def run(self, until: int | None = None) -> bool:
        """Continues to the end, or to the first event at second `until` or later. Returns whether the replay is at its end."""
        return self._engine is None or self._engine.run(until)

    @property
    def schedule(self) -> Schedule:
        """Of all jobs that have started so far. Nothing is known of jobs that had already ended in a state that was taken up."""
        if self._engine is None:
            return Schedule(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.bool_))
        part, episode = slice(self._tasks.first, self._tasks.last), self._engine.episode
        return Schedule(episode.start[part], episode.backfilled[part])

    @property
    def submit(self) -> IntArray | None:
        """When each job was submitted so far, as in `Outcome`."""
        return self._tasks.submit[self._tasks.first : self._tasks.last].copy() if self._is_closed else None

    def keep(self) -> ReplayState:
        """The state of a replay that has stopped on the way. Raises ValueError for one that has not, and where jobs follow others."""
        self._require_open()
        if self._engine is None or not self._engine.episode.counters[at.PAUSE]:
            raise ValueError("only a replay that has stopped on its way has a state: call run(until=...) first")
        return self._engine.keep()

    def take_up(self, state: ReplayState, jobs: int | None = None, awaited: tuple[int, int] = (0, 0)) -> None:
        """Continues from a state. jobs: how many of all jobs are submitted. Those behind them never come. Default: all.
        awaited: the replay may end when these jobs, from the first to before the last, have started. Default: all.

        Raises ValueError where the state was kept without what this replay needs, and where jobs follow others.
        """
        self._require_open()
        if self._engine is not None:
            first = self._tasks.first
            last = self._tasks.last if jobs is None else first + jobs
            among = (first + awaited[0], first + awaited[1]) if awaited[1] else (0, 0)
            self._engine.take_up(state, last, among)

    def _require_open(self) -> None:
        if self._is_closed:
            raise ValueError(
                "a replay with jobs that follow others has no state to keep or to continue from: run it to its end"
            )


def rules_of(backfill: str, correction: str, cluster_procs: int, planned: bool = False) -> Rules:
    """The rules that these names stand for. Raises ValueError for unknown ones."""
    head, _, tail = backfill.lower().partition(":")
    correction = correction.lower()
    if head not in BACKFILLING or (tail and head not in ("selective", "pick")):
        raise ValueError(unknown_word("backfilling", backfill, BACKFILLING, ", selective:threshold=X, pick:OPTIONS"))
    one_of("correction", correction, CORRECTIONS)
    threshold = parse_options(backfill, tail, SELECTIVE_OPTIONS)["threshold"] if head == "selective" else 1.0
    picking = parse_picking(backfill) if head == "pick" else NO_PICKING
    return Rules(
        cluster_procs=cluster_procs,
        backfill=_IDS.get(head, RESERVE),
        threshold=threshold,
        correction=CORRECTION_IDS[correction],
        planned=planned,
        sample=TAKE_BEST,
        live=False,
        promises=picking.guarded and (picking.slack_s > 0 or picking.slack_share > 0.0),
        picking=picking,
        inspecting=NO_INSPECTING,
    )


def rules_for(
    policy: Policy,
    backfill: str,
    correction: str,
    cluster_procs: int,
    planned: bool = False,
    sample: int = TAKE_BEST,
    asks: bool = False,
) -> Rules:
    """`rules_of` with what the policy's agent decides. asks: the caller of the engine can answer in place of an agent.

    Raises ValueError as `rules_of` does, and where the agent cannot decide.
    """
    rules, agent = rules_of(backfill, correction, cluster_procs, planned), policy.agent
    if agent is None:
        return rules._replace(sample=sample)
    if not asks and ASKED in (agent.picking.by, agent.inspecting.by):
        raise ValueError(
            "an agent that is a function decides in a single replay only, beside a policy that is no plug-in: use "
            "simulator.engine.replay.replay, or let a rule or a network decide"
        )
    agent = agent.sampling(sample)
    if agent.inspecting.by != NO_ONE:
        if rules.backfill == RESERVE:
            raise ValueError(
                f"backfilling {backfill!r} has no picks that could be inspected: choose none, any, easy or easy-sjbf"
            )
        rules = rules._replace(inspecting=agent.inspecting)
    if agent.picking.by != NO_ONE:
        slack = agent.picking.slack_s > 0 or agent.picking.slack_share > 0.0
        rules = rules._replace(picking=agent.picking, backfill=EASY, promises=agent.picking.guarded and slack)
    return rules


def notes_of(rules: Rules) -> dict[str, bool]:
    """What an episode records under these rules, in the form that simulator.engine.episode.new_episode takes."""
    return {"promises": rules.promises, "inspects": rules.inspecting.by != NO_ONE}


class _FastEngine:
    """The engine for priorities that are known at submission (simulator/engine/static.py)."""

    def __init__(self, jobs: Jobs, tasks: Tasks, rules: Rules, policy: Policy) -> None:
        assert policy.fixed is not None
        order = queue_by(policy.fixed(jobs, rules.cluster_procs), tasks.procs, tasks.admit, tasks.first)
        shortest_first = rules.backfill == EASY_SJBF
        fill = queue_by(jobs.estimate, tasks.procs, tasks.admit, tasks.first) if shortest_first else order
        self._tasks, self._rules = tasks, rules
        self._queues = Queues(order, fill, shortest_first)
        self.episode = new_static_episode(tasks, rules.cluster_procs)

    def run(self, until: int | None = None) -> bool:
        self.episode.counters[at.PAUSE] = 0 if until is None else until + 1
        why = run_static(self._tasks, self._rules, self._queues, self.episode)
        if why == STUCK:
            raise _stuck(self._tasks, self.episode, self._rules)
        return bool(why == DONE)

    def keep(self) -> ReplayState:
        return keep_static_state(self._queues, self.episode)

    def take_up(self, state: ReplayState, last: int, awaited: tuple[int, int] = (0, 0)) -> None:
        """It is so fast that it always runs to the end."""
        take_up_static(state, self._tasks, self._rules.cluster_procs, self._queues, self.episode, last)


class _GeneralEngine:
    """The engine for everything (simulator/engine/general.py)."""

    def __init__(self, jobs: Jobs, tasks: Tasks, rules: Rules, policy: Policy) -> None:
        self._tasks, self._rules, self._policy = tasks, rules, policy
        steady = scores_at_submission(policy, jobs)
        self._scoring = scoring_of(policy, jobs, tasks, rules.cluster_procs)._replace(steady=steady)
        plans = rules.planned or rules.backfill == RESERVE
        self.episode = new_episode(
            tasks, rules.cluster_procs, _users_of(tasks, policy), plans, inputs=inputs_of(policy), **notes_of(rules)
        )

    def run(self, until: int | None = None) -> bool:
        self.episode.counters[at.PAUSE] = 0 if until is None else until + 1
        of_replay = self._tasks, self._rules, self._scoring, self.episode
        if self._policy.plug_in is not None:
            why = ask_plug_in(self._policy, *of_replay)
        else:
            why = advance(*of_replay, no_recorder(), 0)
            while why in (WANT_PICK, WANT_VERDICT):
                why = advance(*of_replay, no_recorder(), self._answer(why))
        check_outcome(why, self._tasks, self._rules, self._policy, self.episode)
        return bool(why == DONE)

    def _answer(self, why: int) -> int:
        """What the agent's function answers. Raises ValueError where the agent has no function."""
        agent, episode, counters = self._policy.agent, self.episode, self.episode.counters
        if agent is None or agent.answer is None:
            raise ValueError("an agent that answers questions needs a function: Agent.asked(answer)")
        if why == WANT_PICK:
            slots = episode.order[: counters[at.SLOTS]]
            jobs, candidates = episode.queue[slots], episode.candidate[: len(slots)].copy()
        else:
            jobs = np.array([counters[at.INSPECTED_JOB]])
            candidates = np.array([bool(counters[at.WOULD_START])])
        question = Question(int(counters[at.NOW]), int(counters[at.FREE]), jobs - self._tasks.first, candidates)
        return int(agent.answer(question))

    def keep(self) -> ReplayState:
        return keep_state(self.episode)

    def take_up(self, state: ReplayState, last: int, awaited: tuple[int, int] = (0, 0)) -> None:
        take_up(state, self._tasks, self._rules.cluster_procs, self._scoring, self.episode, last, awaited)


def _users_of(tasks: Tasks, policy: Policy) -> int:
    """How many users are accounted for."""
    return int(tasks.user.max()) + 1 if policy.half_life_s > 0 else 0


def check_outcome(why: int, tasks: Tasks, rules: Rules, policy: Policy, episode: Episode) -> None:
    """Raises ValueError when the engine did not reach the end of the replay."""
    if why == STUCK:
        raise _stuck(tasks, episode, rules)
    if why == FORMULA_FAILED:
        assert policy.formula is not None
        raise explain_failure(policy.formula, int(episode.counters[at.FAILED_OPERATION]), episode.slots)


def scoring_of(policy: Policy, jobs: Jobs, tasks: Tasks, cluster_procs: int) -> Scoring:
    """The policy for these jobs, in the form that the general engine takes."""
    fixed = np.zeros(len(tasks.submit) if policy.fixed is not None else 1)
    if policy.fixed is not None:
        fixed[tasks.first : tasks.last] = policy.fixed(jobs, cluster_procs)
    weights = policy.weights or no_weights()
    if len(weights.facts) and len(tasks.submit) == len(jobs):
        facts = facts_of(jobs, cluster_procs, weights.facts)
    else:
        facts = np.zeros((len(tasks.submit), len(weights.facts)), dtype=np.float32)
        if len(weights.facts):
            facts[tasks.first : tasks.last] = facts_of(jobs, cluster_procs, weights.facts)
    program = policy.formula
    return Scoring(
        kind=policy.kind,
        fixed=fixed,
        parameters=np.array(policy.parameters or (0.0,)),
        half_life_s=policy.half_life_s,
        users=len(np.unique(tasks.user[: tasks.last])) if policy.half_life_s > 0 else 0,
        follows_free=policy.follows_free,
        ops=program.ops if program else np.zeros((0, 2), dtype=np.int64),
        constants=program.constants if program else np.zeros(0),
        weights=weights,
        facts=facts,
        origin=jobs.origin,
        steady=False,
    )


class NeverStarts(ValueError):
    """A job for which the outages never leave enough processors. index: of the job among those replayed."""

    def __init__(self, index: int, procs: int, cluster_procs: int) -> None:
        self.index = index
        self.why = (
            f"({procs} processors) can never start: the outages never leave it enough of the cluster's {cluster_procs} "
            "processors"
        )
        super().__init__(f"job at index {index} {self.why}")


def _stuck(tasks: Tasks, episode: Episode | StaticEpisode, rules: Rules) -> NeverStarts:
    jobs = slice(tasks.first, episode.counters[at.LAST])
    job = int(np.argmax((episode.start[jobs] == CANCELLED) & (tasks.cancel[jobs] == NEVER)))
    return NeverStarts(job, int(tasks.procs[tasks.first + job]), rules.cluster_procs)


def inputs_of(policy: Policy) -> int:
    """Inputs of the policy's network, 0 without one."""
    return policy.weights.w1.shape[0] if policy.weights is not None else 0
