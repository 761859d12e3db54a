"""Picked backfilling and inspected picks, slow and plain, written from docs/reference/semantics.md and from nothing else.

Both are passes of the oracle's own event loop (`tests.simulator.oracle.Replay`); what is here is only what such a pass
does otherwise. Everything is worked out again for every pick: the window, the slots and who is a candidate.

All times are whole seconds, all sizes are whole processors.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.simulator.oracle import BlockedHead, OracleRun, Replay
from tests.simulator.oracle_policies import LOOKS_AT_FREE
from tests.simulator.oracle_types import Job, Workload

NONE = -1

Ask = Callable[[int, list[int], list[bool]], int]
"""Called with the time (s), the jobs' orders by slot and which of them are candidates; returns a slot, or NONE."""

Verdict = Callable[[int, int, bool], bool]
"""Called with the time (s), the order of the pick and whether it fits; True accepts it."""

RULES: dict[str, Callable[[Job], int]] = {
    "first": lambda job: 0,
    "oldest": lambda job: job.submit,
    "shortest": lambda job: job.estimate,
    "narrowest": lambda job: job.procs,
    "smallest": lambda job: job.estimate * job.procs,
}


@dataclass(frozen=True)
class Picks:
    """The options of picked backfilling.

    from_: "behind" or "all". window: jobs visible at the front and at the end, None: all. guard: whether nothing may
    delay the head, None: as `from_` has it. slack_s, slack_share: seconds, and a share of the head's estimate. by: one
    of RULES. must: whether an agent may not answer with none. keep_free: processors, for jobs above keep_over_s (s).
    """

    from_: str = "behind"
    window: tuple[int, int] | None = None
    guard: bool | None = None
    slack_s: int = 0
    slack_share: float = 0
    by: str = "first"
    must: bool = False
    keep_free: int = 0
    keep_over_s: int = 3600

    def __post_init__(self) -> None:
        if self.from_ not in ("behind", "all") or self.by not in RULES:
            raise ValueError(f"unknown option in {self}")
        if self.from_ == "all" and self.guard:
            raise ValueError("from=all has no head that could be guarded")
        if self.window is not None and sum(self.window) < 1:
            raise ValueError("a window shows at least one job")

    @property
    def guarded(self) -> bool:
        return self.from_ == "behind" if self.guard is None else self.guard


def oracle_picks(
    workload: Workload, policy: str, options: Picks, ask: Ask | None = None, ask_always: bool = False
) -> OracleRun:
    """Replay the workload with picked backfilling; without `ask` the rule of the options picks.

    ask_always: every event is asked. Raises ValueError as `oracle_run` does.
    """
    return PickReplay(workload, policy, options, ask, ask_always).run()


def oracle_inspected(
    workload: Workload, policy: str, backfill: str, verdict: Verdict, rejections: int = 72, interval: int = 600
) -> OracleRun:
    """Replay the workload with inspected picks. interval: s until the event that a rejection brings about."""
    return InspectedReplay(workload, policy, backfill, verdict, rejections, interval).run()


@dataclass
class Guard:
    """What nobody may take from the blocked head in the pass at hand; times in s.

    extra: what is left of the extra processors. slack_end: until when a job may run by slack, None: there is no slack.
    in_the_plan: the head's reservation (from, to, processors).
    """

    shadow_time: int
    extra: int
    slack_end: int | None
    in_the_plan: tuple[int, int, int]


