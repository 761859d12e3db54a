"""When PBS learned of events."""

from __future__ import annotations

from studies.pbs.recorded_runs import read_recorded_run
from studies.pbs.timing import logged_run_times, seen_times
from tests.shared import shared_file


def test_pbs_learns_of_events_within_a_second_or_two() -> None:
    run = read_recorded_run(shared_file("golden", "pbs", "P3", "run1"))
    seen, logged = seen_times(run, 60), logged_run_times(run, 60)
    assert set((seen.ran_s - logged).tolist()) <= {0, 1, 2} and set(seen.late_s.tolist()) == {0, 1}
    assert {arrival - each.job.submit_s for arrival, each in zip(seen.arrival_s, run.jobs, strict=True)} <= {0, 1}
    assert (seen.turns[0] <= seen.turns[1]).all()
