"""The queue as the schedulers look at it: its rows, how many of each user are looked at, and which may be planned."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.cluster.requests import Requests
from simulator.compiled import referring
from simulator.jobs.cluster import FOREVER

LETS_ALL_PASS, HAS_NO_PLAN, RESERVES = range(3)
"""What a waiting job keeps from others. With HAS_NO_PLAN it closes its partition in the main scheduler, and has no planned nodes."""


FIRST_PART = 128
"""Rows of the queue that a scheduler takes at first."""
ROW, TESTS, STARTS, PLANS, HAS_LEFT = range(5)
"""How far a scheduler has come down the queue: the next row, jobs that it has looked at, and jobs that it has started. Tasks of the row's
array that it has planned, and whether it has left the array without looking at all of its tasks."""


class WaitingRows(NamedTuple):
    """The queue of a pass or a cycle, in order, as far as a scheduler has come. next_task: the next waiting task of a job's array,
    NOT_GIVEN for none. goes_on: rows with more tasks of the array before. planned: those that the cycle has planned. most_tests: jobs that
    a cycle may test before it is broken off. place: of the next job of the queue. part: how many of them a scheduler takes at first.
    behind: jobs of each partition and each reservation from there on. walk: see above. The others are room for counts."""

    length: NDArray[np.int64]  # (1,)
    job: NDArray[np.int64]  # (rows,)
    partition: NDArray[np.int64]  # (rows,)
    delay: NDArray[np.int64]  # (rows,), seconds that the cycle takes to come to the job
    reserves: NDArray[np.int64]  # (rows,), LETS_ALL_PASS, HAS_NO_PLAN or RESERVES
    next_task: NDArray[np.int64]  # (jobs,)
    goes_on: NDArray[np.bool_]  # (rows,)
    planned: NDArray[np.bool_]  # (jobs,)
    user_tests: NDArray[np.int64]  # (users, partitions + 1), the last column for all partitions
    member_tests: NDArray[np.int64]  # (members + 1,), the last one for jobs of no association
    partition_tests: NDArray[np.int64]  # (partitions,)
    most_tests: NDArray[np.int64]  # (1,)
    place: NDArray[np.int64]  # (1,)
    part: NDArray[np.int64]  # (1,)
    behind: NDArray[np.int64]  # (partitions + reservations,)
    walk: NDArray[np.int64]  # (5,)


def waiting_rows(
    rows: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
    length: int,
    next_task: NDArray[np.int64],
    jobs: Requests,
    num_partitions: int,
    num_reservations: int = 0,
) -> WaitingRows:
    """A queue of `length` rows, in which every job reserves what it is planned on. rows: jobs, partitions and delays."""
    users, members = int(jobs.user.max(initial=0)) + 1, int(jobs.member.max(initial=-1)) + 1
    return WaitingRows(
        np.array([length]),
        *rows,
        np.full(len(rows[0]), RESERVES),
        next_task,
        np.zeros(len(rows[0]), dtype=np.bool_),
        np.zeros(len(next_task), dtype=np.bool_),
        np.zeros((users, num_partitions + 1), dtype=np.int64),
        np.zeros(members + 1, dtype=np.int64),
        np.zeros(num_partitions, dtype=np.int64),
        np.array([FOREVER]),
        np.zeros(1, dtype=np.int64),
        np.array([FIRST_PART]),
        np.zeros(num_partitions + num_reservations, dtype=np.int64),
        np.zeros(HAS_LEFT + 1, dtype=np.int64),
    )


@referring
def clear_counts(waiting):
    """A cycle begins. `planned` is not of it."""
    waiting.walk[:] = 0
    waiting.user_tests[:] = 0
    waiting.member_tests[:] = 0
    waiting.partition_tests[:] = 0


@referring
def is_beyond(engine, waiting, row):
    """Whether the cycle has looked at enough jobs of this one's user, association or partition."""
    settings, jobs = engine.site.settings, engine.jobs
    job, partition = waiting.job[row], waiting.partition[row]
    user, member, whole = jobs.user[job], jobs.member[job], len(waiting.partition_tests)
    waiting.user_tests[user, whole] += 1
    waiting.user_tests[user, partition] += 1
    waiting.member_tests[member] += 1
    waiting.partition_tests[partition] += 1
    beyond = 0 < settings.user_jobs < waiting.user_tests[user, whole]
    beyond = beyond or 0 < settings.user_partition_jobs < waiting.user_tests[user, partition]
    beyond = beyond or (member >= 0 and 0 < settings.member_jobs < waiting.member_tests[member])
    return beyond or 0 < settings.partition_jobs < waiting.partition_tests[partition]


@referring
def may_plan(settings, waiting, row, job):
    """Whether the job may have a plan, if it does not start."""
    if waiting.reserves[row] != RESERVES or (settings.plans_once > 0 and waiting.planned[job]):
        return False
    return settings.partition_plans <= 0 or waiting.partition_tests[waiting.partition[row]] <= settings.partition_plans
