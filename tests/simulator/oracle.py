"""A slow replay engine, written from docs/reference/semantics.md (semantics 2, whose rules are those of 3) and its page
followers.md, and from nothing else.

The oracle is what the fast engine is compared with, so it trades all speed for plainness: between scheduling passes it
remembers only who waits, who runs and who holds which reservation; it sorts the whole queue in every pass, and computes
free processors, estimated ends, usage, shadow times and the plan from scratch each time. Of `simulator` it uses the
data types alone. Formulas, plug-in files and the learned policy are not covered.

Beside it: `oracle_types` (jobs, outages, workloads), `oracle_policies` (scores), `oracle_workloads` (random workloads
and real logs), `oracle_invariants` (what any schedule must satisfy) and `oracle_metrics`.

All times are whole seconds, all sizes are whole processors.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from tests.simulator.oracle_policies import (
    LOOKS_AT_FREE,
    moment,
    order_is_ambiguous,
    ordered,
    parse_choice,
    parse_policy,
    with_defaults,
)
from tests.simulator.oracle_types import CORRECTIONS, Job, Outage, RunningJob, Workload, check

BACKFILLS = ("none", "any", "easy", "easy-sjbf", "conservative", "selective")
CANCELLED = -1
NEVER_SUBMITTED = -1


class BlockedHead(NamedTuple):
    """What EASY computed for the head blocked at `t`: shadow time in s and extra processors."""

    t: int
    order: int
    shadow_time: int
    extra_procs: int


class Reservation(NamedTuple):
    """At `t` (s) a job got the start time `start` (s); why: "new", "planned again" or "compressed"."""

    t: int
    order: int
    start: int
    why: str


@dataclass
class OracleRun:
    """Outcome of one oracle replay; lists are indexed by the job's order in the log.

    start: start times in s, CANCELLED for jobs that left the queue. backfilled: whether a job ahead in the queue order
    of the pass that started it stayed waiting. blocked_heads: one entry for each pass of EASY that ended at a head.
    reservations: every reservation given, also those that are the same as before. pass_times: the time (s) of every
    pass. submit: submissions in s of a workload in which jobs follow others, NEVER_SUBMITTED for a job that follows one that never leaves.
    ambiguous_order: whether any pass had to order two jobs whose scores are so close that another correct program
    may order them the other way round.
    """

    start: list[int]
    backfilled: list[bool]
    blocked_heads: list[BlockedHead] = field(default_factory=list)
    reservations: list[Reservation] = field(default_factory=list)
    pass_times: list[int] = field(default_factory=list)
    submit: list[int] = field(default_factory=list)
    ambiguous_order: bool = False

    @property
    def first_reservation(self) -> dict[int, int]:
        """The first start time (s) that each protected job was given, by its order in the log."""
        first: dict[int, int] = {}
        for reservation in self.reservations:
            first.setdefault(reservation.order, reservation.start)
        return first


def oracle_run(
    workload: Workload, policy: str = "FCFS", backfill: str = "easy", correction: str = "requested"
) -> OracleRun:
    """Replay the workload and return everything the oracle knows about it.

    policy, backfill: as users write them, for example "multifactor:age=500" and "selective:threshold=3".
    Raises ValueError for input that docs/reference/semantics.md rules out, and for a job that no outage lets start.
    """
    return Replay(workload, policy, backfill, correction).run()


class Replay:
    """One replay: the state between passes, and the rules. `t` is the time (s) of the pass at hand."""

    def __init__(self, workload: Workload, policy: str, backfill: str, correction: str) -> None:
        check(workload)
        self.workload = workload
        self.policy = parse_policy(policy)
        self.backfill, options = parse_choice(backfill)
        if self.backfill not in BACKFILLS:
            raise ValueError(f"unknown backfill {backfill!r}")
        options = with_defaults(backfill, options, {"threshold": 2} if self.backfill == "selective" else {})
        self.threshold = options.get("threshold", 1)  # conservative is selective with threshold 1
        if correction not in CORRECTIONS:
            raise ValueError(f"unknown correction {correction!r}")
        self.correction = correction

        self.not_submitted = [job for job in workload.jobs if job.after is None]
        self.followers = [job for job in workload.jobs if job.after is not None]  # of jobs that have not left
        self.left: set[int] = set()
        self.waiting: list[Job] = []
        self.running: list[RunningJob] = list(workload.running)
        self.history: list[RunningJob] = list(workload.running)  # everybody who ever held processors
        self.protected: set[int] = set()  # orders of jobs, once protected always
        self.reserved: dict[int, int] = {}  # start time (s) of the reservation by order of the job
        self.last_pass: int | None = None
        self.outcome = OracleRun([CANCELLED] * len(workload.jobs), [False] * len(workload.jobs))
        self.outcome.submit = [NEVER_SUBMITTED] * len(workload.jobs)

    def run(self) -> OracleRun:
        """Step 2 of the event loop. The replay begins with the first submission: nothing before it can start a job."""
        self.t = self.workload.jobs[0].submit
        while True:
            self.one_event_time()
            if self.is_over():
                return self.outcome
            self.last_pass = self.t
            self.t = self.next_event()

    def is_over(self) -> bool:
        """Say whether nobody waits and nobody is to come, also behind those who run."""
        return not self.not_submitted and not self.waiting and not (self.followers and self.running)

    def next_event(self) -> int:
        """Return the next event time (s): `t` itself when a job with a run time of zero ends."""
        events = self.events_ahead()
        if not events:
            raise ValueError(f"job {self.waiting[0].order} never starts: the outages leave too few processors")
        return min(events)

    def events_ahead(self) -> list[int]:
        """Return the times (s) of all events that are still to come."""
        later = [job.submit for job in self.not_submitted[:1]]
        later += [job.cancel for job in self.waiting if job.cancel is not None]
        for outage in self.workload.outages:
            later += [outage.announced, outage.start]
            later += [] if outage.end is None else [outage.end]
        later += self.reserved.values()
        return [time for time in later if time > self.t] + [running.end for running in self.running]

    def one_event_time(self) -> None:
        """Steps 3 and 4 of the event loop: what happens at `t`, then one pass.

        Active outages are read off the clock. A job with a run time of zero ends here too, in another visit to `t`.
        """
        t = self.t
        ended = [running for running in self.running if running.end <= t]
        self.running = [running for running in self.running if running.end > t]
        self.call_followers([running.job for running in ended])
        cancelled: list[Job] = []
        while self.join_the_queue() or any(job.cancel == t for job in self.waiting):
            gone = [job for job in self.waiting if job.cancel == t]
            self.waiting = [job for job in self.waiting if job.cancel != t]
            self.call_followers(gone)
            cancelled += gone

        self.outcome.pass_times.append(t)
        in_queue_order = self.in_queue_order(self.waiting)
        if self.backfill in ("conservative", "selective"):
            freed = any(running.end < self.believed_at_last_pass(running) for running in ended)
            freed = freed or any(job.order in self.reserved for job in cancelled)
            for job in cancelled:
                self.reserved.pop(job.order, None)
            self.pass_with_reservations(in_queue_order, self.plan_may_not_hold(), freed)
        else:
            in_queue_order = self.pass_with_a_head(in_queue_order)
        self.note_backfilled(in_queue_order)

    def join_the_queue(self) -> bool:
        """Let all who are submitted at `t` join the queue. Say whether there is any."""
        comes = bool(self.not_submitted) and self.not_submitted[0].submit == self.t
        while self.not_submitted and self.not_submitted[0].submit == self.t:
            job = self.not_submitted.pop(0)
            self.waiting.append(job)
            self.outcome.submit[job.order] = self.t
        return comes

    def call_followers(self, left: Sequence[Job]) -> None:
        """Those who follow jobs that leave at `t` will be submitted after their think time, and are as patient as in the log."""
        self.left |= {job.order for job in left}
        for job in [job for job in self.followers if self.left.issuperset(self.workload.followed_by(job))]:
            submit = self.t + job.think
            cancel = None if job.cancel is None else job.cancel + submit - job.submit
            self.followers.remove(job)
            self.not_submitted.append(job._replace(submit=submit, cancel=cancel))
        self.not_submitted.sort(key=lambda job: (job.submit, job.order))

    # What is free, now and in the plan.

    def free(self) -> int:
        """Return the processors that are free at `t`; negative where an outage waits for running jobs to end."""
        missing = sum(outage.procs for outage in self.workload.outages if outage.active(self.t))
        return self.workload.cluster_procs - missing - sum(running.job.procs for running in self.running)

    def estimated_end(self, running: RunningJob) -> int:
        return running.estimated_end(self.t, self.correction)

    def believed_at_last_pass(self, running: RunningJob) -> int:
        """Return the estimated end (s) that the last pass believed in."""
        assert self.last_pass is not None, "nobody ends before the first pass"
        return running.estimated_end(self.last_pass, self.correction)

    def known_outages(self) -> list[Outage]:
        return [outage for outage in self.workload.outages if outage.known(self.t)]

    def announcement_pending(self) -> bool:
        return any(outage.pending(self.t) for outage in self.workload.outages)

    def plan(self, more: Sequence[tuple[int, float, int]] = ()) -> list[tuple[float, int]]:
        """Return (time in s, free processors from then on) in time order, the first at `t`.

        more: (from s, to s, processors) that are taken as well.
        """
        taken: list[tuple[float, float, int]] = [
            (self.t, self.estimated_end(running), running.job.procs) for running in self.running
        ]
        taken += [
            (outage.start, math.inf if outage.end is None else outage.end, outage.procs)
            for outage in self.known_outages()
        ]
        reserved = [(self.reserved[job.order], job) for job in self.waiting if job.order in self.reserved]
        taken += [(start, start + job.estimate, job.procs) for start, job in reserved]
        taken += more
        change: dict[float, int] = defaultdict(int, {self.t: self.workload.cluster_procs})
        for begin, end, procs in taken:
            change[max(begin, self.t)] -= procs
            change[end] += procs
        steps, free = [], 0
        for time in sorted(change):
            free += change[time]
            steps.append((time, free))
        return steps

    def earliest_start(self, job: Job, more: Sequence[tuple[int, float, int]] = ()) -> int:
        """Return the earliest time (s) from `t` on at which the plan has the job's processors for its estimate."""
        begin = None
        for (time, free), (next_time, _) in pairwise([*self.plan(more), (math.inf, 0)]):
            if free < job.procs or time == math.inf:
                begin = None
                continue
            begin = time if begin is None else begin
            if next_time >= begin + job.estimate:
                return int(begin)
        raise ValueError(f"job {job.order} never starts: the outages leave too few processors")

    # Queue and starts.

    def in_queue_order(self, jobs: Sequence[Job]) -> list[Job]:
        """Order jobs by the policy, which may look at who else waits and at the free processors."""
        now = moment(self.policy, self.workload, self.waiting, self.history, self.t, self.free())
        queue = ordered(self.policy, jobs, now)
        self.outcome.ambiguous_order = self.outcome.ambiguous_order or order_is_ambiguous(self.policy, queue, now)
        return queue

    def start_now(self, job: Job) -> None:
        assert job.procs <= self.free(), "a job starts on processors that are not free"
        self.waiting.remove(job)
        self.reserved.pop(job.order, None)
        running = RunningJob(job, self.t)
        self.running.append(running)
        self.history.append(running)
        self.outcome.start[job.order] = self.t

    def note_backfilled(self, queue: Sequence[Job]) -> None:
        """Mark the jobs that this pass started although a job ahead of them in its queue stays waiting."""
        behind_a_waiting_job = False
        for job in queue:
            if self.outcome.start[job.order] == CANCELLED:
                behind_a_waiting_job = True
            else:
                self.outcome.backfilled[job.order] = behind_a_waiting_job

    # Passes without backfilling and with EASY.

    def pass_with_a_head(self, queue: list[Job]) -> list[Job]:
        """Steps 4 and 5 of the event loop and EASY; returns the queue in the order in which this pass saw it."""
        started: list[Job] = []
        while queue and self.goes_ahead(queue[0]):
            if not self.can_start(queue[0]):
                if self.backfill != "none":
                    self.go_past(queue[0], queue[1:])
                break
            job = queue.pop(0)
            self.start_now(job)
            started.append(job)
            if self.policy.name in LOOKS_AT_FREE:
                queue = self.in_queue_order(queue)
        return started + queue

    def goes_ahead(self, job: Job) -> bool:
        """Say whether the first job of the queue may start, or become the head: always, unless somebody inspects."""
        return True

    def go_past(self, head: Job, behind: list[Job]) -> None:
        """Start jobs behind the blocked head."""
        if self.backfill == "easy-sjbf":
            behind.sort(key=lambda job: (job.estimate, job.submit, job.order))
        if self.backfill == "any":
            for job in behind:
                if self.can_start(job.admitted_for):
                    self.start_now(job)
        elif self.announcement_pending():
            self.backfill_in_the_plan(head, behind)
        else:
            self.backfill_before_shadow_time(head, behind)

    def can_start(self, job: Job) -> bool:
        """Say whether the job fits now, and around the outages that are announced and still to come."""
        if self.announcement_pending():
            return self.earliest_start(job) == self.t
        return job.procs <= self.free()

    def backfill_before_shadow_time(self, head: Job, behind: Sequence[Job]) -> None:
        """EASY's own rule, where no announced outage is pending."""
        shadow_time, extra = self.shadow_time(head)
        self.outcome.blocked_heads.append(BlockedHead(self.t, head.order, shadow_time, extra))
        for job in behind:
            if job.procs > self.free():
                continue
            ends_in_time = self.t + job.admitted_for.estimate <= shadow_time
            if not ends_in_time and job.procs > extra:
                continue
            if not ends_in_time:
                extra -= job.procs
            self.start_now(job)

    def shadow_time(self, head: Job) -> tuple[int, int]:
        """Return the shadow time (s) of the blocked head and the extra processors at that time.

        An outage under way gives its processors back at its end, which is known, like a running job.
        """
        ends = [(self.estimated_end(running), running.job.procs) for running in self.running]
        ends += [(outage.end, outage.procs) for outage in self.known_outages() if outage.end is not None]
        for shadow_time in sorted({end for end, _ in ends}):
            free_then = self.free() + sum(procs for end, procs in ends if end <= shadow_time)
            if free_then >= head.procs:
                return shadow_time, free_then - head.procs
        raise ValueError(f"job {head.order} never starts: the outages leave too few processors")

    def backfill_in_the_plan(self, head: Job, behind: Sequence[Job]) -> None:
        """EASY's rule around announced outages: the head's reservation is taken out of the plan."""
        shadow_time = self.earliest_start(head)
        for_head = [(shadow_time, shadow_time + head.estimate, head.procs)]
        extra = [free for time, free in self.plan(for_head) if time <= shadow_time][-1]
        self.outcome.blocked_heads.append(BlockedHead(self.t, head.order, shadow_time, extra))
        for job in behind:
            if self.earliest_start(job.admitted_for, for_head) == self.t:
                self.start_now(job)

    # Conservative and selective backfilling.

    def pass_with_reservations(self, queue: Sequence[Job], plan_may_not_hold: bool, freed: bool) -> None:
        """The five steps of a pass with reservations."""
        for job in queue:
            expansion_factor = (self.t - job.submit + job.estimate) / job.estimate
            if expansion_factor >= self.threshold:
                self.protected.add(job.order)
        protected = [job for job in queue if job.order in self.protected]
        if plan_may_not_hold:
            self.reserved = {}
            self.reserve(protected, "planned again")
        elif freed:
            self.reserve([job for job in protected if job.order in self.reserved], "compressed")
        self.reserve([job for job in protected if job.order not in self.reserved], "new")
        for job in [job for job in protected if self.reserved[job.order] == self.t]:
            self.start_now(job)
        for job in [job for job in queue if job.order not in self.protected]:
            if self.can_start_in_the_plan(job):
                self.start_now(job)

    def plan_may_not_hold(self) -> bool:
        """Say whether an estimate was corrected since the last pass, or an outage was announced now.

        A second pass at the same time (run times of zero) finds neither: the first pass has seen to it.
        """
        if self.t == self.last_pass:
            return False
        announced = any(outage.announced == self.t for outage in self.workload.outages)
        corrected = self.last_pass is not None and any(
            self.estimated_end(running) != self.believed_at_last_pass(running) for running in self.running
        )
        return announced or corrected

    def reserve(self, jobs: Sequence[Job], why: str) -> None:
        """Give every job, one after another, its earliest start; it gives up the reservation it has."""
        for job in jobs:
            self.reserved.pop(job.order, None)
            self.reserved[job.order] = self.earliest_start(job)
            self.outcome.reservations.append(Reservation(self.t, job.order, self.reserved[job.order], why))

    def can_start_in_the_plan(self, job: Job) -> bool:
        return job.procs <= self.free() and self.earliest_start(job) == self.t
