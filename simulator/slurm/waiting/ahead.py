"""By which factor of priority others were ahead of a job. Rules: docs/reference/slurm.md, "Priority".

With every start another job is the first of its partition that does not fit, and thousands wait behind it. So it is noted once who was
first since when, and what that means for a job is counted when the job leaves, or when priorities are renewed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.cluster.requests import NOT_GIVEN
from simulator.compiled import referring, referring_apart
from simulator.slurm.clockwork import LAST_PERIOD
from simulator.slurm.priority import job_priority, size_factor

IntArray = NDArray[np.int64]
AGE, FAIR_SHARE, JOB_SIZE, PARTITION, QOS, OTHER, EARLIER = range(7)
"""OTHER: priority given by hand, a reservation, nice, the association or the resources asked for. EARLIER: nothing but the time of
submission."""
_WHOLE = OTHER
"""Behind the parts of a priority, all of it."""
MOST_FIRST = 256
"""So many jobs in a row are noted as the first ones of a partition."""


class FirstJobs(NamedTuple):
    """The jobs that were the first of each place, a partition or a reservation, since priorities were renewed.

    length: how many. job: who. since: seconds. begun: of each job, the place in that list from which on its wait is to be counted. place,
    partition: of each job, where it comes first in the queue. parts: of each job's priority, and the whole of it. weighed: the second at
    which priorities were renewed that they are of, and the partition."""

    length: IntArray  # (places,)
    job: IntArray  # (places, MOST_FIRST)
    since: IntArray  # (places, MOST_FIRST)
    begun: IntArray  # (jobs,)
    place: IntArray  # (jobs,)
    partition: IntArray  # (jobs,)
    parts: NDArray[np.float64]  # (jobs, 6)
    weighed: IntArray  # (jobs, 2)


def nobody_ahead(num_jobs: int, num_places: int) -> FirstJobs:
    """Nobody waits."""
    return FirstJobs(
        length=np.zeros(num_places, dtype=np.int64),
        job=np.zeros((num_places, MOST_FIRST), dtype=np.int64),
        since=np.zeros((num_places, MOST_FIRST), dtype=np.int64),
        begun=np.zeros(num_jobs, dtype=np.int64),
        place=np.zeros(num_jobs, dtype=np.int64),
        partition=np.zeros(num_jobs, dtype=np.int64),
        parts=np.zeros((num_jobs, _WHOLE + 1)),
        weighed=np.full((num_jobs, 2), np.iinfo(np.int64).min),
    )


@referring
def leading_factor(replay, ahead, first, second):
    """The factor by which the first job is furthest ahead of the second in the partition of this one, by the priorities of the last
    period."""
    jobs, settings = replay.engine.jobs, replay.engine.site.settings
    if first < 0 or jobs.priority[first] >= 0 or jobs.priority[second] >= 0:
        return OTHER
    if settings.basic > 0:
        return EARLIER
    _weigh(replay, ahead, first, ahead.partition[second])
    _weigh(replay, ahead, second, ahead.partition[second])
    parts = ahead.parts
    leading, most, total = EARLIER, 0.0, 0.0
    for factor in range(_WHOLE):
        lead = parts[first, factor] - parts[second, factor]
        total += lead
        if lead > most:
            leading, most = factor, lead
    rest = parts[first, _WHOLE] - parts[second, _WHOLE] - total
    return OTHER if rest > max(most, 1.0) else leading


@referring
def _weigh(replay, ahead, job, partition):
    if ahead.weighed[job, 0] != replay.clock[LAST_PERIOD] or ahead.weighed[job, 1] != partition:
        _weigh_again(replay, ahead, job, partition)


@referring_apart
def _weigh_again(replay, ahead, job, partition):
    """What each factor adds to the priority of a job, and all of it."""
    rules, statics, fair, jobs = replay.rules, replay.statics, replay.fair, replay.engine.jobs
    parts, owner, now = ahead.parts, fair.owner[job], replay.clock[LAST_PERIOD]
    since = replay.eligible[job]
    age = max(now - since, 0) if since >= 0 else np.int64(0)
    parts[job, AGE] = rules.age * min(1.0, age / rules.most_age) if rules.most_age > 0 else 0.0
    parts[job, FAIR_SHARE] = rules.fair_share * fair.factor[owner - fair.num_accounts] if owner >= 0 else 0.0
    parts[job, JOB_SIZE] = rules.job_size * size_factor(replay.engine, rules, job, partition)
    parts[job, PARTITION] = rules.partition * statics.partition[partition]
    parts[job, QOS] = rules.qos * statics.qos[jobs.qos[job]] if jobs.qos[job] >= 0 else 0.0
    parts[job, _WHOLE] = job_priority(replay.engine, rules, statics, fair, (job, partition), age)
    ahead.weighed[job, 0] = now
    ahead.weighed[job, 1] = partition


@referring
def note_first(ahead, place, job, now):
    """The job is the first of its place from now on."""
    length = ahead.length[place]
    if length == 0 or ahead.job[place, length - 1] != job:
        ahead.job[place, length] = job
        ahead.since[place, length] = now
        ahead.length[place] = length + 1


@referring
def forget_first(ahead):
    """Nobody was the first of any place. Then nobody may be behind who is not counted."""
    ahead.length[:] = 0
    ahead.begun[:] = 0


@referring
def first_of(ahead, job):
    """Who is the first of the job's place, NOT_GIVEN for nobody."""
    length = ahead.length[ahead.place[job]]
    return ahead.job[ahead.place[job], length - 1] if length > 0 else np.int64(NOT_GIVEN)


@referring
def count_behind(replay, waits, job, now, first_factor):
    """Counts the wait of a job that is behind others, up to `now`. first_factor: the column of the first factor."""
    ahead = waits.ahead
    place = ahead.place[job]
    length = ahead.length[place]
    noted = ahead.since[place, ahead.begun[job]] if length > ahead.begun[job] else now
    if noted > waits.since[job]:  # as a task of an array whose head was looked at
        waits.seconds[job, first_factor + OTHER] += noted - waits.since[job]
    for k in range(ahead.begun[job], length):
        until = ahead.since[place, k + 1] if k + 1 < length else now
        seconds = until - max(ahead.since[place, k], waits.since[job])
        if seconds < 0 or (seconds == 0 and k + 1 < length):
            continue
        other = ahead.job[place, k]
        if seconds > 0:
            waits.seconds[job, first_factor + leading_factor(replay, ahead, other, job)] += seconds
        if waits.other[job, 0] != other:
            waits.other[job, 0] = other
            waits.other[job, 1] = 0
        waits.other[job, 1] += seconds
        if waits.other[job, 1] > waits.longest[job, 1]:
            waits.longest[job, 0] = other
            waits.longest[job, 1] = waits.other[job, 1]
    ahead.begun[job] = max(length - 1, 0)
    waits.since[job] = now
