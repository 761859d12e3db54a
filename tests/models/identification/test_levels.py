"""What holders had at a moment, counted again from scratch."""

from __future__ import annotations

import numpy as np

from models.identification.levels import HolderLevels, held_moments, need_of
from models.identification.rules import OUTSTANDING_CPU, RUNNING_CPU, RUNNING_JOBS, IdentifiedRule
from tests.models.identification.hidden import PROCS, hidden_log

LOG = hidden_log(IdentifiedRule(RUNNING_JOBS, "user", 3), count=400)


def test_levels_are_sums_over_running_jobs() -> None:
    user, jobs, start = LOG.holders["user"].number, LOG.jobs, LOG.start
    levels = HolderLevels(LOG, user)
    for job in range(0, 400, 37):
        now, own = int(start[job]), user == user[job]
        runs = own & (start <= now) & (start + jobs.runtime > now)
        at = levels.at(user[[job]], start[[job]])
        assert at[RUNNING_JOBS][0] == runs.sum() and at[RUNNING_CPU][0] == jobs.procs[runs].sum()
        assert at[OUTSTANDING_CPU][0] == (jobs.procs * (start + jobs.limit - now))[runs].sum()
        assert levels.waiting(user[[job]], start[[job]])[0] == (own & (jobs.submit <= now) & (start > now)).sum()
    assert need_of(LOG, np.array([5]))[OUTSTANDING_CPU][0] == jobs.procs[5] * jobs.limit[5]


def test_held_moments_have_room() -> None:
    moments = held_moments(LOG, PROCS)
    assert len(moments.job) > 100
    jobs, start = LOG.jobs, LOG.start
    for job, second in list(zip(moments.job, moments.second, strict=True))[::40]:
        used = jobs.procs[(start <= second) & (start + jobs.runtime > second)].sum()
        assert jobs.submit[job] <= second < start[job] and PROCS - used >= jobs.procs[job]
