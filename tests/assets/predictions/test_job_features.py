"""Features of jobs hold what was known at the submission: by hand, against a plain computation, and with the future cut off."""

from __future__ import annotations

import gzip
import math
import random
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from statistics import fmean, median, pstdev
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import sql
from tests.shared import shared_file
from tests.tiny import busy_log, warehouse_of
from warehouse import Warehouse, replace_partition_by_query
from warehouse.schema import create_schema

Row = dict[str, Any]

ZONE = "Europe/Berlin"

NOW = (
    "user_jobs_running",
    "user_running_elapsed_s",
    "user_jobs_waiting",
    "jobs_running",
    "procs_running",
    "jobs_waiting",
    "procs_waiting",
)


def jobs_of(warehouse: Warehouse) -> pl.DataFrame:
    with warehouse.read() as connection:
        return connection.sql("FROM core.jobs ORDER BY job_index").pl()


@cache
def empty_warehouse() -> duckdb.DuckDBPyConnection:
    """In memory, with one source and no job."""
    connection = duckdb.connect(config={"threads": 1})
    create_schema(connection)
    connection.execute(
        "INSERT INTO core.sources BY NAME SELECT 'mine' AS source, 'swf' AS format, '' AS cluster_procs_from, "
        f"'{ZONE}' AS time_zone, TIMESTAMP '1970-01-01' AS clock_zero, 0 AS origin_s"
    )
    return connection


def warehouse_with(jobs: pl.DataFrame) -> duckdb.DuckDBPyConnection:
    """A copy of a warehouse with other canonical jobs, and the features of them."""
    connection = empty_warehouse()
    connection.execute("DELETE FROM core.jobs")
    connection.register("rows", jobs.to_arrow())
    connection.execute("INSERT INTO core.jobs BY NAME SELECT * FROM rows")
    connection.unregister("rows")
    query = sql.load("features.job_features_of_source")
    rows = replace_partition_by_query(connection, "features.job_features", "mine", query, {"source": "mine"})
    assert rows == jobs.height
    return connection


def features_of(jobs: pl.DataFrame) -> pl.DataFrame:
    return warehouse_with(jobs).sql("FROM features.job_features ORDER BY job_index").pl()


def record(number: int, fields: tuple[int, ...]) -> str:
    submit, wait, runtime, procs, requested, status, user, group, executable = fields
    return (
        f"{number} {submit} {wait} {runtime} {procs} -1 -1 {procs} {requested} -1 {status} {user} {group} {executable} "
        "1 1 -1 -1\n"
    )


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


def spread(*runtimes: int) -> float:
    return pstdev(math.log(max(1, runtime)) for runtime in runtimes)


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


# ------------------------------------------------------------------------------------------------------------- the oracle


