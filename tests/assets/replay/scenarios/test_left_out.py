"""Jobs that no replay has, in words."""

from __future__ import annotations

from assets.replay.scenarios.left_out import left_out_text


def test_jobs_that_are_left_out_are_counted_by_reason() -> None:
    assert left_out_text({"jobs": 5, "jobs_left_out": 0}) == ""
    assert left_out_text({"jobs_left_out": 1_031, "jobs_wider_than_cluster": 1}) == (
        "left out: 1,031 jobs without a start, a run time or processors in the log, 1 job wider than the cluster"
    )
