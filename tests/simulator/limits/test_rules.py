"""Limits and gates as slots of groups of jobs."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs
from simulator.jobs.tasks import tasks_of
from simulator.limits.rules import (
    BOUNDLESS,
    GATE,
    NO_KEY,
    RUNNING_JOBS,
    RUNNING_PROCS,
    JobLimit,
    StartGate,
    slots_of_limits,
)

n = np.array
TASKS = tasks_of(Jobs(n([0, 1, 2]), n([5, 5, 5]), n([1, 2, 1]), n([5, 5, 5]), n([9, 9, 9])), Cluster(4))


def test_jobs_with_the_same_slots_are_a_group() -> None:
    changing = JobLimit(RUNNING_JOBS, n([3, 4]), n([1, 0, 1]), n([[15, 0, 9], [17, 1, BOUNDLESS]]))
    limits = [changing, JobLimit(RUNNING_PROCS, 8, n([0, NO_KEY, 0]))]
    slots = slots_of_limits(limits, [StartGate(n([False, True, False]), n([10, 20]))], TASKS)
    assert slots.kind.tolist() == [RUNNING_JOBS, RUNNING_JOBS, RUNNING_PROCS, GATE]
    assert slots.bound.tolist() == [3, 4, 8, 0]
    groups = [slots.slot[slots.first[g] : slots.first[g + 1]].tolist() for g in slots.group]
    assert groups == [[1, 2], [0, 3], [1, 2]]
    assert slots.amount.tolist() == [9, 18, 9]
    assert (slots.change_time.tolist(), slots.change_slot.tolist(), slots.becomes.tolist()) == (
        [10, 15, 17, 20],
        [3, 0, 1, 3],
        [1, 9, BOUNDLESS, 0],
    )


def test_without_limits_all_jobs_are_one_group() -> None:
    slots = slots_of_limits([], [], TASKS)
    assert slots.group.tolist() == [0, 0, 0] and slots.first.tolist() == [0, 0] and slots.begin.tolist() == [0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: JobLimit(7, 1, n([0])), "counts one of four things"),
        (lambda: JobLimit(RUNNING_JOBS, -1, n([0])), "must not be negative"),
        (lambda: JobLimit(RUNNING_JOBS, 1, n([0]), n([[5, 0, -1]])), "must not be negative"),
        (lambda: StartGate(n([True]), n([5, 5])), "must ascend"),
        (lambda: slots_of_limits([JobLimit(RUNNING_JOBS, 1, n([0]))], [], TASKS), "1 jobs, the replay has 3"),
    ],
)
def test_what_makes_no_sense_is_refused(make, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=message):
        make()
