"""Recorded runs as events and passes."""

from __future__ import annotations

from studies.pbs.recorded_runs import read_recorded_run, second_of
from tests.shared import shared_file


def test_a_run_has_jobs_passes_and_reservations() -> None:
    run = read_recorded_run(shared_file("golden", "pbs", "P7", "run1"))
    assert len(run.jobs) == 65 and len(run.passes) == 154
    assert [(each.end_s - each.begin_s, len(each.nodes)) for each in run.cluster.reservations] == [(30, 16), (20, 32)]
    assert run.passes[0].started == ["180"] and run.jobs[0].nodes == ("n00", "n01", "n02", "n03")


def test_limits_that_were_set_by_hand_are_read() -> None:
    run = read_recorded_run(shared_file("golden", "pbs", "X2", "run1"))
    assert [(limit.who, limit.bound) for limit in run.cluster.limits] == [("u1", 1)]
    assert second_of("11/26/2026 07:09:46") == 1795676986
