"""A slow cluster in slots of time, written from docs/reference/rlschert.md and from nothing else.

It is what the fast simulator is compared with, so it trades all speed for plainness: the plan is a list of numbers that
is walked unit by unit, and every rule is the sentence of the page that its comment names. Below the cluster stand the
heuristics that the paper compares with; the page leaves them open.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

LONGEST = 100  # units that a job may run; remaining[j] has as many entries


@dataclass
class Job:
    """What is given of a job (times in units), and what has become of it."""

    arrive: int
    length: int
    procs: int
    first: int
    remaining: list[int]
    ran: int = 0  # units since it started last
    restart: int = 0  # units of each run in which it only starts again
    kills: int = 0
    killed_by_rule: bool = False

    @property
    def worked(self) -> int:
        """Units of its work that this run has done."""
        return max(self.ran - self.restart, 0)


class OracleCluster:
    """One sequence of jobs on one cluster; jobs go by their number, times are counted from 0.

    now: the time. rewards: the reward of each unit that has ended. visible: the job in each slot, None where it is
    empty. backlog, ready (as selected), running (as started): jobs. estimate: of each job's whole run time. free: free
    processors 0, 1, ... units from now. planned_start: in how many units (1 or more) a ready job is to start; a ready
    job without a place in the plan is not there. start: when a job started last; a killed job has no start until it
    runs again. finish: when a job was done.
    """

    def __init__(
        self,
        arrive: list[int],
        length: list[int],
        procs: list[int],
        first: list[int],
        remaining: list[list[int]],
        *,
        cluster_procs: int = 16,
        slots: int = 5,
        killable: int = 8,
        horizon: int = 120,
        with_remaining: bool = True,
        kill_by_rule: bool = False,
        reward: str = "slowdown",
        true_lengths: bool = False,
        stop_within: int = 0,
        stop_ratio: float = 3,
        preemption_cost: int = 0,
        printed_reward: bool = False,
    ) -> None:
        self.jobs = [Job(*job) for job in zip(arrive, length, procs, first, remaining, strict=True)]
        _check(self.jobs, cluster_procs, reward)
        self.cluster_procs = cluster_procs
        self.killable = killable
        self.horizon = horizon
        self.with_remaining = with_remaining
        self.kill_by_rule = kill_by_rule
        self.reward = reward
        self.true_lengths = true_lengths
        self.stop_within = stop_within
        self.stop_ratio = Fraction(stop_ratio)
        self.preemption_cost = preemption_cost
        self.printed_reward = printed_reward

        self.now = 0
        self.rewards: list[float] = []
        self.visible: list[int | None] = [None] * slots
        self.backlog: list[int] = []
        self.ready: list[int] = []
        self.running: list[int] = []
        self.estimate = [job.first for job in self.jobs]
        self.free = [cluster_procs] * horizon
        self.planned_start: dict[int, int] = {}
        self.start: dict[int, int] = {}
        self.finish: dict[int, int] = {}
        self._idle: dict[int, int] = {}  # free processors in each unit that has ended, by the time it began
        self._let_arrive()  # "the job that arrives at 0, if any, has arrived"

    # What can be seen

    @property
    def over(self) -> bool:
        """Whether all jobs are done."""
        return len(self.finish) == len(self.jobs)

    @property
    def killable_jobs(self) -> list[int]:
        """The running jobs that started last, latest first."""
        return list(reversed(self.running))[: self.killable]

    def slowdown(self) -> float:
        """Mean of (finish - arrive) / length."""
        self._must_be_over()
        return sum((self.finish[j] - job.arrive) / job.length for j, job in enumerate(self.jobs)) / len(self.jobs)

    def completion(self) -> float:
        """Mean of finish - arrive."""
        self._must_be_over()
        return sum(self.finish[j] - job.arrive for j, job in enumerate(self.jobs)) / len(self.jobs)

    def holes(self) -> int:
        """Free processors, summed over the units that began at the first arrival or later and before the last finish."""
        self._must_be_over()
        begin, end = min(job.arrive for job in self.jobs), max(self.finish.values())
        return sum(self._idle[time] for time in range(begin, end))

    # Actions

    def select(self, w: int) -> None:
        """Select slot `w`; of an empty slot, none."""
        j = self.visible[w]
        if j is None:
            self.wait()
            return
        self.visible[w] = self.backlog.pop(0) if self.backlog else None
        self.ready.append(j)
        self._plan_job(j)  # "the plan is made for it alone, behind everything that is in the plan"

    def select_from_backlog(self, j: int) -> None:
        """Select job `j` of the backlog; the others keep their order."""
        self.backlog.remove(j)
        self.ready.append(j)
        self._plan_job(j)

    def kill(self, k: int) -> None:
        """Kill the `k`-th of the killable jobs; where there is none, none."""
        if k >= len(self.killable_jobs):
            self.wait()
            return
        self._kill_job(self.killable_jobs[k])
        self._plan_again()

    def wait(self) -> None:
        """None: time goes on by 1."""
        if self.over:
            raise RuntimeError("the sequence is over")
        self.rewards.append(self._reward())  # (1), before anything changes
        self._idle[self.now] = self.cluster_procs - sum(self.jobs[j].procs for j in self.running)
        self.now += 1
        for j in list(self.running):  # (2)
            self.jobs[j].ran += 1
            if self.jobs[j].ran == self.jobs[j].restart + self.jobs[j].length:
                self.running.remove(j)
                self.finish[j] = self.now
        for j in self.running:  # (3)
            job = self.jobs[j]
            if not self.with_remaining:
                self.estimate[j] = max(self.estimate[j], job.ran + 1)
            elif job.worked > 0:  # "while a job starts again, its estimate stays what it was"
                self.estimate[j] = job.restart + job.worked + job.remaining[job.worked]
        if self.kill_by_rule:  # (4)
            for j in list(self.running):
                if self._rule_kills(self.jobs[j]):
                    self.jobs[j].killed_by_rule = True
                    self._kill_job(j)
        self._let_arrive()  # (5)
        self._stop_for_shorter()  # (6)
        self._plan_again()  # (7)

    # Parts of these

    def _must_be_over(self) -> None:
        if not self.over:
            raise RuntimeError("measures are of a whole sequence")

    def _reward(self) -> float:
        here = [j for j, job in enumerate(self.jobs) if job.arrive <= self.now and j not in self.finish]
        if self.reward == "completion":
            return -len(here)
        if self.printed_reward:
            return sum(-1 / self._predicted(j) for j in here)
        return sum(-1 / (self.jobs[j].length if self.true_lengths else self.estimate[j]) for j in here)

    def _predicted(self, j: int) -> int:
        """Equation 9: the remaining time of a running job, where it is predicted, else the prediction before the run."""
        if j in self.running and self.with_remaining:
            return max(self.estimate[j] - (self.now - self.start[j]), 1)
        return self.jobs[j].first

    def _let_arrive(self) -> None:
        for j, job in enumerate(self.jobs):
            if job.arrive == self.now:
                self._put_in_slot_or_backlog(j)

    def _put_in_slot_or_backlog(self, j: int) -> None:
        """The lowest empty slot if there is one, else the end of the backlog."""
        if None in self.visible:
            self.visible[self.visible.index(None)] = j
        else:
            self.backlog.append(j)

    def _rule_kills(self, job: Job) -> bool:
        left = job.remaining[job.worked]
        looks_short = job.worked < job.first and job.first < 10
        is_long = left > 10 and Fraction(left - job.first, job.first) > 1
        return looks_short and is_long and not job.killed_by_rule

    def _stop_for_shorter(self) -> None:
        """The stopping rule."""
        for j in list(self.running):
            job = self.jobs[j]
            if 1 <= job.ran <= self.stop_within and job.kills < 3 and any(map(self._gains_by(j), self._waiting())):
                self._kill_job(j)

    def _waiting(self) -> list[int]:
        return [j for j in self.visible if j is not None] + self.backlog + self.ready

    def _gains_by(self, j: int) -> Callable[[int], bool]:
        """Whether a waiting job is short enough, does not fit now, and would if `j` were stopped."""
        free = self.cluster_procs - sum(self.jobs[i].procs for i in self.running)

        def gains(i: int) -> bool:
            short = self.estimate[i] * self.stop_ratio <= self.estimate[j]
            return short and free < self.jobs[i].procs <= free + self.jobs[j].procs

        return gains

    def _kill_job(self, j: int) -> None:
        """It has run in vain, but what was seen of it is kept, with remaining prediction or without."""
        self.running.remove(j)
        job = self.jobs[j]
        self.estimate[j] = self.preemption_cost + job.worked + job.remaining[job.worked]
        job.ran = 0
        job.restart = self.preemption_cost
        job.kills += 1
        del self.start[j]
        self._put_in_slot_or_backlog(j)

    def _plan_again(self) -> None:
        self.free = [self.cluster_procs] * self.horizon
        self.planned_start = {}
        for j in self.running:
            self._take(j, 0, min(max(self.estimate[j] - self.jobs[j].ran, 1), self.horizon))
        for j in list(self.ready):
            self._plan_job(j)

    def _plan_job(self, j: int) -> None:
        """Place a ready job in the plan as it is now; it runs when its place is here and now."""
        t0 = earliest(self.free, self.jobs[j].procs, self.estimate[j])
        if t0 is None:  # "it stays ready and takes nothing"
            return
        self._take(j, t0, min(self.estimate[j], self.horizon))
        if t0 == 0:
            self.ready.remove(j)
            self.running.append(j)
            self.start[j] = self.now
        else:
            self.planned_start[j] = t0

    def _take(self, j: int, begin: int, units: int) -> None:
        for t in range(begin, begin + units):
            self.free[t] -= self.jobs[j].procs


def earliest(free: list[int], procs: int, estimate: int) -> int | None:
    """First t0 from which on `procs` are free for `estimate` (at most the horizon), all inside the horizon."""
    units = min(estimate, len(free))
    for t0 in range(len(free) - units + 1):
        if all(free[t] >= procs for t in range(t0, t0 + units)):
            return t0
    return None


def _check(jobs: list[Job], cluster_procs: int, reward: str) -> None:
    if reward not in ("slowdown", "completion"):
        raise ValueError(reward)
    for before, job in zip([None, *jobs], jobs, strict=False):
        if job.arrive < 0 or (before is not None and before.arrive >= job.arrive):
            raise ValueError("jobs are numbered in the order of arrival, at most one a time, from 0")
        if not (1 <= job.length <= LONGEST and 1 <= job.first <= LONGEST and 1 <= job.procs <= cluster_procs):
            raise ValueError(f"not a job: {job}")
        if len(job.remaining) != LONGEST or min(job.remaining) < 1:
            raise ValueError(f"remaining time: {LONGEST} numbers of at least 1")


# Heuristics: the slot to select, None when nothing that is visible could start right now. Ties: the lowest slot.

Picker = Callable[[OracleCluster], int | None]


def startable(cluster: OracleCluster) -> list[tuple[int, int, int]]:
    """(slot, processors, estimate) of the visible jobs that would run as soon as they are selected."""
    found = []
    for w, j in enumerate(cluster.visible):
        if j is None:
            continue
        procs, estimate = cluster.jobs[j].procs, cluster.estimate[j]
        if procs <= cluster.free[0] and earliest(cluster.free, procs, estimate) == 0:
            found.append((w, procs, estimate))
    return found


def pick_random(cluster: OracleCluster, rng: random.Random) -> int | None:
    """Any of them."""
    slots = [w for w, _, _ in startable(cluster)]
    return rng.choice(slots) if slots else None


def pick_sjf(cluster: OracleCluster) -> int | None:
    """Smallest estimate."""
    return _largest(cluster, lambda procs, estimate: Fraction(-estimate))


def pick_saf(cluster: OracleCluster) -> int | None:
    """Smallest estimate x processors."""
    return _largest(cluster, lambda procs, estimate: Fraction(-estimate * procs))


def pick_tetris(cluster: OracleCluster) -> int | None:
    """Largest product of the job's processors and the free ones."""
    return _largest(cluster, lambda procs, estimate: Fraction(procs * cluster.free[0]))


