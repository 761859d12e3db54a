"""Tests of models/runtime/past: histories, similar."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from statistics import fmean, median, pstdev
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from models.runtime.past.histories import HISTORY_COLUMNS, LAST_JOBS, histories
from models.runtime.past.past_jobs import numbers_of_names
from models.runtime.past.similar import SIMILAR_FEATURES, similar_job_features, similar_jobs_in_parts
from models.runtime.predictor import LEVELS
from tests.models.runtime.rows import ladder, quantile, sample_of

# histories: Histories at submission: neither parts nor what comes later matter; the last ten jobs; numbers of
# pairs.
#
# All columns are compared with a plain computation in tests/assets/features/test_job_features.py.

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


# similar: Similar jobs: by hand, and against dictionaries of lists.

BEGIN = datetime(2026, 1, 1)
SCHEMA = {
    "submit_time": pl.Datetime, "end_time": pl.Datetime, "runtime_s": pl.Int64, "user_name": pl.String,
    "executable": pl.String, "requested_walltime_s": pl.Int64, "requested_procs": pl.Int64,
}  # fmt: skip


def frame(*jobs: tuple[int, int | None, int | None, str | None, str | None, int | None, int | None]) -> pl.DataFrame:
    """(submission, end, run time in s; user, executable, wall time and processors requested)."""
    rows = [
        (BEGIN + timedelta(seconds=s), None if e is None else BEGIN + timedelta(seconds=e), *r) for s, e, *r in jobs
    ]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


# ------------------------------------------------------------------------------------------------------------- by hand


def test_without_history_a_quarter_of_the_request_or_an_hour() -> None:
    found = similar_job_features(
        frame((0, 9, 9, "ann", "a", 1000, 1), (0, 9, 9, "ann", "a", None, 1), (0, 9, 9, None, None, 0, None))
    )
    assert found.columns == list(SIMILAR_FEATURES)
    assert found["similar_mean_s"].to_list() == [250, 3600, 3600]
    assert found["similar_p05_s"].to_list() == found["similar_p95_s"].to_list() == [250, 3600, 3600]
    assert found["similar_inverse_per_s"].to_list() == [1 / 250, 1 / 3600, 1 / 3600]
    assert found["similar_jobs"].to_list() == [0, 0, 0]


def test_two_jobs_ended_by_hand() -> None:
    """The second and later job knows 100 s and 4 s (counted as 10 s in the inverse) in all of its seven classes."""
    rows = frame(
        (0, 100, 100, "ann", "a", 400, 2), (0, 104, 4, "ann", "a", 400, 2), (105, 200, 50, "ann", "a", 400, 2),
        (105, 200, 50, "bob", "a", 400, 2), (104, 200, 50, "ann", "a", 60, 16),
    )  # fmt: skip
    found = similar_job_features(rows).to_dicts()
    # of what is left a class takes 1.8 / 2.8: weights 1 (the later one, 4 s) and 0.8 (100 s), over 1.8 + doubt 1
    left = (1 / 2.8) ** 7
    late, early = (1 - left) / 1.8, 0.8 * (1 - left) / 1.8
    assert found[2]["similar_mean_s"] == pytest.approx(late * 4 + early * 100 + left * 100)
    assert found[2]["similar_inverse_per_s"] == pytest.approx(late / 10 + (early + left) / 100)
    assert found[2]["similar_jobs"] == 10
    assert found[2]["similar_p05_s"] == 4 and found[2]["similar_p95_s"] == 100
    # bob has no job: only the classes of the request, whoever asked, know something
    left = (1 / 2.8) ** 2
    assert found[3]["similar_mean_s"] == pytest.approx(((1 - left) / 1.8) * (4 + 80) + left * 100)
    assert found[3]["similar_jobs"] == 0
    # a job that asks for 60 s, in the very second in which the second one ends: that one is not known yet, and 100 s count as 60
    left = 1 / 2**2  # two classes know it, of the user and of user and executable: each takes 1 / (1 + doubt)
    assert found[4]["similar_mean_s"] == pytest.approx((1 - left) * 60 + left * 15)
    assert found[4]["similar_jobs"] == 2


def test_the_thirteenth_run_time_pushes_the_first_out() -> None:
    same: tuple[Any, ...] = ("ann", "a", 10_000, 1)
    twelve = [(0, 10 + k, 100, *same) for k in range(12)]
    rows = frame((0, 5, 9000, *same), *twelve[:11], (60, None, None, *same))
    assert similar_job_features(rows, recency=1.0)["similar_p95_s"][-1] > 5000
    rows = frame((0, 5, 9000, *same), *twelve, (60, None, None, *same))
    assert similar_job_features(rows, recency=1.0)["similar_p95_s"][-1] == 100


# ---------------------------------------------------------------------------------------------------------- the oracle


def oracle(rows: pl.DataFrame, recency: float, doubt: Sequence[float]) -> list[list[float]]:
    jobs = rows.to_dicts()
    found = []
    for job in jobs:
        lists: dict[tuple[Any, ...], list[float]] = defaultdict(list)
        ended = [o for o in jobs if o["end_time"] and o["runtime_s"] is not None and o["end_time"] < job["submit_time"]]
        for other in sorted(ended, key=lambda o: o["end_time"]):  # stable: ties in the order of the log
            for key in ladder(other):
                lists[key].append(float(max(other["runtime_s"], 1)))
        sample = sample_of(job, lists, recency, doubt)
        own = sum(min(len(lists[key]), 12) for key in ladder(job)[:5])
        mean = sum(value * weight for value, weight in sample)
        inverse = sum(weight / max(value, 10) for value, weight in sample)
        found.append([mean, inverse, own, *(quantile(sample, level) for level in LEVELS)])
    return found


def random_rows(seed: int, jobs: int = 160) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    rows = []
    for submit in np.sort(rng.integers(0, 60, jobs)) * 10:
        runtime = None if rng.random() < 0.05 else int(rng.choice([0, 1, 5, 30, 30, 200, 3000, 9999]))
        wait = int(rng.integers(0, 10)) * 10
        end = None if rng.random() < 0.08 else int(submit) + wait + int(rng.integers(0, 12)) * 10
        user = rng.choice([None, "ann", "ann", "bob", "cy"])
        executable = rng.choice([None, "a", "b"])
        request = rng.choice([None, 0, 60, 61, 600, 3600, 3600, 86_400])
        rows.append((int(submit), end, runtime, user, executable, request, rng.choice([None, 1, 2, 3, 4, 16])))
    return frame(*rows)


@pytest.mark.parametrize("seed", range(6))
def test_against_lists(seed: int) -> None:
    rows = random_rows(seed)
    recency, doubt = (0.8, (1.0,) * 7) if seed % 2 else (0.55, (0.3, 2.0, 1.0, 0.5, 1.5, 4.0, 0.7))
    found = similar_job_features(rows, recency, doubt).to_numpy()
    expected = np.array(oracle(rows, recency, doubt))
    assert (expected[:, 2] > 30).any() and (expected[:, 2] == 0).any()  # memories that are full, and empty ones
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_the_defaults_are_those_of_the_oracle() -> None:
    rows = random_rows(11)
    np.testing.assert_allclose(
        similar_job_features(rows).to_numpy(), np.array(oracle(rows, 0.8, (1.0,) * 7)), rtol=1e-9
    )


def test_no_rows() -> None:
    found = similar_job_features(frame())
    assert found.columns == list(SIMILAR_FEATURES) and found.is_empty()


# --------------------------------------------------------------------------------------------------------------- parts


def in_parts_of_similar(rows: pl.DataFrame, *parts: int) -> pl.DataFrame:
    seconds = [pl.col(f"{name}_time").dt.epoch("s").alias(f"{name}_s") for name in ("submit", "end")]
    jobs = rows.with_columns(*numbers_of_names(), *seconds)
    firsts = np.cumsum([0, *parts])
    frames = [jobs[int(first) : int(first) + count] for first, count in zip(firsts, parts, strict=False)]
    return pl.concat(similar_jobs_in_parts(frames, rows.height))


@pytest.mark.parametrize("parts", [(160,), (1,) * 160, (0, 57, 0, 100, 3), (159, 1)])
def test_parts_of_any_size(parts: tuple[int, ...]) -> None:
    rows = random_rows(21)
    assert in_parts_of_similar(rows, *parts).equals(similar_job_features(rows))


@pytest.mark.parametrize("column", ["submit_time", "end_time", "runtime_s", "requested_walltime_s", "requested_procs"])
def test_numbers_that_need_eight_bytes(column: str) -> None:
    """In the last part, so that what was read before is widened."""
    rows = random_rows(22)
    large: Any = BEGIN + timedelta(days=30_000) if column.endswith("time") else 10**10
    last = pl.int_range(pl.len()) >= 150
    rows = rows.with_columns(pl.when(last & pl.col(column).is_not_null()).then(large).otherwise(column).alias(column))
    expected = np.array(oracle(rows, 0.8, (1.0,) * 7))
    np.testing.assert_allclose(in_parts_of_similar(rows, 100, 60).to_numpy(), expected, rtol=1e-9)


def test_submissions_in_any_order() -> None:
    rows = random_rows(23).unique("submit_time", keep="first", maintain_order=True)
    place = np.random.default_rng(23).permutation(rows.height)
    assert similar_job_features(rows[place]).equals(similar_job_features(rows)[place])
