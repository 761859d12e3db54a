"""Replays in which limits and gates hold jobs back: an order and a backfilling rule for those that nothing holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.engine import episode as at
from simulator.engine.episode import EASY_SJBF, FORMULA_FAILED, RESERVE, Rules
from simulator.engine.queue_tree import order_of
from simulator.engine.replay import OrderReplayer, rules_of
from simulator.formula.parsing import explain_failure
from simulator.jobs.cluster import Cluster, Outages
from simulator.jobs.followers import NEVER_SUBMITTED
from simulator.jobs.jobs import NEVER, Jobs, column_of
from simulator.jobs.schedule import CANCELLED, Schedule
from simulator.jobs.tasks import Tasks, closed_tasks_of, tasks_of
from simulator.limits.lines import LimitedEpisode, new_limited_episode
from simulator.limits.loop import begin_limited, run_limited
from simulator.limits.ranks import Orders, closed_ranks
from simulator.limits.rules import (
    LONGEST_REQUEST_S,
    NO_KEY,
    OUTSTANDING,
    RUNNING_PROCS,
    USED,
    JobLimit,
    LimitSlots,
    StartGate,
    grouped_slots,
)
from simulator.limits.shares import ShareTree, Sharing, change_uses, sharing_of
from simulator.policies.agents import NO_ONE
from simulator.policies.closed import closed_policy
from simulator.policies.registry import Policy, parse_policy
from simulator.policies.scoring import ASKED_SCORES, FAIRSHARE, FIXED
from simulator.replayer import BY_ORDER, Outcome, watched

IntArray = NDArray[np.int64]

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


class UsedBefore(NamedTuple):
    """Jobs that had ended before a replay begins. start, end: seconds. All int64 (jobs,)."""

    start: IntArray
    end: IntArray
    procs: IntArray


@dataclass(frozen=True)
class LimitedReplayer:
    """An order under limits and gates, each with a value for every job. Rules: docs/reference/limits.md.

    In a warm start these are the jobs that had ended, then the running ones of the cluster, then those of the replay, also for the shares.
    ended: of the first of them, what limits on used time and shares count. None for none.
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
    ended: UsedBefore | None = None
    honours: ClassVar = BY_ORDER | {"outages", "cancelled", "cluster", "estimates live", "warm-start", "users"}

    def replay(self, jobs: Jobs, cluster: Cluster) -> Outcome:
        """Replays all jobs. Those that a limit never lets start are counted as `jobs_never_started`, and have no start.

        Raises ValueError as the order does, and with the remedy for an order that changes while jobs wait, for conservative and selective
        backfilling, and for a warm start of a replay that somebody drives. Where jobs follow others, also for a warm start, for live
        estimates, for a scheduler that looks once a cycle, and for scores that cannot be computed when jobs come."""
        policy = self.order.policy
        if not isinstance(policy, Policy):
            policy = parse_policy(policy)
        is_warm = cluster.waiting > 0 or len(cluster.running) > 0 or self.ended is not None
        begin = cluster.begins(jobs.submit) if len(jobs) else 0
        if is_warm and self.cycle_s:
            begin = -(-begin // self.cycle_s) * self.cycle_s
            tasks = tasks_of(jobs, replace(cluster, outages=_seen_outages(cluster.outages, begin)))
            jobs = seen_jobs(jobs, self.cycle_s)
            tasks = _seen_tasks(tasks, jobs, self.cycle_s)
        else:
            jobs = seen_jobs(jobs, self.cycle_s)
            tasks = closed_tasks_of(jobs, cluster)
        rules = rules_of(self.order.backfill, self.order.correction, cluster.procs, len(tasks.announced) > 0)
        check_limited(policy, rules, self.shares is not None)
        if jobs.is_closed:
            policy = self._closed_policy(policy, jobs, cluster)
        if is_warm and self.drive is not None:
            raise ValueError("live estimates under limits begin on an empty cluster: leave the warm start out")
        if not len(jobs):
            return Outcome(Schedule(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.bool_)))
        tree = self.shares if policy.kind == FAIRSHARE else None
        ended = self.ended or UsedBefore(*np.zeros((3, 0), dtype=np.int64))
        apart = () if tree is None else tuple(tree.path.T)
        slots, group = grouped_slots(self.limits, self.gates, tasks, apart, len(ended.start))
        since = min(
            int(jobs.submit[0]),
            int(tasks.submit[: tasks.first].min(initial=begin)),
            int(ended.start.min(initial=begin)),
        )
        sharing = sharing_of(tree, group, len(slots.begin), since, policy.half_life_s)
        orders = _orders(policy, jobs, tasks, rules)
        ranks = closed_ranks(policy, jobs, tasks, cluster.procs, orders.shortest_first) if jobs.is_closed else None
        episode = new_limited_episode(tasks, slots, cluster.procs, ranks)
        own = slice(tasks.first, tasks.last)
        with watched("jobs of the replay under the rules", episode.start[own]):
            replay = LimitedReplay(tasks, rules, slots, orders, sharing, episode, self.wakes)
            if is_warm:
                _begin_warm(replay, group, ended, begin, self.cycle_s)
            why = run_limited(*replay) if self.drive is None else self.drive(replay)
        if why == FORMULA_FAILED and policy.formula is not None:
            raise explain_failure(policy.formula, int(episode.counters[at.FAILED_OPERATION]), episode.ranks.slots)
        start, submit = episode.start[own], tasks.submit[own].copy() if jobs.is_closed else None
        for_ever = jobs.cancel == NEVER if submit is None else (jobs.cancel == NEVER) | (submit == NEVER_SUBMITTED)
        counts = {
            NEVER_STARTED: int(((start == CANCELLED) & for_ever).sum()),
            OVER_ALONE: _over_alone(self.limits, jobs),
        }
        return Outcome(Schedule(start, episode.backfilled[own]), counts=counts, submit=submit)

    def _closed_policy(self, policy: Policy, jobs: Jobs, cluster: Cluster) -> Policy:
        """The policy where some of the jobs follow others. Raises ValueError for what has no rule for them."""
        is_warm = cluster.waiting > 0 or len(cluster.running) > 0 or self.ended is not None
        if is_warm or self.cycle_s or self.drive is not None:
            jobs.require_open("under limits, a warm start, live estimates, or a scheduler that looks once a cycle")
        closed = closed_policy(policy, jobs, cluster.procs)
        if closed.kind == ASKED_SCORES:
            jobs.require_open(f"under limits, {policy.name}, a plug-in that looks at submissions,")
        return closed


