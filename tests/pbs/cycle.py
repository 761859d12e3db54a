"""An oracle of the scheduling cycle of OpenPBS: plain Python, slow, and written from a description of recorded runs alone.

`cycle_starts(jobs, site)` says when and where each job starts. Within one second, reservations end first, then jobs end in the order of
their starts, then reservations are announced and begin, then jobs are submitted and released. Each of these is followed by a pass of its
own. A pass takes no time. What the description leaves open, and this oracle takes to be so:

* `by_queue` comes after reservations, preemption levels and suspended jobs, and before the formula.
* Jobs of reservations are not limited, do not count, and are no top jobs.
* With `backfill_depth` 0 nothing starts behind the first job that cannot.
* A task that its array's own limit blocks takes a slot as any job that a limit blocks.
* An express job suspends the youngest jobs until it fits, and then lets those go on that were not needed.
* Usage of fair share is added before it decays. Runs show that it comes in steps, see `CycleShares`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cmp_to_key

from tests.pbs.cycle_nodes import CycleHold, has_room, placed
from tests.pbs.cycle_order import CycleCandidate, CycleUsage, comes_before, is_blocked, is_express
from tests.pbs.cycle_types import CycleAmounts, CycleJob, CycleNode, CycleReservation, CycleSite, CycleStart


@dataclass
class _Task:
    """A job and what has become of it. accrued_s: eligible seconds until since_s. left_s: run time that is left when it goes on."""

    job: CycleJob
    rank: int
    accrued_s: int = 0
    since_s: int = 0
    accrues: bool = True
    start_s: int | None = None
    resumed_s: int = 0
    left_s: int = 0
    used_s: int = 0
    suspended_at_s: int | None = None
    suspended_s: int = 0
    eligible_at_start_s: int = 0
    end_s: int = 0
    nodes: dict[str, CycleAmounts] | None = None

    def eligible_s(self, now_s: int) -> int:
        return self.accrued_s + (now_s - self.since_s if self.accrues else 0)

    def set_accrues(self, accrues: bool, now_s: int) -> None:
        self.accrued_s, self.since_s, self.accrues = self.eligible_s(now_s), now_s, accrues

    def expected_end_s(self, now_s: int) -> int:
        """By its walltime. One that is over it is expected to end in a second."""
        return max(self.resumed_s + self.job.planned_s - self.used_s, now_s + 1)


@dataclass(frozen=True)
class _TopJob:
    job: CycleJob
    hold: CycleHold


def cycle_starts(jobs: Sequence[CycleJob], site: CycleSite) -> tuple[CycleStart, ...]:
    """The starts of all jobs that start, in order. jobs: in the order of their submission, those of one second as well."""
    cycle = _Cycle(jobs, site)
    cycle.run()
    return tuple(cycle.starts())


class _Cycle:
    def __init__(self, jobs: Sequence[CycleJob], site: CycleSite) -> None:
        self.site = site
        self.nodes = sorted(site.nodes, key=lambda node: -node.priority)
        self.tasks = [_Task(job, rank) for rank, job in enumerate(jobs)]
        self.waiting: list[_Task] = []
        self.running: list[_Task] = []
        self.over: list[_Task] = []
        self.reservations: list[CycleReservation] = []
        self.lingering: list[CycleHold] = []
        self.usage = CycleUsage(site.settings.shares) if site.settings.shares else None
        self.usage_until_s = 0.0

    def starts(self) -> Iterable[CycleStart]:
        for task in sorted(self.over, key=lambda task: (task.start_s, task.rank)):
            assert task.start_s is not None and task.nodes is not None
            yield CycleStart(
                task.job.name, task.start_s, task.nodes, task.eligible_at_start_s, task.end_s, task.suspended_s
            )

    # time

    def run(self) -> None:
        coming = self._coming_events()
        while True:
            times = [time for time, *_ in coming] + [task.end_s for task in self.running]
            times += [hold.end_s for hold in self.lingering]
            if not times:
                return
            self._second(min(times), coming)

    def _coming_events(self) -> list[tuple[int, int, int, object]]:
        """Time, kind, rank and what it is about. Kinds: a reservation ends (0), is announced (2), begins (3), a job is submitted (4)."""
        events: list[tuple[int, int, int, object]] = []
        for rank, reservation in enumerate(self.site.reservations):
            events += [(reservation.end_s, 0, rank, reservation), (reservation.announced_s, 2, rank, reservation)]
            events.append((reservation.begin_s, 3, rank, reservation))
        for task in self.tasks:
            events.append((max(task.job.submit_s, task.job.released_s), 4, task.rank, task))
        return sorted(events, key=lambda event: event[:3])

    def _second(self, now_s: int, coming: list[tuple[int, int, int, object]]) -> None:
        """All that happens at now_s, with its passes."""
        self._add_usage(now_s)
        merges = self.site.settings.merges_events
        self.lingering = [hold for hold in self.lingering if hold.end_s > now_s]
        events = 0
        while coming and coming[0][0] == now_s and coming[0][1] == 0:
            self._end_reservation(coming.pop(0)[3], now_s)
            events += self._pass_unless(merges, now_s)
        while ended := [task for task in self.running if task.end_s <= now_s]:  # a pass may suspend one of them
            self._end(min(ended, key=lambda task: (task.start_s, task.rank)))
            events += self._pass_unless(merges, now_s)
        while coming and coming[0][0] == now_s:
            _, kind, _, about = coming.pop(0)
            if kind == 2:
                assert isinstance(about, CycleReservation)
                self.reservations.append(about)
            elif kind == 4:
                assert isinstance(about, _Task)
                about.since_s = now_s
                self.waiting.append(about)
            events += self._pass_unless(merges, now_s)
        if merges or not events:
            self._pass(now_s)

    def _pass_unless(self, merges: bool, now_s: int) -> int:
        if not merges:
            self._pass(now_s)
        return 1

    def _end(self, task: _Task) -> None:
        self.running.remove(task)
        self.over.append(task)

    def _end_reservation(self, reservation: object, now_s: int) -> None:
        """Its jobs end with it, and then it keeps its nodes for some time. Jobs of it that wait are deleted."""
        assert isinstance(reservation, CycleReservation)
        inside = [task for task in self.running if task.job.reservation == reservation.name]
        if any(task.end_s > now_s for task in inside) and self.site.settings.linger_s:
            self.lingering.append(CycleHold(now_s, now_s + self.site.settings.linger_s, reservation.nodes))
        for task in inside:
            task.end_s = min(task.end_s, now_s)
            self._end(task)
        if reservation in self.reservations:
            self.reservations.remove(reservation)
        self.waiting = [task for task in self.waiting if task.job.reservation != reservation.name]

    def _add_usage(self, now_s: int) -> None:
        """What the scheduler has learned of by now, and what has decayed since."""
        if self.usage:
            shares = self.usage.shares
            poll_s = shares.began_s + (now_s - shares.began_s) // shares.polls_s * shares.polls_s
            for task in self.running:
                counted_s = max(poll_s - max(self.usage_until_s, task.resumed_s), 0.0)
                self.usage.add(task.job.user, counted_s * task.job.asks.ncpus)
            self.usage_until_s = poll_s
            self.usage.decay_until(now_s)

    # one pass

    def _pass(self, now_s: int) -> None:
        top_jobs: list[_TopJob] = []
        if self.usage:
            self.usage.of_pass = {}
        left = list(self.waiting)
        eligible = {task.rank: task.eligible_s(now_s) for task in left}
        while left:
            candidates = {
                task.rank: CycleCandidate(task.job, task.rank, eligible[task.rank], task.suspended_at_s)
                for task in left
            }
            first = min(candidates.values(), key=cmp_to_key(self._compare))
            task = next(task for task in left if task.rank == first.rank)
            left.remove(task)
            if not self._consider(task, top_jobs, now_s):
                return

    def _compare(self, first: CycleCandidate, second: CycleCandidate) -> int:
        return comes_before(first, second, self.site, self.usage)

    def _consider(self, task: _Task, top_jobs: list[_TopJob], now_s: int) -> bool:
        """Starts the job, or makes it a top job, or leaves it. False where nothing behind it may start."""
        job, settings = task.job, self.site.settings
        if job.reservation:
            self._start_in_reservation(task, now_s)
            return True
        blocked = is_blocked(job, [other.job for other in self.running], self.site.limits)
        if task.start_s is None:
            task.set_accrues(not blocked, now_s)
        if not blocked:
            nodes = self._nodes_for(task, now_s, self._holds(now_s, top_jobs))
            if nodes is None and is_express(job, self.site):
                nodes = self._preempt_for(task, top_jobs, now_s)
            if nodes is not None:
                self._start(task, nodes, now_s)
                return True
        if not settings.strict_ordering or not self._can_ever_run(task):
            return True
        if settings.backfill_depth == 0:
            return False
        is_second_task = job.array and any(top.job.array == job.array for top in top_jobs)
        if len(top_jobs) < settings.backfill_depth and not is_second_task:
            hold = self._simulated_start(task, top_jobs, now_s)
            if hold:
                top_jobs.append(_TopJob(job, hold))
                self._add_request(job)
        return True

    def _add_request(self, job: CycleJob) -> None:
        if self.usage:
            self.usage.add_for_this_pass(job.user, job.asks.ncpus * job.planned_s)

    def _holds(self, now_s: int, top_jobs: Sequence[_TopJob]) -> list[CycleHold]:
        """What jobs, top jobs and reservations have of the nodes, now and later. Jobs in reservations use what these have."""
        holds = [
            CycleHold(task.resumed_s, task.expected_end_s(now_s), task.nodes or {}, task.job.is_exclusive)
            for task in self.running
            if not task.job.reservation
        ]
        holds += [top.hold for top in top_jobs]
        holds += [CycleHold(each.begin_s, max(each.end_s, now_s + 1), each.nodes) for each in self.reservations]
        return holds + [CycleHold(hold.begin_s, now_s + 1, hold.nodes) for hold in self.lingering]

    def _nodes_for(self, task: _Task, at_s: int, holds: Sequence[CycleHold]) -> dict[str, CycleAmounts] | None:
        """Where it can run from at_s on. One that was suspended needs its own nodes."""
        span = (at_s, at_s + max(task.job.planned_s - task.used_s, 1))
        if task.nodes is None:
            return placed(task.job, span, self.nodes, holds)
        nodes = {node.name: node for node in self.nodes}
        fits = all(
            has_room(nodes[name], amounts, task.job.is_exclusive, span, holds) for name, amounts in task.nodes.items()
        )
        return task.nodes if fits else None

    def _can_ever_run(self, task: _Task) -> bool:
        if is_blocked(task.job, [], self.site.limits):
            return False
        return placed(task.job, (0, 1), self.nodes, []) is not None

    def _simulated_start(self, task: _Task, top_jobs: Sequence[_TopJob], now_s: int) -> CycleHold | None:
        """When and where it starts if all others end at their walltimes: at the end of one of them."""
        holds = self._holds(now_s, top_jobs)
        for moment in sorted({hold.end_s for hold in holds}):
            running = [
                other.job
                for other in self.running
                if not other.job.reservation and other.expected_end_s(now_s) > moment
            ]
            running += [top.job for top in top_jobs if top.hold.begin_s <= moment < top.hold.end_s]
            if is_blocked(task.job, running, self.site.limits):
                continue
            nodes = self._nodes_for(task, moment, holds)
            if nodes is not None:
                length_s = max(task.job.planned_s - task.used_s, 1)
                return CycleHold(moment, moment + length_s, nodes, task.job.is_exclusive)
        return None

    def _start(self, task: _Task, nodes: dict[str, CycleAmounts], now_s: int) -> None:
        if task.start_s is None:
            task.start_s, task.left_s, task.eligible_at_start_s = now_s, task.job.runtime_s, task.eligible_s(now_s)
        if task.suspended_at_s is not None:
            task.suspended_s += now_s - task.suspended_at_s
            task.suspended_at_s = None
        task.nodes, task.resumed_s, task.end_s = nodes, now_s, now_s + task.left_s
        self.waiting.remove(task)
        self.running.append(task)
        self._add_request(task.job)

    def _start_in_reservation(self, task: _Task, now_s: int) -> None:
        """On the nodes of its reservation, while this lasts. Its walltime may be longer."""
        for reservation in self.reservations:
            if reservation.name == task.job.reservation and reservation.begin_s <= now_s < reservation.end_s:
                hosts = {node.name: node.host for node in self.nodes}
                nodes = [CycleNode(name, has, hosts[name]) for name, has in reservation.nodes.items()]
                holds = [
                    CycleHold(other.resumed_s, other.expected_end_s(now_s), other.nodes or {}, other.job.is_exclusive)
                    for other in self.running
                    if other.job.reservation == reservation.name
                ]
                if taken := placed(task.job, (now_s, now_s + 1), nodes, holds):
                    self._start(task, taken, now_s)
                return

    # preemption

    def _preempt_for(self, task: _Task, top_jobs: Sequence[_TopJob], now_s: int) -> dict[str, CycleAmounts] | None:
        """Suspends as few jobs as needed, the youngest first. Returns the nodes that the express job gets."""
        lower = [other for other in self.running if not other.job.reservation and not is_express(other.job, self.site)]
        lower.sort(key=lambda other: (-other.resumed_s, -other.rank))
        running, chosen = list(self.running), []
        for victim in lower:
            chosen.append(victim)
            if self._nodes_without(task, chosen, running, top_jobs, now_s) is not None:
                break
        else:
            self.running = running
            return None
        for victim in list(chosen):
            fewer = [other for other in chosen if other is not victim]
            if self._nodes_without(task, fewer, running, top_jobs, now_s) is not None:
                chosen = fewer
        nodes = self._nodes_without(task, chosen, running, top_jobs, now_s)
        for victim in chosen:
            victim.left_s = victim.end_s - now_s
            victim.used_s += now_s - victim.resumed_s
            victim.suspended_at_s = now_s
            self.waiting.append(victim)
        return nodes

    def _nodes_without(
        self, task: _Task, chosen: list[_Task], running: list[_Task], top_jobs: Sequence[_TopJob], now_s: int
    ) -> dict[str, CycleAmounts] | None:
        self.running = [other for other in running if other not in chosen]
        return self._nodes_for(task, now_s, self._holds(now_s, top_jobs))
