"""Node-hours that compact jobs save under a stated growth of run times."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.jobs.jobs import Jobs
from simulator.topology.closed_loop import published_jobs
from studies.placing.hop_sensitivity import GROWTHS, extra_hops, saved_share, sensitivity_rows, yearly_node_hours
from studies.placing.placements import PlacedLog

LOG = PlacedLog("none.swf", 64, "4x4x4")


@pytest.fixture(scope="module")
def jobs() -> Jobs:
    work = published_jobs(200, 1, sizes=(1, 40))
    return Jobs(work.arrival, work.runtime, work.size, work.runtime, work.runtime)


def test_what_is_saved_is_the_difference_of_what_is_lost(jobs: Jobs) -> None:
    """1,000 node-hours become 1,010 with one extra hop and 1,005 with half of one, at 1 % a hop."""
    assert saved_share(0.5, 1.0, 0.01) == pytest.approx(5 / 1010)
    assert saved_share(2.0, 1.0, 0.01) < 0 == saved_share(1.0, 1.0, 0.05)
    (first, other, alone) = sensitivity_rows("log", {"first": 1.0, "other": 0.5, "each job alone": 0.0}, 1000.0)
    assert first == ["log", "first", "1.000", *[""] * len(GROWTHS)]
    assert other[4] == "5 (0.50 %)" and alone[4] == "10 (0.99 %)" and alone[6] == "50 (4.76 %)"


def test_extra_hops_of_every_rule(jobs: Jobs) -> None:
    extra = extra_hops(LOG, jobs)
    assert extra["random"] > extra["first"] > extra["tree"] > extra["each job alone"] == 0
    assert {"tree, 1@1h", "tree, 1@4h"} <= extra.keys()


def test_node_hours_of_a_year() -> None:
    submit, runtime, procs = np.array([0, 31_557_600 // 2]), np.array([3600, 7200]), np.array([2, 4])
    jobs = Jobs(submit, runtime, procs, runtime, runtime)
    assert yearly_node_hours(LOG, jobs) == pytest.approx(20)  # 10 of them in half a year
    assert yearly_node_hours(PlacedLog("none.swf", 64, "4x4x4", 2), jobs) == pytest.approx(10)
