"""Features of jobs know no future: with the future cut off or exchanged, and in a real log."""

from __future__ import annotations

import gzip
import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from tests.assets.predictions.plain_features import (
    features_of,
    jobs_of,
    odd_jobs,
    plain_features,
    seconds,
    started_at_submission,
    without_starts,
)
from tests.shared import shared_file
from tests.tiny import warehouse_of

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
