"""Tests of assets/replaying/running: users.

Who follows whom among the rows of a trace.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from assets.replaying.running.users import UsersPace
from simulator.jobs.followers import NO_JOB
from simulator.jobs.jobs import NEVER, Jobs

PACE = UsersPace(
    np.array([3, 5, 8, 9]),
    np.array([NO_JOB, 3, 5, 3]),
    np.array([0, 60, 30, 90]),
    np.array([NEVER, 7, NEVER, 900]),
    2,
    np.array([4, 4, NO_JOB, NO_JOB]),
)


def jobs_of(index: list[int]) -> tuple[Jobs, pl.DataFrame]:
    column = np.arange(len(index)) + 10
    return Jobs(column, column, np.ones(len(index)), column, column), pl.DataFrame({"job_index": index})


def test_jobs_keep_those_that_they_follow_in_the_log() -> None:
    closed = PACE.closed(*jobs_of([3, 5, 8, 9]))
    assert closed.after.tolist() == [NO_JOB, 0, 1, 0] and closed.think.tolist() == [0, 60, 30, 90]
    assert PACE.share == 0.75 and closed.array.tolist() == [4, 4, NO_JOB, NO_JOB]


def test_jobs_whose_predecessor_is_not_replayed_and_jobs_that_the_log_lacks_come_at_their_own_times() -> None:
    closed = PACE.closed(*jobs_of([-4, 3, 8, 9, 11]))
    assert closed.after.tolist() == [NO_JOB, NO_JOB, NO_JOB, 1, NO_JOB]
    assert closed.think.tolist() == [0, 0, 0, 90, 0]


def test_jobs_have_the_patience_of_the_log_and_else_their_users() -> None:
    """The last but one was cancelled in the log after 2 s."""
    jobs, rows = jobs_of([-4, 5, 8, 9, 11])
    assert PACE.closed(jobs, rows).cancel.tolist() == [NEVER, 11 + 7, NEVER, 13 + 900, NEVER]
    logged = replace(jobs, cancel=np.array([NEVER, NEVER, NEVER, 15, 16]))
    assert PACE.closed(logged, rows).cancel.tolist() == [NEVER, 11 + 7, NEVER, 15, 16]


def test_the_share_that_reacts_follows_or_may_be_given_up() -> None:
    assert PACE.reacting == 0.75
    assert replace(PACE, patience_s=np.array([5, NEVER, NEVER, NEVER])).reacting == 1.0
