"""Replays with live estimates against a slow scheduler in plain Python, and what nobody can have known when jobs started. And
replays in which reservations believe the requests, by the fast engine and by the general one."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest

from models.runtime.live import STATISTICS, LiveReplay, LiveSettings, live_policy, replay_live
from models.runtime.similar import DOUBT, RECENCY
from simulator import replay as replay_module
from simulator.cluster import Cluster
from simulator.jobs import Jobs, jobs_from_log
from simulator.policies import parse_policy
from simulator.replay import replay, rules_of
from simulator.running import CORRECTIONS
from simulator.schedule import CANCELLED, Schedule
from simulator.tasks import tasks_of
from tests.models.runtime.plain import ladder, quantile, sample_of
from tests.simulator.busy import busy_jobs
from tests.simulator.oracle_types import Job, RunningJob

POLICIES = ("FCFS", "SJF", "SAF")
BACKFILLS = ("easy", "easy-sjbf")
RESERVE_BY = ("estimate", "requested")
ENDLESS = 1 << 40
PROCS = 8


class Log(NamedTuple):
    """What a log tells; request below 1: none. predicted: estimates that a replay may be given."""

    submit: np.ndarray
    runtime: np.ndarray
    procs: np.ndarray
    request: np.ndarray
    predicted: np.ndarray
    user: np.ndarray
    executable: np.ndarray

    def jobs(self, reserve_by: str, estimates: str = "predicted") -> Jobs:
        columns = (self.submit, self.runtime, self.procs, self.request)
        return jobs_from_log(*columns, estimates, self.predicted, user=self.user, reserve_by=reserve_by)

    def rows(self) -> pl.DataFrame:
        request = [None if seconds < 1 else int(seconds) for seconds in self.request]
        users = [None if user == 0 else f"u{user}" for user in self.user]
        return pl.DataFrame({
            "user_name": users, "executable": self.executable.astype(str), "requested_procs": self.procs,
            "requested_walltime_s": pl.Series(request, dtype=pl.Int64),
        })  # fmt: skip


def random_log(seed: int, jobs: int = 50, requests: bool = True, overrun: bool = True) -> Log:
    """Jobs that queue; the times are coarse, so that much happens at once. Some users' jobs are alike, some have no request."""
    rng = np.random.default_rng(seed)
    grid = int(rng.choice([1, 10]))
    user = rng.integers(0, 4, jobs)
    executable = rng.integers(0, 2, jobs)
    habit = rng.integers(1, 40, (4, 2))[user, executable]
    runtime = np.maximum(1, np.rint(habit * rng.choice([0.5, 1, 1, 1, 2, 5], jobs))).astype(np.int64) * grid
    width = rng.choice([1, 1, 2, 2, 3, 4, 8], jobs)
    load = rng.choice([0.7, 1.2, 3.0])
    span = int((runtime * width).sum() / PROCS / load) + 1
    submit = np.sort(rng.integers(0, span, jobs)) // grid * grid
    request = np.where(rng.random(jobs) < 0.5, runtime * rng.integers(1, 6, jobs), 240 * grid)
    request = request if overrun else np.maximum(request, runtime)
    request = np.where(rng.random(jobs) < 0.15, -1, request) if requests else np.full(jobs, -1)
    predicted = runtime * rng.choice([0.1, 0.5, 1.0, 1.0, 2.0, 10.0], jobs)
    return Log(submit, runtime, width, request, predicted, user, executable)


# ------------------------------------------------------------------------------------------------- a slow scheduler


class Outcome(NamedTuple):
    start: list[int]
    backfilled: list[bool]
    estimate: list[int]
    promised: list[int]
    ambiguous: bool
    """Whether an estimate lay so close to the middle between two seconds that rounding errors decide."""


