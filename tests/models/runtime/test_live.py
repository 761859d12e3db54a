"""Tests of models/runtime: live, live_states."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
import polars as pl
import pytest

from models.runtime.estimates import LIVE_STATISTICS
from models.runtime.live import LiveReplay, LiveSettings, StoppableLiveReplay, live_policy, replay_live
from simulator.engine.replay import replay
from simulator.engine.running import CORRECTIONS
from simulator.jobs.jobs import Jobs, jobs_from_log
from simulator.jobs.words import ADMIT_BY as ADMIT_BY_OF_LIVE_STATES
from simulator.jobs.words import CORRECTIONS as CORRECTIONS_OF_LIVE_STATES
from simulator.policies.registry import parse_policy
from tests.models.runtime.live_oracle import (
    BACKFILLS,
    POLICIES,
    PROCS,
    Log,
    Outcome,
    SlowReplay,
    assert_same,
    random_log,
)

# live: Replays with live estimates against a slow scheduler in plain Python, and what nobody can have known when jobs
# started.

RESERVE_BY = ("estimate", "requested")
ADMIT_BY = ("estimate", "requested")


def live(log: Log, policy: str, backfill: str, correction: str, settings: LiveSettings) -> LiveReplay:
    return replay_live(log.jobs(settings.reserve_by), log.rows(), PROCS, policy, backfill, correction, settings)


def outcome_of(found: LiveReplay, ambiguous: bool) -> Outcome:
    schedule = found.schedule
    columns = (schedule.start, schedule.backfilled, found.estimate, found.promised)
    return Outcome(*(column.tolist() for column in columns), ambiguous)


def compare(log: Log, policy: str, backfill: str, correction: str, settings: LiveSettings) -> bool:
    """Whether the two replays are the same; False is allowed only where rounding decided."""
    expected = SlowReplay(log, policy, backfill, correction, settings).run()
    found = outcome_of(live(log, policy, backfill, correction, settings), expected.ambiguous)
    if not expected.ambiguous:
        differ = [k for k, start in enumerate(expected.start) if found.start[k] != start]
        assert not differ, f"{len(differ)} jobs start at another time, the first is {differ[0]}"
        assert found == expected
    return found == expected


@pytest.mark.parametrize("reserve_by", RESERVE_BY)
@pytest.mark.parametrize("statistic", ["mean", "last_two", "median", "slowdown", "p90", "given"])
def test_every_start_against_a_slow_scheduler(statistic: str, reserve_by: str) -> None:
    rules = list(product(POLICIES, BACKFILLS, CORRECTIONS))
    same = 0
    for seed in range(len(rules)):  # each once
        factor = (1.0, 1.0, 0.51, 3.0)[seed % 4]
        settings = LiveSettings(statistic, reserve_by=reserve_by, factor=factor)
        same += compare(random_log(seed), *rules[seed % len(rules)], settings)
    assert same >= 16


def test_the_logs_are_worth_it() -> None:
    """Guards the tests above: estimates change while jobs wait, jobs outlive them, and the rules lead to other schedules."""
    log = random_log(3, jobs=80)
    settings = LiveSettings("mean")
    found = live(log, "SJF", "easy", "requested", settings)
    assert found.schedule.backfilled.sum() > 5 and (found.promised >= 0).sum() > 5
    assert (log.runtime > found.estimate).sum() > 5
    starts = {
        tuple(live(log, policy, backfill, "requested", LiveSettings(statistic, reserve_by=by)).schedule.start)
        for policy, backfill, statistic, by in product(POLICIES, BACKFILLS, ("mean", "last_two", "given"), RESERVE_BY)
    }
    assert len(starts) > 20


@pytest.mark.parametrize("admit_by", ADMIT_BY)
@pytest.mark.parametrize("statistic", ["mean", "last_two", "given"])
def test_who_may_go_before_a_blocked_head(statistic: str, admit_by: str) -> None:
    """By request while the order is by live estimates: the shipped advice is among the rules."""
    rules = list(product((*POLICIES, "bounded-key"), BACKFILLS, CORRECTIONS, RESERVE_BY))
    same = differs = 0
    for seed, (policy, backfill, correction, reserve_by) in enumerate(rules):
        log = random_log(seed + 100)
        settings = LiveSettings(statistic, reserve_by=reserve_by, admit_by=admit_by)
        same += compare(log, policy, backfill, correction, settings)
        other = replace(settings, admit_by="requested" if admit_by == "estimate" else "estimate")
        starts = [live(log, policy, backfill, correction, each).schedule.start for each in (settings, other)]
        differs += not np.array_equal(*starts)
    assert same >= len(rules) - 4 and differs > 5


# -------------------------------------------------------------------------------------------- estimates that are given


@pytest.mark.parametrize("reserve_by", RESERVE_BY)
@pytest.mark.parametrize("backfill", BACKFILLS)
@pytest.mark.parametrize("policy", POLICIES)
def test_given_estimates_replay_as_ever(policy: str, backfill: str, reserve_by: str) -> None:
    settings = LiveSettings("given", reserve_by=reserve_by)
    for seed in range(40):
        log = random_log(seed, jobs=70)
        correction = list(CORRECTIONS)[seed % 3]
        found = live(log, policy, backfill, correction, settings)
        assert_same(replay(log.jobs(reserve_by), PROCS, policy, backfill, correction=correction), found.schedule)


# ------------------------------------------------------------------------------------------------------ what jobs hold


@pytest.mark.parametrize("statistic", ["mean", "p60", "last_two", "given"])
def test_no_run_is_shortened_by_a_prediction(statistic: str) -> None:
    """Every job holds its processors for its whole run time, however short its estimate was."""
    for seed, reserve_by in product(range(10), RESERVE_BY):
        log = random_log(seed)
        settings = LiveSettings(statistic, factor=0.2, reserve_by=reserve_by)
        found = live(log, "SAF", "easy-sjbf", "doubling", settings)
        start, end = found.schedule.start, found.schedule.start + log.runtime
        assert (start >= log.submit).all()
        for moment in np.unique(start):
            assert log.procs[(start <= moment) & (moment < end)].sum() <= PROCS
        assert (found.estimate < log.runtime).sum() > 5


def by_hand(reserve_by: str) -> tuple[LiveReplay, Jobs]:
    """On 4 processors: A holds 3 for 100 s instead of the predicted 50 s (asked for: 200 s), B needs all 4, C fits beside A."""
    columns = (np.array([0, 1, 2]), np.array([100, 10, 10]), np.array([3, 4, 1]), np.array([200, 20, 20]))
    jobs = jobs_from_log(*columns, "predicted", np.array([50.0, 10.0, 10.0]), reserve_by=reserve_by)
    rows = pl.DataFrame({
        "user_name": ["a", "b", "c"], "executable": ["x"] * 3, "requested_procs": columns[2], "requested_walltime_s": columns[3],
    })  # fmt: skip
    return replay_live(jobs, rows, 4, "FCFS", "easy", settings=LiveSettings("given", reserve_by=reserve_by)), jobs


def test_fate_by_hand() -> None:
    found, jobs = by_hand("estimate")
    assert found.schedule.start.tolist() == [0, 100, 2] and found.schedule.backfilled.tolist() == [False, False, True]
    assert found.estimate.tolist() == [50, 10, 10] and found.promised.tolist() == [-1, 50, -1]
    assert found.fate(jobs) == {
        "jobs_underestimated": 1, "reservations": 1, "reservations_delayed": 1, "mean_reservation_delay_s": 50,
    }  # fmt: skip


def test_reservations_by_the_request_are_not_delayed() -> None:
    found, jobs = by_hand("requested")
    assert found.schedule.start.tolist() == [0, 100, 2] and found.promised.tolist() == [-1, 200, -1]
    fate = found.fate(jobs)
    assert (fate["reservations"], fate["reservations_delayed"], fate["mean_reservation_delay_s"]) == (1, 0, 0)
    assert fate["jobs_underestimated"] == 1


def test_news_reach_jobs_that_wait() -> None:
    """One processor. Ann submits three jobs with requests of 1000 s, Bob one of 200 s. Ann's first runs before anything is
    known. It takes 4 s: so do her others, it is thought from then on, and under SJF they go before Bob's."""
    columns = (
        np.array([0, 1, 1, 1]),
        np.array([4, 4, 4, 40]),
        np.ones(4, dtype=int),
        np.array([1000, 1000, 1000, 200]),
    )
    jobs = jobs_from_log(*columns, "requested")
    rows = pl.DataFrame({
        "user_name": ["ann", "ann", "ann", "bob"], "executable": [None] * 4, "requested_procs": [1] * 4,
        "requested_walltime_s": columns[3],
    }, schema_overrides={"executable": pl.String})  # fmt: skip
    assert replay(jobs, 1, "SJF", "easy").start.tolist() == [0, 44, 48, 4]
    found = replay_live(jobs, rows, 1, "SJF", "easy", settings=LiveSettings("mean"))
    assert found.schedule.start.tolist() == [0, 4, 8, 12]
    # 250 s before any news; then 7 classes that know 4 s each take half of what is left; then 1.8 / 2.8
    assert found.estimate.tolist()[:2] == [250, round(4 + (250 - 4) / 2**7)]
    assert found.estimate.tolist()[2] == round(4 + (250 - 4) / 2.8**7)
    # Bob's was renewed once, in the first pass it saw: it knew of no other job with such a request
    assert found.estimate[3] == 50


