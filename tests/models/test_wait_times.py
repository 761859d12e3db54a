"""Waits predicted from a state: draws, replays worked by hand, what may be known, and how good they are on a real log."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from models.runtime.predictor import LEVELS, QUANTILE_COLUMNS
from models.waits import wait_times
from models.waits.wait_times import (
    POINTS,
    TIMELESS,
    JobSet,
    Pool,
    State,
    calibrated,
    draw_runtimes,
    features_of,
    history_of,
    pool_numbers,
    pool_of,
    similar_waits,
    start_times,
    state_at,
    submission_state,
    waits_of_survivors,
    weighted_quantiles,
)
from tests.shared import shared_file


def job_set(*jobs: tuple[int, int, int, float]) -> JobSet:
    """(since, procs, request, run time that is certain), all of user 0."""
    since, procs, request, runtime = (np.array(column) for column in zip(*jobs, strict=True)) if jobs else [[]] * 4
    whole = [np.asarray(column, dtype=np.int64) for column in (since, procs, request)]
    number = np.arange(len(jobs))
    certain = np.repeat(np.asarray(runtime, dtype=np.float64)[:, None], len(LEVELS), axis=1)
    return JobSet(*whole, np.zeros(len(jobs), dtype=np.int64), number, certain)  # type: ignore[call-arg]


def rows_of(jobs: int = 300, seed: int = 3, procs: int = 16) -> pl.DataFrame:
    """A log in which jobs queue, with quantiles around requests; some are cancelled while they wait."""
    from simulator.engine.replay import replay
    from simulator.jobs.jobs import Jobs

    rng = np.random.default_rng(seed)
    submit = np.sort(rng.integers(0, 20 * 86_400, jobs))
    width = rng.choice([1, 2, 4, 8], jobs)
    runtime = np.ceil(rng.lognormal(9.6, 1.0, jobs)).astype(np.int64)
    request = np.ceil(runtime * rng.uniform(1, 4, jobs)).astype(np.int64)
    start = replay(Jobs(submit, runtime, width, request, request), procs, "FCFS", "easy").start
    quantiles = {name: request * share for name, share in zip(QUANTILE_COLUMNS, np.linspace(0.1, 0.95, 8), strict=True)}
    rows = pl.DataFrame({
        "job_index": np.arange(jobs), "submit_s": submit, "start_s": start, "cancel_s": np.full(jobs, None),
        "runtime_s": runtime, "procs": width, "requested_walltime_s": request,
        "user_number": rng.integers(0, 6, jobs), **quantiles,
    }, schema_overrides={"cancel_s": pl.Int64})  # fmt: skip
    gone = (pl.col("job_index") % 29 == 3) & (pl.col("start_s") > pl.col("submit_s") + 100)
    return rows.with_columns(
        cancel_s=pl.when(gone).then(pl.col("submit_s") + 100), start_s=pl.when(~gone).then(pl.col("start_s"))
    )


# Draws.


def test_draws_follow_the_quantiles() -> None:
    quantiles = np.exp(np.linspace(3, 8, 8))[None]
    one = np.zeros(1, dtype=np.int64)
    jobs = JobSet(one, one + 1, one + 5000, one, one, quantiles)
    drawn = draw_runtimes(jobs, one, 20_000, np.random.default_rng(1))[:, 0]
    assert np.allclose(np.mean(drawn[:, None] <= quantiles[0], axis=0), LEVELS, atol=0.015)
    assert drawn.min() >= 1 and drawn.max() <= 5000
    unlimited = draw_runtimes(JobSet(one, one + 1, one - 1, one, one, quantiles), one, 20_000, np.random.default_rng(1))
    assert np.exp(8) < unlimited.max() < np.exp(9)


def test_running_jobs_run_longer_than_they_have() -> None:
    quantiles = np.repeat(np.exp(np.linspace(3, 8, 8))[None], 4, axis=0)
    elapsed = np.array([5, 500, 4900, 9000])  # below all quantiles, amid them, past the last, past the request
    fives = np.full(4, 5000)
    drawn = draw_runtimes(JobSet(fives, fives, fives, fives, fives, quantiles), elapsed, 5000, np.random.default_rng(2))
    assert (drawn > elapsed).all()
    assert (drawn[:, :3] <= 5000).all()
    inside = quantiles[0] > 500
    level = np.interp(np.log(500), np.log(quantiles[0]), LEVELS)
    expected = (np.array(LEVELS)[inside] - level) / (1 - level)
    assert np.allclose((drawn[:, 1][:, None] <= quantiles[0][inside]).mean(axis=0), expected, atol=0.03)


# Replays.


def test_an_empty_machine_starts_a_job_at_once() -> None:
    state = State(1000, 8, job_set(), job_set()).with_job(8, 3600, -1)
    assert start_times(state, -1, 20, 1).tolist() == [0.0] * 20


def test_a_state_worked_by_hand() -> None:
    """8 processors; at 1000, A (6, ends at 1100) runs. B (8, 50 s) waits, then C (2, 60 s), then D.

    C is backfilled at once: it requests no longer than until B's reservation. Another of 40 s follows C. B starts at 1100, D (4)
    behind it at 1150. Without backfilling, C starts with D at 1150.
    """
    running = job_set((900, 6, 200, 200))
    waiting = job_set((950, 8, 50, 50), (960, 2, 60, 60), (970, 4, 500, 500))
    state = State(1000, 8, running, waiting)
    for samples, told in ((1, 1), (3, 3)):
        assert start_times(state, 0, samples, 1).tolist() == [100.0] * told
        assert start_times(state, 1, samples, 1).tolist() == [0.0] * told
        assert start_times(state, 2, samples, 1).tolist() == [150.0] * told
    assert start_times(state, 1, 2, 1, backfill="none").tolist() == [150.0, 150.0]
    assert start_times(state, 2, 2, 1, policy="smallest").tolist() == [100.0, 100.0]
    assert start_times(state.with_job(2, 40, 7), -1, 2, 1).tolist() == [60.0, 60.0]


@pytest.mark.parametrize("policy", TIMELESS)
@pytest.mark.parametrize("backfill", ["none", "easy", "conservative"])
def test_samples_in_one_replay_are_those_of_many(policy: str, backfill: str, monkeypatch: pytest.MonkeyPatch) -> None:
    history = history_of(rows_of(), 16)
    states = [submission_state(history, number) for number in range(40, 290, 25)]
    together = [start_times(state, -1, 6, [1, k], policy, backfill) for k, state in enumerate(states)]
    monkeypatch.setattr(wait_times, "TIMELESS", ())
    alone = [start_times(state, -1, 6, [1, k], policy, backfill) for k, state in enumerate(states)]
    assert np.array_equal(together, alone)
    assert np.max(together) > 0


def test_policies_that_follow_usage_are_replayed_too() -> None:
    history = history_of(rows_of(), 16)
    state = state_at(history, int(history.submit[200])).with_job(4, 3600, -1)
    assert (start_times(state, -1, 3, 1, "multifactor") >= 0).all()
    with pytest.raises(ValueError, match="unknown policy"):
        start_times(state, -1, 3, 1, "LIFO")


def test_the_same_seed_gives_the_same_waits() -> None:
    history = history_of(rows_of(), 16)
    state = next(s for s in (submission_state(history, n) for n in range(100, 300)) if len(s.waiting) > 5)
    first, again, other = (start_times(state, -1, 50, seed) for seed in (1, 1, 2))
    assert np.array_equal(first, again) and not np.array_equal(first, other)


# States and what may be known.


def test_states_are_those_of_the_log() -> None:
    rows = rows_of()
    history = history_of(rows, 16)
    for moment in (history.submit[50], history.submit[200] + 7, history.latest_end[-1]):
        state = state_at(history, int(moment))
        submitted = rows.filter(pl.col("submit_s") <= moment)
        runs = submitted.filter(
            pl.col("start_s") <= moment, pl.col("start_s") + pl.col("runtime_s") > moment, pl.col("cancel_s").is_null()
        )
        waits = submitted.filter(pl.coalesce("start_s", "cancel_s") > moment)
        assert history.job_index[state.running.number].tolist() == runs["job_index"].to_list()
        assert history.job_index[state.waiting.number].tolist() == waits["job_index"].to_list()
        assert state.busy_procs == runs["procs"].sum() <= 16


def predicted(rows: pl.DataFrame, moment: int) -> list[object]:
    history = history_of(rows, 16)
    state = state_at(history, moment).with_job(4, 7200, 2)
    replayed = start_times(state, -1, 30, 1)
    features = features_of(history, state, -1, replayed)
    pool = pool_of(history, pool_numbers(history, moment), 1)
    quantiles, neighbours = calibrated(pool, features, 2, moment)
    assert quantiles is not None and neighbours > 0
    return [replayed.tolist(), features.tolist(), quantiles.tolist(), similar_waits(history, 4, 7200, moment).tolist()]


def test_nothing_after_the_moment_changes_the_answer() -> None:
    rows = rows_of()
    moment = int(rows["submit_s"][220]) + 1
    end = pl.col("start_s") + pl.col("runtime_s")
    later = rows.filter(pl.col("submit_s") <= moment).with_columns(
        runtime_s=pl.when(end > moment).then(pl.col("runtime_s") + 77_777).otherwise("runtime_s"),
        start_s=pl.when(pl.col("start_s") > moment).then(pl.col("start_s") + 99_999).otherwise("start_s"),
        cancel_s=pl.when(pl.col("cancel_s") > moment).then(pl.col("cancel_s") + 5).otherwise("cancel_s"),
    )
    assert state_at(history_of(rows, 16), moment).waiting.number.size > 0
    assert predicted(rows, moment) == predicted(later, moment)
    earlier = rows.with_columns(start_s=pl.when(end < moment).then(pl.col("submit_s")).otherwise("start_s"))
    assert predicted(rows, moment) != predicted(earlier, moment)  # the comparison above would see a difference


def test_only_jobs_that_had_started_calibrate() -> None:
    features = np.zeros((40, len(wait_times.FEATURES)))
    submit, user = np.arange(40) * 10, np.zeros(40, dtype=np.int64)
    wait = np.where(np.arange(40) % 2 == 0, 5, 10_000)
    pool = Pool(features, np.zeros((40, len(POINTS))), user, submit, wait)
    quantiles, neighbours = calibrated(pool, features[0], 0, 400)
    assert neighbours == 20 and quantiles is not None and quantiles.tolist() == [5.0] * 5
    assert calibrated(pool, features[0], 0, 50) == (None, 3)  # at 0, 20 and 40


def test_nobody_in_particular_is_compared_without_what_is_known_of_users() -> None:
    features = np.zeros((60, len(wait_times.FEATURES)))
    features[30:, wait_times.FEATURES.index("user_waiting")] = 9.0  # of a user with many jobs, who waits long
    features[30:, wait_times.FEATURES.index("procs")] = -0.1
    times, user = np.arange(60), np.repeat([1, 2], 30)
    pool = Pool(features, np.zeros((60, len(POINTS))), user, times, np.where(user == 1, 5, 900))
    asked = features[0] + (features[30] - features[0]) * [name == "procs" for name in wait_times.FEATURES]
    assert [float(calibrated(pool, asked, user, 10_000)[0][2]) for user in (1, -1)] == [5.0, 900.0]  # type: ignore[index]


def test_jobs_that_waited_as_long() -> None:
    """Of 40 jobs 20 start after 5 s; of the others, 15 after 100, 200, ... s, and 5 still wait after 800 s and more."""
    waits = np.concatenate([np.full(20, 5), np.arange(1, 16) * 100, np.full(5, 99_999)])
    rows = rows_of(40).with_columns(submit_s=pl.lit(0), start_s=pl.Series(waits), cancel_s=pl.lit(None, dtype=pl.Int64))
    history = history_of(rows, 16)
    found, started = waits_of_survivors(history, 1500, 50)
    assert started == 15 and found is not None
    assert found.tolist() == [200.0, 500.0, 1000.0, 1500.0, 1500.0]  # a share of 15 in 20 after 1500, the rest unknown
    assert waits_of_survivors(history, 900, 50) == (None, 9)
    found, _ = waits_of_survivors(history, 1500, 0)
    assert found is not None and found.tolist()[:3] == [5.0, 5.0, 5.0]


def test_quantiles_are_in_order_and_weighted() -> None:
    values, weight = np.array([3.0, 1.0, 2.0, 10.0]), np.array([1.0, 1.0, 1.0, 7.0])
    assert weighted_quantiles(values, weight, (0.1, 0.3, 0.31, 0.9)).tolist() == [1.0, 3.0, 10.0, 10.0]
    rng = np.random.default_rng(5)
    found = weighted_quantiles(rng.random(30), rng.random(30), POINTS)
    assert (np.diff(found) >= 0).all()


def test_a_log_without_requests() -> None:
    rows = rows_of().with_columns(
        requested_walltime_s=pl.lit(-1, dtype=pl.Int64), cancel_s=pl.lit(None, dtype=pl.Int64)
    )
    history = history_of(rows, 16)
    state = state_at(history, int(history.submit[200])).with_job(16, -1, -1)
    assert (start_times(state, -1, 20, 1) >= 0).all()


# How good.


def hpc2n_rows(first: int, jobs: int) -> pl.DataFrame:
    """Part of HPC2N, with run-time quantiles that are shares of the request, as they were in the jobs before it."""
    log: Path = shared_file("traces", "swf", "HPC2N-2002-2.2-cln.swf.gz")
    with gzip.open(log, "rt") as file:
        lines = [line.split() for line in file if line.strip() and not line.startswith(";")]
    table = np.array(lines, dtype=np.float64).astype(np.int64)
    rows = pl.DataFrame({
        "submit_s": table[:, 1], "start_s": table[:, 1] + table[:, 2], "runtime_s": table[:, 3], "procs": table[:, 4],
        "requested_walltime_s": table[:, 8], "user_number": table[:, 11],
    }).filter(pl.col("runtime_s") > 0, pl.col("procs") > 0).sort("submit_s", maintain_order=True)  # fmt: skip
    before = rows[:first]
    shares = np.quantile((before["runtime_s"] / before["requested_walltime_s"]).to_numpy(), LEVELS).clip(0, 1)
    requests = pl.col("requested_walltime_s").clip(lower_bound=1)
    return rows[first : first + jobs].with_row_index("job_index").with_columns(
        (requests * share).clip(lower_bound=1).alias(name) for name, share in zip(QUANTILE_COLUMNS, shares, strict=True)
    ).with_columns(cancel_s=pl.lit(None, dtype=pl.Int64))  # fmt: skip


def test_waits_of_hpc2n_are_predicted_better_than_by_similar_jobs() -> None:
    from assets.predictions.waits import predict_history, wait_scores

    rows = predict_history(history_of(hpc2n_rows(100_000, 40_000), 240), last_share=0.5, jobs=400, seed=1)
    assert (rows["wait_p10_s"] <= rows["wait_p50_s"]).all() and (rows["wait_p50_s"] <= rows["wait_p90_s"]).all()
    scores = {row["predictor"]: row for row in wait_scores(rows).to_dicts()}
    error = {name: row["median_absolute_error_s"] for name, row in scores.items()}
    assert error["calibrated"] < error["similar_median"] < error["similar_recent"]
    assert 0.72 <= scores["calibrated"]["coverage_80"] <= 0.88