def pick_tetris_star(cluster: OracleCluster, knob: float = 0.5) -> int | None:
    """Tetris and the shortest job first, weighed by `knob`; in fractions, so that ties are ties."""
    weight = Fraction(knob)

    def score(procs: int, estimate: int) -> Fraction:
        packing = Fraction(procs * cluster.free[0], cluster.cluster_procs**2)
        return weight * packing + (1 - weight) * Fraction(1, estimate)

    return _largest(cluster, score)


def _largest(cluster: OracleCluster, score: Callable[[int, int], Fraction]) -> int | None:
    """The slot of the largest score(procs, estimate)."""
    best, best_score = None, None
    for w, procs, estimate in startable(cluster):
        value = score(procs, estimate)
        if best_score is None or value > best_score:
            best, best_score = w, value
    return best


def run_whole_queue(cluster: OracleCluster, size: Callable[[int, int], int]) -> OracleCluster:
    """Of the jobs of slots and backlog that would run as soon as they are selected, select that of the smallest
    size(processors, estimate), of equals the one that arrived first, and wait when there is none."""
    while not cluster.over:
        queue = sorted(j for j in [*cluster.visible, *cluster.backlog] if j is not None)
        can = [j for j in queue if earliest(cluster.free, cluster.jobs[j].procs, cluster.estimate[j]) == 0]
        if not can:
            cluster.wait()
            continue
        j = min(can, key=lambda j: size(cluster.jobs[j].procs, cluster.estimate[j]))
        if j in cluster.visible:
            cluster.select(cluster.visible.index(j))
        else:
            cluster.select_from_backlog(j)
    return cluster


def run(cluster: OracleCluster, picker: Picker) -> OracleCluster:
    """Select what the picker picks and wait when it picks nothing, until the sequence is over."""
    while not cluster.over:
        w = picker(cluster)
        if w is None:
            cluster.wait()
        else:
            cluster.select(w)
    return cluster
