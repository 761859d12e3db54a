"""What a policy may read when it orders the queue: one moment of a replay."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.compiled import inlined
from simulator.policies.usage import usage_at

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


class Moment(NamedTuple):
    """The queue, the jobs that run and the users' usage at one moment, as the scheduler knows them.

    Every rule set makes one from its own state. Only the first `queued` places of the queue and the first `running` places of
    the running jobs count. None of their estimated ends lies in the past.
    """

    now: int  # seconds
    free: int  # processors
    cluster_procs: int
    queued: int  # jobs that wait
    running: int  # jobs that run
    queue: IntArray  # (at least queued,), tasks
    submit: IntArray  # (tasks,), seconds
    procs: IntArray  # (tasks,)
    estimate: IntArray  # (tasks,), seconds
    user: IntArray  # (tasks,)
    est_end: IntArray  # (at least running,), seconds, ascending
    est_job: IntArray  # (at least running,), tasks
    usage: FloatArray  # (users + 1,), processor-seconds at `since`, see simulator/policies/usage.py
    rate: FloatArray  # (users + 1,), processors
    since: IntArray  # (users + 1,), seconds
    half_life_s: float  # of usage, 0 where nothing reads usage


@inlined
def usage_of(moment, user):
    """Processor-seconds of a user at this moment. User -1 means all users together."""
    who = user if user >= 0 else len(moment.usage) - 1
    return usage_at(moment.usage, moment.rate, moment.since, who, moment.now, moment.half_life_s)
