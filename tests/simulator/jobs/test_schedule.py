"""A schedule: which jobs have started."""

from __future__ import annotations

import numpy as np

from simulator.jobs.schedule import CANCELLED, Schedule


def test_cancelled_jobs_have_not_started() -> None:
    schedule = Schedule(np.array([0, CANCELLED, 7]), np.zeros(3, dtype=np.bool_))
    assert schedule.started.tolist() == [True, False, True]