# -------------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize("backfill", ["conservative", "selective", "selective:threshold=3"])
def test_reservations_for_all_cannot_follow(backfill: str) -> None:
    with pytest.raises(ValueError, match="live estimates need none"):
        live(random_log(1), "FCFS", backfill, "requested", LiveSettings())


@pytest.mark.parametrize("policy", ["F1", "F2", "F3", "F4"])
def test_policies_that_order_once_cannot_follow(policy: str) -> None:
    with pytest.raises(ValueError, match="write it as formula:TEXT"):
        live(random_log(1), policy, "easy", "requested", LiveSettings())
    found = live(random_log(1), policy, "easy", "requested", LiveSettings("given"))
    assert (found.schedule.start >= 0).all()


def test_an_unknown_statistic_is_told_the_known_ones() -> None:
    with pytest.raises(ValueError, match="'mode'") as raised:
        live(random_log(1), "FCFS", "easy", "requested", LiveSettings("mode"))
    assert all(name in str(raised.value) for name in LIVE_STATISTICS)


@pytest.mark.parametrize(
    "policy", ["LCFS", "LJF", "smallest", "random:seed=3", "WFP3", "fairshare", "formula:-estimate*procs"]
)
def test_other_policies_follow(policy: str) -> None:
    log = random_log(2)
    found = live(log, policy, "easy-sjbf", "requested", LiveSettings())
    assert (found.schedule.start >= log.submit).all()
    if policy.startswith("formula"):
        assert_same(live(log, "SAF", "easy-sjbf", "requested", LiveSettings()).schedule, found.schedule)
        assert live_policy(parse_policy(policy)).fixed is None


