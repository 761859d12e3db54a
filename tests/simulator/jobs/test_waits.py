"""What keeps a job: the counts of one wait, here with the numbers of Slurm."""

from __future__ import annotations

import numpy as np

from simulator.cluster.requests import NOT_GIVEN, Request
from simulator.jobs.waits import settle_wait
from simulator.slurm.waiting.kept import LIMIT, PACE, SLURM_CODES, UNKNOWN, Waits, no_waits
from tests.simulator.busy import engine_of


def waits_of(jobs: int) -> Waits:
    engine = engine_of([Request(0, limit_s=60, tasks=1)] * jobs)
    return no_waits(engine.jobs, engine.limits, 1, 0, 4)


def test_a_wait_is_counted_for_what_keeps_it_now() -> None:
    waits = waits_of(2)
    waits.kept[:] = (LIMIT, PACE)
    waits.since[:] = 10
    waits.fits_since[1] = 5
    for job in (0, 1):
        settle_wait(waits, job, 50, 20, SLURM_CODES)
        settle_wait(waits, job, 60, 20, SLURM_CODES)
    assert waits.seconds[0, LIMIT] == 50
    assert (waits.seconds[1, PACE], waits.seconds[1, UNKNOWN]) == (15, 35)


def test_the_longest_stretch_behind_one_job_stays() -> None:
    waits = waits_of(1)
    waits.kept[0], waits.since[0] = LIMIT, 0
    for other, until in ((7, 100), (8, 130)):
        waits.other[0] = (other, 0)
        settle_wait(waits, 0, until, 0, SLURM_CODES)
    assert waits.longest[0].tolist() == [7, 100] and np.all(waits.slot == NOT_GIVEN)