def _begin_warm(replay: LimitedReplay, group: IntArray, ended: UsedBefore, begin: int, cycle_s: int) -> None:
    """Puts a replay at the second at which it begins. group: of the jobs that had ended, and of all others."""
    tasks, slots, episode = replay.tasks, replay.slots, replay.episode
    end = ended.end if not cycle_s else -(-ended.end // cycle_s) * cycle_s
    used = np.bincount(group[: len(end)], ended.procs * (end - ended.start), minlength=len(slots.begin))
    for each in np.flatnonzero(used):
        for slot in slots.slot[slots.first[each] : slots.first[each + 1]]:
            if slots.kind[slot] == USED:
                episode.level[slot] += int(used[each])
    start = tasks.submit[: tasks.first]
    episode.counters[at.FREE] = replay.rules.cluster_procs
    begin_limited(tasks, slots, replay.orders, episode, np.argsort(start, kind="stable"), begin)
    running = group[len(end) : len(end) + tasks.first]
    second = np.concatenate([end, ended.start, start])
    procs = np.concatenate([-ended.procs, ended.procs, tasks.procs[: tasks.first]])
    in_time = np.argsort(second, kind="stable")  # in a second, jobs end before others start
    changing = np.concatenate([group[: len(end)], group[: len(end)], running])
    change_uses(replay.sharing, changing[in_time], second[in_time], procs[in_time])


def _seen_tasks(tasks: Tasks, jobs: Jobs, cycle_s: int) -> Tasks:
    """The tasks as a scheduler sees them that looks once a cycle. jobs: as it sees them."""
    own, running = slice(tasks.first, tasks.last), slice(tasks.first)

    def seen(name: str) -> IntArray:
        column, since = getattr(tasks, name).copy(), tasks.submit[running]
        column[own] = getattr(jobs, name)
        if name != "submit":
            column[running] = -(-(since + column[running]) // cycle_s) * cycle_s - since
        return column_of(column)

    return tasks._replace(
        submit=seen("submit"), runtime=seen("runtime"), limit=seen("limit"), estimate=seen("estimate")
    )


def seen_jobs(jobs: Jobs, cycle_s: int) -> Jobs:
    """The jobs as a scheduler sees them that looks once a cycle: they come and end when it does. cycle_s: 0 for at once."""
    if not cycle_s:
        return jobs
    submit, runtime, limit, estimate = (
        -(-column // cycle_s) * cycle_s for column in (jobs.submit, jobs.runtime, jobs.limit, jobs.estimate)
    )
    return replace(jobs, submit=submit, runtime=runtime, limit=limit, estimate=estimate)


def _seen_outages(outages: Outages, begin: int) -> Outages:
    """The outages that last or come when a replay begins, as they look from then on."""
    kept = outages.end > begin
    start, announced = (np.maximum(column[kept], begin) for column in (outages.start, outages.announced))
    return Outages(start, outages.end[kept], outages.procs[kept], announced)


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
            key = limit.key[len(limit.key) - len(jobs) :]
            has_key = key != NO_KEY
            bound = limit.bound_of(key)
            amount = (
                jobs.procs if limit.counts == RUNNING_PROCS else jobs.procs * np.minimum(jobs.limit, LONGEST_REQUEST_S)
            )
            over |= has_key & (amount > bound) & (bound > 0)
    return int(over.sum())


def _orders(policy: Policy, jobs: Jobs, tasks: Tasks, rules: Rules) -> Orders:
    """The order of the policy and the one of the jobs that start behind a head."""
    score = jobs.submit if policy.fixed is None else policy.fixed(jobs, rules.cluster_procs)
    shortest_first, is_closed = rules.backfill == EASY_SJBF, jobs.is_closed
    if policy.fixed is None and is_closed:
        score = np.zeros(len(jobs))
    rank, job_at = _ranks(score, tasks)
    fill, fill_at = _ranks(jobs.estimate, tasks) if shortest_first else (rank, job_at)
    if is_closed:
        rank[job_at] = _first_of_ties(score[job_at - tasks.first])
    if is_closed and shortest_first:
        fill[fill_at] = _first_of_ties(jobs.estimate[fill_at - tasks.first])
    return Orders(rank, job_at, fill, shortest_first)


def _first_of_ties(ordered: NDArray[np.generic]) -> IntArray:
    """The place of the first of the same values, for each of some that are in order."""
    place = np.arange(len(ordered))
    return np.maximum.accumulate(np.where(np.concatenate([[True], ordered[1:] != ordered[:-1]]), place, 0))


def _ranks(score: IntArray | NDArray[np.float64], tasks: Tasks) -> tuple[IntArray, IntArray]:
    """The rank of each task, and the job of each rank."""
    job_at = tasks.first + order_of(score)
    rank = np.full(len(tasks.submit), len(tasks.submit), dtype=np.int64)
    rank[job_at] = np.arange(len(job_at))
    return rank, np.ascontiguousarray(job_at)
