"""Tests of models/waits: answers, clock, history, neighbours, walltime_advice."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import numpy as np
import polars as pl
import pytest

from models.waits.answers import (
    Correction,
    PastQueue,
    QueueReplays,
    correction_by,
    correction_of,
    new_job_wait,
    queued_job_wait,
    start_interval,
)
from models.waits.clock import DAY_S, LogClock, period_span, second_in_log, span_before
from models.waits.history import NEVER_STARTED, History, State, history_of, state_at
from models.waits.neighbours import (
    FEATURES,
    LARGEST_MOVE,
    LEAST_NEIGHBOURS,
    POINTS,
    IntervalEnds,
    Pool,
    features_of,
    pool_numbers,
    pool_of,
    waits_of_neighbours,
)
from models.waits.replays import ROW
from models.waits.scoring import BOUNDED, ClassBound, binomial_bounds, upper_ranks
from models.waits.walltime_advice import MARGIN, EndedJobs, advise, bound, try_on_history
from tests.models.waits.states import job_set, rows_of, start_times

# answers: The predicted wait of one job: new ones, and ones that wait already.

REPLAYS = QueueReplays(samples=20, seed=1)


@pytest.fixture(scope="module")
def history() -> History:
    return history_of(rows_of(), 16)


def busy_moment(history: History) -> int:
    """A moment late in the log at which at least five jobs wait."""
    moments = history.submit[150:].tolist()
    return next(moment for moment in moments if len(state_at(history, moment).waiting) >= 5)


def test_a_new_job_is_corrected_by_past_jobs(history: History) -> None:
    moment = busy_moment(history)
    answer = new_job_wait(history, moment, 4, 7200, 2, REPLAYS)
    assert answer.told_by == "calibrated" and answer.neighbours >= LEAST_NEIGHBOURS and answer.waited_s == 0
    assert (np.diff(answer.quantiles) >= 0).all() and (np.diff(answer.replayed) >= 0).all()
    assert answer.state.waiting.number[-1] == -1  # the new job is the last that waits
    assert answer.mean_s > 0 and answer.mean_s != answer.similar_mean_s
    again = new_job_wait(history, moment, 4, 7200, 2, REPLAYS)
    assert (again.quantiles == answer.quantiles).all() and (again.replayed == answer.replayed).all()


def test_the_mean_is_of_the_distribution_that_the_quantiles_are_of(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A third of it was of the replays, so that it fell below the interval where these know no reason to wait."""
    moment = busy_moment(history)
    state = state_at(history, moment).with_job(4, 7200, 2)
    pool = pool_of(history, pool_numbers(history, moment), 1)
    monkeypatch.setattr("models.waits.answers.pool_of", lambda *_: pool)
    monkeypatch.setattr("models.waits.replays._row_starts", lambda state, *_: np.zeros((20, len(state.waiting))))
    nearest = waits_of_neighbours(pool, features_of(history, state, -1, np.zeros(20)), 2, moment)
    answer = new_job_wait(history, moment, 4, 7200, 2, REPLAYS)
    assert nearest.mean_s is not None and answer.mean_s == max(nearest.mean_s, answer.quantiles[0])


def test_early_in_a_log_the_replays_speak(history: History) -> None:
    answer = new_job_wait(history, int(history.submit[2]), 4, 7200, -1, REPLAYS)
    assert answer.told_by == "replay" and (answer.quantiles == answer.replayed).all()


def test_a_job_that_never_fits(history: History) -> None:
    with pytest.raises(ValueError, match="17 processors can never start on a cluster of 16: ask for fewer"):
        new_job_wait(history, int(history.submit[100]), 17, 7200, -1, REPLAYS)


def test_a_job_that_waits_has_waited(history: History) -> None:
    moment = busy_moment(history)
    number = int(state_at(history, moment).waiting.number[0])
    answer = queued_job_wait(history, moment, number, REPLAYS)
    assert answer.waited_s == moment - history.submit[number]
    assert answer.mean_s > answer.waited_s
    assert (answer.replayed >= answer.waited_s).all() and (answer.quantiles >= answer.waited_s).all()


# binomial_bounds: The binomial bound on a quantile of recent waits.


