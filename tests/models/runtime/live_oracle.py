"""A slow EASY scheduler with live estimates in plain Python, and random logs for it: what the fast replay must agree with."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from models.runtime.live import LiveSettings
from models.runtime.past.similar import DOUBT, RECENCY
from simulator.jobs.jobs import Jobs, jobs_from_log
from simulator.jobs.schedule import CANCELLED, Schedule
from tests.models.runtime.rows import ladder, quantile, sample_of
from tests.simulator.oracle_types import Job, RunningJob

POLICIES = ("FCFS", "SJF", "SAF")
BACKFILLS = ("easy", "easy-sjbf")
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
    """EASY after docs/reference/semantics.md. A pass in which no job fits is none: then nobody's estimate is renewed and no reservation is
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
            "bounded-key": lambda job: (
                self.log.submit[job] + min(10 * self.estimate[job] * math.sqrt(self.log.procs[job]), 43_200),
                job,
            ),
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
            by_request = self.settings.admit_by == "requested" and self.requested[job] is not None
            in_time = self.now + (self.limit[job] if by_request else self.estimate[job]) <= shadow
            if self.log.procs[job] <= self.free() and (in_time or self.log.procs[job] <= extra):
                extra -= 0 if in_time else int(self.log.procs[job])
                self.begin(job)
                self.backfilled[job] = True


def assert_same(found: Schedule, expected: Schedule) -> None:
    differ = np.flatnonzero((found.start != expected.start) | (found.backfilled != expected.backfilled))
    assert not len(differ), (
        f"{len(differ)} jobs differ, the first at index {differ[0]}: starts {found.start[differ[0]]}, "
        f"expected {expected.start[differ[0]]}"
    )
