"""Clusters whose users react: jobs that come after others have left, in the morning, or not at all, under rules that no replay sees.

An event loop of this file, which shares nothing with the engine, is the cluster: FCFS or another order with EASY, or without backfilling.
`log_of` is what its log shows.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left, insort
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from simulator.jobs.followers import NO_JOB
from simulator.jobs.jobs import NEVER, Jobs

IntArray = NDArray[np.int64]

JOBS, USERS, PROCS, LOAD = 3000, 40, 256, 0.85
WIDTHS, WIDTH_SHARES = (1, 2, 4, 8, 16, 32, 64, 128), (0.2, 0.1, 0.15, 0.2, 0.15, 0.12, 0.06, 0.02)
RUNTIME_LN_S, RUNTIME_SIGMA, LONGEST_S = np.log(2400), 1.3, 86_400
"""Median as ln of seconds, spread, and the longest run."""
THINK_LN_S, THINK_SIGMA = np.log(360), 1.5
"""Median as ln of seconds, and spread: one in five think times is longer than 20 minutes."""
PATIENCE_LN_S, PATIENCE_SIGMA = np.log(6 * 3600), 0.7
"""Of users who give up."""
DAY_S, NIGHT_FROM_S, MORNING_S = 86_400, 22 * 3600, 7 * 3600
BUSIEST_S, CYCLE_SIGMA_S = 14 * 3600, 3.5 * 3600
SLOW_MORNING_S = 2 * 3600
"""Those who wait for the morning submit at some time within so long of it."""
ORDERS = ("FCFS", "SJF", "SAF")
_END, _COMES, _GIVES_UP = range(3)  # the order of events of one second


@dataclass(frozen=True)
class Rules:
    """What decides on the cluster: its processors, one of ORDERS, and whether EASY backfills."""

    procs: int = PROCS
    order: str = "FCFS"
    easy: bool = True


@dataclass(frozen=True)
class ReactingUsers:
    """Jobs and how their users react, all int64 (jobs,). Seconds count from a midnight.

    date: when the job comes by itself. after: the job that it follows, an earlier one, NO_JOB for none. think: seconds between that one's
    leaving and the submission. morning: seconds after 7:00 at which a follow-up comes that would fall into the night, -1 where the user
    works at night. patience: seconds after which a waiting job is cancelled, NEVER for a user who does not give up."""

    date: IntArray
    runtime: IntArray
    procs: IntArray
    request: IntArray
    user: IntArray
    after: IntArray
    think: IntArray
    morning: IntArray
    patience: IntArray

    def __len__(self) -> int:
        return len(self.date)

    def comes(self, job: int, left: int) -> int:
        """When a job is submitted whose predecessor leaves at a second."""
        second = left + int(self.think[job])
        day, of_day = divmod(second, DAY_S)
        if self.morning[job] < 0 or MORNING_S <= of_day < NIGHT_FROM_S:
            return second
        return (day + (of_day >= NIGHT_FROM_S)) * DAY_S + MORNING_S + int(self.morning[job])


@dataclass(frozen=True)
class Happened:
    """What happened to the jobs, both int64 (jobs,): submissions, and starts, -1 for a job that was cancelled."""

    submit: IntArray
    start: IntArray


def reacting_users(
    seed: int, share: float, gives_up: float, jobs: int = JOBS, think_ln_s: float = THINK_LN_S
) -> ReactingUsers:
    """The users of one cluster. share: of the jobs that follow the user's previous one. gives_up: of the users who do. think_ln_s: the ln
    of their median think time in seconds. The same arguments give the same users."""
    rng = np.random.default_rng([seed, 5])
    follows = rng.random(jobs) < share
    follows[0] = False
    weight = rng.lognormal(0, 0.8, USERS)
    user = rng.choice(USERS, jobs, p=weight / weight.sum())
    own = np.maximum.accumulate(np.where(follows, 0, np.arange(jobs)))  # the job at its own date that begins the chain
    user = user[own]
    runtime = np.clip(rng.lognormal(RUNTIME_LN_S, RUNTIME_SIGMA, jobs), 60, LONGEST_S).astype(np.int64)
    procs = rng.choice(WIDTHS, jobs, p=WIDTH_SHARES)
    days = int((runtime * procs).sum() / (PROCS * LOAD) / DAY_S) + 1
    of_day = rng.normal(BUSIEST_S, CYCLE_SIGMA_S, jobs).astype(np.int64) % DAY_S
    morning = np.where(rng.random(USERS) < 0.5, 0, -1)
    patience = rng.lognormal(PATIENCE_LN_S, PATIENCE_SIGMA, USERS).astype(np.int64)
    delay = rng.integers(0, SLOW_MORNING_S, jobs)
    return ReactingUsers(
        date=rng.integers(0, days, jobs) * DAY_S + of_day,
        runtime=runtime,
        procs=procs,
        request=-(-(runtime * rng.uniform(1, 4, jobs)).astype(np.int64) // 900) * 900,
        user=user,
        after=np.where(follows, np.arange(jobs) - 1, NO_JOB),
        think=1 + rng.lognormal(think_ln_s, THINK_SIGMA, jobs).astype(np.int64),
        morning=np.where(morning[user] < 0, -1, delay),
        patience=np.where(user < round(gives_up * USERS), patience[user], NEVER),
    )


def a_minute_later(users: ReactingUsers, seed: int) -> ReactingUsers:
    """The same users, each of whose dates and think times is up to a minute longer."""
    date, think = np.random.default_rng([seed, 6]).integers(0, 61, (2, len(users)))
    return replace(users, date=users.date + date, think=users.think + think)


def run_by(users: ReactingUsers, rules: Rules) -> Happened:
    """What happens under some rules. Raises ValueError for a job that is wider than the cluster."""
    if users.procs.max() > rules.procs:
        raise ValueError(
            f"a job needs {users.procs.max()} processors, the cluster has {rules.procs}: plant narrower jobs"
        )
    return _Run(users, rules).happened()


@dataclass
class _Run:
    """One run. waiting: (score, submission, job), in order. running: (end by the request, job), in order."""

    users: ReactingUsers
    rules: Rules
    waiting: list[tuple[int, int, int]] = field(default_factory=list)
    running: list[tuple[int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        users = self.users
        self.procs, self.runtime, self.request = (each.tolist() for each in (users.procs, users.runtime, users.request))
        scores = {"FCFS": 0 * users.request, "SJF": users.request, "SAF": users.request * users.procs}
        self.score, self.free = scores[self.rules.order].tolist(), self.rules.procs
        self.submit, self.start = np.full((2, len(users)), -1).tolist()
        self.events = [(int(users.date[job]), _COMES, job) for job in np.flatnonzero(users.after == NO_JOB).tolist()]
        heapq.heapify(self.events)
        self.followers: dict[int, list[int]] = {}
        for job in np.flatnonzero(users.after != NO_JOB).tolist():
            self.followers.setdefault(int(users.after[job]), []).append(job)

    def happened(self) -> Happened:
        """Runs to the end."""
        while self.events:
            now = self.events[0][0]
            while self.events and self.events[0][0] == now:
                _, kind, job = heapq.heappop(self.events)
                if kind == _COMES:
                    self._comes(now, job)
                elif kind == _END:
                    self.free += self.procs[job]
                    del self.running[bisect_left(self.running, (self.start[job] + self.request[job], job))]
                    self._leaves(now, job)
                elif self.start[job] < 0:
                    self.waiting.remove((self.score[job], self.submit[job], job))
                    self._leaves(now, job)
            self._pass(now)
        return Happened(np.array(self.submit), np.array(self.start))

    def _comes(self, now: int, job: int) -> None:
        self.submit[job] = now
        insort(self.waiting, (self.score[job], now, job))
        if self.users.patience[job] < NEVER:
            heapq.heappush(self.events, (now + int(self.users.patience[job]), _GIVES_UP, job))

    def _leaves(self, now: int, job: int) -> None:
        for follower in self.followers.get(job, ()):
            heapq.heappush(self.events, (self.users.comes(follower, now), _COMES, follower))

    def _starts(self, now: int, job: int) -> None:
        self.start[job] = now
        self.free -= self.procs[job]
        insort(self.running, (now + self.request[job], job))
        heapq.heappush(self.events, (now + self.runtime[job], _END, job))

    def _pass(self, now: int) -> None:
        while self.waiting and self.procs[self.waiting[0][2]] <= self.free:
            self._starts(now, self.waiting.pop(0)[2])
        if not self.rules.easy or len(self.waiting) < 2 or not self.free:
            return
        shadow, extra = self._reservation(self.procs[self.waiting[0][2]])
        left = self.waiting[:1]
        for place in self.waiting[1:]:
            job = place[2]
            procs, in_time = self.procs[job], now + self.request[job] <= shadow
            if procs > self.free or not (in_time or procs <= extra):
                left.append(place)
                continue
            self._starts(now, job)
            extra -= 0 if in_time else procs
        self.waiting = left

    def _reservation(self, procs: int) -> tuple[int, int]:
        """(the second by which the head has its processors, those that are free beside it then)."""
        shadow, free = 0, self.free
        for end, job in self.running:
            if free >= procs and end > shadow:
                break
            shadow, free = end, free + self.procs[job]
        return shadow, free - procs


def log_of(users: ReactingUsers, happened: Happened) -> tuple[IntArray, Jobs]:
    """The places of the jobs in the order of the log, and the log as a replay with cancelled jobs takes it: one that was cancelled is known
    to have waited as long as it did, and counts as running for its request. It shows neither who follows whom nor anybody's patience."""
    order = np.argsort(happened.submit, kind="stable")
    submit, is_cancelled = happened.submit[order], happened.start[order] < 0
    request = users.request[order]
    return order, Jobs(
        submit,
        np.where(is_cancelled, request, users.runtime[order]),
        users.procs[order],
        request,
        request,
        user=users.user[order],
        cancel=np.where(is_cancelled, submit + users.patience[order], NEVER),
    )
