"""Tests of assets/features: tables, job_features, job_features_starts, similar_jobs, user_habits."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import sql
from assets.features.similar_jobs import similar_jobs
from assets.features.tables import column_summary, runtime_rows, write_job_features, write_similar_jobs
from assets.features.user_habits import user_habits
from assets.usage.habits import habits_of, submitted_jobs
from models.runtime.past.similar import SIMILAR_FEATURES, similar_job_features
from tests.assets.features.plain_features import (
    features_of,
    jobs_of,
    odd_jobs,
    oracle,
    record,
    spread,
    started_at_submission,
    warehouse_with,
    without_starts,
)
from tests.assets.predictions.registry import JOBS, materialized
from tests.tiny import swf_line, warehouse_of
from warehouse import Warehouse

# tables: Features as predictors read them.


def test_rows_have_all_features_in_order_of_submission(warehouse: Warehouse) -> None:
    rows = runtime_rows(warehouse, "mine")
    assert rows.height == JOBS and rows["submit_time"].is_sorted()
    assert set(SIMILAR_FEATURES) <= set(rows.columns) and rows["runtime_s"].null_count() == 0
    again = similar_job_features(rows)
    assert rows.select(SIMILAR_FEATURES).equals(again.select(SIMILAR_FEATURES))
    assert write_job_features(warehouse, "mine") == write_similar_jobs(warehouse, "mine") == JOBS
    assert runtime_rows(warehouse, "mine").equals(rows)


@pytest.mark.parametrize("jobs", [1, 7, 250])
def test_similar_jobs_in_parts_of_any_size(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch, jobs: int) -> None:
    """Some of these parts have no job that can be replayed."""
    with warehouse.write() as connection:
        connection.execute("UPDATE core.jobs SET procs = 0 WHERE source = 'mine' AND job_index BETWEEN 20 AND 40")
    whole = rows_of_similar_jobs(warehouse)
    monkeypatch.setattr("assets.features.changed_parts.PART_JOBS", jobs)
    assert whole.height == JOBS - 21 and rows_of_similar_jobs(warehouse).equals(whole)


def rows_of_similar_jobs(warehouse: Warehouse) -> pl.DataFrame:
    """As they are computed now."""
    rows = write_similar_jobs(warehouse, "mine")
    with warehouse.read() as connection:
        table = connection.sql("SELECT * FROM features.similar_jobs WHERE source = 'mine' ORDER BY job_index").pl()
    assert table.height == rows
    return table


def test_a_summary_has_a_row_per_column(warehouse: Warehouse) -> None:
    summary = column_summary(warehouse, "features.similar_jobs", "mine")
    assert summary["column_name"].to_list() == ["job_index", *SIMILAR_FEATURES]
    numbers = summary.filter(pl.col("column_name") == "job_index")
    assert float(numbers["max"][0]) == JOBS - 1 + float(numbers["min"][0])


def test_a_source_without_jobs_has_no_features(warehouse: Warehouse) -> None:
    assert write_job_features(warehouse, "never-loaded") == write_similar_jobs(warehouse, "never-loaded") == 0


# job_features: Features of jobs hold what was known at the submission: by hand, and against a plain computation.

# submission, wait, run time, processors, request, status (0 failed, 5 cancelled), user, group, executable
BY_HAND = (
    (0, 0, 100, 2, 200, 1, 1, 1, 1),
    (10, 90, 50, 2, 200, 0, 1, 1, 2),  # waits until 100, fails at 150
    (10, 0, 300, 4, 400, 1, 2, 1, 1),
    (20, 30, 0, 1, 50, 5, 1, 1, 1),  # cancelled in the queue at 50
    (150, 0, 200, 2, 200, 1, 1, 1, 1),  # in the second in which the one above ends, which does not count yet
    (151, 0, 10, 2, 200, 1, 1, 1, 1),
    (155, -1, -1, 1, -1, -1, 1, 1, 1),  # no start, no end, no request
    (351, 10, 5, 2, 200, 1, 1, 1, 1),
    (360, 0, 1, 1, 10, 1, -1, 1, 1),  # nobody's
    (951, 0, 5, 2, 200, 1, 1, 1, 1),  # 600 s after the user's previous one
    (1552, 0, 7, 2, 200, 1, 1, 1, -1),  # 601 s after
    (1552, 1, 7, 2, 200, 1, 1, -1, 1),  # in the same second
)


NO = None
EXPECTED: dict[str, list[Any]] = {
    "group_name": ["1"] * 11 + [NO],
    "executable": ["1", "2", "1", "1", "1", "1", "1", "1", "1", "1", NO, "1"],
    # the user's jobs end in the order 3 (0 s), 0 (100 s), 1 (50 s), 5 (10 s), 4 (200 s), 7 (5 s), 9 (5 s)
    "user_jobs_ended": [0, 0, 0, 0, 2, 3, 3, 5, 0, 6, 7, 7],
    "user_mean_runtime_s": [NO, NO, NO, NO, 50, 50, 50, 72, NO, 365 / 6, 370 / 7, 370 / 7],
    "user_mean_requested_walltime_s": [NO, NO, NO, NO, 125, 150, 150, 170, NO, 175, 1250 / 7, 1250 / 7],
    "user_mean_requested_procs": [NO, NO, NO, NO, 1.5, 5 / 3, 5 / 3, 1.8, NO, 11 / 6, 13 / 7, 13 / 7],
    "user_median_runtime_s": [NO, NO, NO, NO, 50, 50, 50, 50, NO, 30, 10, 10],
    "user_log_spread": [NO, NO, NO, NO, spread(1, 100), spread(1, 100, 50), spread(1, 100, 50)]
    + [spread(1, 100, 50, 10, 200), NO, spread(1, 100, 50, 10, 200, 5)]
    + [spread(1, 100, 50, 10, 200, 5, 5)] * 2,
    "user_failed_share": [NO, NO, NO, NO, 1 / 2, 2 / 3, 2 / 3, 2 / 5, NO, 2 / 6, 2 / 7, 2 / 7],
    "last_runtime_s": [NO, NO, NO, NO, 100, 50, 50, 200, NO, 5, 5, 5],
    "second_last_runtime_s": [NO, NO, NO, NO, 0, 100, 100, 10, NO, 200, 5, 5],
    "third_last_runtime_s": [NO, NO, NO, NO, NO, 0, 0, 50, NO, 10, 200, 200],
    "last_requested_walltime_s": [NO, NO, NO, NO, 200, 200, 200, 200, NO, 200, 200, 200],
    "last_requested_procs": [NO, NO, NO, NO, 2, 2, 2, 2, NO, 2, 2, 2],
    "last_failed": [NO, NO, NO, NO, 0, 1, 1, 0, NO, 0, 0, 0],
    "last_two_runtime_s": [NO, NO, NO, NO, 50, 75, 75, 105, NO, 102.5, 5, 5],
    "seconds_since_last_end": [NO, NO, NO, NO, 50, 1, 5, 1, NO, 585, 596, 596],
    "alike_jobs_ended": [0, 0, 0, 0, 1, 2, 0, 4, 0, 5, 6, 6],
    "alike_last_runtime_s": [NO, NO, NO, NO, 100, 50, NO, 200, NO, 5, 5, 5],
    "alike_second_last_runtime_s": [NO, NO, NO, NO, NO, 100, NO, 10, NO, 200, 5, 5],
    "alike_mean_runtime_s": [NO, NO, NO, NO, 100, 75, NO, 90, NO, 73, 370 / 6, 370 / 6],
    "alike_median_runtime_s": [NO, NO, NO, NO, 100, 75, NO, 75, NO, 50, 30, 30],
    "alike_log_spread": [NO, NO, NO, NO, 0, math.log(2) / 2, NO, spread(100, 50, 10, 200), NO]
    + [spread(100, 50, 10, 200, 5)]
    + [spread(100, 50, 10, 200, 5, 5)] * 2,
    "executable_jobs_ended": [0, 0, 0, 0, 2, 2, 2, 4, 0, 5, 0, 6],
    "executable_last_runtime_s": [NO, NO, NO, NO, 100, 100, 100, 200, NO, 5, NO, 5],
    "executable_mean_runtime_s": [NO, NO, NO, NO, 50, 50, 50, 77.5, NO, 63, NO, 320 / 6],
    "group_jobs_ended": [0, 0, 0, 0, 2, 3, 3, 6, 6, 8, 9, 0],
    "group_mean_runtime_s": [NO, NO, NO, NO, 50, 50, 50, 110, 110, 83.25, 671 / 9, NO],
    "seconds_since_last_submission": [NO, 10, NO, 10, 130, 1, 4, 196, NO, 600, 601, 0],
    "same_request_as_last": [NO, 1, NO, 0, 0, 1, 0, 0, NO, 1, 1, 1],
    "batch_position": [0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1],
    "user_jobs_running": [0, 1, 0, 1, 1, 1, 2, 0, 0, 0, 0, 0],
    "user_running_elapsed_s": [NO, 10, NO, 20, 50, 1, 4.5, NO, NO, NO, NO, NO],
    "user_jobs_waiting": [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0],
    "jobs_running": [0, 1, 1, 2, 2, 2, 3, 0, 0, 0, 0, 0],
    "procs_running": [0, 2, 2, 6, 6, 6, 8, 0, 0, 0, 0, 0],
    "jobs_waiting": [0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0],
    "procs_waiting": [0, 0, 0, 2, 0, 0, 0, 0, 2, 0, 0, 0],
}


@pytest.fixture
def by_hand(tmp_path: Path) -> pl.DataFrame:
    lines = [record(number, fields) for number, fields in enumerate(BY_HAND, start=1)]
    log = "; UnixStartTime: 1767225600\n; TimeZoneString: Europe/Berlin\n; MaxProcs: 16\n" + "".join(lines)
    return jobs_of(warehouse_of(tmp_path, log))


def test_twelve_jobs_by_hand(by_hand: pl.DataFrame) -> None:
    features = features_of(by_hand)
    request = ["source", "job_index", "requested_walltime_s", "requested_procs", "hour_of_day", "day_of_week", "queue"]
    assert set(features.columns) == {*EXPECTED, *request}
    for name, expected in EXPECTED.items():
        found = features[name].to_list()
        assert found == (expected if features[name].dtype == pl.String else pytest.approx(expected)), name
    assert features["hour_of_day"].to_list() == [1] * 12
    assert features["requested_walltime_s"].to_list()[5:8] == [200, None, 200]


def test_the_model_is_shown_each_column_once(by_hand: pl.DataFrame) -> None:
    rows = warehouse_with(by_hand).sql(sql.load("features.runtime_rows"), params={"source": "mine"}).pl()
    added = ["submit_time", "start_time", "end_time", "user_name", "procs", "status", "runtime_s"]
    assert {*features_of(by_hand).columns, *added} - {"source"} <= set(rows.columns)
    assert not [
        name for name in rows.columns if name.endswith("_1")
    ]  # what DuckDB makes of a name that is there already


@pytest.mark.parametrize(("seed", "part_jobs"), [(1, 1000), (2, 1000), (3, 60), (4, 7)])
def test_every_column_against_a_plain_computation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, part_jobs: int
) -> None:
    """Also where the log is read and written in parts."""
    monkeypatch.setattr("assets.features.changed_parts.PART_JOBS", part_jobs)
    jobs = odd_jobs(tmp_path, seed)
    features = features_of(jobs)
    expected = oracle(jobs).cast(dict(features.schema.items()))
    assert features.columns == expected.columns
    for name in features.columns:
        if name not in ("source", "queue"):  # of which a log has one
            assert features[name].n_unique() > 1, f"{name} is always the same, the log tests nothing"
    assert_frame_equal(features, expected, rel_tol=1e-9, abs_tol=1e-9)


@pytest.mark.parametrize(
    "column", ["user_jobs_ended", "last_runtime_s", "alike_jobs_ended", "user_jobs_running", "user_jobs_waiting"]
)
def test_the_check_finds_a_feature_that_is_wrong(tmp_path: Path, column: str) -> None:
    check = sql.load("checks.features_know_no_future")
    jobs = odd_jobs(tmp_path, seed=9)
    connection = warehouse_with(jobs)
    assert connection.execute(check, {"source": "mine"}).fetchall() == []
    wrong = int(jobs.filter(pl.col("user_name").is_not_null())["job_index"][-1])
    connection.execute(
        f"UPDATE features.job_features SET {column} = coalesce({column}, 0) + 1 WHERE job_index = ?", [wrong]
    )
    assert [row[0] for row in connection.execute(check, {"source": "mine"}).fetchall()] == [wrong]


# job_features_starts: Features of jobs in a log that does not tell when jobs started.


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


# similar_jobs: The asset features/similar_jobs on a small warehouse.


def test_one_row_per_job(warehouse: Warehouse) -> None:
    with warehouse.write() as connection:
        connection.execute("DELETE FROM features.similar_jobs WHERE source = 'mine'")
    metadata = materialized(similar_jobs, warehouse)
    assert metadata["dagster/row_count"] == JOBS
    with warehouse.read() as connection:
        rows = connection.sql("SELECT job_index FROM features.similar_jobs WHERE source = 'mine'").pl()
    assert rows["job_index"].n_unique() == JOBS


# user_habits: Whom each job follows, as `who --habits` counts.


def test_no_job_may_follow_another(tmp_path: Path) -> None:
    """Nor is there one where the log names no users."""
    for folder, user in (("alone", 1), ("nobody", -1)):
        (tmp_path / folder).mkdir()
        lines = [swf_line(k, 9_000 * k, 0, 600, 1, 900, user=user) for k in range(1, 4)]
        warehouse = warehouse_of(tmp_path / folder, "; MaxProcs: 4\n; UnixStartTime: 1767225600\n" + "".join(lines))
        assert materialized(user_habits, warehouse)["jobs_that_follow"] == 0
        with warehouse.read() as connection:
            stored = connection.sql("FROM features.user_habits").pl()
        assert stored.height == (3 if user == 1 else 0) and stored["follows_job_index"].null_count() == stored.height


def test_each_job_has_whom_it_follows(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assets.usage.habits.longest_think", lambda *_: 1_200)
    metadata = materialized(user_habits, warehouse)
    rows = submitted_jobs(warehouse, "mine")
    counted = habits_of(rows, "UTC")
    with warehouse.read() as connection:
        stored = connection.sql("FROM features.user_habits WHERE source = 'mine' ORDER BY job_index").pl()
        after = connection.sql(
            "SELECT h.think_s, epoch(j.submit_time) - epoch(o.end_time) AS expected, j.user_name = o.user_name AS own "
            "FROM features.user_habits AS h JOIN core.jobs AS j USING (source, job_index) "
            "JOIN core.jobs AS o ON o.source = h.source AND o.job_index = h.follows_job_index"
        ).pl()
    assert metadata["jobs_that_follow"] == after.height == counted.following > 0
    assert (
        (after["think_s"] == after["expected"]).all()
        and after["own"].all()
        and after["think_s"].is_between(0, 1200).all()
    )
    assert (stored.height, stored["session"].n_unique(), stored["batch"].n_unique()) == (
        counted.jobs, counted.sessions, counted.batches,
    )  # fmt: skip
