"""Replays in which limits and gates hold jobs back: an order and a backfilling rule for those that nothing holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np

from simulator.engine.episode import EASY_SJBF, RESERVE, Rules
from simulator.engine.queue_tree import order_of
from simulator.engine.replay import OrderReplayer, rules_of
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import NEVER, Jobs
from simulator.jobs.schedule import CANCELLED, Schedule
from simulator.jobs.tasks import Tasks, tasks_of
from simulator.limits.lines import LimitedEpisode, Orders, new_limited_episode
from simulator.limits.loop import run_limited
from simulator.limits.rules import (
    LONGEST_REQUEST_S,
    NO_KEY,
    OUTSTANDING,
    RUNNING_PROCS,
    JobLimit,
    LimitSlots,
    StartGate,
    slots_of_limits,
)
from simulator.limits.shares import ShareTree, Sharing, sharing_of
from simulator.policies.agents import NO_ONE
from simulator.policies.registry import Policy, parse_policy
from simulator.policies.scoring import FAIRSHARE, FIXED
from simulator.replayer import BY_ORDER, Outcome, watched

BACKFILLS_UNDER_LIMITS = ("none", "any", "easy", "easy-sjbf")
NEVER_STARTED, OVER_ALONE = "jobs_never_started", "jobs_over_a_limit_alone"


class LimitedReplay(NamedTuple):
    """The arguments of `run_limited`."""

    tasks: Tasks
    rules: Rules
    slots: LimitSlots
    orders: Orders
    sharing: Sharing
    episode: LimitedEpisode
    wakes: bool


@dataclass(frozen=True)
class LimitedReplayer:
    """An order under limits and gates, each with a value for every job. Rules: docs/reference/limits.md.

    shares: of the jobs' accounts and users, which the policy fairshare follows.
    wakes: whether a job starts as soon as outstanding time has shrunk enough for it, or with the next job that comes or goes. cycle_s: the
    scheduler looks once in so many seconds, 0 for at once. drive: runs a replay, such as one that changes estimates on the way."""

    order: OrderReplayer
    limits: Sequence[JobLimit] = ()
    gates: Sequence[StartGate] = ()
    shares: ShareTree | None = None
    wakes: bool = True
    cycle_s: int = 0
    drive: Callable[[LimitedReplay], object] | None = None
    honours: ClassVar = BY_ORDER | {"outages", "cancelled", "cluster", "estimates live"}

    def replay(self, jobs: Jobs, cluster: Cluster) -> Outcome:
        """Replays all jobs. Those that a limit never lets start are counted as `jobs_never_started`, and have no start.

        Raises ValueError as the order does, and with the remedy for an order that changes while jobs wait, for conservative and selective
        backfilling, and for a warm start."""
        policy = self.order.policy
        if not isinstance(policy, Policy):
            policy = parse_policy(policy)
        jobs = seen_jobs(jobs, self.cycle_s)
        tasks = tasks_of(jobs, cluster)
        rules = rules_of(self.order.backfill, self.order.correction, cluster.procs, len(tasks.announced) > 0)
        check_limited(policy, rules, self.shares is not None)
        if cluster.waiting or len(cluster.running):
            raise ValueError("a replay with limits begins on an empty cluster: leave the warm start out")
        if not len(jobs):
            return Outcome(Schedule(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.bool_)))
        tree = self.shares if policy.kind == FAIRSHARE else None
        slots = slots_of_limits(self.limits, self.gates, tasks, () if tree is None else tuple(tree.path.T))
        group = slots.group[tasks.first : tasks.last]
        sharing = sharing_of(tree, group, len(slots.begin), int(jobs.submit[0]), policy.half_life_s)
        score = jobs.submit if policy.fixed is None else policy.fixed(jobs, cluster.procs)
        rank, job_at = _ranks(score, len(tasks.submit))
        shortest_first = rules.backfill == EASY_SJBF
        fill = _ranks(jobs.estimate, len(tasks.submit))[0] if shortest_first else rank
        episode = new_limited_episode(tasks, slots, cluster.procs)
        orders = Orders(rank, job_at, fill, shortest_first)
        with watched("jobs of the replay under the rules", episode.start):
            replay = LimitedReplay(tasks, rules, slots, orders, sharing, episode, self.wakes)
            run_limited(*replay) if self.drive is None else self.drive(replay)
        start = episode.start[: len(jobs)]
        left = int(((start == CANCELLED) & (jobs.cancel == NEVER)).sum())
        counts = {NEVER_STARTED: left, OVER_ALONE: _over_alone(self.limits, jobs)}
        return Outcome(Schedule(start, episode.backfilled[: len(jobs)]), counts=counts)


def seen_jobs(jobs: Jobs, cycle_s: int) -> Jobs:
    """The jobs as a scheduler sees them that looks once a cycle: they come and end when it does. cycle_s: 0 for at once."""
    if not cycle_s:
        return jobs
    submit, runtime, limit, estimate = (
        -(-column // cycle_s) * cycle_s for column in (jobs.submit, jobs.runtime, jobs.limit, jobs.estimate)
    )
    return replace(jobs, submit=submit, runtime=runtime, limit=limit, estimate=estimate)


def check_limited(policy: Policy, rules: Rules, has_shares: bool) -> None:
    """Raises ValueError, with the remedy, for an order or a backfilling rule that has no limits."""
    is_fixed = policy.kind == FIXED and policy.half_life_s == 0.0 and policy.fixed is not None
    follows_shares = policy.kind == FAIRSHARE and has_shares
    if not (is_fixed or follows_shares) or policy.agent is not None or rules.picking.by != NO_ONE:
        raise ValueError(
            f"{policy.name}: under limits an order must be known at submission, such as FCFS, SAF or bounded-key, or be fairshare: other "
            'scores that change while a job waits, and agents, go with --cluster "", over a row of processors'
        )
    if rules.backfill == RESERVE:
        raise ValueError(
            "conservative and selective backfilling plan all waiting jobs, also those that a limit holds: under limits use --backfill "
            f"{', '.join(BACKFILLS_UNDER_LIMITS[:-1])} or {BACKFILLS_UNDER_LIMITS[-1]}"
        )


def _over_alone(limits: Sequence[JobLimit], jobs: Jobs) -> int:
    """Jobs that are over a bound by themselves, so that they start where no other job counts for it."""
    over = np.zeros(len(jobs), dtype=np.bool_)
    for limit in limits:
        if limit.counts in (RUNNING_PROCS, OUTSTANDING):
            has_key = limit.key != NO_KEY
            bound = limit.bound_of(limit.key)
            amount = (
                jobs.procs if limit.counts == RUNNING_PROCS else jobs.procs * np.minimum(jobs.limit, LONGEST_REQUEST_S)
            )
            over |= has_key & (amount > bound) & (bound > 0)
    return int(over.sum())


def _ranks(score: np.ndarray, tasks: int) -> tuple[np.ndarray, np.ndarray]:
    """The rank of each task, and the job of each rank."""
    job_at = order_of(score)
    rank = np.full(tasks, tasks, dtype=np.int64)
    rank[job_at] = np.arange(len(job_at))
    return rank, np.ascontiguousarray(job_at)
