"""Who comes first under limits: ranks of jobs in the order of the policy. In a closed replay a job gets its rank when it comes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.compiled import lean
from simulator.engine import episode as at
from simulator.engine.events import comes_before
from simulator.engine.reserving import sort_places
from simulator.formula import machine
from simulator.jobs.jobs import Jobs
from simulator.jobs.tasks import Tasks
from simulator.policies.closed import scores_at_submission
from simulator.policies.registry import Policy

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

ROOM_AT_END = 16
"""A job that comes behind all others takes one of so many parts of the ranks that are left, so that others have room before it."""


class Orders(NamedTuple):
    """Who comes first. rank: of each task in the order of the policy, which is also that of `job_at`. fill: its key among those that start
    behind a head, the lowest first, the same array unless the shortest goes first. Two jobs never have the same."""

    rank: IntArray  # (tasks,)
    job_at: IntArray  # (jobs,)
    fill: IntArray  # (tasks,)
    shortest_first: bool


class Ranks(NamedTuple):
    """Of a closed replay; `come` is empty in an open one.

    Where the score of a job is known before, so is the first rank of its score. Until the job comes, `Orders.rank` and `Orders.fill` are
    that one. Otherwise there is a `value`, and a job gets a rank between those of the waiting jobs which it comes between.
    """

    come: IntArray  # (jobs,), by the first rank of a score: how many jobs of that score have come
    fill_come: IntArray  # (jobs,) if the shortest goes first, else (0,): the same by `Orders.fill`
    fill_at: IntArray  # as fill_come, by `Orders.fill`: the job
    value: FloatArray  # (tasks,), what to add to the submission, and from then on the score; (0,) if it is known before
    ops: IntArray  # (operations, 2), of the formula that gives the value instead
    constants: FloatArray  # (constants,)
    slots: FloatArray  # this and the next: see simulator.policies.scoring.Scratch
    stack: FloatArray
    origin: int  # second from which the formula counts submissions
    number: FloatArray  # (jobs,), 0, 1, ...
    scratch: IntArray  # (2, jobs)


def open_ranks() -> Ranks:
    """All ranks are known before the replay."""
    none, numbers = np.zeros(0, dtype=np.int64), np.zeros(0)
    return Ranks(
        none, none, none, numbers, none.reshape(0, 2), numbers, numbers, numbers, 0, numbers, none.reshape(2, 0)
    )


def closed_ranks(policy: Policy, jobs: Jobs, tasks: Tasks, cluster_procs: int, shortest_first: bool) -> Ranks:
    """Before the first job has come. policy: as `closed_policy` gives it."""
    count = len(jobs)
    of_ties = np.zeros((3, count), dtype=np.int64)
    ranks = open_ranks()._replace(come=of_ties[0])
    if shortest_first:
        ranks = ranks._replace(fill_come=of_ties[1], fill_at=of_ties[2])
    if not scores_at_submission(policy, jobs):
        return ranks
    value, slots = np.zeros(len(tasks.submit)), np.zeros(machine.NUM_SLOTS)
    slots[machine.CLUSTER] = cluster_procs
    if policy.formula is not None and policy.setback is None:
        ranks = ranks._replace(ops=policy.formula.ops, constants=policy.formula.constants)
    elif policy.fixed is not None:
        value[tasks.first : tasks.last] = policy.fixed(jobs, cluster_procs)
    return ranks._replace(
        value=value,
        slots=slots,
        stack=np.zeros(machine.STACK_SIZE),
        origin=jobs.origin,
        number=np.arange(count, dtype=np.float64),
        scratch=np.zeros((2, count), dtype=np.int64),
    )


@lean
def take_rank(tasks, slots, orders, episode, active, job):
    """A job of a closed replay gets its rank. active: how many groups have a waiting job."""
    if len(episode.ranks.value) > 0:
        rank_by_value(tasks, orders, episode, active, job)
    else:
        rank_in_score(tasks, slots, orders, episode, job)
    if len(episode.ranks.fill_at) > 0:
        rank_among_ties(tasks, orders.fill, episode.ranks.fill_at, episode.ranks.fill_come, job)


@lean
def value_of(tasks, episode, job):
    """The score of a job that comes. If its formula fails, the operation is noted, and the loop stops."""
    ranks = episode.ranks
    if len(ranks.ops) == 0:
        return ranks.value[job] + tasks.submit[job]
    ranks.slots[machine.SUBMIT] = tasks.submit[job] - ranks.origin
    ranks.slots[machine.ESTIMATE] = tasks.estimate[job]
    ranks.slots[machine.PROCS] = tasks.procs[job]
    ranks.slots[machine.AREA] = float(tasks.estimate[job]) * float(tasks.procs[job])
    value, failed = machine.evaluate(ranks.ops, ranks.constants, ranks.slots, ranks.stack)
    if failed >= 0:
        episode.counters[at.FAILED], episode.counters[at.FAILED_OPERATION] = job + 1, failed
        return 0.0
    return -value


@lean
def is_before(tasks, value, job, other):
    """Whether a job comes before another one by value, then by submission."""
    return value[job] < value[other] or (value[job] == value[other] and comes_before(tasks, job, other))


@lean
def rank_by_value(tasks, orders, episode, active, job):
    """The job gets a rank between those of the waiting jobs between which it comes."""
    ranks, line, job_at, jobs = episode.ranks, episode.line, orders.job_at, len(orders.job_at)
    ranks.value[job] = value_of(tasks, episode, job)
    below, above = np.int64(-1), np.int64(jobs)
    for k in range(active):
        group = episode.active[k]
        low, high = episode.low[group], episode.high[group]
        place = high
        while place > low and is_before(tasks, ranks.value, job, job_at[line[place - 1]]):
            place -= 1
        if place < high:
            above = min(above, line[place])
        if place > low:
            below = max(below, line[place - 1])
    if above - below < 2:
        rank = spread_ranks(orders, episode, active, below)
    else:
        rank = below + 1 + (above - below - 2) // (ROOM_AT_END if above == jobs else 2)
    orders.rank[job] = rank
    job_at[rank] = job


@lean
def spread_ranks(orders, episode, active, below):
    """Spreads the ranks of the waiting jobs. Returns one that is left free, behind the job that had the rank `below`."""
    ranks, line, job_at, jobs = episode.ranks, episode.line, orders.job_at, len(orders.job_at)
    old, waiting = ranks.scratch[0], ranks.scratch[1]
    count = 0
    for k in range(active):
        for place in range(episode.low[episode.active[k]], episode.high[episode.active[k]]):
            old[count] = line[place]
            line[place] = job_at[line[place]]
            count += 1
    sort_places(ranks.number, old, count)
    for i in range(count):
        waiting[i] = job_at[old[i]]
    before = 0
    for i in range(count):
        before += old[i] <= below
    for i in range(count):
        rank = (i + (i >= before)) * jobs // (count + 1)
        orders.rank[waiting[i]] = rank
        job_at[rank] = waiting[i]
    for k in range(active):
        for place in range(episode.low[episode.active[k]], episode.high[episode.active[k]]):
            line[place] = orders.rank[line[place]]
    return np.int64(before * jobs // (count + 1))


@lean
def rank_in_score(tasks, slots, orders, episode, job):
    """The job gets its rank, behind the jobs of its score that came before. Those that came in this second and are behind it in the log,
    which only a further event of one second leaves, move up by one."""
    ranks, line = episode.ranks, episode.line
    last = orders.rank[job] + ranks.come[orders.rank[job]]
    rank = rank_among_ties(tasks, orders.rank, orders.job_at, ranks.come, job)
    for behind in range(last, rank, -1):
        group = slots.group[orders.job_at[behind]]
        for k in range(episode.low[group], episode.high[group]):
            if line[k] == behind - 1:
                line[k] = behind


@lean
def rank_among_ties(tasks, rank, job_at, come, job):
    """Sets the rank of a job that comes, which is so far the first of its score, and returns it. come: see `Ranks`."""
    first = rank[job]
    place = first + come[first]
    come[first] += 1
    while place > first and job_at[place - 1] > job and tasks.submit[job_at[place - 1]] == tasks.submit[job]:
        job_at[place] = job_at[place - 1]
        rank[job_at[place]] = place
        place -= 1
    job_at[place] = job
    rank[job] = place
    return place
