"""The RLScheduler rule set with inspection, slow and plain, written from docs/reference/semantics.md and from nothing else.

A node has one processor. All times are whole seconds, all sizes are whole processors.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple


class Job(NamedTuple):
    """One job of the log; times in s."""

    submit: int
    runtime: int
    procs: int
    estimate: int


class Running(NamedTuple):
    """A job, by its index, that runs from `start` (s) on."""

    index: int
    start: int


class Event(NamedTuple):
    """What comes next, at `time` (s): an arrival, or the completion of `ends`."""

    time: int
    ends: Running | None


Score = Callable[[Job, int], float]
"""Called with a waiting job and the time (s) of the decision; the lowest goes first."""

Verdict = Callable[[int, int, bool], bool]
"""Called with the time (s), the index of the job and whether it fits; True accepts it."""


def accept_all(t: int, index: int, fits: bool) -> bool:
    """The inspector that changes nothing."""
    return True


def oracle_rlscheduler(
    jobs: Sequence[Job],
    procs: int,
    score: Score,
    backfill: bool,
    verdict: Verdict = accept_all,
    rejections: int = 72,
    interval: int = 600,
    no_time_when_idle: bool = False,
) -> list[int]:
    """Replay the jobs, in submit order, and return their start times (s).

    rejections: after so many a job is accepted unasked. interval: s that a rejection lets pass at most.
    no_time_when_idle: the fault that with nothing left to arrive and nothing running a rejection lets no time pass.
    Raises ValueError for jobs out of order and for a job wider than the cluster.
    """
    if [job.submit for job in jobs] != sorted(job.submit for job in jobs):
        raise ValueError("jobs are not in submit order")
    if any(not 1 <= job.procs <= procs for job in jobs):
        raise ValueError("a job does not fit into the cluster")
    return Loop(jobs, procs, score, backfill, Inspector(verdict, rejections, interval, no_time_when_idle)).run()


class Inspector(NamedTuple):
    """Who accepts or rejects, and what a rejection means."""

    verdict: Verdict
    rejections: int
    interval: int
    no_time_when_idle: bool


class Loop:
    """One replay. Jobs go by their index; `queue` and `running` keep the order that ties are decided by."""

    def __init__(self, jobs: Sequence[Job], procs: int, score: Score, backfill: bool, inspector: Inspector) -> None:
        self.jobs = jobs
        self.procs = procs
        self.score = score
        self.backfill = backfill
        self.inspector = inspector
        self.now = jobs[0].submit if jobs else 0
        self.to_arrive = list(range(len(jobs)))
        self.queue: list[int] = []
        self.running: list[Running] = []
        self.rejected: Counter[int] = Counter()  # how often, by index of the job
        self.starts = [-1] * len(jobs)

    def run(self) -> list[int]:
        while True:
            while not self.queue:  # step 2
                if not self.to_arrive:
                    return self.starts
                self.take(self.next_event())
            self.decide()

    def decide(self) -> None:
        """Steps 3 to 5, or a rejection."""
        self.queue.sort(key=lambda index: self.score(self.jobs[index], self.now))
        head = self.queue[0]
        if not self.accepted(head):
            self.let_time_pass()
            return
        self.queue.remove(head)
        if not self.fits(head):
            self.wait_for(head)
        self.start(head)

    # Events.

    def next_event(self) -> Event | None:
        """Return the next arrival or the next completion, at equal times the arrival; None: there is neither."""
        ends = min(self.running, key=self.end, default=None)
        if self.to_arrive:
            arrival = self.jobs[self.to_arrive[0]].submit
            if ends is None or arrival <= self.end(ends):
                return Event(arrival, None)
        return None if ends is None else Event(self.end(ends), ends)

    def take(self, event: Event | None) -> None:
        assert event is not None and event.time >= self.now, "there is no such event"
        self.now = event.time
        if event.ends is None:
            self.queue.append(self.to_arrive.pop(0))
        else:
            self.running.remove(event.ends)

    def end(self, running: Running) -> int:
        """True end in s."""
        return running.start + self.jobs[running.index].runtime

    def estimated_end(self, running: Running) -> int:
        """End in s that the scheduler believes in, which may be past."""
        return running.start + self.jobs[running.index].estimate

    # Starts.

    def free(self) -> int:
        return self.procs - sum(self.jobs[running.index].procs for running in self.running)

    def fits(self, index: int) -> bool:
        return self.jobs[index].procs <= self.free()

    def start(self, index: int) -> None:
        assert self.fits(index), "a job starts on processors that are not free"
        self.starts[index] = self.now
        self.running.append(Running(index, self.now))

    # A head that does not fit.

    def wait_for(self, head: int) -> None:
        """Step 4, and backfilling before every event."""
        shadow_time = self.shadow_time(head) if self.backfill else None
        while not self.fits(head):
            if shadow_time is not None:
                self.start_before(shadow_time)
            self.take(self.next_event())

    def shadow_time(self, head: int) -> int:
        """Return the estimated end (s) of the running job with which the head has its processors."""
        self.running.sort(key=self.estimated_end)
        free = self.free()
        for running in self.running:
            free += self.jobs[running.index].procs
            if free >= self.jobs[head].procs:
                return self.estimated_end(running)
        raise AssertionError("a job is wider than the cluster")

    def start_before(self, shadow_time: int) -> None:
        """Start whoever fits and would end before the shadow time (s)."""
        self.queue.sort(key=lambda index: self.jobs[index].submit)
        for index in list(self.queue):
            if self.fits(index) and self.now + self.jobs[index].estimate < shadow_time:
                self.queue.remove(index)
                self.start(index)

    # Inspection.

    def accepted(self, head: int) -> bool:
        """Say whether the decision goes on; counts the rejection otherwise."""
        if self.rejected[head] == self.inspector.rejections:
            return True
        if self.inspector.verdict(self.now, head, self.fits(head)):
            return True
        self.rejected[head] += 1
        return False

    def let_time_pass(self) -> None:
        """After a rejection: one event if it comes within the interval, else the interval alone."""
        event = self.next_event()
        if event is not None and event.time <= self.now + self.inspector.interval:
            self.take(event)
        elif event is not None or not self.inspector.no_time_when_idle:
            self.now += self.inspector.interval