def test_no_jobs() -> None:
    log = Log(*(column[:0] for column in random_log(1)))
    found = live(log, "FCFS", "easy", "requested", LiveSettings())
    assert len(found.schedule.start) == len(found.estimate) == 0


# ------------------------------------------------------------------------------------------------------------ no future


def other_future(log: Log, start: np.ndarray, moment: int, seed: int) -> Log:
    """Other run times of all jobs that have not ended before the moment, within their requests, and other jobs after it."""
    rng = np.random.default_rng(seed)
    jobs = len(start)
    running = np.maximum(moment - start, 1)
    least = np.where(start < moment, running, 1)
    most = np.where(log.request < 1, least + 5000, np.maximum(log.request, log.runtime))
    drawn = least + (rng.random(jobs) * (most - least + 1)).astype(np.int64)
    open_ended = (start + log.runtime >= moment) & (least <= most)
    runtime = np.where(open_ended, np.where(rng.random(jobs) < 0.3, least, drawn), log.runtime)
    late = log.submit >= moment
    procs = np.where(late, rng.integers(1, PROCS + 1, jobs), log.procs)
    return log._replace(runtime=runtime, procs=procs, user=np.where(late, rng.integers(0, 4, jobs), log.user))


def assert_no_future(log: Log, run: partial[LiveReplay], seed: int) -> int:
    """Returns how many jobs had started."""
    before = run(log)
    start = before.schedule.start
    rng = np.random.default_rng(seed)
    moment = int(rng.choice(np.concatenate([start, start + log.runtime])[len(start) // 2 :])) + int(rng.integers(0, 2))
    other = other_future(log, start, moment, seed)
    after = run(other)
    begun = start < moment
    assert ((after.schedule.start < moment) == begun).all()
    assert (after.schedule.start[begun] == start[begun]).all(), "a start depends on what came later"
    assert (after.estimate[begun] == before.estimate[begun]).all()
    assert (after.schedule.backfilled[begun] == before.schedule.backfilled[begun]).all()
    return int(begun.sum()) if (other.runtime != log.runtime).any() else 0


@pytest.mark.parametrize("reserve_by", RESERVE_BY)
@pytest.mark.parametrize("statistic", ["mean", "last_two", "p80"])
def test_no_start_depends_on_what_comes_later(statistic: str, reserve_by: str) -> None:
    rules = list(product(POLICIES, BACKFILLS, CORRECTIONS))
    told = 0
    for seed in range(36):
        policy, backfill, correction = rules[seed % len(rules)]
        settings = LiveSettings(statistic, reserve_by=reserve_by)
        run = partial(live, policy=policy, backfill=backfill, correction=correction, settings=settings)
        told += assert_no_future(random_log(seed, jobs=60, overrun=False), run, seed) > 10
    assert told > 24


@pytest.mark.parametrize("correction", CORRECTIONS)
def test_a_job_without_a_request_does_not_tell_its_run_time(correction: str) -> None:
    """Its limit would be its run time: what the scheduler falls back on when the estimate has expired."""
    told = 0
    for seed in range(40):
        run = partial(
            live, policy="SJF", backfill="easy", correction=correction, settings=LiveSettings("median", factor=0.3)
        )
        told += assert_no_future(random_log(seed, jobs=60, requests=False), run, seed) > 10
    assert told > 24


# live_states: Live replays that were cut anywhere go on as if they had not been: what was learned is part of their
# state.

RULES = list(
    product(
        ("FCFS", "SJF", "SAF", "fairshare", "bounded-key:cap_hours=0.01"),
        BACKFILLS,
        CORRECTIONS_OF_LIVE_STATES,
        ADMIT_BY_OF_LIVE_STATES,
    )
)


@pytest.mark.parametrize("statistic", ["mean", "last_two", "p80", "slowdown"])
def test_a_live_replay_goes_on_as_if_it_had_not_been_cut(statistic: str) -> None:
    cuts = 0
    for seed, (policy, backfill, correction, admit_by) in enumerate(RULES):
        log = random_log(seed, jobs=60)
        settings = LiveSettings(statistic, admit_by=admit_by, reserve_by="estimate" if seed % 3 else "requested")
        arguments = (log.jobs("requested"), log.rows(), PROCS, policy, backfill, correction, settings)
        expected = replay_live(*arguments)
        end = int((expected.schedule.start + log.runtime).max())
        first, second = StoppableLiveReplay(*arguments), StoppableLiveReplay(*arguments)
        for time in np.sort(np.random.default_rng(seed).integers(1, end, 4)).tolist():
            if first.run(until=time):
                break
            kept = first.keep()
            second.take_up(kept)
            assert second.run()
            here = np.concatenate([kept.state.queue, np.flatnonzero(log.submit >= time)])
            for column in ("start", "backfilled"):
                ours, theirs = (getattr(each.schedule, column)[here] for each in (second.outcome, expected))
                assert ours.tolist() == theirs.tolist()
            assert second.outcome.estimate[here].tolist() == expected.estimate[here].tolist()
            assert second.outcome.promised[here].tolist() == expected.promised[here].tolist()
            cuts += 1
        assert first.run()
        assert first.outcome.schedule.start.tolist() == expected.schedule.start.tolist()
    assert cuts > 150


def test_what_was_learned_is_needed() -> None:
    """A state without what was learned gives other starts: the test above could fail."""
    log = random_log(3, jobs=60)
    arguments = (log.jobs("requested"), log.rows(), PROCS, "SJF", "easy", "requested", LiveSettings("mean"))
    first, second = StoppableLiveReplay(*arguments), StoppableLiveReplay(*arguments)
    first.run(until=int(log.submit[30]))
    kept = first.keep()
    assert len(kept.ended) > 5
    second.take_up(kept._replace(ended=kept.ended[:0], heard=np.full(len(kept.heard), -1)))
    second.run()
    first.run()
    assert (second.outcome.schedule.start[30:] != first.outcome.schedule.start[30:]).any()


def test_news_before_the_cut_reach_jobs_that_wait() -> None:
    """Four processors. Ann's first job ends at 10, but no waiting job fits, so that nobody renews estimates before the cut at 30.
    Carl's job comes at 60: only then is Ann's second job (12 s now, 250 s before) shorter than Bob's, and becomes the head."""
    columns = (
        np.array([0, 0, 1, 1, 2, 60]),
        np.array([10, 100, 10, 10, 3, 5]),
        np.array([1, 2, 4, 4, 1, 1]),
        np.array([1000, 1000, 1000, 200, 10, 10]),
    )
    rows = pl.DataFrame({
        "user_name": ["ann", "bob", "ann", "bob", "dan", "carl"], "executable": ["x"] * 6, "requested_procs": columns[2],
        "requested_walltime_s": columns[3],
    })  # fmt: skip
    arguments = (jobs_from_log(*columns, "requested"), rows, 4, "SJF", "easy", "requested", LiveSettings("mean"))
    uncut, first, second = (StoppableLiveReplay(*arguments) for _ in range(3))
    assert uncut.run() and not first.run(until=30)
    second.take_up(first.keep())
    assert second.run()
    assert uncut.outcome.schedule.start.tolist() == [0, 0, 100, 110, 2, 60]
    assert uncut.outcome.promised[2] > 0
    assert second.outcome.promised[2:4].tolist() == uncut.outcome.promised[2:4].tolist()