class SlowReplay:
    """EASY after docs/semantics.md. A pass in which no job fits is none: then nobody's estimate is renewed and no reservation is
    made. Estimates of a waiting job are renewed in the first pass it sees, and after that when a job of its user has ended."""

    def __init__(self, log: Log, policy: str, backfill: str, correction: str, settings: LiveSettings) -> None:
        self.policy, self.backfill, self.correction, self.settings = policy, backfill, correction, settings
        self.live = settings.statistic != "given"
        self.info = log.rows().to_dicts()
        self.requested = [max(q, r) if q >= 1 else None for q, r in zip(log.request, log.runtime, strict=True)]
        given = log.jobs(settings.reserve_by)
        self.estimate: list[int] = given.estimate.tolist()
        self.limit = [
            ENDLESS if self.live and q is None else limit for q, limit in zip(self.requested, given.limit, strict=True)
        ]
        self.log = log
        self.lists: dict[Any, list[float]] = defaultdict(list)
        self.news: dict[str | None, int] = defaultdict(int)
        self.heard = [-1] * len(log.submit)
        self.ambiguous = False
        self.running: list[tuple[int, int, int]] = []  # (start, job, hold)
        self.waiting: list[int] = []
        self.start, self.promised = [CANCELLED] * len(log.submit), [-1] * len(log.submit)
        self.backfilled = [False] * len(log.submit)

    def run(self) -> Outcome:
        to_come = list(range(len(self.log.submit)))
        while to_come or self.waiting:
            times = [self.log.submit[job] for job in to_come[:1]]
            times += [start + self.log.runtime[job] for start, job, _ in self.running]
            self.now = int(min(times))
            ended = [entry for entry in self.running if entry[0] + self.log.runtime[entry[1]] == self.now]
            self.running = [entry for entry in self.running if entry not in ended]
            for _, job, _ in sorted(ended, key=lambda entry: entry[1]):
                self.learn(job)
            while to_come and self.log.submit[to_come[0]] == self.now:
                self.waiting.append(to_come.pop(0))
            if any(self.log.procs[job] <= self.free() for job in self.waiting):
                self.one_pass()
        return Outcome(self.start, self.backfilled, self.estimate, self.promised, self.ambiguous)

    def free(self) -> int:
        return PROCS - sum(int(self.log.procs[job]) for _, job, _ in self.running)

    def learn(self, job: int) -> None:
        for key in ladder(self.info[job]):
            self.lists[key].append(float(max(self.log.runtime[job], 1)))
        self.news[self.info[job]["user_name"]] += 1

    def renew(self, job: int) -> None:
        news = self.news[self.info[job]["user_name"]]
        if self.heard[job] == news:
            return
        self.heard[job] = news
        exact = self.settings.factor * self.statistic(job)
        self.ambiguous |= abs(exact % 1 - 0.5) < 1e-9
        seconds = round(exact)
        request = self.info[job]["requested_walltime_s"] or ENDLESS
        self.estimate[job] = int(min(max(seconds, 1), self.limit[job], request))

    def statistic(self, job: int) -> float:
        request = self.info[job]["requested_walltime_s"]
        if self.settings.statistic == "last_two":
            last = self.lists[ladder(self.info[job])[4]][-2:]
            return sum(last) / len(last) if last else request or 3600
        sample = sample_of(self.info[job], self.lists, RECENCY, DOUBT)
        mean = sum(value * weight for value, weight in sample)
        if self.settings.statistic == "mean":
            return mean
        if self.settings.statistic == "slowdown":
            return math.sqrt(mean / sum(weight / max(value, 10) for value, weight in sample))
        return quantile(sample, 0.5 if self.settings.statistic == "median" else int(self.settings.statistic[1:]) / 100)

    def begin(self, job: int) -> None:
        self.start[job] = self.now
        self.waiting.remove(job)
        by_request = self.settings.reserve_by == "requested" and self.requested[job] is not None
        self.running.append((self.now, job, self.limit[job] if by_request else self.estimate[job]))

    def believed_end(self, entry: tuple[int, int, int]) -> int:
        start, job, hold = entry
        return RunningJob(Job(0, 0, 0, 1, hold, int(self.limit[job])), start).estimated_end(self.now, self.correction)

    def one_pass(self) -> None:
        if self.live:
            for job in self.waiting:
                self.renew(job)
        key = {
            "FCFS": lambda job: job,
            "SJF": lambda job: (self.estimate[job], job),
            "SAF": lambda job: (self.estimate[job] * self.log.procs[job], job),
        }[self.policy]
        order = sorted(self.waiting, key=key)
        while order and self.log.procs[order[0]] <= self.free():
            self.begin(order.pop(0))
        if not order:
            return
        head, behind = order[0], order[1:]
        ends = sorted((self.believed_end(entry), int(self.log.procs[entry[1]])) for entry in self.running)
        for shadow, _ in ends:
            extra = self.free() + sum(procs for end, procs in ends if end <= shadow) - int(self.log.procs[head])
            if extra >= 0:
                break
        if self.promised[head] < 0:
            self.promised[head] = shadow
        if self.backfill == "easy-sjbf":
            behind.sort(key=lambda job: (self.estimate[job], job))
        for job in behind:
            in_time = self.now + self.estimate[job] <= shadow
            if self.log.procs[job] <= self.free() and (in_time or self.log.procs[job] <= extra):
                extra -= 0 if in_time else int(self.log.procs[job])
                self.begin(job)
                self.backfilled[job] = True


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
    for seed in range(36):
        factor = (1.0, 1.0, 0.51, 3.0)[seed % 4]
        settings = LiveSettings(statistic, reserve_by=reserve_by, factor=factor)
        same += compare(random_log(seed), *rules[seed % len(rules)], settings)
    assert same >= 32


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
    with pytest.raises(ValueError, match="live estimates need easy"):
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
    assert all(name in str(raised.value) for name in STATISTICS)


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
    for seed in range(72):
        policy, backfill, correction = rules[seed % len(rules)]
        settings = LiveSettings(statistic, reserve_by=reserve_by)
        run = partial(live, policy=policy, backfill=backfill, correction=correction, settings=settings)
        told += assert_no_future(random_log(seed, jobs=60, overrun=False), run, seed) > 10
    assert told > 48


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