def odd_jobs(tmp_path: Path, seed: int, count: int = 250) -> pl.DataFrame:
    """A busy log in which many things happen in the same second, and of which much is not known."""
    rng = random.Random(seed)
    jobs = jobs_of(warehouse_of(tmp_path / str(seed), busy_log(count, seed=seed, days=4)))
    rows = []
    for row in jobs.to_dicts():
        for name in ("submit_time", "start_time", "end_time"):  # ten-minute steps, so that much happens at once
            row[name] = row[name].replace(minute=row[name].minute // 10 * 10, second=0)
        row["user_name"] = rng.choice([None, "ann", "ann", "bob", "cy"])
        row["group_name"] = rng.choice([None, "red", "blue"])
        row["executable"] = rng.choice([None, "a", "b", "b"])
        row["requested_walltime_s"] = rng.choice([None, 3600, 3600, 7200])
        row["requested_procs"] = rng.choice([None, 1, 1, 2])
        row["status"] = rng.choice(["completed", "completed", "failed", "unknown"])
        odd = rng.random()
        if odd < 0.1:  # cancelled while it waited
            row |= {"start_time": None, "end_time": row["start_time"], "status": "cancelled"}
        elif odd < 0.2:
            row["end_time"] = row["start_time"]
        elif odd < 0.25:
            row["end_time"] = None
        elif odd < 0.3:
            row |= {"start_time": None, "end_time": None}
        elif odd < 0.33:
            row["procs"] = None
        begin = row["start_time"] or row["end_time"]
        row["runtime_s"] = seconds(row["end_time"], begin) if row["end_time"] else None
        rows.append(row)
    return pl.DataFrame(rows, schema=jobs.schema)


def seconds(later: datetime, earlier: datetime) -> int:
    return int((later - earlier).total_seconds())


def known(values: Iterable[Any]) -> list[Any]:
    return [value for value in values if value is not None]


def mean(values: Iterable[Any]) -> float | None:
    found = known(values)
    return fmean(found) if found else None


def runtimes(jobs: list[Row]) -> list[Any]:
    """Of the jobs, the last first; with enough behind them that one may look for the third."""
    return [*(job["runtime_s"] for job in reversed(jobs)), None, None, None]


def oracle(jobs: pl.DataFrame) -> pl.DataFrame:
    """Every column by going through all jobs for each job."""
    rows = jobs.to_dicts()
    return pl.DataFrame([plain_features(job, rows) for job in rows], infer_schema_length=None)


def request(job: Row) -> tuple[int | None, int | None]:
    return job["requested_procs"] or job["procs"], job["requested_walltime_s"]


def plain_features(job: Row, rows: list[Row]) -> Row:
    now = job["submit_time"]

    def failed(other: Row) -> float:
        return float(other["status"] in ("failed", "cancelled"))

    def of_user(others: Iterable[Row]) -> list[Row]:
        return [other for other in others if job["user_name"] and other["user_name"] == job["user_name"]]

    ended = sorted(
        (other for other in rows if other["end_time"] and other["end_time"] < now),
        key=lambda other: (other["end_time"], other["job_index"]),
    )
    mine = of_user(ended)
    last = mine[-1] if mine else None
    ten = mine[-10:]
    alike = [other for other in mine if request(other) == request(job)]
    same_executable = [other for other in mine if job["executable"] and other["executable"] == job["executable"]]
    group = [other for other in ended if job["group_name"] and other["group_name"] == job["group_name"]]
    before = [other for other in rows if other["submit_time"] < now]
    running = [o for o in before if o["start_time"] and o["end_time"] and o["start_time"] < now <= o["end_time"]]
    waiting = [o for o in before if (o["start_time"] or o["end_time"]) and now <= (o["start_time"] or o["end_time"])]
    earlier = of_user(rows[: job["job_index"]])
    batch, later = 0, job
    for other in reversed(earlier):
        if request(other) != request(job) or seconds(later["submit_time"], other["submit_time"]) > 600:
            break
        batch, later = batch + 1, other
    local = now.replace(tzinfo=UTC).astimezone(ZoneInfo(ZONE))
    return {
        "source": job["source"],
        "job_index": job["job_index"],
        "requested_walltime_s": job["requested_walltime_s"],
        "requested_procs": request(job)[0],
        "hour_of_day": local.hour,
        "day_of_week": local.isoweekday(),
        "queue": job["queue"],
        "group_name": job["group_name"],
        "executable": job["executable"],
        "user_jobs_ended": len(mine),
        "user_mean_runtime_s": mean(other["runtime_s"] for other in mine),
        "user_mean_requested_walltime_s": mean(other["requested_walltime_s"] for other in mine),
        "user_mean_requested_procs": mean(request(other)[0] for other in mine),
        "user_median_runtime_s": median(other["runtime_s"] for other in ten) if ten else None,
        "user_log_spread": spread(*(other["runtime_s"] for other in ten)) if ten else None,
        "user_failed_share": mean(map(failed, ten)),
        "last_runtime_s": runtimes(mine)[0],
        "second_last_runtime_s": runtimes(mine)[1],
        "third_last_runtime_s": runtimes(mine)[2],
        "last_requested_walltime_s": last and last["requested_walltime_s"],
        "last_requested_procs": last and request(last)[0],
        "last_failed": last and failed(last),
        "last_two_runtime_s": mean(runtimes(mine)[:2]),
        "seconds_since_last_end": last and seconds(now, last["end_time"]),
        "alike_jobs_ended": len(alike),
        "alike_last_runtime_s": runtimes(alike)[0],
        "alike_second_last_runtime_s": runtimes(alike)[1],
        "alike_mean_runtime_s": mean(runtimes(alike)),
        "alike_median_runtime_s": median(other["runtime_s"] for other in alike[-10:]) if alike else None,
        "alike_log_spread": spread(*(other["runtime_s"] for other in alike[-10:])) if alike else None,
        "executable_jobs_ended": len(same_executable),
        "executable_last_runtime_s": runtimes(same_executable)[0],
        "executable_mean_runtime_s": mean(runtimes(same_executable)),
        "group_jobs_ended": len(group),
        "group_mean_runtime_s": mean(runtimes(group)),
        "seconds_since_last_submission": seconds(now, earlier[-1]["submit_time"]) if earlier else None,
        "same_request_as_last": float(request(earlier[-1]) == request(job)) if earlier else None,
        "batch_position": batch,
        "user_jobs_running": len(of_user(running)),
        "user_running_elapsed_s": mean(seconds(now, other["start_time"]) for other in of_user(running)),
        "user_jobs_waiting": len(of_user(waiting)),
        "jobs_running": len(running),
        "procs_running": sum(known(other["procs"] for other in running)),
        "jobs_waiting": len(waiting),
        "procs_waiting": sum(known(request(other)[0] for other in waiting)),
    }


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_every_column_against_a_plain_computation(tmp_path: Path, seed: int) -> None:
    jobs = odd_jobs(tmp_path, seed)
    features = features_of(jobs)
    expected = oracle(jobs).cast(dict(features.schema.items()))
    assert features.columns == expected.columns
    for name in features.columns:
        if name not in ("source", "queue"):  # of which a log has one
            assert features[name].n_unique() > 1, f"{name} is always the same, the log tests nothing"
    assert_frame_equal(features, expected, rel_tol=1e-9, abs_tol=1e-9)


# -------------------------------------------------------------------------------------------------------------- no future


def forgotten(jobs: pl.DataFrame, moment: datetime) -> pl.DataFrame:
    """What the log knew at a moment: no later submission, and of no job a start or an end from the moment on."""
    ended, started = pl.col("end_time") < moment, pl.col("start_time") < moment
    return jobs.filter(pl.col("submit_time") <= moment).with_columns(
        pl.when(started).then("start_time").alias("start_time"),
        *(pl.when(ended).then(name).alias(name) for name in ("end_time", "runtime_s", "status", "used_cpu_s")),
    )


def another_future(jobs: pl.DataFrame, moment: datetime, rng: random.Random) -> pl.DataFrame:
    """The same past, and then other starts, ends, run times and outcomes, but for what the log never tells. A job that waits
    at the moment may start, or be cancelled."""

    def later() -> datetime:
        return moment + timedelta(seconds=rng.choice([0, 1, rng.randrange(100_000)]))

    rows = []
    for row in jobs.filter(pl.col("submit_time") <= moment).to_dicts():
        begun = row["start_time"] and row["start_time"] < moment
        if row["end_time"] and row["end_time"] >= moment:
            times = sorted([later(), later()])
            if not begun:
                row["start_time"] = rng.choice([None, times[0]])
            row |= {"end_time": times[1], "runtime_s": rng.randrange(100_000)}
            row["status"] = rng.choice(["completed", "failed", "cancelled", "unknown"])
        elif row["start_time"] and not begun:
            row["start_time"] = later()
        rows.append(row)
    return pl.DataFrame(rows, schema=jobs.schema)


def moments(jobs: pl.DataFrame, rng: random.Random, count: int) -> Iterator[datetime]:
    """In the second of a submission, of a start, of an end, and in others."""
    for turn in range(count):
        name = ("submit_time", "start_time", "end_time")[turn % 3]
        times = jobs.filter(pl.col("submit_time") <= pl.col(name))[name].unique().sort().to_list()
        yield rng.choice(times) + timedelta(seconds=rng.choice([0, 0, 1]))


def assert_no_future(jobs: pl.DataFrame, seed: int, cuts: int) -> None:
    rng = random.Random(seed)
    features = features_of(jobs)
    for moment in moments(jobs, rng, cuts):
        before = features.head(jobs.filter(pl.col("submit_time") <= moment).height)
        changed = features_of(another_future(jobs, moment, rng))
        assert_frame_equal(changed, before, rel_tol=1e-12, abs_tol=1e-12)
        # a log that was cut does not know the end of any job that ran or waited then: it cannot count those
        cut = features_of(forgotten(jobs, moment))
        assert_frame_equal(cut.drop(NOW), before.drop(NOW), rel_tol=1e-12, abs_tol=1e-12)


@pytest.mark.parametrize("seed", [5, 6])
def test_the_future_changes_nothing(tmp_path: Path, seed: int) -> None:
    assert_no_future(odd_jobs(tmp_path, seed), seed, cuts=9)


@pytest.fixture(scope="module")
def hpc2n(tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    """The first 20,000 jobs of a real log."""
    lines = []
    with gzip.open(shared_file("traces", "swf", "HPC2N-2002-2.2-cln.swf.gz"), "rt") as log:
        for line in log:
            lines.append(line)
            if len(lines) == 21_000:
                break
    return jobs_of(warehouse_of(tmp_path_factory.mktemp("hpc2n"), "".join(lines))).head(20_000)


def test_the_future_changes_nothing_in_a_real_log(hpc2n: pl.DataFrame) -> None:
    assert hpc2n.height == 20_000
    assert_no_future(hpc2n, seed=7, cuts=3)


def test_a_real_log_against_a_plain_computation(hpc2n: pl.DataFrame) -> None:
    """Of some of its jobs; all would take hours."""
    features, rows = features_of(hpc2n), hpc2n.to_dicts()
    sample = sorted(random.Random(8).sample(range(len(rows)), 20))
    expected = pl.DataFrame([plain_features(rows[index], rows) for index in sample], infer_schema_length=None)
    assert_frame_equal(features[sample], expected.cast(dict(features.schema.items())), rel_tol=1e-9, abs_tol=1e-9)


# -------------------------------------------------------------------------------------------------------------- the check


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
