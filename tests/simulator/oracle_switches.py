"""The replay in which jobs wait for few switches, written from docs/reference/semantics.md, "Waiting for few switches".

It is the oracle's replay with units: what a pass would start is put off while Slurm's best fit gives it too many leaves.
All times are whole seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.simulator.oracle import CANCELLED, BlockedHead, OracleRun, Replay
from tests.simulator.oracle_machine import Idle, Machine
from tests.simulator.oracle_policies import LOOKS_AT_FREE
from tests.simulator.oracle_rules_of_placing import tree
from tests.simulator.oracle_types import Job, Workload

BACKFILLS_WITH_SWITCHES = ("none", "any", "easy", "easy-sjbf")


class Switches(NamedTuple):
    """`--switches leaves@wait`: at most so many leaves, or a wait of so many seconds. 0 s: nobody waits."""

    leaves: int
    wait: int


@dataclass
class SwitchesRun:
    """Outcome: starts and flags, units by order in the log (sorted, none for who never starts), those of the warm start,
    and the second at which a job was put off for the first time, by order."""

    run: OracleRun
    units: list[list[int]]
    running: list[list[int]]
    put_off: dict[int, int] = field(default_factory=dict)


def oracle_switches(
    machine: Machine,
    workload: Workload,
    switches: Switches,
    policy: str = "FCFS",
    backfill: str = "easy",
    correction: str = "requested",
) -> SwitchesRun:
    """Replay the workload under `--switches`. workload: with whole nodes that of `in_whole_nodes`.

    Raises ValueError for a backfilling rule that the text rules out, and as `oracle_run` does.
    """
    if backfill not in BACKFILLS_WITH_SWITCHES:
        raise ValueError(f"no waiting for switches under {backfill!r}")
    replay = ReplayWithSwitches(workload, policy, backfill, correction)
    replay.prepare(machine, switches)
    run = replay.run()
    units = [replay.units.get(job.order, []) for job in workload.jobs]
    return SwitchesRun(run, units, [replay.units[running.job.order] for running in workload.running], replay.put_off)


class ReplayWithSwitches(Replay):
    """The replay, and who holds which units."""

    def prepare(self, machine: Machine, switches: Switches) -> None:
        """Begin with all units idle."""
        self.machine = machine
        self.switches = switches
        self.state = Idle(machine, self.workload.outages)
        self.units: dict[int, list[int]] = {}
        self.put_off: dict[int, int] = {}

    def one_event_time(self) -> None:
        """Units change hands as processors do: ends, outages, and then the jobs that the pass starts."""
        for running in self.running:
            if running.end <= self.t:
                self.state.idle |= set(self.units[running.job.order])
        self.state.end_outages(self.t)
        if self.last_pass is None:
            for running in self.running:
                self.take(running.job)
        self.state.outages_take(self.t)
        self.put_off_now: set[int] = set()
        super().one_event_time()

    def events_ahead(self) -> list[int]:
        """The end of a wait for switches is an event, too, while the job still waits."""
        over = [self.put_off[job.order] + self.switches.wait for job in self.waiting if job.order in self.put_off]
        return super().events_ahead() + [time for time in over if time > self.t]

    def take(self, job: Job) -> None:
        self.units[job.order] = sorted(tree(self.machine, self.state.q, self.machine.wanted(job.procs)))
        self.state.idle -= set(self.units[job.order])

    def start_now(self, job: Job) -> None:
        super().start_now(job)
        self.take(job)

    def is_put_off(self, job: Job) -> bool:
        """Say whether a job that the pass would start has to wait for a better place; note that it has."""
        count = self.machine.wanted(job.procs)
        if self.machine.switches(tree(self.machine, self.state.q, count), 0) <= self.switches.leaves:
            return False
        if self.machine.leaves_needed(count) > self.switches.leaves:
            return False
        if self.t >= self.put_off.get(job.order, self.t) + self.switches.wait:
            return False
        self.put_off.setdefault(job.order, self.t)
        self.put_off_now.add(job.order)
        return True

    def pass_with_a_head(self, queue: list[Job]) -> list[Job]:
        """Steps 4 and 5 of the event loop and EASY: who is put off is passed over, and is no head."""
        passed: list[Job] = []
        while queue:
            if not self.can_start(queue[0]):
                if self.backfill != "none":
                    self.go_past(queue[0], queue[1:])
                break
            job = queue.pop(0)
            passed.append(job)
            if not self.is_put_off(job):
                self.start_now(job)
                if self.policy.name in LOOKS_AT_FREE:
                    queue = self.in_queue_order(queue)
        return passed + queue

    def go_past(self, head: Job, behind: list[Job]) -> None:
        """Start jobs behind the blocked head, unless they are put off."""
        if self.backfill == "easy-sjbf":
            behind.sort(key=lambda job: (job.estimate, job.submit, job.order))
        if self.backfill == "any":
            for job in behind:
                if self.can_start(job.admitted_for) and not self.is_put_off(job):
                    self.start_now(job)
        elif self.announcement_pending():
            self.backfill_in_the_plan(head, behind)
        else:
            self.backfill_before_shadow_time(head, behind)

    def backfill_before_shadow_time(self, head: Job, behind: Sequence[Job]) -> None:
        """EASY's own rule. A job that is put off takes nothing from the extra processors."""
        shadow_time, extra = self.shadow_time(head)
        self.outcome.blocked_heads.append(BlockedHead(self.t, head.order, shadow_time, extra))
        for job in behind:
            in_time = self.t + job.admitted_for.estimate <= shadow_time
            may_start = job.procs <= self.free() and (in_time or job.procs <= extra)
            if may_start and not self.is_put_off(job):
                extra -= 0 if in_time else job.procs
                self.start_now(job)

    def backfill_in_the_plan(self, head: Job, behind: Sequence[Job]) -> None:
        """EASY's rule around announced outages."""
        shadow_time = self.earliest_start(head)
        for_head = [(shadow_time, shadow_time + head.estimate, head.procs)]
        for job in behind:
            if self.earliest_start(job.admitted_for, for_head) == self.t and not self.is_put_off(job):
                self.start_now(job)

    def note_backfilled(self, queue: Sequence[Job]) -> None:
        """Mark the jobs that started although a job ahead of them stays waiting that was not put off."""
        others = [job for job in queue if job.order not in self.put_off_now]
        assert all(self.outcome.start[order] == CANCELLED for order in self.put_off_now)
        super().note_backfilled(others)
