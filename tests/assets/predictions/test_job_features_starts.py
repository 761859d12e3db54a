"""Features of jobs in a log that does not tell when jobs started."""

from __future__ import annotations

from pathlib import Path

import duckdb
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import sql
from tests.assets.predictions.plain_features import (
    features_of,
    jobs_of,
    odd_jobs,
    oracle,
    record,
    started_at_submission,
    warehouse_with,
    without_starts,
)
from tests.tiny import warehouse_of


def test_a_user_has_a_history_where_the_log_has_no_starts(tmp_path: Path) -> None:
    """Submissions are taken for starts. The job that runs for 500 s has not ended at 300 s; the one that was cancelled after no
    time tells nothing."""
    fields = [(0, 100), (10, 40), (20, 500), (30, 0), (140, 7), (300, 8), (600, 9)]
    lines = [
        record(number, (submit, -1, runtime, 2, 1000, 5 if runtime == 0 else 1, 1, 1, 1))
        for number, (submit, runtime) in enumerate(fields, start=1)
    ]
    log = "; UnixStartTime: 1767225600\n; MaxProcs: 16\n" + "".join(lines)
    jobs = jobs_of(warehouse_of(tmp_path, log))
    assert jobs["start_time"].null_count() == jobs.height  # what the log does not tell stays unknown
    features = features_of(jobs)
    assert features["user_jobs_ended"].to_list() == [0, 0, 0, 0, 2, 3, 5]
    assert features["last_runtime_s"].to_list() == [None, None, None, None, 100, 7, 500]
    assert features["last_two_runtime_s"].to_list() == [None, None, None, None, 70, 53.5, 254]
    assert features["seconds_since_last_end"].to_list() == [None, None, None, None, 40, 153, 80]
    assert features["user_jobs_running"].to_list() == [0, 1, 2, 3, 1, 1, 0]
    assert features["user_jobs_waiting"].to_list() == [0] * 7


@pytest.mark.parametrize("seed", [11, 12])
def test_a_log_without_starts_against_a_plain_computation(tmp_path: Path, seed: int) -> None:
    jobs = without_starts(odd_jobs(tmp_path, seed))
    features = features_of(jobs)
    expected = oracle(started_at_submission(jobs)).cast(dict(features.schema.items()))
    assert_frame_equal(features, expected, rel_tol=1e-9, abs_tol=1e-9)
    assert features["user_jobs_ended"].max() > 20  # type: ignore[operator]
    assert warehouse_with(jobs).execute(sql.load("checks.features_know_no_future"), {"source": "mine"}).fetchall() == []


def test_where_other_jobs_have_a_start_an_unknown_end_stays_unknown(tmp_path: Path) -> None:
    """The second job may have waited for days. At 1,000 s nobody can say whether it has ended."""
    fields = [(0, 5, 100), (10, -1, 40), (1000, 5, 30)]
    lines = [
        record(number, (submit, wait, runtime, 2, 1000, 1, 1, 1, 1))
        for number, (submit, wait, runtime) in enumerate(fields, start=1)
    ]
    jobs = jobs_of(warehouse_of(tmp_path, "; UnixStartTime: 1767225600\n; MaxProcs: 16\n" + "".join(lines)))
    assert features_of(jobs)["last_runtime_s"].to_list() == [None, None, 100]
    assert features_of(jobs)["user_jobs_ended"].to_list() == [0, 0, 1]
    history = history_of(warehouse_with(jobs))
    assert history["end_s"].is_null().to_list() == [False, True, False]
    ends = jobs["submit_time"].dt.epoch("s") + jobs["runtime_s"]
    assert history_of(warehouse_with(without_starts(jobs)))["end_s"].to_list() == ends.to_list()


def history_of(connection: duckdb.DuckDBPyConnection) -> pl.DataFrame:
    """What similar jobs are computed from."""
    bounds = {"source": "mine", "from_index": 0, "to_index": 3}
    return connection.sql(sql.load("features.job_history"), params=bounds).pl()
