"""What a policy may read when it orders the queue: one moment of a replay, with the decayed usage of its users.

Usage is the processor-seconds of each user, where older ones count less: U(t) is the integral of the processors held at time v, times
2^(-(t - v) / half-life). Between changes the rate is constant, so usage advances in closed form, and only when it is read or the rate
changes. The last entry is that of all users together.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.compiled import inlined, lean

LOG_2 = math.log(2.0)
IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


@lean
def usage_at(usage, rate, since, user, now, half_life):
    """Processor-seconds of `user` at `now`. usage, rate, since: (users + 1,). half_life: seconds."""
    decay = 2.0 ** (-(now - since[user]) / half_life)
    return usage[user] * decay + rate[user] * (half_life / LOG_2) * (1.0 - decay)


@lean
def change_rate(usage, rate, since, user, now, procs, half_life):
    """From `now` on, `user` holds `procs` processors more (or fewer)."""
    everyone = len(usage) - 1
    for who in (user, everyone):
        usage[who] = usage_at(usage, rate, since, who, now, half_life)
        since[who] = now
        rate[who] += procs


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
    usage: FloatArray  # (users + 1,), processor-seconds at `since`, decayed
    rate: FloatArray  # (users + 1,), processors
    since: IntArray  # (users + 1,), seconds
    half_life_s: float  # of usage, 0 where nothing reads usage


@inlined
def usage_of(moment, user):
    """Processor-seconds of a user at this moment. User -1 means all users together."""
    who = user if user >= 0 else len(moment.usage) - 1
    return usage_at(moment.usage, moment.rate, moment.since, who, moment.now, moment.half_life_s)
