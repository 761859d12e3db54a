"""When jobs come whose submission the schedule decides, and when their users give up, as compiled loops keep it.

Rules: docs/reference/semantics/followers.md.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.compiled import inlined
from simulator.jobs.cluster import FOREVER
from simulator.jobs.followers import NO_JOB, Chain
from simulator.jobs.jobs import NEVER

IntArray = NDArray[np.int64]


class Coming(NamedTuple):
    """When tasks come whose submission the schedule decides, as event loops read and write it. All are empty in an open replay, in which
    jobs come in their order. `submit`, `cancel` and `cancel_order` are the memory of those of `Tasks`, which loops may only read."""

    order: IntArray  # (first task behind the jobs,), tasks in the order in which they come, see `order_of_coming`
    chain: Chain  # of tasks
    submit: IntArray  # (tasks,), NEVER_SUBMITTED until it is known
    cancel: IntArray  # (tasks,), seconds after the submission until the job has come, then the second
    cancel_order: IntArray  # (jobs that are cancelled at some time,), those that have come, behind room for the others


def open_coming() -> Coming:
    """All jobs come at their own times."""
    none = np.zeros(0, dtype=np.int64)
    return Coming(none, Chain(none, none, none, none), none, none, none)


@inlined
def task_to_come(coming, place):
    """The task that comes at this place of the order."""
    return coming.order[place] if len(coming.order) > 0 else place


@inlined
def note_cancellation(coming, begin, job):
    """A job of a closed replay comes: its cancellation, if it has one, is as long after as in the log. begin: place of the next to be
    cancelled in `cancel_order`. Returns the new one."""
    if coming.cancel[job] < NEVER:
        coming.cancel[job] += coming.submit[job]
        begin = join_by_second(coming.cancel_order, begin, coming.cancel, job)
    return begin


@inlined
def call_followers(chain, order, coming, submit, job, left):
    """The followers of a job that leaves at second `left` are to come, but for those that await other tasks of its array: each takes its
    place in the order. Returns the place of the next to
    come. order: jobs by submission, from `coming` on those that are still to come, as `order_of_coming` has it. submit: (jobs,), in which
    their submissions are noted."""
    follower = chain.first[job] if len(chain.first) > 0 else np.int64(NO_JOB)
    while follower != NO_JOB:
        chain.awaited[follower] -= 1
        if chain.awaited[follower] == 0:
            submit[follower] = left + chain.think[follower]
            coming = join_by_second(order, coming, submit, follower)
        follower = chain.following[follower]
    return coming


@inlined
def join_by_second(order, begin, second, job):
    """The job takes its place among those from `begin` on, which are sorted by second and then by place in the log. There is room before
    them. Returns the place of the first."""
    place = begin - 1
    while place + 1 < len(order) and (
        second[order[place + 1]] < second[job] or (second[order[place + 1]] == second[job] and order[place + 1] < job)
    ):
        order[place] = order[place + 1]
        place += 1
    order[place] = job
    return begin - 1


# --- giving up


class GivingUp(NamedTuple):
    """Who leaves the queue of a described cluster without a start. `order` is empty where nobody does."""

    patience: IntArray  # (jobs,), seconds from the submission on for which the job waits, NEVER for ever, or once it has left or run
    second: IntArray  # (jobs,), when it leaves, if it waits then, of jobs that have come
    order: IntArray  # (jobs with patience,), from next[0] on those that have come, by that second
    next: IntArray  # (1,), behind room for those that are to come
    gave_up: NDArray[np.bool_]  # (jobs,)


def giving_up_of(submit: IntArray, cancel: IntArray, earlier: int = 0) -> GivingUp:
    """Before any job has come. submit, cancel: as in `simulator.jobs.jobs.Jobs`. earlier: jobs before them, which run already."""
    has_patience = cancel < NEVER
    patience = np.concatenate([np.full(earlier, NEVER), np.where(has_patience, cancel - submit, NEVER)]).astype(
        np.int64
    )
    count = int(has_patience.sum())
    return GivingUp(
        patience,
        np.zeros(len(patience), dtype=np.int64),
        np.full(count, NO_JOB, dtype=np.int64),
        np.array([count], dtype=np.int64),
        np.zeros(len(patience), dtype=np.bool_),
    )


@inlined
def note_patience(giving, submit, job, now):
    """A job that was submitted at second `submit` has come."""
    if giving.patience[job] < NEVER:
        giving.second[job] = max(submit + giving.patience[job], now)
        giving.next[0] = join_by_second(giving.order, giving.next[0], giving.second, job)


@inlined
def next_giving_up(giving, start):
    """The second in which the next job gives up that has not started, FOREVER for none. start: (jobs,), below 0 for one that has not."""
    while giving.next[0] < len(giving.order) and (
        start[giving.order[giving.next[0]]] >= 0 or giving.patience[giving.order[giving.next[0]]] == NEVER
    ):
        giving.next[0] += 1
    return giving.second[giving.order[giving.next[0]]] if giving.next[0] < len(giving.order) else np.int64(FOREVER)


@inlined
def take_impatient(giving):
    """The job of which `next_giving_up` has said when it gives up. From now on it has."""
    job = giving.order[giving.next[0]]
    giving.next[0] += 1
    giving.gave_up[job] = True
    return job