def test_ranks_are_those_of_the_paper() -> None:
    """59 waits are the fewest for the 0.95 quantile with 95 % confidence (Brevik, Nurmi and Wolski 2006), and 29 for the 0.9."""
    for level, fewest in ((0.95, 59), (0.9, 29)):
        ranks = upper_ranks(level, 100)
        assert ranks[fewest] == fewest and ranks[fewest - 1] == fewest


@pytest.mark.parametrize(("bounded", "beyond"), zip(BOUNDED, (0.1, 0.5, 0.1), strict=True))
def test_independent_waits_are_bounded_with_the_confidence(bounded: tuple[float, bool], beyond: float) -> None:
    level, is_upper = bounded
    ranks, rng = upper_ranks(level if is_upper else 1 - level, 200), np.random.default_rng(1)
    held = []
    for _ in range(400):
        one = ClassBound(ranks, 1 if is_upper else -1)
        for wait in rng.integers(0, 1_000_000, 100).tolist():
            one.add(wait, float("nan"))
        told = one.bound() / 1_000_000
        held.append((1 - told if is_upper else told) <= beyond)
    assert 0.93 <= np.mean(held) <= 0.99


def test_three_misses_in_a_row_forget_older_waits() -> None:
    one = ClassBound(upper_ranks(0.9, 300), 1)
    for _ in range(100):
        one.add(10, float("nan"))
    for _ in range(2):
        one.add(1000, one.bound())
    assert one.bound() == 10
    one.add(1000, one.bound())
    assert one.bound() == 1000, "of the 29 that are left"


def test_bounds_use_only_what_had_started() -> None:
    rows = rows_of(600)
    told = binomial_bounds(history_of(rows, 16))
    assert np.isnan(told[0]).all() and (~np.isnan(told[-100:])).any()
    moment = int(rows["submit_s"][400])
    later = rows.with_columns(
        start_s=pl.when(pl.col("start_s") > moment).then(pl.col("start_s") + 9999).otherwise("start_s")
    )
    kept = history_of(rows, 16).submit <= moment
    assert np.array_equal(told[kept], binomial_bounds(history_of(later, 16))[kept], equal_nan=True)
    known = told[~np.isnan(told).any(axis=1)]
    assert len(known) and (known[:, 0] <= known[:, 2]).all()


# clock: Times of a log are dates or seconds, by what the log tells.

DATES = LogClock(datetime(2026, 1, 1), "Europe/Berlin")
SECONDS = LogClock(datetime(1970, 1, 1), "Europe/Berlin", has_dates=False)
NOON = 11 * 3600


def test_dates() -> None:
    assert DATES.text(NOON + 20.4) == "Thu 2026-01-01 12:00" and DATES.day(NOON) == "2026-01-01"
    assert DATES.full(NOON) == "Thu 2026-01-01 12:00 (Europe/Berlin)"
    assert DATES.span(0, NOON) == "Thu 2026-01-01 01:00 to Thu 2026-01-01 12:00 (Europe/Berlin)"
    assert DATES.span(0, NOON, in_seconds=True) == "seconds 0 to 39600 of the log's own clock"
    assert DATES.second_of(datetime(2026, 1, 1, 12)) == NOON
    assert DATES.second_of(datetime.fromisoformat("2026-01-01T12:00:00+00:00")) == NOON + 3600
    assert (DATES.zone, DATES.name) == ("Europe/Berlin", "Europe/Berlin")


def test_seconds_of_a_log_without_dates() -> None:
    assert SECONDS.text(1672445845.2) == SECONDS.day(1672445845) == "second 1672445845"
    assert SECONDS.full(90) == "second 90 of the log's own clock"
    assert SECONDS.span(0, 90) == "seconds 0 to 90 of the log's own clock"
    assert SECONDS.second_of(datetime(2026, 1, 1)) is None
    assert (SECONDS.zone, SECONDS.name) == (None, "the log's own clock")


# history: Who ran and who waited at a moment of a log.


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


# interval_ends: The ends of an interval learn from what they missed, once that is known.

TOLD = np.array([10.0, 50.0, 100.0, 500.0, 1000.0])


def random_pool(jobs: int = 3000, seed: int = 1) -> Pool:
    """Jobs whose circumstances say nothing. Their waits grow from job to job, so that past ones are too short."""
    rng = np.random.default_rng(seed)
    wait = np.exp(np.linspace(4, 10, jobs) + rng.normal(0, 1, jobs)).astype(np.int64)
    zeros = np.zeros(jobs)
    return Pool(
        rng.normal(0, 1, (jobs, len(FEATURES))), np.zeros((jobs, len(POINTS))), zeros, zeros.astype(np.int64),
        np.arange(jobs) * 3600, wait, np.ones(jobs, dtype=bool),
    )  # fmt: skip


