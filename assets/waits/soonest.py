"""Which request near the one that is asked for would start soonest, in replays of the queue of a moment."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from assets.waits.loading import NewJob, SiteWaits, with_new_job
from models.runtime.predictor import FloatArray
from models.waits.answers import INTERVAL, start_interval
from models.waits.history import state_at
from traces.cluster.description import ClusterDescription

DIVISORS = (2, 4, 8)
"""By how much requests are divided."""
LEAST_REQUEST_S, STEP_S = 600, 300
"""No shorter request is looked at, and each is a whole number of steps."""
MOST_OTHERS = 4
"""Queues and QOS of each kind that are looked at, those with most jobs first."""


class NearRequest(NamedTuple):
    """A request. words: how it differs from the one that is asked for. start_s: seconds from now at INTERVAL, infinite for never."""

    words: str
    job: NewJob
    start_s: FloatArray


def near_requests(waits: SiteWaits, job: NewJob, user: int, moment: int, samples: int, seed: int) -> list[NearRequest]:
    """The request as it is asked for, then those near it that start earlier in the median, the soonest first. user: its number, -1 for
    nobody in particular. All are replayed with the same run times. Raises ValueError as `with_new_job`."""
    variants = [
        NearRequest(words, each, _starts(waits, each, user, moment, (samples, seed)))
        for words, each in _near(waits, job, moment)
    ]
    asked, others = variants[0], variants[1:]
    earlier = [each for each in others if each.start_s[1] < asked.start_s[1] - 60]
    return [asked, *sorted(earlier, key=lambda each: (float(each.start_s[1]), float(each.start_s[2])))]


def _starts(waits: SiteWaits, job: NewJob, user: int, moment: int, drawn: tuple[int, int]) -> FloatArray:
    starts, number = with_new_job(waits, job, moment)
    state = state_at(waits.log.history, moment).with_job(job.procs, job.request, user, number)
    return start_interval(starts(state, *drawn)[:, -1:], None, INTERVAL)[0]


def _near(waits: SiteWaits, job: NewJob, moment: int) -> list[tuple[str, NewJob]]:
    """Shorter requests, fewer processors for as much longer, and other queues and QOS that the user has had."""
    near = [("as asked", job)]
    for share in DIVISORS:
        request = -(-job.request // share // STEP_S) * STEP_S
        if LEAST_REQUEST_S <= request < job.request:
            near.append(("less time", job._replace(request=request)))
    for share in DIVISORS[:2]:
        if job.procs % share == 0:
            near.append(
                ("fewer processors for longer", job._replace(procs=job.procs // share, request=job.request * share))
            )
    replays = waits.replays
    cluster = replays.site.own_cluster if replays.settings.is_on_cluster else None
    if cluster is None:
        return near
    rows = waits.trace.rows.filter(pl.col("submit_s") <= moment)
    of_user = rows.filter(pl.col("user_name").eq(pl.lit(job.user, pl.Utf8))) if job.user else rows
    last = of_user[-1:] if job.user else of_user[:0]  # what `with_new_job` takes where nothing is asked for
    for name in ("queue", "qos"):
        here = getattr(job, name) or (last[name][0] if last.height else None)
        if here is None and name == "queue":
            here = next((each.name for each in cluster.queues if each.is_default), None)
        names = of_user[name].drop_nulls().value_counts().sort("count", name, descending=[True, False])[name].to_list()
        there = [each for each in names if each != here and _takes(cluster, name, each, job)][:MOST_OTHERS]
        near += [(f"{name} {each}", job._replace(**{name: each})) for each in there]
    return near


def _takes(cluster: ClusterDescription, name: str, value: str, job: NewJob) -> bool:
    """Whether the cluster has the QOS, or a queue in which a job may run as long and where its account and QOS are let in."""
    if name == "qos":
        return any(each.name == value for each in cluster.qualities)
    queue = next((each for each in cluster.queues if each.name == value), None)
    if queue is None or queue.state != "up" or (queue.max_time_s or job.request) < job.request:
        return False
    asked = ((job.account, queue.allow_accounts, queue.deny_accounts), (job.qos, queue.allow_qos, queue.deny_qos))
    return all(
        each is None or ((not allowed or each in allowed) and each not in denied) for each, allowed, denied in asked
    )
