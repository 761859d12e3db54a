"""Histories at submission: neither parts nor what comes later matter; the last ten jobs; numbers of pairs.

All columns are compared with a plain computation in tests/assets/predictions/test_job_features.py."""

from __future__ import annotations

import itertools
import math
from statistics import fmean, median, pstdev

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from models.runtime.past.histories import HISTORY_COLUMNS, LAST_JOBS, histories

JOBS = 400


def odd_log(seed: int) -> pl.DataFrame:
    """Much of it is unknown, much happens in the same second, and some jobs end before their submission."""
    rng = np.random.default_rng(seed)

    def unknown(values: np.ndarray, share: float) -> pl.Series:
        return pl.Series(np.where(rng.random(JOBS) < share, np.nan, values), nan_to_null=True).cast(pl.Int64)

    submit = np.sort(rng.integers(0, 2000, JOBS))
    start = submit + rng.integers(0, 50, JOBS)
    columns = {
        "submit_s": pl.Series(submit),
        "start_s": unknown(start, 0.1),
        "end_s": unknown(start + rng.integers(-60, 200, JOBS), 0.1),
        "runtime_s": unknown(rng.integers(0, 500, JOBS), 0.1),
        "procs": unknown(rng.integers(1, 9, JOBS), 0.1),
        "requested_procs": unknown(rng.integers(1, 4, JOBS), 0.2),
        "requested_walltime_s": unknown(600 * rng.integers(1, 3, JOBS), 0.2),
    }
    for name, count in (("user", 4), ("group", 2), ("executable", 3)):
        columns[f"{name}_number"] = unknown(rng.integers(0, count, JOBS), 0.1).cast(pl.Int32)
    return pl.DataFrame(columns | {"failed": pl.Series(rng.random(JOBS) < 0.3)})


def in_parts(jobs: pl.DataFrame, *parts: int) -> pl.DataFrame:
    bounds = itertools.accumulate(parts, initial=0)
    frames = (jobs.slice(first, height) for first, height in zip(bounds, parts, strict=False))
    return pl.concat(histories(frames, jobs.height))


def test_the_parts_do_not_matter() -> None:
    jobs = odd_log(1)
    whole = in_parts(jobs, JOBS)
    assert whole.columns == list(HISTORY_COLUMNS) and set(whole.dtypes) == {pl.Float64}
    assert whole.height == JOBS and all(whole[name].n_unique() > 2 for name in set(HISTORY_COLUMNS) - {"last_failed"})
    for parts in ((1,) * JOBS, (137, 0, 63, 200), (JOBS - 1, 1)):
        assert_frame_equal(in_parts(jobs, *parts), whole, check_exact=True)


def test_what_comes_later_does_not_matter() -> None:
    """Jobs submitted later are others, and those that had not ended by then end otherwise."""
    jobs, other = odd_log(2), odd_log(3)
    now = int(jobs["submit_s"][JOBS // 2])
    reached = int((jobs["submit_s"] <= now).sum())
    later = pl.col("end_s") >= now
    changed = jobs[:reached].with_columns(
        pl.when(later).then(pl.col("end_s") + 77).otherwise("end_s").alias("end_s"),
        pl.when(later).then(pl.col("runtime_s") + 77).otherwise("runtime_s").alias("runtime_s"),
        pl.when(later).then(~pl.col("failed")).otherwise("failed").alias("failed"),
    )
    early = other.filter(pl.col("submit_s") > now).filter(pl.col("end_s").fill_null(now) >= now)
    assert early.height > 50 and not changed.equals(jobs[:reached])
    assert_frame_equal(
        in_parts(pl.concat([changed, early]), reached, early.height)[:reached],
        in_parts(jobs.filter(pl.col("submit_s") <= now), reached),
        check_exact=True,
    )


@pytest.mark.parametrize("seed", [4, 5])
def test_the_last_ten_jobs_of_a_user(seed: int) -> None:
    jobs = odd_log(seed)
    rows = jobs.to_dicts()
    told = in_parts(jobs, JOBS).to_dicts()
    ended = sorted((row["end_s"], k) for k, row in enumerate(rows) if row["end_s"] is not None)
    for row, found in zip(rows, told, strict=True):
        mine = [rows[k] for end, k in ended if end < row["submit_s"] and rows[k]["user_number"] == row["user_number"]]
        ten = mine[-LAST_JOBS:] if row["user_number"] is not None else []
        runtimes = [job["runtime_s"] for job in ten if job["runtime_s"] is not None]
        expected = {
            "user_median_runtime_s": median(runtimes) if runtimes else None,
            "user_log_spread": pstdev(math.log(max(r, 1)) for r in runtimes) if runtimes else None,
            "user_failed_share": fmean(job["failed"] for job in ten) if ten else None,
        }
        assert {name: found[name] for name in expected} == pytest.approx(expected, abs=1e-12)


def test_a_log_of_nobody_and_an_empty_one() -> None:
    nobody = odd_log(6).with_columns(user_number=pl.lit(None, pl.Int32), group_number=pl.lit(None, pl.Int32))
    rows = in_parts(nobody, JOBS)
    assert rows["user_jobs_ended"].to_list() == rows["group_jobs_ended"].to_list() == [0] * JOBS
    assert rows["last_runtime_s"].null_count() == JOBS and rows["jobs_running"].max() > 0  # type: ignore[operator]
    assert list(histories([], 0)) == []


@pytest.mark.parametrize("column", ["submit_s", "procs"])
def test_numbers_that_need_more_bits_give_the_same(column: str) -> None:
    """All times of a log far from the first submission, and one number of processors that no cluster has."""
    jobs = odd_log(8)
    whole = in_parts(jobs, JOBS)
    if column == "procs":
        jobs = jobs.with_columns(procs=pl.when(pl.int_range(JOBS) == JOBS - 1).then(2**40).otherwise("procs"))
        assert_frame_equal(in_parts(jobs, 300, 100), whole, check_exact=True)
        return
    early = jobs.head(1).with_columns(pl.col("submit_s", "start_s", "end_s") - 2**33, user_number=pl.lit(9, pl.Int32))
    late = in_parts(pl.concat([early, jobs]), 1, JOBS).tail(JOBS)
    alone = ["user_jobs_ended", "last_runtime_s", "alike_median_runtime_s", "jobs_running", "procs_waiting"]
    assert_frame_equal(late.select(alone), whole.select(alone), check_exact=True)