# -------------------------------------------------------------------------- two engines, holds other than the estimates


def general(jobs: Jobs, cluster_procs: int, policy: str, backfill: str, correction: str) -> Schedule:
    """The replay by the general engine, whatever engine `replay` would choose."""
    tasks = tasks_of(jobs, Cluster(cluster_procs))
    rules = rules_of(backfill, correction, cluster_procs)
    return Schedule(*replay_module._run_general(jobs, tasks, rules, parse_policy(policy)))


@pytest.mark.parametrize("correction", CORRECTIONS)
@pytest.mark.parametrize("backfill", ["none", *BACKFILLS])
@pytest.mark.parametrize("policy", ["FCFS", "SJF", "SAF", "LCFS", "random:seed=2"])
def test_both_engines_believe_the_requests_alike(policy: str, backfill: str, correction: str) -> None:
    different = 0
    for seed in range(20):
        jobs = random_log(seed, jobs=70).jobs("requested")
        found = replay(jobs, PROCS, policy, backfill, correction=correction)
        assert_same(found, general(jobs, PROCS, policy, backfill, correction))
        plain = replay(replace(jobs, hold=jobs.estimate), PROCS, policy, backfill, correction=correction)
        different += not np.array_equal(plain.start, found.start)
    assert different > 5 or backfill == "none"


@pytest.mark.parametrize("backfill", BACKFILLS)
@pytest.mark.parametrize("policy", POLICIES)
def test_both_engines_believe_any_hold_alike(policy: str, backfill: str) -> None:
    """Also below the estimate, with queues deep enough for the tree, run times of zero and cancelled jobs."""
    for seed, correction in enumerate(CORRECTIONS):
        jobs = busy_jobs(500, load=(0.9, 1.5, 6.0)[seed], seed=seed, cancelled_share=0.1 * seed)
        rng = np.random.default_rng(seed)
        runtime = np.where(rng.random(500) < 0.1, 0, jobs.runtime)
        hold = np.where(rng.random(500) < 0.3, jobs.estimate, rng.integers(1, jobs.limit + 1))
        jobs = replace(jobs, runtime=runtime, hold=hold)
        assert_same(
            replay(jobs, 32, policy, backfill, correction=correction), general(jobs, 32, policy, backfill, correction)
        )


def test_rules_with_a_plan_refuse_other_holds() -> None:
    jobs = random_log(1).jobs("requested")
    for backfill in ("conservative", "selective"):
        with pytest.raises(ValueError, match="reserve_by='estimate'"):
            replay(jobs, PROCS, "FCFS", backfill)


def assert_same(found: Schedule, expected: Schedule) -> None:
    differ = np.flatnonzero((found.start != expected.start) | (found.backfilled != expected.backfilled))
    assert not len(differ), (
        f"{len(differ)} jobs differ, the first at index {differ[0]}: starts {found.start[differ[0]]}, "
        f"expected {expected.start[differ[0]]}"
    )
