"""When jobs come whose submission the schedule decides, as compiled loops keep it. Rules: docs/reference/semantics/followers.md."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.compiled import inlined
from simulator.jobs.followers import Chain, join_by_second
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
    return Coming(none, Chain(none, none, none), none, none, none)


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
