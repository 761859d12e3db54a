"""Waits in replays of a state: draws, and states worked by hand."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from models.runtime.predictor import LEVELS
from models.waits import replays
from models.waits.history import JobSet, State, history_of, state_at, submission_state
from models.waits.replays import TIMELESS, draw_runtimes, start_times
from tests.models.waits.states import job_set, rows_of


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
    monkeypatch.setattr(replays, "TIMELESS", ())
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


def test_a_log_without_requests() -> None:
    rows = rows_of().with_columns(
        requested_walltime_s=pl.lit(-1, dtype=pl.Int64), cancel_s=pl.lit(None, dtype=pl.Int64)
    )
    history = history_of(rows, 16)
    state = state_at(history, int(history.submit[200])).with_job(16, -1, -1)
    assert (start_times(state, -1, 20, 1) >= 0).all()
