"""Features of jobs computed by going through all jobs for each job, and logs to compute them of. Times are seconds or UTC."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from statistics import fmean, median, pstdev
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import polars as pl

from assets.features.tables import job_features_in_parts
from tests.tiny import busy_log, warehouse_of
from warehouse import Warehouse, replace_partition
from warehouse.schema import create_schema

Row = dict[str, Any]

ZONE = "Europe/Berlin"


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
    rows = pl.concat(job_features_in_parts(connection, "mine"))
    assert replace_partition(connection, "features.job_features", "mine", rows) == jobs.height
    return connection


def features_of(jobs: pl.DataFrame) -> pl.DataFrame:
    return warehouse_with(jobs).sql("FROM features.job_features ORDER BY job_index").pl()


def record(number: int, fields: tuple[int, ...]) -> str:
    submit, wait, runtime, procs, requested, status, user, group, executable = fields
    return (
        f"{number} {submit} {wait} {runtime} {procs} -1 -1 {procs} {requested} -1 {status} {user} {group} {executable} "
        "1 1 -1 -1\n"
    )


def spread(*runtimes: int) -> float:
    return pstdev(math.log(max(1, runtime)) for runtime in runtimes)


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


def without_starts(jobs: pl.DataFrame) -> pl.DataFrame:
    """As an SWF log tells them that has a wait of -1 for each."""
    unknown = [pl.lit(None, dtype=kind).alias(name) for name, kind in jobs.schema.items() if name in UNKNOWN]
    return jobs.with_columns(unknown)


UNKNOWN = ("start_time", "end_time", "wait_s", "eligible_wait_s")


def started_at_submission(jobs: pl.DataFrame) -> pl.DataFrame:
    """The same jobs as if each had started when it was submitted; those that never ran have no times."""
    ran = pl.col("runtime_s") > 0
    end = pl.col("submit_time") + pl.duration(seconds="runtime_s")
    return jobs.with_columns(
        pl.when(ran).then("submit_time").alias("start_time"), pl.when(ran).then(end).alias("end_time")
    )
