"""What the compiled loops read: the jobs of a replay with what runs already and what is missing, in one set of arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.jobs.cluster import Cluster, Outages, RunningJobs
from simulator.jobs.coming import Coming, open_coming
from simulator.jobs.followers import NEVER_SUBMITTED, NO_JOB, chain_of, order_of_coming
from simulator.jobs.jobs import NEVER, Jobs, column_of

IntArray = NDArray[np.int64]


class Tasks(NamedTuple):
    """Tasks are, in this order, jobs that run already, the jobs to schedule, and outages by start.

    Columns are as in `simulator.jobs.jobs.Jobs`. An outage's run time, estimate, limit, hold and admit are its length.
    """

    submit: IntArray  # (tasks,), submission of a job, start of a running job or an outage
    runtime: IntArray  # (tasks,)
    procs: IntArray  # (tasks,)
    estimate: IntArray  # (tasks,)
    limit: IntArray  # (tasks,)
    user: IntArray  # (tasks,)
    cancel: IntArray  # (tasks,)
    hold: IntArray  # (tasks,)
    admit: IntArray  # (tasks,)
    first: int  # the jobs to schedule are tasks first : last
    last: int
    announced: IntArray  # (outages announced before their start,), seconds, ascending
    announced_task: IntArray  # (outages announced before their start,), the task that each of them is
    cancel_order: IntArray  # (jobs that are cancelled at some time,), by that time
    coming: Coming  # in a closed replay the memory of `submit`, `cancel` and `cancel_order`, which the loop writes


def closed_tasks_of(jobs: Jobs, cluster: Cluster) -> Tasks:
    """As `tasks_of`, for a loop that lets jobs come which follow others. Raises ValueError as that does, and for jobs that wait already."""
    if not jobs.is_closed:
        return tasks_of(jobs, cluster)
    if cluster.waiting:
        raise ValueError(
            "a replay with jobs that follow others begins with an empty queue: leave the waiting jobs out, or replay at the log's times, "
            'with --users "keep times"'
        )
    tasks = _tasks_of(jobs, cluster)
    first, last = tasks.first, tasks.last
    submit, cancel = tasks.submit.copy(), tasks.cancel.copy()
    submit[first:last][jobs.after != NO_JOB] = NEVER_SUBMITTED
    cancel[first:last] -= np.where(jobs.cancel < NEVER, jobs.submit, 0)
    order, _ = order_of_coming(jobs.submit, jobs.after)
    coming = Coming(
        np.concatenate([np.arange(first), np.where(order == NO_JOB, NO_JOB, order + first)]),
        chain_of(jobs.after, jobs.think, jobs.array, first),
        submit,
        cancel,
        tasks.cancel_order.copy(),
    )
    return tasks._replace(
        submit=column_of(submit),
        cancel=column_of(cancel),
        cancel_order=column_of(coming.cancel_order),
        coming=coming,
    )


def tasks_of(jobs: Jobs, cluster: Cluster, lets_come: bool = False) -> Tasks:
    """The tasks of an open replay. Outages are cut to the time of the replay, which begins with the first submission behind the jobs that
    wait already; running jobs must run then. lets_come: whether somebody else lets jobs come, and knows whom they follow.

    Raises ValueError where a running job or a job to schedule does not fit this replay, and for jobs that follow others.
    """
    if not lets_come:
        jobs.require_open("this way to replay")
    return _tasks_of(jobs, cluster)


def _tasks_of(jobs: Jobs, cluster: Cluster) -> Tasks:
    _check_waiting(jobs, cluster)
    if len(jobs) and jobs.procs.max() > cluster.procs:
        index = int(jobs.procs.argmax())
        raise ValueError(
            f"job at index {index} needs {jobs.procs[index]} processors, the cluster has {cluster.procs}: "
            "give the cluster's true processor count"
        )
    columns = (
        jobs.submit,
        jobs.runtime,
        jobs.procs,
        jobs.estimate,
        jobs.limit,
        jobs.user,
        jobs.cancel,
        jobs.hold,
        jobs.admit,
    )
    cancel_order = np.flatnonzero(jobs.cancel < NEVER)
    if len(cancel_order):
        cancel_order = cancel_order[np.argsort(jobs.cancel[cancel_order], kind="stable")]
    running, outages = cluster.running, cluster.outages
    cancel_order = column_of(cancel_order)
    none = column_of([])
    if not len(jobs) or not (len(running) or len(outages)):
        return Tasks(*columns, 0, len(jobs), none, none, cancel_order, open_coming())

    begin = cluster.begins(jobs.submit)
    _check_running(running, begin)
    outages = _during(outages, begin)
    length = outages.end - outages.start
    num_running, num_jobs = len(running), len(jobs)
    columns = (
        column_of(np.concatenate([running.start, jobs.submit, outages.start])),
        column_of(np.concatenate([running.runtime, jobs.runtime, length])),
        column_of(np.concatenate([running.procs, jobs.procs, outages.procs])),
        column_of(np.concatenate([running.estimate, jobs.estimate, length])),
        column_of(np.concatenate([running.limit, jobs.limit, length])),
        column_of(np.concatenate([running.user, jobs.user, np.zeros(len(outages), dtype=np.int64)])),
        column_of(np.concatenate([np.full(num_running, NEVER), jobs.cancel, np.full(len(outages), NEVER)])),
        column_of(np.concatenate([running.hold, jobs.hold, length])),
        column_of(np.concatenate([running.estimate, jobs.admit, length])),
    )
    ahead = np.flatnonzero(outages.announced < outages.start)
    ahead = ahead[np.argsort(outages.announced[ahead], kind="stable")]
    return Tasks(
        *columns,
        first=num_running,
        last=num_running + num_jobs,
        announced=column_of(outages.announced[ahead]),
        announced_task=column_of(ahead + num_running + num_jobs),
        cancel_order=column_of(cancel_order + num_running),
        coming=open_coming(),
    )


def _check_waiting(jobs: Jobs, cluster: Cluster) -> None:
    waiting = cluster.waiting
    if waiting == 0:
        return
    if waiting >= len(jobs) and cluster.begin is None:
        raise ValueError(
            f"{waiting} of {len(jobs)} jobs wait when the replay begins: at least one must be submitted then"
        )
    begin = cluster.begins(jobs.submit)
    gone = jobs.cancel[:waiting] < begin
    if gone.any():
        index = int(np.argmax(gone))
        raise ValueError(
            f"job at index {index} does not wait at {begin}, when the replay begins: it was cancelled at {jobs.cancel[index]}"
        )


def _check_running(running: RunningJobs, begin: int) -> None:
    late = (running.start > begin) | (running.start + running.runtime <= begin)
    if late.any():
        index = int(np.argmax(late))
        raise ValueError(
            f"running job at index {index} does not run at {begin}, when the first job is submitted: it runs from "
            f"{running.start[index]} to {running.start[index] + running.runtime[index]}"
        )


def _during(outages: Outages, begin: int) -> Outages:
    """The outages that end after `begin`, by start, as they look from then on."""
    order = np.argsort(np.maximum(outages.start, begin), kind="stable")
    order = order[outages.end[order] > begin]
    start = np.maximum(outages.start[order], begin)
    announced = np.minimum(np.maximum(outages.announced[order], begin), start)
    return Outages(start, outages.end[order], outages.procs[order], announced)