def test_ends_hold_as_often_as_they_should_although_waits_grow() -> None:
    pool = random_pool()
    ends, plain, moved = IntervalEnds(pool), [], []
    from models.waits.neighbours import waits_of_neighbours

    for job in range(1000, len(pool)):
        submit, wait = int(pool.submit[job]), int(pool.wait[job])
        told = waits_of_neighbours(pool, pool.features[job], 0, submit).quantiles
        assert told is not None
        for kept, each in ((plain, told), (moved, ends.moved(told, submit))):
            kept.append((wait < each[0], wait > each[-1]))
    assert np.mean(plain, axis=0)[1] > 0.15
    assert np.allclose(np.mean(moved, axis=0), 0.1, atol=0.015)


def test_what_is_not_known_yet_moves_nothing() -> None:
    """Two pools that differ in waits only which are not over at the moment asked for."""
    pool, moment = random_pool(400), 300 * 3600
    later = replace(pool, wait=np.where(pool.submit + pool.wait > moment, pool.wait + 99_999, pool.wait))
    assert (later.wait != pool.wait).sum() > 100
    moved = IntervalEnds(pool).moved(TOLD, moment)
    assert (moved == IntervalEnds(later).moved(TOLD, moment)).all() and (moved != TOLD).any()
    shorter = replace(pool, wait=np.where(pool.submit < moment // 2, 0, pool.wait))
    assert (moved != IntervalEnds(shorter).moved(TOLD, moment)).any(), "the comparison above would see a difference"


def test_the_median_and_the_order_stay() -> None:
    pool = random_pool()
    moved = IntervalEnds(replace(pool, wait=np.full(len(pool), 7))).moved(TOLD, int(pool.submit[-1]))
    assert (np.diff(moved) >= 0).all() and moved[2] == TOLD[2]
    assert moved[-1] <= np.expm1(np.log1p(TOLD[-1]) + LARGEST_MOVE)
    zeros = np.zeros(len(POINTS))
    assert IntervalEnds(pool).moved(zeros, int(pool.submit[-1]))[:3].tolist() == [0.0, 0.0, 0.0]


# periods: Periods as people write them.

CLOCK = LogClock(datetime(2026, 1, 1), "UTC")
BERLIN = LogClock(datetime(2025, 12, 31, 23), "Europe/Berlin")
UNDATED = LogClock(datetime(1970, 1, 1), "UTC", has_dates=False)


def test_days_and_months() -> None:
    assert period_span("2026-01-03..2026-01-05", CLOCK, 0, 9) == (2 * DAY_S, 4 * DAY_S, "")
    assert period_span(" 2026-02 ", CLOCK, 0, 9) == (31 * DAY_S, 59 * DAY_S, "the month 2026-02")
    assert period_span("last-2-days", CLOCK, 0, 5 * DAY_S)[:2] == (3 * DAY_S + 1, 5 * DAY_S + 1)
    assert period_span("2026-01-02T12:00..2026-01-02T13:00", CLOCK, 0, 9)[:2] == (DAY_S * 3 // 2, DAY_S * 3 // 2 + 3600)


def test_a_month_has_the_month_before_also_where_clocks_change() -> None:
    begin, end, _ = period_span("2026-04", BERLIN, 0, 9)
    march = span_before(begin, end, BERLIN)
    assert march == period_span("2026-03", BERLIN, 0, 9)[:2] and march[1] - march[0] == 31 * DAY_S - 3600


def test_other_spans_have_one_as_long_before() -> None:
    assert span_before(10, 15, CLOCK) == (5, 10)
    assert span_before(0, 31 * DAY_S, UNDATED) == (-31 * DAY_S, 0)


def test_without_dates_seconds_say_it() -> None:
    assert period_span("100..200", UNDATED, 0, 999) == (100, 200, "")
    assert second_in_log("--from", "-5", UNDATED) == -5
    with pytest.raises(ValueError, match=r"does not say which day it is: give the last days, .* or seconds") as fault:
        period_span("2026-01", UNDATED, 0, 9)
    assert "--" not in str(fault.value), "`periods` has no such options"
    with pytest.raises(ValueError, match="--to 2026-01-01: the log does not say which day it is"):
        second_in_log("--to", "2026-01-01", UNDATED)


# queue_starts: Starts of all waiting jobs, and their correction by queues of the past.


def test_starts_of_a_queue_by_hand() -> None:
    state = State(100, 4, job_set((0, 4, 300, 300.0)), job_set((50, 4, 200, 200.0), (60, 2, 50, 50.0)))
    starts = ROW(state, 20, 1)
    assert np.abs(starts.mean(axis=0) - [200, 400]).max() < 5
    assert start_times(state, 1, 20, 1, "SJF").mean() < 210


def test_quantiles_reach_further_by_the_correction() -> None:
    starts = np.linspace(0, 1000, 101)[:, None] * np.array([1.0, 2.0])
    plain = start_interval(starts, None)
    assert np.allclose(plain, [[100, 500, 900], [200, 1000, 1800]])
    wide = start_interval(starts, Correction(-np.log(2), np.log(3), 60.0, 10, 10))
    assert np.allclose(wide[0], [20, 500, 3 * 960 - 60])
    narrow = start_interval(starts, Correction(9.0, -9.0, 60.0, 10, 10))
    assert np.allclose(narrow[0], 500)


@pytest.mark.parametrize(("low", "high"), [(3.0, -3.0), (-2.0, 2.0), (1.0, 1.0), (-1.0, -1.0), (9.0, -9.0)])
def test_all_levels_stay_in_order(low: float, high: float) -> None:
    """The quarter fell below the low end where that moved far: a check of the asset failed under adopted limits."""
    starts = np.random.default_rng(1).lognormal(5, 1, (40, 30))
    quantiles = start_interval(starts, Correction(low, high, 60.0, 10, 10), POINTS)
    assert (np.diff(quantiles, axis=1) >= 0).all()
    ends = start_interval(starts, Correction(low, high, 60.0, 10, 10))
    assert np.array_equal(quantiles[:, [0, 2, 4]], ends)


def test_the_correction_makes_intervals_hold_on_later_queues() -> None:
    history = history_of(rows_of(900), 16)
    moment = int(history.submit[600])
    correction = correction_of(history, moment, 1)
    assert correction is not None and correction.queues >= 10
    held = []
    for number in range(620, 880, 8):
        state = state_at(history, int(history.submit[number]))
        if not len(state.waiting):
            continue
        low, _, high = start_interval(ROW(state, 40, 2), correction).T
        true = history.start[state.waiting.number] - state.now
        held.append(((low <= true) & (true <= high))[true < 1 << 50].mean())
    assert 0.6 < np.nanmean(held) <= 1.0


def test_nothing_of_the_future_is_used() -> None:
    history = history_of(rows_of(900), 16)
    moment = int(history.submit[600])
    later = (history.start > moment) & (history.start < NEVER_STARTED)
    moved = {name: getattr(history, name) + 5000 * later for name in ("start", "leaves", "end")}
    assert correction_of(replace(history, **moved), moment, 1) == correction_of(history, moment, 1)
    earlier = (history.start <= moment) & (history.submit > moment - 5 * 86_400)
    moved = {name: getattr(history, name) + 5000 * earlier for name in ("start", "leaves", "end")}
    assert correction_of(replace(history, **moved), moment, 1) != correction_of(history, moment, 1)


def test_jobs_that_still_wait_count_as_later_not_as_started() -> None:
    """Half of the queue has started when the replays said. The other half still waits, four times as long as they said: it counted as if it
    had started then."""
    submit = np.arange(20) * 1000
    said = np.full((10, 3), 600.0)
    numbers = np.arange(10)
    history = history_of(rows_of(900), 16)
    start = np.where(numbers % 2, 600, 10_000)
    start = np.concatenate([start, start])
    history = replace(history, submit=submit, start=start, leaves=start)
    queues = [PastQueue(0, numbers, said) for _ in range(10)]
    known, later = (correction_by(history, moment, queues) for moment in (2400, 20_000))
    assert known is not None and later is not None
    assert known.low == later.low == 0.0
    assert (known.scale_s, later.scale_s) == (1500.0, 5300.0), "the median of what is known of their waits"
    assert known.high == pytest.approx(np.log(3900 / 2100)) and later.high == pytest.approx(np.log(15_300 / 5900))


def test_a_job_that_is_to_wait_is_not_said_to_wait_for_weeks() -> None:
    """Replays said at once of jobs that waited for ten hours. Of a job that they let wait for two hours the interval was 50 days long."""
    history, numbers = history_of(rows_of(900), 16), np.arange(10)
    history = replace(
        history, submit=np.zeros(20, dtype=np.int64), start=np.full(20, 36_000), leaves=np.full(20, 36_000)
    )
    correction = correction_by(history, 40_000, [PastQueue(0, numbers, np.zeros((10, 3))) for _ in range(10)])
    assert correction is not None and correction.scale_s == 36_000
    assert start_interval(np.full((20, 1), 7200.0), correction)[0, 2] == pytest.approx(2 * 43_200 - 36_000)


def test_too_few_queues_give_no_correction() -> None:
    history = history_of(rows_of(900), 16)
    assert correction_of(history, int(history.submit[3]), 1) is None


# walltime_advice: Advice on the wall time to request: the rank of the bound, whom it looks at, and what it would
# have killed.


def jobs_of(runtime: np.ndarray, gap: int = 100_000, executable: int = -1, procs: int = 1) -> EndedJobs:
    """EndedJobs of user 0, one after the other, each of which requests a day."""
    submit = np.arange(len(runtime)) * gap
    same = np.zeros(len(runtime), dtype=np.int64)
    return EndedJobs(submit, submit + runtime, runtime, same + procs, same + 86_400, same, same + executable)


def test_rank_of_the_bound_in_whole_minutes() -> None:
    runtimes = np.arange(1, 40) * 60
    assert bound(runtimes, 0.05) == 38 * 60  # of 39, the ceil(40 * 0.95)-th
    assert bound(runtimes - 1, 0.05) == 38 * 60
    assert bound(runtimes[:19], 0.05) == 19 * 60
    assert bound(runtimes[:18], 0.05) is None


@pytest.mark.parametrize("risk", [0.05, 0.2])
def test_exchangeable_jobs_are_killed_as_often_as_asked(risk: float) -> None:
    runtime = np.ceil(np.random.default_rng(1).lognormal(8, 1, 2500)).clip(max=90_000).astype(np.int64)
    for adapt in (False, True):
        found = try_on_history(jobs_of(runtime), 0, 10**12, risk, False, False, adapt)
        assert found is not None and abs(found.killed - MARGIN * risk) < 0.015
        assert found.requested_share is not None and found.requested_share < 1


def test_advice_looks_at_the_most_alike_jobs_that_ended() -> None:
    short, long = np.full(40, 600), np.full(40, 7200)
    parts = [jobs_of(short, executable=1, procs=4), jobs_of(long, executable=2, procs=4)]
    names = EndedJobs.__dataclass_fields__
    jobs = EndedJobs(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))
    found = advise(jobs, 0, 4, 1, 10**9, 0.05)
    assert found is not None and (found.walltime_s, found.group, found.jobs) == (
        600, "user, executable and processors", 40
    )  # fmt: skip
    found = advise(jobs, 0, 8, 2, 10**9, 0.05)
    assert found is not None and (found.walltime_s, found.group) == (7200, "user and executable")
    found = advise(jobs, 0, 8, None, 10**9, 0.05)
    assert found is not None and (found.walltime_s, found.group, found.jobs) == (7200, "user", 80)
    assert advise(jobs, 0, None, None, 700_000, 0.05) is None  # 7 of either had ended
    assert advise(jobs, 1, None, None, 10**9, 0.05) is None


def test_jobs_that_grow_are_killed_no_more_often_than_asked() -> None:
    """Every job runs longer than all before it, so that only their request saves them."""
    runtime = np.full(600, 600) + np.arange(600) * 60
    found = try_on_history(jobs_of(runtime), 0, 10**9, 0.05, False, False)
    assert found is not None and 0.02 < found.killed <= 0.05 and found.aimed_risk < 0.05
    uncorrected = try_on_history(jobs_of(runtime), 0, 10**9, 0.05, False, False, adapt=False)
    assert uncorrected is not None and uncorrected.killed > 0.9


def test_jobs_at_their_limit_are_told() -> None:
    jobs = jobs_of(np.concatenate([np.full(30, 600), np.full(10, 86_390)]))
    found = advise(jobs, 0, None, None, 10**9, 0.05)
    assert found is not None and found.at_limit == 10 and found.walltime_s == 86_400
