"""An oracle of the scheduling cycle of OpenPBS: plain Python, slow, and written from a description of recorded runs alone.

`cycle_starts(jobs, site)` says when and where each job starts. Within one second, jobs end first, in the order of their submission. Then
reservations end, are announced and begin, and jobs are submitted and released. Each of these is followed by a pass of its own. A pass
takes no time. What the description leaves open, and this oracle takes to be so:

* `by_queue` comes after reservations, preemption levels and preempted jobs, and before the formula.
* Jobs of reservations are not limited, do not count, and are no top jobs. They get what is truly free of their nodes.
* With `backfill_depth` 0 nothing starts behind the first job that cannot.
* A task that its array's own limit blocks takes no slot, and no task behind one that cannot start is looked at.
* An express job takes the nodes of the youngest jobs until it fits, and then lets those go on that were not needed. Of those that
  started in one second, the one that was submitted first gives way first.
* A job that hours keep from starting now may become a top job, but not in a queue that is closed. Nothing preempts in the pass in which
  it was preempted itself, and nothing is preempted in the second in which it started.
* Usage of fair share is what running jobs have used when a pass begins. It is added before it decays, and comes in steps, see
  `CycleShares`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cmp_to_key

from tests.pbs.cycle_order import (
    NOTHING,
    CycleCandidate,
    CycleHold,
    CycleUsage,
    all_openings,
    comes_before,
    has_room,
    is_blocked,
    latest_end_s,
    level_of,
    placed,
)
from tests.pbs.cycle_types import CycleAmounts, CycleJob, CycleNode, CycleReservation, CycleSite, CycleStart

LASTS_S = 3 * 3600
"""So long after the last submission the oracle goes on, where there are hours in which some jobs never start."""


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
    has_outlived: bool = False
    preempted_at_s: int | None = None
    suspended_s: int = 0
    eligible_at_start_s: int = 0
    end_s: int = 0
    nodes: dict[str, CycleAmounts] | None = None
    last_nodes: dict[str, CycleAmounts] | None = None

    def eligible_s(self, now_s: int) -> int:
        return self.accrued_s + (now_s - self.since_s if self.accrues else 0)

    def set_accrues(self, accrues: bool, now_s: int) -> None:
        self.accrued_s, self.since_s, self.accrues = self.eligible_s(now_s), now_s, accrues

    def planned_s(self) -> int:
        """What PBS takes it to run for from its next start on."""
        return max(self.length_s() - self.used_s, 1)

    def length_s(self) -> int:
        """What PBS takes it to run for as a whole."""
        return self.job.limit_s if self.has_outlived else self.job.planned_s

    def expected_end_s(self, now_s: int) -> int:
        """By its walltime. One that is over it is expected to end in a second."""
        return max(self.resumed_s + self.length_s() - self.used_s, now_s + 1)


@dataclass(frozen=True)
class _TopJob:
    job: CycleJob
    hold: CycleHold


def cycle_starts(jobs: Sequence[CycleJob], site: CycleSite) -> tuple[CycleStart, ...]:
    """The starts of all jobs that start, in order, with their last nodes. jobs: in the order of their submission, those of one second as
    well."""
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
        self.last_pass_s = min((task.job.submit_s for task in self.tasks), default=0)
        self.until_s = max((task.job.submit_s for task in self.tasks), default=0) + LASTS_S
        self.openings = all_openings(site, self.last_pass_s, self.until_s + 2 * 86_400)

    def starts(self) -> Iterable[CycleStart]:
        started = [task for task in self.tasks if task.start_s is not None]
        for task in sorted(started, key=lambda task: (task.start_s, task.rank)):
            assert task.start_s is not None and task.last_nodes is not None
            yield CycleStart(
                task.job.name, task.start_s, task.last_nodes, task.eligible_at_start_s, task.end_s, task.suspended_s
            )

    # time

    def run(self) -> None:
        coming = self._coming_events()
        while True:
            times = [time for time, *_ in coming] + [task.end_s for task in self.running]
            times += [hold.end_s for hold in self.lingering]
            if self.waiting:
                times += [second for second in set().union(*self.openings.values()) if second > self.last_pass_s]
            if not times or min(times) > self.until_s:
                return
            if self.waiting or self.usage:
                times.append(self.last_pass_s + self.site.settings.iteration_s)
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
        merges = self.site.settings.merges_events
        freed = [hold for hold in self.lingering if hold.end_s <= now_s]
        self.lingering = [hold for hold in self.lingering if hold.end_s > now_s]
        events = self._end_jobs(merges, now_s)
        for _ in freed:
            events += self._pass_unless(merges, now_s) + self._end_jobs(merges, now_s)
        while coming and coming[0][0] == now_s:
            _, kind, _, about = coming.pop(0)
            if kind == 0:
                self._end_reservation(about, now_s)
            elif kind == 2:
                assert isinstance(about, CycleReservation)
                self.reservations.append(about)
            elif kind == 4:
                assert isinstance(about, _Task)
                tasks = [about]
                while about.job.array and coming and self._is_task_of(about.job.array, coming[0][3]):
                    tasks.append(coming.pop(0)[3])  # type: ignore[arg-type]
                for task in tasks:
                    task.since_s = now_s
                self.waiting += tasks
            events += self._pass_unless(merges, now_s) + self._end_jobs(merges, now_s)
        if merges or not events:
            self._pass(now_s)

    @staticmethod
    def _is_task_of(array: str, about: object) -> bool:
        return isinstance(about, _Task) and about.job.array == array

    def _end_jobs(self, merges: bool, now_s: int) -> int:
        """Jobs end whose time is over, in the order of their submission, with a pass after each, which may preempt one of them."""
        events = 0
        while ended := [task for task in self.running if task.end_s <= now_s]:
            self._end(min(ended, key=lambda task: task.rank))
            events += self._pass_unless(merges, now_s)
        return events

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
        self.last_pass_s = now_s
        self._add_usage(now_s)
        for task in self.running:
            task.has_outlived |= task.resumed_s + task.length_s() - task.used_s < now_s
        if self.usage:
            self.usage.of_pass = {}
        considered: set[tuple[int, int | None]] = set()
        self.failed_arrays: set[str] = set()
        self.plans_left = self.site.settings.backfill_depth
        eligible = {task.rank: task.eligible_s(now_s) for task in self.waiting}
        while left := [task for task in self.waiting if (task.rank, task.preempted_at_s) not in considered]:
            candidates = [
                CycleCandidate(task.job, task.rank, eligible.get(task.rank, 0), task.preempted_at_s, self._level(task))
                for task in left
            ]
            first = min(candidates, key=cmp_to_key(self._compare))
            task = next(task for task in left if task.rank == first.rank)
            considered.add((task.rank, task.preempted_at_s))
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
        blocked = self._is_limited(task, now_s, top_jobs)
        if task.start_s is None:
            task.set_accrues(not blocked, now_s)
        if job.array and (job.array in self.failed_arrays or self._is_array_full(job)):
            return True
        latest_s = latest_end_s(job.queue, now_s, self.site)
        if latest_s is None:
            if job.array:
                self.failed_arrays.add(job.array)
            return True
        if not blocked and now_s + task.planned_s() <= latest_s:
            nodes = self._nodes_for(task, now_s, self._holds(now_s, top_jobs))
            if nodes is None and task.preempted_at_s != now_s:
                nodes = self._preempt_for(task, top_jobs, now_s)
            if nodes is not None:
                self._start(task, nodes, now_s)
                return True
        if job.array:
            self.failed_arrays.add(job.array)
        if not settings.strict_ordering or not self._can_ever_run(task):
            return True
        if settings.backfill_depth == 0:
            return False
        if task.preempted_at_s is not None or self.plans_left > 0:
            hold = self._simulated_start(task, top_jobs, now_s)
            if hold:
                top_jobs.append(_TopJob(job, hold))
                self.plans_left -= 1
                self._add_request(task)
        return True

    def _level(self, task: _Task) -> int:
        return level_of(task.job, [other.job for other in self.running if other is not task], self.site)

    def _is_array_full(self, job: CycleJob) -> bool:
        running = sum(other.job.array == job.array for other in self.running)
        return job.array_limit is not None and running >= job.array_limit

    def _is_limited(self, task: _Task, at_s: int, top_jobs: Sequence[_TopJob], now_s: int | None = None) -> bool:
        """Whether a limit blocks the job when it starts at a second, or when a top job begins while it runs."""
        now_s = at_s if now_s is None else now_s
        end_s = at_s + task.planned_s()
        begins = [top.hold.begin_s for top in top_jobs if at_s < top.hold.begin_s < end_s]
        for moment in (at_s, *begins):
            running = [other.job for other in self.running if moment == now_s or other.expected_end_s(now_s) > moment]
            running += [top.job for top in top_jobs if top.hold.begin_s <= moment < top.hold.end_s]
            if is_blocked(task.job, running, self.site.limits):
                return True
        return False

    def _add_request(self, task: _Task) -> None:
        if self.usage:
            self.usage.add_for_this_pass(task.job.user, task.job.asks.ncpus * task.planned_s())

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
        span = (at_s, at_s + task.planned_s())
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
        begins = [
            task.job.submit_s,
            *(second for second in self.openings[task.job.queue] if second > task.job.submit_s),
        ]
        ends = [(second, latest_end_s(task.job.queue, second, self.site)) for second in begins]
        has_hours = any(end is not None and end - begin >= task.planned_s() for begin, end in ends)
        return has_hours and placed(task.job, (0, 1), self.nodes, []) is not None

    def _simulated_start(self, task: _Task, top_jobs: Sequence[_TopJob], now_s: int) -> CycleHold | None:
        """When and where it starts if all others end at their walltimes: at the last event of a minute of the clock."""
        holds = self._holds(now_s, top_jobs)
        for moment in self._moments(holds, top_jobs, self.openings[task.job.queue], now_s):
            latest_s = latest_end_s(task.job.queue, moment, self.site)
            if (
                latest_s is None
                or moment + task.planned_s() > latest_s
                or self._is_limited(task, moment, top_jobs, now_s)
            ):
                continue
            nodes = self._nodes_for(task, moment, holds)
            if nodes is not None:
                return CycleHold(moment, moment + task.planned_s(), nodes, task.job.is_exclusive)
        return None

    def _moments(
        self, holds: Sequence[CycleHold], top_jobs: Sequence[_TopJob], openings: Iterable[int], now_s: int
    ) -> list[int]:
        """Seconds at which a planned job may start: the last of the ends, openings and planned starts that come within one minute of the
        clock. A full minute counts to the one before it."""
        events = {hold.end_s for hold in holds} | {top.hold.begin_s for top in top_jobs} | set(openings)
        for task in self.running:
            if task.job.reservation:
                events.add(min(task.expected_end_s(now_s), self._end_of(task.job.reservation)))
        moments: list[int] = []
        until_s = now_s
        for event in sorted(event for event in events if event > now_s):
            if moments and event <= until_s:
                moments[-1] = event
            else:
                until_s = (event // 60 + 1) * 60
                moments.append(event)
        return moments

    def _end_of(self, reservation: str) -> int:
        return next(each.end_s for each in self.site.reservations if each.name == reservation)

    def _start(self, task: _Task, nodes: dict[str, CycleAmounts], now_s: int) -> None:
        if task.start_s is None:
            task.start_s, task.left_s, task.eligible_at_start_s = now_s, task.job.runtime_s, task.eligible_s(now_s)
        if task.preempted_at_s is not None:
            task.suspended_s += now_s - task.preempted_at_s
            task.preempted_at_s = None
        task.nodes, task.resumed_s, task.end_s = nodes, now_s, now_s + task.left_s
        task.last_nodes = nodes
        self.waiting.remove(task)
        self.running.append(task)
        self._add_request(task)

    def _start_in_reservation(self, task: _Task, now_s: int) -> None:
        """On the nodes of its reservation, while this lasts. Its walltime may be longer."""
        for reservation in self.reservations:
            if reservation.name == task.job.reservation and reservation.begin_s <= now_s < reservation.end_s:
                nodes = [
                    CycleNode(node.name, reservation.nodes.get(node.name, NOTHING), node.host) for node in self.nodes
                ]
                holds = [
                    CycleHold(other.resumed_s, other.expected_end_s(now_s), other.nodes or {}, other.job.is_exclusive)
                    for other in self.running
                ]
                if taken := placed(task.job, (now_s, now_s + 1), nodes, holds):
                    self._start(task, taken, now_s)
                return

    # preemption

    def _preempt_for(self, task: _Task, top_jobs: Sequence[_TopJob], now_s: int) -> dict[str, CycleAmounts] | None:
        """Preempts as few jobs as needed, of the lowest level the youngest first. Returns the nodes that the job gets."""
        mine, levels = self._level(task), {other.rank: self._level(other) for other in self.running}
        lower = [other for other in self.running if not other.job.reservation and levels[other.rank] > mine]
        lower = [other for other in lower if other.resumed_s < now_s]
        lower.sort(key=lambda other: (-levels[other.rank], -other.resumed_s, other.rank))
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
            self._stop(victim, now_s)
        return nodes

    def _stop(self, victim: _Task, now_s: int) -> None:
        """It waits again: on its nodes (S), anywhere with the rest of its time (C), or with all of it (R). Or it is over (D)."""
        way = self.site.settings.preempt_order[0]
        if way == "D":
            victim.end_s = now_s
            self.over.append(victim)
            return
        victim.left_s = victim.job.runtime_s if way == "R" else victim.end_s - now_s
        victim.used_s = 0 if way == "R" else victim.used_s + now_s - victim.resumed_s
        if way != "S":
            victim.nodes = None
        victim.preempted_at_s = now_s
        self.waiting.append(victim)

    def _nodes_without(
        self, task: _Task, chosen: list[_Task], running: list[_Task], top_jobs: Sequence[_TopJob], now_s: int
    ) -> dict[str, CycleAmounts] | None:
        self.running = [other for other in running if other not in chosen]
        return self._nodes_for(task, now_s, self._holds(now_s, top_jobs))
