"""A grade says how well a replay gives back the waits of a log."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ks_2samp

from models.judging.fidelity import (
    FEWEST_WAITING,
    GRADES,
    WAIT_FIGURES,
    agreement_of,
    error_of,
    reacting_of,
    waited_with_room_s,
)
from simulator.engine.replay import replay
from simulator.jobs.jobs import jobs_from_log

RNG = np.random.default_rng(7)
WAITS = np.rint(RNG.lognormal(7, 2, 2000)).astype(np.int64)
RUNTIME = np.full(2000, 3600)


def test_equal_waits_have_the_best_grade() -> None:
    agreement = agreement_of(WAITS, WAITS, RUNTIME)
    assert (agreement.grade, agreement.alike, agreement.factor, agreement.wait_ratio) == ("A", 1.0, 1.0, 1.0)
    assert agreement.rank_correlation == pytest.approx(1.0) and agreement.distance == 0.0
    assert agreement.logged_bounded_slowdown == pytest.approx((WAITS / 3600 + 1).mean())


def test_by_hand() -> None:
    """Three of four waits are alike: within a minute, within a tenth, equal; the fourth is not."""
    logged, replayed = np.array([0, 10_000, 500, 100]), np.array([60, 9_100, 500, 200])
    agreement = agreement_of(logged, replayed, np.full(4, 10))
    assert agreement.alike == 0.75 and agreement.waited == 3 and agreement.grade is None  # four jobs say nothing
    error = (np.log(120 / 60) + np.log(10_060 / 9_160) + np.log(260 / 160)) / 4
    assert error_of(logged, replayed) == pytest.approx(error) and agreement.factor == pytest.approx(np.exp(error))
    assert agreement.logged_wait_s == 2650 and agreement.replayed_wait_s == 2465
    assert agreement.logged_median_wait_s == 300 and agreement.replayed_median_wait_s == 350


def test_the_distance_is_that_of_kolmogorov_and_smirnov() -> None:
    """A part of one job was a warning of a division by zero."""
    shuffled = np.rint(1.3 * RNG.permutation(WAITS)).astype(np.int64)
    assert agreement_of(WAITS, shuffled, RUNTIME).distance == pytest.approx(ks_2samp(WAITS, shuffled).statistic)
    assert agreement_of(np.array([5]), np.array([9]), np.array([60])).distance == 1.0


def test_noise_lowers_the_grade_down_to_the_worst() -> None:
    spread = RNG.standard_normal(2000)
    grades = [
        agreement_of(np.rint(WAITS * np.exp(sigma * spread)).astype(np.int64), WAITS, RUNTIME).grade
        for sigma in (0, 0.02, 0.1, 0.3, 0.45, 0.6, 1.0, 2.0, 4.0)
    ]
    assert grades == sorted(grades) and set(grades) == set(GRADES)  # type: ignore[type-var]


def test_a_shuffled_replay_has_the_worst_grade_though_its_mean_is_right() -> None:
    agreement = agreement_of(WAITS, RNG.permutation(WAITS), RUNTIME)
    assert agreement.wait_ratio == pytest.approx(1.0) and agreement.distance == 0.0 and agreement.grade == "D"


def test_where_hardly_anybody_waited_there_is_no_grade() -> None:
    few = np.zeros(2000, dtype=np.int64)
    few[: FEWEST_WAITING - 1] = 1000
    agreement = agreement_of(few, np.zeros_like(few), RUNTIME)
    assert agreement.grade is None and agreement.rank_correlation is None
    with pytest.raises(ValueError, match="no job has a known wait"):
        agreement_of(few[:0], few[:0], few[:0])
    assert agreement_of(WAITS, WAITS, RUNTIME).grades == dict.fromkeys(WAIT_FIGURES, "A")


def by_seconds(submit, start, runtime, procs, cluster_procs):  # type: ignore[no-untyped-def]
    """Counted for every second of every wait."""
    end = start + runtime
    seconds = []
    for job in range(len(submit)):
        idle = (
            cluster_procs - procs[(start <= second) & (second < end)].sum() for second in range(submit[job], start[job])
        )
        seconds.append(sum(free >= procs[job] for free in idle))
    return seconds


def test_as_counted_second_by_second() -> None:
    rng = np.random.default_rng(5)
    for case in range(20):
        count = int(rng.integers(1, 40))
        submit, runtime = np.sort(rng.integers(0, 300, count)), rng.integers(0, 60, count)
        start, procs = submit + rng.integers(0, 80, count) * rng.integers(0, 2, count), rng.integers(1, 9, count)
        expected = by_seconds(submit, start, runtime, procs, 8)
        assert waited_with_room_s(submit, start, runtime, procs, 8).tolist() == expected, case


def test_waits_with_room_by_hand() -> None:
    """Of four processors three are used from 0 to 100: a job of one has room all the time, a job of two from 100 on."""
    submit, start, runtime = np.array([0, 10, 10]), np.array([0, 150, 130]), np.array([100, 50, 50])
    assert waited_with_room_s(submit, start, runtime, np.array([3, 1, 2]), 4).tolist() == [0, 140, 30]


def test_before_the_first_start_all_processors_are_idle() -> None:
    assert waited_with_room_s(np.array([0]), np.array([70]), np.array([5]), np.array([4]), 4).tolist() == [70]
    assert waited_with_room_s(np.array([0]), np.array([70]), np.array([5]), np.array([5]), 4).tolist() == [0]


def test_nobody_waits_with_room_where_whatever_fits_starts() -> None:
    """With backfilling without reservations each job starts as soon as it fits."""
    rng = np.random.default_rng(6)
    submit, runtime, procs = np.sort(rng.integers(0, 9000, 400)), rng.integers(1, 900, 400), rng.integers(1, 17, 400)
    jobs = jobs_from_log(submit, runtime, procs, runtime)
    start = replay(jobs, 16, "FCFS", "any").start
    assert (start > submit).any()
    assert not waited_with_room_s(submit, start, runtime, procs, 16).any()


def test_users_react_by_what_is_no_chance() -> None:
    """Jobs at random moments of three weeks; then some of them 10 minutes after an own end, and some that gave up after two hours."""
    day, jobs = 86_400, 15_000
    user, submit = RNG.integers(0, 30, jobs), np.sort(RNG.integers(0, 21 * day, jobs))
    end = submit + RNG.integers(600, 9_000, jobs)
    assert reacting_of(user, submit, end) == (pytest.approx(0.0, abs=0.01), 0.0, False)
    followed = RNG.random(jobs) < 0.3
    order = np.argsort(submit := np.concatenate([submit, end[followed] + 600]), kind="stable")
    user, end = np.concatenate([user, user[followed]]), np.concatenate([end, end[followed] + 4_000])
    given_up_s = np.where(np.arange(len(user)) % 100 == 0, 7_200, np.where(np.arange(len(user)) % 50 == 1, 600, -1))
    found = reacting_of(user[order], submit[order], end[order], given_up_s)
    assert found.following == pytest.approx(0.3 / 1.3, abs=0.02) and found.gave_up == pytest.approx(0.01, abs=0.001)


def test_jobs_without_a_user_follow_nobody() -> None:
    submit = np.arange(100) * 60
    assert reacting_of(submit * 0 - 1, submit, submit + 30) == (None, 0.0, False)
    assert reacting_of(submit * 0, submit, submit * 0 - 1) == (0.0, 0.0, True)


def test_in_a_log_of_less_than_a_week_every_job_that_comes_soon_counts() -> None:
    """By a plain loop over random jobs, some without a user, some that never ran."""
    user, submit = RNG.integers(-1, 4, 300), np.sort(RNG.integers(0, 200_000, 300))
    end = np.where(RNG.random(300) < 0.1, -1, submit + RNG.integers(1, 9_000, 300))
    follows = [
        any(0 <= now - then <= 1920 for then in end[(user == who) & (end >= 0)])
        for who, now in zip(user, submit, strict=True)
        if who >= 0
    ]
    assert 0.1 < np.mean(follows) < 0.9
    assert reacting_of(user, submit, end).following == np.mean(follows)
