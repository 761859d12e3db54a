"""A slow replay under limits, gates and reservations, written from docs/reference/limits.md and from nothing else.

It adds to the oracle of docs/reference/semantics.md which jobs are held, and which further times are events. Everything is counted from
scratch whenever it is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from tests.simulator.oracle import OracleRun, Replay
from tests.simulator.oracle_types import Job, RunningJob, Workload


class OracleLimit(NamedTuple):
    """counts: "jobs", "cpu", "outstanding" or "used". keys: of each job by its order, None for jobs it is not about. bounds: by key.
    changes: second, key, and its bound from then on."""

    counts: str
    keys: Sequence[int | None]
    bounds: dict[int, int]
    changes: Sequence[tuple[int, int, int]] = ()

    def bound_at(self, key: int, second: int) -> int:
        """The bound of a key that holds at a second."""
        later = [bound for since, of, bound in self.changes if of == key and since <= second]
        return later[-1] if later else self.bounds[key]


class OracleGate(NamedTuple):
    """Jobs that it holds by their order, and the spans (s) in which it is closed: from the first to before the second."""

    jobs: frozenset[int]
    closed: Sequence[tuple[int, int]]


class OracleShares(NamedTuple):
    """paths: of each job by its order, its owner on each floor of the tree, the top one first. shares: by owner. half_life_s: of usage."""

    paths: Sequence[tuple[int | None, ...]]
    shares: dict[int, float]
    half_life_s: float


class OracleRules(NamedTuple):
    """Who is held, and who comes first where shares say so."""

    limits: Sequence[OracleLimit] = ()
    gates: Sequence[OracleGate] = ()
    shares: OracleShares | None = None


def limited_oracle_run(
    workload: Workload, policy: str, backfill: str, correction: str, rules: OracleRules
) -> OracleRun:
    """Replay the workload under limits, gates and shares."""
    return LimitedReplay(workload, policy, backfill, correction, rules).run()


class LimitedReplay(Replay):
    """One replay in which jobs may be held."""

    def __init__(self, workload: Workload, policy: str, backfill: str, correction: str, rules: OracleRules) -> None:
        super().__init__(workload, policy, backfill, correction)
        self.limits, self.gates, self.shares = rules

    def run(self) -> OracleRun:
        """As without limits, but jobs may be held for ever."""
        self.t = self.workload.jobs[0].submit
        while True:
            self.one_event_time()
            if not (self.not_submitted or self.waiting) or not self.events_ahead():
                return self.outcome
            self.last_pass = self.t
            self.t = min(self.events_ahead())

    def events_ahead(self) -> list[int]:
        """Changes of gates, and the times at which outstanding time has shrunk enough, are events too."""
        events = super().events_ahead()
        events += [second for gate in self.gates for span in gate.closed for second in span if second > self.t]
        events += [second for limit in self.limits for second, _, _ in limit.changes if second > self.t]
        return events + [second for job in self.waiting for second in self.over_no_longer(job)]

    # Who is held.

    def of_key(self, limit: OracleLimit, job: Job) -> list[RunningJob]:
        """The running jobs that count together with a job."""
        key = limit.keys[job.order]
        return [running for running in self.running if limit.keys[running.job.order] == key]

    def outstanding(self, limit: OracleLimit, job: Job) -> int:
        """Outstanding time (processor-seconds) of the running jobs of a job's key."""
        return sum(
            running.job.procs * (running.start + running.job.limit - self.t) for running in self.of_key(limit, job)
        )

    def used(self, limit: OracleLimit, job: Job) -> int:
        """Used time (processor-seconds) of all jobs of a job's key until now."""
        mine = [each for each in self.history if limit.keys[each.job.order] == limit.keys[job.order]]
        return sum(each.job.procs * (min(self.t, each.end) - each.start) for each in mine)

    def over(self, limit: OracleLimit, job: Job) -> bool:
        """Say whether a limit holds a job."""
        key = limit.keys[job.order]
        if key is None or key not in limit.bounds:
            return False
        bound, others = limit.bound_at(key, self.t), self.of_key(limit, job)
        if limit.counts == "jobs":
            return len(others) >= bound
        if limit.counts == "used":
            return self.used(limit, job) >= bound
        if bound == 0:
            return True
        if not others:
            return False
        if limit.counts == "cpu":
            return sum(running.job.procs for running in others) + job.procs > bound
        return self.outstanding(limit, job) + job.procs * job.limit > bound

    def held(self, job: Job) -> bool:
        """Say whether a limit or a gate keeps a job from starting."""
        closed = any(
            job.order in gate.jobs and any(begin <= self.t < end for begin, end in gate.closed) for gate in self.gates
        )
        return closed or any(self.over(limit, job) for limit in self.limits)

    def over_no_longer(self, job: Job) -> list[int]:
        """When a job that is over limits on outstanding time is over none any more, if nothing starts or ends before: one time or none."""
        seconds = []
        for limit in self.limits:
            if limit.counts == "outstanding" and self.over(limit, job):
                key = limit.keys[job.order]
                assert key is not None
                rate = sum(running.job.procs for running in self.of_key(limit, job))
                if limit.bound_at(key, self.t) == 0:
                    return []
                too_much = self.outstanding(limit, job) + job.procs * job.limit - limit.bound_at(key, self.t)
                seconds.append(self.t + -(-too_much // rate))
        return [max(seconds)] if seconds else []

    # Shares.

    def used_by(self, owner: int) -> float:
        """Decayed use of an owner by its shares."""
        assert self.shares is not None
        half_life_s, parts = self.shares.half_life_s, []
        for running in self.history:
            end = min(running.end, self.t)
            if owner in self.shares.paths[running.job.order] and running.start < end:
                held = -math.expm1(-math.log(2) * (end - running.start) / half_life_s)
                decay = 2.0 ** (-(self.t - end) / half_life_s)
                parts.append(running.job.procs * half_life_s / math.log(2) * decay * held)
        return math.fsum(parts) / self.shares.shares[owner]

    def in_queue_order(self, jobs: Sequence[Job]) -> list[Job]:
        """Order jobs by shares, if there are any."""
        if self.shares is None:
            return super().in_queue_order(jobs)
        owners = {owner for job in jobs for owner in self.shares.paths[job.order] if owner is not None}
        used = {owner: self.used_by(owner) for owner in owners}
        some = sorted(value for value in used.values() if value > 0)
        near = any(second - first <= 1e-9 * second for first, second in pairwise(some))
        self.outcome.ambiguous_order = self.outcome.ambiguous_order or near

        def standing(job: Job) -> tuple[list[float], int, int]:
            assert self.shares is not None
            path = self.shares.paths[job.order]
            return [0.0 if owner is None else used[owner] for owner in path], job.submit, job.order

        return sorted(jobs, key=standing)

    # The pass.

    def pass_with_a_head(self, queue: list[Job]) -> list[Job]:
        """Held jobs are not looked at. Returns those that were, in the order of the queue."""
        seen: list[Job] = []
        for place, job in enumerate(queue):
            if self.held(job):
                continue
            seen.append(job)
            if not self.can_start(job):
                if self.backfill != "none":
                    self.go_past(job, queue[place + 1 :])
                return seen + queue[place + 1 :]
            self.start_now(job)
        return seen

    def go_past(self, head: Job, behind: list[Job]) -> None:
        """Start jobs behind the blocked head, each of which is held or not when its turn comes."""
        if self.backfill == "easy-sjbf":
            behind = sorted(behind, key=lambda job: (job.estimate, job.submit, job.order))
        turn = self.not_held(behind)
        if self.backfill == "any":
            for job in turn:
                if self.can_start(job.admitted_for):
                    self.start_now(job)
        elif self.announcement_pending():
            self.backfill_in_the_plan(head, turn)  # type: ignore[arg-type]
        else:
            self.backfill_before_shadow_time(head, turn)  # type: ignore[arg-type]

    def not_held(self, jobs: Sequence[Job]) -> Iterator[Job]:
        """The jobs that are not held when they are asked for."""
        for job in jobs:
            if not self.held(job):
                yield job
