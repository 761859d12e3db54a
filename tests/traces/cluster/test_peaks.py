"""Peaks of what jobs had at a time."""

import polars as pl

from traces.cluster.peaks import SUSPENSIONS_TYPE, held_spans, outstanding_over, peaks_over

JOBS = pl.DataFrame(
    {
        "job_id": ["a", "b", "c", "d"],
        "user": ["u", "u", "v", "u"],
        "begin_s": [0, 5, 0, 10],
        "end_s": [10, 20, 50, 20],
        "promised_s": [10, 25, 60, 30],
        "amount": [4, 4, 16, 4],
    }
)


def test_peaks_by_user() -> None:
    assert peaks_over(JOBS, "user", 8).rows() == [("v", 16, "c", 1)]
    assert sorted(peaks_over(JOBS, "user", 7).rows()) == [("u", 8, "b", 2), ("v", 16, "c", 1)]
    assert peaks_over(JOBS, None, 20).select("peak", "starts").rows() == [(24, 2)]
    assert peaks_over(JOBS, None, 24).height == 0


def test_what_running_jobs_may_still_use() -> None:
    assert outstanding_over(JOBS, "user", 99).sort("user").rows() == [("u", 140, "b", 2), ("v", 960, "c", 1)]
    assert outstanding_over(JOBS, "user", 960).height == 0


def test_a_suspended_job_holds_nothing_and_may_run_for_longer() -> None:
    suspensions = pl.Series(
        "suspensions", [[{"from_s": 2, "to_s": 5}, {"from_s": 6, "to_s": 10}], None, [], None], SUSPENSIONS_TYPE
    )
    spans = held_spans(JOBS.with_columns(suspensions))
    columns = ("job_id", "begin_s", "end_s", "promised_s")
    assert spans.filter(pl.col("job_id") == "a").select(columns).rows() == [("a", 0, 2, 10), ("a", 5, 6, 13)]
    assert spans.filter(pl.col("job_id") != "a").select(columns).equals(JOBS[1:].select(columns))
    assert held_spans(JOBS.with_columns(pl.lit(None, SUSPENSIONS_TYPE).alias("suspensions"))).height == JOBS.height
