"""Jobs and nodes chosen together beside EASY with best fit, at a small scale."""

from __future__ import annotations

from simulator.jobs.jobs import Jobs
from simulator.topology.closed_loop import published_jobs
from studies.placing.looking_ahead import GUARDS, rows_of_log
from studies.placing.placements import PlacedLog


def test_a_row_for_easy_and_one_for_each_guard() -> None:
    work = published_jobs(80, 1, sizes=(1, 40))
    jobs = Jobs(work.arrival, work.runtime, work.size, work.runtime, work.runtime)
    rows = rows_of_log("small", PlacedLog("none.swf", 64, "2x4x4", 2), jobs)
    assert [row[1] for row in rows] == ["EASY, tree", *(f"looking ahead, guard {guard:,}" for guard in GUARDS)]
    waits = [float(row[4].replace(",", "")) for row in rows]
    assert waits[1] != waits[0] and min(waits) > 0
