"""The study of windows, on logs small enough for a test."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.engine.replay import replay
from studies.judging.backlogs import RULES, STARTS, misled
from tests.simulator.busy import PROCS, busy_jobs


@pytest.fixture(scope="module")
def errors() -> dict[str, tuple[float, float]]:
    jobs = busy_jobs(4000, load=0.95)
    whole = [replay(jobs, PROCS, *rule).start for rule in RULES]
    studied = {begins: misled(jobs, PROCS, whole, 250, begins) for begins in STARTS}
    return {begins: (float(each.error[0]), float(each.tau[0])) for begins, each in studied.items()}


def test_windows_with_their_own_backlog_and_later_arrivals_mislead_least(
    errors: dict[str, tuple[float, float]],
) -> None:
    empty, own, best = errors["empty"], errors["own"], errors["own, as many jobs after"]
    assert best[0] < own[0] < empty[0] and best[0] < 0.3 * empty[0]
    assert best[1] > empty[1]


def test_windows_that_cover_the_whole_half_with_all_jobs_after_make_no_error() -> None:
    jobs = busy_jobs(800, load=0.9)
    whole = [replay(jobs, PROCS, *rule).start for rule in RULES]
    exact = misled(jobs, PROCS, whole, 400, "own, as many jobs after")
    assert np.allclose(exact.error, 0.0) and np.allclose(exact.tau, 1.0)
