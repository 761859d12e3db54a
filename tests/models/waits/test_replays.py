"""Tests of models/waits: neighbours, replays, history."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pytest

from models.runtime.predictor import LEVELS
from models.waits import replays
from models.waits.clock import LogClock
from models.waits.history import JobSet, State, WaitSource, history_of, state_at, submission_state
from models.waits.neighbours import (
    FEATURES,
    POINTS,
    IntervalEnds,
    PastWaits,
    Pool,
    distribution,
    expected_wait,
    features_of,
    pool_numbers,
    pool_of,
    similar_waits,
    waits_of_neighbours,
)
from models.waits.replays import TIMELESS, draw_runtimes
from tests.models.waits.states import job_set, rows_of, start_times

# neighbours: Waits of the past: what may be known of them, and whom a job is compared with.


def predicted(rows: pl.DataFrame, moment: int) -> list[object]:
    history = history_of(rows, 16)
    state = state_at(history, moment).with_job(4, 7200, 2)
    replayed = start_times(state, -1, 30, 1)
    features = features_of(history, state, -1, replayed)
    pool = pool_of(history, pool_numbers(history, moment), 1)
    past = waits_of_neighbours(pool, features, 2, moment)
    assert past.quantiles is not None and past.jobs > 0
    similar = similar_waits(history, 4, 7200, moment)
    moved = IntervalEnds(pool).moved(past.quantiles, moment)
    mean_s = expected_wait(past, similar, float(replayed.mean()))
    return [replayed.tolist(), features.tolist(), past.quantiles.tolist(), moved.tolist(), mean_s, similar.tolist()]


def pool_by_hand(features: np.ndarray, user: np.ndarray, submit: np.ndarray, wait: np.ndarray) -> Pool:
    """A pool whose replays say 0 s, and whose jobs start."""
    count = len(submit)
    return Pool(
        features, np.zeros((count, len(POINTS))), np.zeros(count), user, submit, wait, np.ones(count, dtype=bool)
    )


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


def test_jobs_that_still_wait_count_for_as_long_as_they_have_waited() -> None:
    """Half of the jobs start after 5 s. The others still wait, and that they will wait 10,000 s is not known."""
    features, submit = np.zeros((40, len(FEATURES))), np.arange(40) * 10
    wait = np.where(np.arange(40) % 2 == 0, 5, 10_000)
    pool = pool_by_hand(features, np.zeros(40, dtype=np.int64), submit, wait)
    past = waits_of_neighbours(pool, features[0], 0, 400)
    assert past.jobs == 30 and past.quantiles is not None and past.mean_s is not None
    assert past.quantiles[:2].tolist() == [5.0, 5.0] and 5 < past.quantiles[3] <= 390 and past.mean_s < 400
    assert waits_of_neighbours(pool, features[0], 0, 50) == PastWaits(None, None, 3)  # at 0, 20 and 40


def test_the_mean_is_that_of_three_means() -> None:
    past, similar = PastWaits(np.zeros(5), 30.0, 30), np.array([100, 200])
    assert expected_wait(past, similar, 60.0) == 80.0
    assert expected_wait(PastWaits(None, None, 3), similar[:0], 60.0) == 60.0


def test_nobody_in_particular_is_compared_without_what_is_known_of_users() -> None:
    features = np.zeros((60, len(FEATURES)))
    features[30:, FEATURES.index("user_waiting")] = 9.0  # of a user with many jobs, who waits long
    features[30:, FEATURES.index("procs")] = -0.1
    times, user = np.arange(60), np.repeat([1, 2], 30)
    pool = pool_by_hand(features, user, times, np.where(user == 1, 5, 900))
    asked = features[0] + (features[30] - features[0]) * [name == "procs" for name in FEATURES]
    means = [waits_of_neighbours(pool, asked, user, 10_000).mean_s for user in (1, -1)]
    assert np.allclose(np.array(means, dtype=np.float64), [5.0, 900.0])


def test_waits_that_are_not_over_count_for_as_long_as_they_lasted() -> None:
    """Of 20 jobs 15 start after 100, 200, ... s, and 5 still wait after 1500 s."""
    waits, started = np.concatenate([np.arange(1, 16) * 100, np.full(5, 1500)]), np.arange(20) < 15
    quantiles, mean_s = distribution(waits, started, np.ones(20))
    assert quantiles.tolist() == [
        200.0,
        500.0,
        1000.0,
        1500.0,
        1500.0,
    ]  # a share of 15 in 20 after 1500, the rest unknown
    assert mean_s == 975.0, "as if the rest had waited 1500 s"


def test_quantiles_are_in_order_and_weighted() -> None:
    values, weight = np.array([3, 1, 2, 10]), np.array([1.0, 1.0, 2.0, 6.0])
    quantiles, mean_s = distribution(values, np.ones(4, dtype=bool), weight)
    assert quantiles.tolist() == [1.0, 2.0, 10.0, 10.0, 10.0] and np.isclose(mean_s, 6.8)
    rng = np.random.default_rng(5)
    for _ in range(20):
        found, mean_s = distribution(rng.integers(0, 99, 30), rng.random(30) < 0.7, rng.random(30))
        assert (np.diff(found) >= 0).all() and 0 < mean_s < 99


# replays: Waits in replays of a state: draws, and states worked by hand.


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


# source: A source as questions about waits see it: names, job numbers and moments.


@pytest.fixture(scope="module")
def source() -> WaitSource:
    rows = rows_of().with_columns(
        job_id=pl.col("job_index").cast(pl.Utf8), user_name="user" + pl.col("user_number").cast(pl.Utf8)
    )
    return WaitSource("mine", rows, history_of(rows, 16), LogClock(datetime(2026, 1, 1), "Europe/Berlin"))


def test_moments_in_every_form(source: WaitSource) -> None:
    """The log's second 0 is 01:00 in Berlin."""
    assert (
        source.moment("86400") == 86_400 == source.moment("2026-01-02 01:00") == source.moment("2026-01-02T00:00+00:00")
    )
    without = replace(source, clock=replace(source.clock, has_dates=False))
    assert without.moment("86400") == 86_400
    with pytest.raises(ValueError, match="does not say which day it began: give a second of its own clock"):
        without.moment("2026-01-02")