class PickReplay(Replay):
    """A replay with picked backfilling."""

    def __init__(self, workload: Workload, policy: str, options: Picks, ask: Ask | None, ask_always: bool) -> None:
        super().__init__(workload, policy, "easy", "requested")
        self.options = options
        self.ask = ask
        self.ask_always = ask_always
        self.blocked = False  # whether the pass at hand has a blocked head
        self.somebody_fitted = False  # whether any waiting job fitted at its beginning
        self.promise: dict[int, int] = {}  # shadow time (s) when it was first found blocked, by order of the job

    # One arrival at a time, where every event is asked.

    def join_the_queue(self) -> None:
        if not self.ask_always:
            super().join_the_queue()
        elif self.not_submitted and self.not_submitted[0].submit == self.t:
            self.waiting.append(self.not_submitted.pop(0))

    def events_ahead(self) -> list[int]:
        more_at_once = [job.submit for job in self.not_submitted if job.submit == self.t]
        return super().events_ahead() + more_at_once

    # A pass.

    def pass_with_a_head(self, queue: list[Job]) -> list[Job]:
        """Without a blocked head there is nobody to pick from, and a question only where every event is asked."""
        self.somebody_fitted = any(job.procs <= self.free() for job in self.waiting)
        if self.options.from_ == "all":
            self.pick_one_after_another(queue, None)
            return queue
        self.blocked = False
        queue = super().pass_with_a_head(queue)
        if not self.blocked:
            self.choose([], [])
        return queue

    def go_past(self, head: Job, behind: list[Job]) -> None:
        self.blocked = True
        self.pick_one_after_another(behind, self.guard_of(head) if self.options.guarded else None)

    def note_backfilled(self, queue: Sequence[Job]) -> None:
        """Whether a job counts as backfilled is settled when it is picked."""

    def guard_of(self, head: Job) -> Guard:
        """Compute the two numbers of the head found blocked, and promise it its shadow time if this is the first time.

        While an announced outage is pending the shadow time is its earliest start in the plan.
        """
        if self.announcement_pending():
            shadow_time = self.earliest_start(head)
            for_head = (shadow_time, shadow_time + head.estimate, head.procs)
            extra = [free for time, free in self.plan([for_head]) if time <= shadow_time][-1]
        else:
            shadow_time, extra = self.shadow_time(head)
            for_head = (shadow_time, shadow_time + head.estimate, head.procs)
        self.outcome.blocked_heads.append(BlockedHead(self.t, head.order, shadow_time, extra))
        if self.somebody_fitted:
            self.promise.setdefault(head.order, shadow_time)
        slack_end = None
        if self.options.slack_s > 0 or self.options.slack_share > 0:
            slack = max(self.options.slack_s, self.options.slack_share * head.estimate)
            slack_end = math.floor(self.promise.get(head.order, shadow_time) + slack)
        return Guard(shadow_time, extra, slack_end, for_head)

    def pick_one_after_another(self, queue: list[Job], guard: Guard | None) -> None:
        """Start what is picked from the queue until none is; the window is taken again after every start."""
        queue = list(queue)
        while True:
            slots = visible(queue, self.options.window)
            chosen = self.choose(slots, [self.is_candidate(job, guard) for job in slots])
            if chosen == NONE:
                return
            job = slots[chosen]
            self.outcome.backfilled[job.order] = self.options.from_ == "behind" or job != queue[0]
            if guard is not None and self.takes_extra(job, guard):
                guard.extra -= job.procs
            self.start_now(job)
            queue.remove(job)
            if self.options.from_ == "all" and self.policy.name in LOOKS_AT_FREE:
                queue = self.in_queue_order(queue)

    # Who may be picked.

    def is_candidate(self, job: Job, guard: Guard | None) -> bool:
        """Say whether a visible job may be picked now."""
        if job.procs > self.free() or not self.leaves_enough_free(job):
            return False
        if self.announcement_pending():
            more = [] if guard is None else [guard.in_the_plan]
            return self.earliest_start(job.admitted_for, more) == self.t
        if guard is None:
            return True
        return self.ends_in_time(job, guard) or job.procs <= guard.extra or self.ends_within_slack(job, guard)

    def leaves_enough_free(self, job: Job) -> bool:
        """Say whether the job is short enough, or leaves the processors free that long jobs have to leave."""
        if job.admitted_for.estimate <= self.options.keep_over_s:
            return True
        return self.free() - job.procs >= min(self.options.keep_free, self.workload.cluster_procs - job.procs)

    def ends_in_time(self, job: Job, guard: Guard) -> bool:
        return self.t + job.admitted_for.estimate <= guard.shadow_time

    def ends_within_slack(self, job: Job, guard: Guard) -> bool:
        return guard.slack_end is not None and self.t + job.admitted_for.estimate <= guard.slack_end

    def takes_extra(self, job: Job, guard: Guard) -> bool:
        """Say whether a candidate starts on extra processors. In the plan (pending outages) nobody counts them."""
        if self.announcement_pending() or self.ends_in_time(job, guard) or job.procs > guard.extra:
            return False
        return not self.ends_within_slack(job, guard)

    # Who picks.

    def choose(self, slots: Sequence[Job], candidates: list[bool]) -> int:
        """Return the slot of the job that starts now, or NONE: the pass ends."""
        numbers = [slot for slot, may_start in enumerate(candidates) if may_start]
        if not numbers and not self.ask_always:
            return NONE
        if self.ask is None:
            return min(numbers, key=lambda slot: self.key(slots[slot], slot), default=NONE)
        if self.options.must and len(numbers) == 1:
            return numbers[0]
        answer = self.ask(self.t, [job.order for job in slots], list(candidates))
        if answer in numbers:
            return answer
        if numbers and (self.options.must or not self.events_ahead()):
            return numbers[0]
        return NONE

    def key(self, job: Job, slot: int) -> tuple[int, int]:
        """What the rule picks by, the lowest first; the order in the log is that of submission."""
        return (0, slot) if self.options.by == "first" else (RULES[self.options.by](job), job.order)


def visible(queue: Sequence[Job], window: tuple[int, int] | None) -> list[Job]:
    """Return the visible jobs of a queue by slot: those at the front, then those at the end, the last one first."""
    if window is None:
        return list(queue)
    front, end = window
    remaining = list(queue[front:])
    return list(queue[:front]) + remaining[::-1][:end]


class InspectedReplay(Replay):
    """A replay whose picks are inspected in step 4 of a pass."""

    def __init__(
        self, workload: Workload, policy: str, backfill: str, verdict: Verdict, rejections: int, interval: int
    ) -> None:
        super().__init__(workload, policy, backfill, "requested")
        self.verdict = verdict
        self.rejections = rejections
        self.interval = interval
        self.rejected: Counter[int] = Counter()  # how often, by order of the job
        self.woken_at: int | None = None  # time (s) of the event that the rejection of the last pass brings about

    def one_event_time(self) -> None:
        self.woken_at = None  # it has come, or another event has come before
        super().one_event_time()

    def events_ahead(self) -> list[int]:
        return super().events_ahead() + ([] if self.woken_at is None else [self.woken_at])

    def goes_ahead(self, job: Job) -> bool:
        if not any(waiting.procs <= self.free() for waiting in self.waiting):
            return False
        if self.rejected[job.order] == self.rejections or self.verdict(self.t, job.order, self.can_start(job)):
            return True
        self.rejected[job.order] += 1
        self.woken_at = self.t + self.interval
        return False
