"""By which factor of priority one job is ahead of another. Rules: docs/reference/slurm.md, "Priority"."""

from __future__ import annotations

import numpy as np

from simulator.compiled import referring, referring_apart
from simulator.slurm.priority import job_priority, size_factor

AGE, FAIR_SHARE, JOB_SIZE, PARTITION, QOS, OTHER, EARLIER = range(7)
"""OTHER: priority given by hand, a reservation, nice, the association or the resources asked for. EARLIER: nothing but the time of
submission."""


@referring_apart
def leading_factor(replay, first, second, partition, now):
    """The factor by which the first job is furthest ahead of the second, both in this partition."""
    jobs, settings = replay.engine.jobs, replay.engine.site.settings
    if first < 0 or jobs.priority[first] >= 0 or jobs.priority[second] >= 0:
        return OTHER
    if settings.basic > 0:
        return EARLIER
    leading, most, total = EARLIER, 0.0, 0.0
    for factor in (AGE, FAIR_SHARE, JOB_SIZE, PARTITION, QOS):
        lead = _part(replay, first, partition, factor, now) - _part(replay, second, partition, factor, now)
        total += lead
        if lead > most:
            leading, most = factor, lead
    rest = _priority_now(replay, first, partition, now) - _priority_now(replay, second, partition, now) - total
    return OTHER if rest > max(most, 1.0) else leading


@referring
def _priority_now(replay, job, partition, now):
    row = (job, partition)
    return job_priority(replay.engine, replay.rules, replay.statics, replay.fair, row, _age(replay, job, now))


@referring
def _age(replay, job, now):
    """Seconds for which the job has gathered age."""
    since = replay.eligible[job]
    return max(now - since, 0) if since >= 0 else np.int64(0)


@referring
def _part(replay, job, partition, factor, now):
    """What a factor adds to the priority of a job."""
    rules, statics, fair, jobs = replay.rules, replay.statics, replay.fair, replay.engine.jobs
    if factor == AGE:
        return rules.age * min(1.0, _age(replay, job, now) / rules.most_age) if rules.most_age > 0 else 0.0
    if factor == FAIR_SHARE:
        owner = fair.owner[job]
        return rules.fair_share * fair.factor[owner - fair.num_accounts] if owner >= 0 else 0.0
    if factor == JOB_SIZE:
        return rules.job_size * size_factor(replay.engine, rules, job, partition)
    if factor == PARTITION:
        return rules.partition * statics.partition[partition]
    return rules.qos * statics.qos[jobs.qos[job]] if jobs.qos[job] >= 0 else 0.0