@pytest.mark.parametrize(
    ("text", "message"),
    [("noon", "expected local time of the cluster"), ("2019-01-01", "is outside the log of 'mine'")],
)
def test_moments_that_are_none(source: WaitSource, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        source.moment(text)


def test_of_a_log_that_grows_the_last_submission_is_now(source: WaitSource) -> None:
    last = int(source.history.submit[-1])
    end = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=last)
    for now in (end, end + timedelta(hours=40)):
        assert source.usual_moment(now, 1) == (last, "the last submission in the warehouse")
    for now in (end + timedelta(days=3), end - timedelta(hours=1)):
        assert source.usual_moment(now, 1)[1] == "a busy moment, drawn with seed 1"


def test_of_another_log_a_busy_moment_is_drawn(source: WaitSource) -> None:
    without = replace(source, clock=replace(source.clock, has_dates=False))
    submit, leaves = source.history.submit, source.history.leaves
    now = datetime.now(UTC)
    moments = [without.usual_moment(now, seed)[0] for seed in range(30)]
    assert moments == [without.usual_moment(now, seed)[0] for seed in range(30)] and len(set(moments)) > 5
    for moment in moments:
        assert ((submit < moment) & (leaves > moment)).any() and moment >= submit[len(submit) // 2]


def test_where_nobody_waits_there_is_no_busy_moment(source: WaitSource) -> None:
    rows = rows_of().with_columns(start_s=pl.col("submit_s"))
    idle = replace(source, history=history_of(rows, 16))
    assert idle.usual_moment(datetime.now(UTC), 1)[1] == "the last submission: nobody waits in this log"


def test_a_job_is_asked_about_at_its_submission(source: WaitSource) -> None:
    moment, why = source.moment_of_job("3")
    assert why == "its submission" and moment == source.history.submit[list(source.history.job_index).index(3)]
    assert source.moment_of_job("no such job")[0] == source.history.submit[-1]


def test_a_message_has_dates_or_seconds(source: WaitSource) -> None:
    """Before, a date and "(seconds 0 to ...)" stood in one line."""
    first, last = source.span
    for text, clock in (("2019-01-01", source.clock), (str(last + 1), replace(source.clock, has_dates=False))):
        with pytest.raises(ValueError, match="is outside the log") as caught:
            replace(source, clock=clock).moment(text)
        assert ("second" in str(caught.value)) == (not clock.has_dates)
    with pytest.raises(ValueError, match=f"which has seconds {first} to {last} of the log's own clock$"):
        source.moment(str(last + 1))


def test_users_and_jobs(source: WaitSource) -> None:
    assert source.user_number("user3") == 3
    with pytest.raises(ValueError, match="source 'mine' has no job of user 'nobody' that ran"):
        source.user_number("nobody")
    history = source.history
    waits = history.leaves - history.submit
    number = int(waits.argmax())
    job_id = str(history.job_index[number])
    amid = int(history.submit[number] + waits[number] // 2)
    assert source.job_number(job_id, amid) == number
    with pytest.raises(ValueError, match=f"no job '{job_id}' had been submitted by"):
        source.job_number(job_id, int(history.submit[number]) - 1)
    with pytest.raises(ValueError, match=r"does not wait at .*, because it started at .*. Give an earlier --at"):
        source.job_number(job_id, int(history.leaves[number]))
