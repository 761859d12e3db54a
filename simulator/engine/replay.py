"""Replays: jobs in, schedule out."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from simulator.engine import episode as at
from simulator.engine.episode import Episode, new_episode
from simulator.engine.general import advance
from simulator.engine.queue_tree import MOST_PROCS, queue_by
from simulator.engine.rules import EASY, EASY_SJBF, FORMULA_FAILED, NO_BACKFILL, RESERVE, STUCK, WANT_SCORES, Rules
from simulator.engine.running import CORRECTION_IDS
from simulator.engine.static import run_static
from simulator.engine.static_queue import Queues, new_static_episode
from simulator.formula.parsing import explain_failure
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs
from simulator.jobs.schedule import CANCELLED, Schedule
from simulator.jobs.tasks import Tasks, tasks_of
from simulator.jobs.words import BACKFILLING, CORRECTIONS, one_of
from simulator.policies.network import KernelWeights
from simulator.policies.observation import facts_of, no_weights
from simulator.policies.registry import Policy, parse_options, parse_policy
from simulator.policies.sampling import TAKE_BEST, no_recorder
from simulator.policies.scoring import FIXED, Scoring

SELECTIVE_OPTIONS = {"threshold": 2.0}

_IDS = {"none": NO_BACKFILL, "easy": EASY, "easy-sjbf": EASY_SJBF}


def replay(
    jobs: Jobs,
    cluster: int | Cluster,
    policy: str | Policy = "FCFS",
    backfill: str = "easy",
    weights: KernelWeights | None = None,
    correction: str = "requested",
) -> Schedule:
    """Replays all jobs on a cluster (its processors, or a Cluster with running jobs and outages).

    policy: see simulator.policies.registry.parse_policy; "learned" needs the `weights` of a kernel network.
    backfill: a name in BACKFILLING; selective takes `selective:threshold=X`. correction: a name in CORRECTIONS.
    Rules and tie-breaks: docs/semantics.md. Raises ValueError for what cannot be replayed, with the remedy.
    """
    if isinstance(policy, str):
        policy = parse_policy(policy, weights)
    cluster = Cluster.of(cluster)
    tasks = tasks_of(jobs, cluster)
    rules = rules_of(backfill, correction, cluster.procs, planned=len(tasks.announced) > 0)
    if rules.backfill == RESERVE and ((jobs.hold != jobs.estimate) | (jobs.admit != jobs.estimate)).any():
        raise ValueError(
            f"backfilling {backfill!r} plans every job by its estimate, and can use no other time for those that run or are "
            "backfilled: use reserve_by='estimate' and admit_by='estimate', or easy backfilling"
        )
    if len(jobs) == 0:
        return Schedule(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.bool_))
    plain = rules.backfill != RESERVE and not rules.planned and cluster.procs <= MOST_PROCS
    if policy.kind == FIXED and plain:
        start, backfilled = _run_static(jobs, tasks, rules, policy)
    else:
        start, backfilled = _run_general(jobs, tasks, rules, policy)
    part = slice(tasks.first, tasks.last)
    return Schedule(start[part], backfilled[part])


def rules_of(
    backfill: str, correction: str, cluster_procs: int, planned: bool = False, sample: int = TAKE_BEST
) -> Rules:
    """The rules that these names stand for. Raises ValueError for unknown ones."""
    head, _, tail = backfill.lower().partition(":")
    correction = correction.lower()
    if head not in BACKFILLING or (tail and head != "selective"):
        raise ValueError(
            f"unknown backfilling {backfill!r}; expected one of {', '.join(BACKFILLING)}, selective:threshold=X"
        )
    one_of("correction", correction, CORRECTIONS)
    threshold = parse_options(backfill, tail, SELECTIVE_OPTIONS)["threshold"] if head == "selective" else 1.0
    return Rules(
        cluster_procs=cluster_procs,
        backfill=_IDS.get(head, RESERVE),
        threshold=threshold,
        correction=CORRECTION_IDS[correction],
        planned=planned,
        sample=sample,
        live=False,
        promises=False,
    )


def _run_static(jobs: Jobs, tasks: Tasks, rules: Rules, policy: Policy) -> tuple[Any, Any]:
    assert policy.fixed is not None
    order = queue_by(policy.fixed(jobs, rules.cluster_procs), tasks.procs, tasks.admit, tasks.first)
    shortest_first = rules.backfill == EASY_SJBF
    fill = queue_by(jobs.estimate, tasks.procs, tasks.admit, tasks.first) if shortest_first else order
    episode = new_static_episode(tasks, rules.cluster_procs)
    if run_static(tasks, rules, Queues(order, fill, shortest_first), episode) == STUCK:
        raise _stuck(tasks, episode.start, rules)
    return episode.start, episode.backfilled


def _run_general(jobs: Jobs, tasks: Tasks, rules: Rules, policy: Policy) -> tuple[Any, Any]:
    scoring = scoring_of(policy, jobs, tasks, rules.cluster_procs)
    users = int(tasks.user.max()) + 1 if policy.half_life_s > 0 else 0
    episode = new_episode(
        tasks, rules.cluster_procs, users, rules.planned or rules.backfill == RESERVE, inputs=inputs_of(policy)
    )
    if policy.plug_in is not None:
        why = _ask(policy, tasks, rules, scoring, episode)
    else:
        why = advance(tasks, rules, scoring, episode, no_recorder(), 0)
    check_outcome(why, tasks, rules, policy, episode)
    return episode.start, episode.backfilled


def check_outcome(why: int, tasks: Tasks, rules: Rules, policy: Policy, episode: Episode) -> None:
    """Raises ValueError when the engine did not come to the end of the replay."""
    if why == STUCK:
        raise _stuck(tasks, episode.start, rules)
    if why == FORMULA_FAILED:
        assert policy.formula is not None
        raise explain_failure(policy.formula, int(episode.counters[at.FAILED_OPERATION]), episode.slots)


def _ask(policy: Policy, tasks: Tasks, rules: Rules, scoring: Scoring, episode: Episode) -> int:
    """Steps the engine and has a plug-in score the queue in every pass."""
    plug_in = policy.plug_in
    assert plug_in is not None
    columns = {"submit": tasks.submit, "estimate": tasks.estimate, "procs": tasks.procs, "user": tasks.user}
    if plug_in.is_compiled:
        try:
            why = _driver(plug_in)(tasks, rules, scoring, episode, no_recorder())
        except Exception as error:
            raise plug_in.failure(error) from error
        if why == WANT_SCORES:  # the one who was asked gave no score
            raise plug_in.no_score(int(episode.counters[at.FAILED]), int(episode.counters[at.NOW]))
        return int(why)
    while (why := advance(tasks, rules, scoring, episode, no_recorder(), 0)) == WANT_SCORES:
        counters = episode.counters
        queue = episode.queue[: counters[at.QUEUED]]
        scores = plug_in.scores(queue, int(counters[at.NOW]), int(counters[at.FREE]), rules.cluster_procs, columns)
        episode.score[: len(queue)] = scores
    return int(why)


@lru_cache(maxsize=32)
def _driver(plug_in: Any) -> Any:
    """A loop around the engine that asks a compiled plug-in without leaving compiled code; it leaves with WANT_SCORES, and the
    job in FAILED, where a score is not a number."""
    fill = plug_in.fill

    @numba.njit(nogil=True)
    def drive(tasks, rules, scoring, episode, recorder):
        while True:
            why = advance(tasks, rules, scoring, episode, recorder, 0)
            if why != WANT_SCORES:
                return why
            fill(
                episode.queue,
                episode.counters[at.QUEUED],
                episode.counters[at.NOW],
                episode.counters[at.FREE],
                rules.cluster_procs,
                tasks.submit,
                tasks.estimate,
                tasks.procs,
                tasks.user,
                episode.score,
            )
            for k in range(episode.counters[at.QUEUED]):
                if np.isnan(episode.score[k]):
                    episode.counters[at.FAILED] = episode.queue[k]
                    return why

    return drive


def scoring_of(policy: Policy, jobs: Jobs, tasks: Tasks, cluster_procs: int) -> Scoring:
    """The policy as the general engine takes it, for these jobs."""
    fixed = np.zeros(len(tasks.submit) if policy.fixed is not None else 1)
    if policy.fixed is not None:
        fixed[tasks.first : tasks.last] = policy.fixed(jobs, cluster_procs)
    weights = policy.weights or no_weights()
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


def _stuck(tasks: Tasks, start: NDArray[np.int64], rules: Rules) -> NeverStarts:
    job = int(np.argmax(start[tasks.first : tasks.last] == CANCELLED))
    return NeverStarts(job, int(tasks.procs[tasks.first + job]), rules.cluster_procs)


def inputs_of(policy: Policy) -> int:
    """Inputs of the policy's network; none without one."""
    return policy.weights.w1.shape[0] if policy.weights is not None else 0
