"""Tests of assets/features: changed_parts, job_features_future."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from assets.features import tables as features_module
from assets.features.changed_parts import ChangedParts
from assets.features.tables import write_job_features, write_similar_jobs
from tests.assets.features.plain_features import (
    features_of,
    jobs_of,
    odd_jobs,
    plain_features,
    seconds,
    started_at_submission,
    without_starts,
)
from tests.shared import shared_file
from tests.tiny import busy_log, warehouse_of
from warehouse import Warehouse, replace_partition

# changed_parts: Features are written again from the first part on that changed jobs may have touched, and are those
# of a fresh computation.

JOBS, PART = 250, 40
Change = Callable[[pl.DataFrame], pl.DataFrame]


@pytest.fixture
def firsts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The first part of each writing."""
    seen: list[int] = []
    compare = ChangedParts.compare

    def noted(self: ChangedParts, connection: object) -> int:
        seen.append(compare(self, connection))  # type: ignore[arg-type]
        return seen[-1]

    monkeypatch.setattr("assets.features.changed_parts.PART_JOBS", PART)
    monkeypatch.setattr(ChangedParts, "compare", noted)
    return seen


def put(warehouse: Warehouse, jobs: pl.DataFrame) -> None:
    with warehouse.write() as connection:
        connection.execute("UPDATE core.sources SET time_zone = 'Europe/Berlin'")
        replace_partition(connection, "core.jobs", "mine", jobs.drop("source"))


def written(warehouse: Warehouse) -> pl.DataFrame:
    assert write_job_features(warehouse, "mine") == rows_of(warehouse).height
    return rows_of(warehouse)


def rows_of(warehouse: Warehouse) -> pl.DataFrame:
    with warehouse.read() as connection:
        return connection.sql("FROM features.job_features ORDER BY job_index").pl()


def at(index: int, **values: pl.Expr) -> Change:
    """Other values of one job."""
    return lambda jobs: jobs.with_columns(
        pl.when(pl.col("job_index") == index).then(value).otherwise(name).alias(name) for name, value in values.items()
    )


def exchanged(jobs: pl.DataFrame) -> pl.DataFrame:
    """Two jobs of a part have each other's queue."""
    return at(201, queue=pl.lit("a"))(at(202, queue=pl.lit("b"))(jobs))


@pytest.mark.parametrize(
    ("change", "first"),
    [
        (lambda jobs: jobs, 7),
        (at(249, queue=pl.lit("another")), 6),
        (at(130, status=pl.lit("failed"), used_cpu_s=pl.lit(1.0)), 3),
        (at(130, used_cpu_s=pl.lit(1.0)), 7),
        (at(200, end_time=pl.col("submit_time") - timedelta(days=2)), None),
        (at(200, start_time=pl.lit(None), end_time=pl.lit(None)), None),
        (exchanged, 5),
        (lambda jobs: jobs.head(150), 3),
        (lambda jobs: jobs.head(160), 4),
        (lambda jobs: jobs.clear(), 0),
        (lambda jobs: jobs.with_columns(start_time=pl.lit(None, jobs.schema["start_time"])), 0),
    ],
)
def test_rows_are_those_of_a_fresh_computation(
    tmp_path: Path, firsts: list[int], change: Change, first: int | None
) -> None:
    jobs = odd_jobs(tmp_path, 5, JOBS)
    warehouse = warehouse_of(tmp_path / "w", busy_log(20))
    put(warehouse, jobs.head(210))
    assert_frame_equal(written(warehouse), features_of(jobs.head(210)))
    jobs = at(201, queue=pl.lit("b"))(at(202, queue=pl.lit("a"))(jobs))
    put(warehouse, jobs)
    assert_frame_equal(written(warehouse), features_of(jobs))
    assert firsts[0] == 0 and firsts[1] in (4, 5)  # the last part was not full, and jobs ran over its beginning
    changed = change(jobs)
    put(warehouse, changed)
    rows = written(warehouse)
    assert_frame_equal(rows, features_of(changed) if changed.height else rows.clear())
    assert firsts[2] == first or (first is None and 0 <= firsts[2] < 6)


def test_similar_jobs_of_a_longer_log(tmp_path: Path, firsts: list[int]) -> None:
    jobs = odd_jobs(tmp_path, 7, JOBS)
    warehouse, fresh = (warehouse_of(tmp_path / name, busy_log(20)) for name in ("w", "fresh"))
    tables = []
    for place, heights in ((warehouse, (130, JOBS)), (fresh, (JOBS,))):
        for height in heights:
            put(place, jobs.head(height))
            count = write_similar_jobs(place, "mine")
        with place.read() as connection:
            tables.append(connection.sql("FROM features.similar_jobs ORDER BY job_index").pl())
        assert count == tables[-1].height
    assert_frame_equal(tables[0], tables[1])
    assert firsts[0] == firsts[2] == 0 and 1 <= firsts[1] <= 3


def test_rows_that_somebody_removed_and_other_code_are_computed_again(
    tmp_path: Path, firsts: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = odd_jobs(tmp_path, 6, JOBS)
    warehouse = warehouse_of(tmp_path / "w", busy_log(20))
    put(warehouse, jobs)
    whole = written(warehouse)
    with warehouse.write() as connection:
        connection.execute("DELETE FROM features.job_features WHERE job_index = 3")
    assert_frame_equal(written(warehouse), whole)
    code = tmp_path / "histories.py"
    code.write_text("# another")
    monkeypatch.setattr(features_module.histories, "__file__", str(code))
    assert_frame_equal(written(warehouse), whole)
    assert firsts == [0, 0, 0]


# job_features_future: Features of jobs know no future: with the future cut off or exchanged, and in a real log.

NOW = (
    "user_jobs_running",
    "user_running_elapsed_s",
    "user_jobs_waiting",
    "jobs_running",
    "procs_running",
    "jobs_waiting",
    "procs_waiting",
)


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


def test_the_future_changes_nothing_in_a_log_without_starts(tmp_path: Path) -> None:
    """Jobs that ran at a moment may run for longer or shorter from then on."""
    jobs = without_starts(odd_jobs(tmp_path, seed=5))
    rng = random.Random(5)
    features = features_of(jobs)
    for moment in moments(started_at_submission(jobs), rng, 6):
        before = features.head(jobs.filter(pl.col("submit_time") <= moment).height)
        rows = jobs.head(before.height).to_dicts()
        for row in rows:
            so_far = seconds(moment, row["submit_time"])
            if row["runtime_s"] and row["runtime_s"] >= so_far:
                row |= {
                    "runtime_s": max(so_far, 1) + rng.randrange(100_000),
                    "status": rng.choice(["completed", "failed"]),
                }
        changed = pl.DataFrame(rows, schema=jobs.schema)
        assert (changed["runtime_s"] != jobs["runtime_s"].head(changed.height)).any()
        assert_frame_equal(features_of(changed), before, rel_tol=1e-12, abs_tol=1e-12)


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
