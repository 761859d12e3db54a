"""The table of backfilling rules."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.jobs.jobs import jobs_from_log
from studies.judging.backfills import RULES, cells_of


@pytest.mark.parametrize(("rule", "cells"), {"none": ["1.3", "0.1", "0.00"], "easy": ["0.3", "0.0", "0.33"]}.items())
def test_waits_and_jobs_that_passed_another(rule: str, cells: list[str]) -> None:
    assert rule in RULES
    runtime = np.array([3600, 7200, 1800])
    jobs = jobs_from_log(np.zeros(3, np.int64), runtime, np.array([1, 2, 1]), runtime)
    assert cells_of(jobs, 2, rule) == cells
