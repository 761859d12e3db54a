"""Recorded runs as they are read."""

from __future__ import annotations

from studies.slurm.golden_runs import read_golden_run
from tests.shared import shared_file


def test_a_recorded_run_is_read() -> None:
    run = read_golden_run(shared_file("golden", "slurm", "S10", "run1"))
    arrays = [job for job in run.jobs if job.label.startswith("35_")]
    assert len(arrays) == 20 and arrays[0].request.memory_per == "cpu" and arrays[0].nodes == ("n11",)
    assert {event.kind for event in run.events} == {"start", "end", "cycle", "pass"}
    assert any(job.request.dependencies for job in run.jobs)
