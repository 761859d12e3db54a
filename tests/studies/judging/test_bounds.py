"""The table of the bound in hindsight: it lies below what rules reach."""

from __future__ import annotations

import numpy as np

from simulator.jobs.jobs import jobs_from_log
from studies.judging.bounds import cells_of


def test_the_bound_is_below_the_best_rule() -> None:
    hour = 3600
    submit, runtime, procs = np.zeros(3, np.int64), np.array([8, 1, 2]) * hour, np.array([2, 2, 2])
    least, best, fcfs = cells_of(jobs_from_log(submit, runtime, procs, runtime), 2)
    assert best.startswith("4,800 (") and fcfs == "20,400"  # waits of 0, 1 and 3 h, and of 0, 8 and 9 h
    assert 0 < int(least.replace(",", "")) <= 4800
