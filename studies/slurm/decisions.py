"""Decisions of our Slurm against recorded ones: `python -m studies slurm_decisions`.

Of every recorded backfill cycle we take the state: running jobs with their nodes, and the queue in its order. Our engine decides, and
each decision is compared: start now, plan for later, or neither; on which nodes; and when. Cycles within 8 s of the end of a job are
left out, since the log does not say when its nodes had completed.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np

from simulator.cluster.arrays import cluster_arrays
from simulator.cluster.requests import NOT_GIVEN, request_arrays
from simulator.jobs.cluster import FOREVER
from simulator.slurm.backfill import NEITHER, PLANNED, STARTED, Decisions, backfill_cycle
from simulator.slurm.limits import count_elapsed, count_past, limits_of
from simulator.slurm.nodes.selection import choose_above
from simulator.slurm.preemption import preempt_for, preemption_of
from simulator.slurm.priority import priority_rules
from simulator.slurm.rows import WaitingRows, waiting_rows
from simulator.slurm.settings import slurm_settings
from simulator.slurm.starting import begin_job, end_earlier, end_job, move_end
from simulator.slurm.state import Engine, idle_engine, slurm_site_of
from studies.slurm.golden_runs import Cycle, Event, GoldenRun, Test, read_golden_run
from traces.catalogue.places import PROJECT

SHARED = Path(os.environ.get("TRACEHOUSE_SHARED") or PROJECT.parent / "shared")
RECENT_S = 8
"""Cycles so soon after an end are left out."""
VICTIMS = ("requeue", "warn")
"""Events of jobs that go for others."""
OF_NODES = ("failed", "away", "back")
"""Events of nodes that are down or drained, and of jobs on them."""
KINDS = {STARTED: "start", PLANNED: "plan", NEITHER: ""}


@dataclass
class Tally:
    """What agreed. differences: a line for each decision that did not."""

    cycles: int = 0
    same_cycles: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)

    def row(self, name: str) -> str:
        """One row of the table."""
        count = self.counts
        return (
            f"| {name} | {self.same_cycles}/{self.cycles} | {count['same']}/{count['decisions']} | "
            f"{count['same_start_nodes']}/{count['starts']} | {count['same_plan']}/{count['plans']} | "
            f"{count['same_plan_nodes']} |"
        )


class Follower:
    """Follows a recorded run: the engine's state is that of the log."""

    def __init__(self, run: GoldenRun) -> None:
        self.run = run
        self.arrays = cluster_arrays(run.cluster)
        self.requests = request_arrays([job.request for job in run.jobs], run.cluster, self.arrays)
        site = slurm_site_of(self.arrays, slurm_settings(run.cluster.scheduler))
        limits = limits_of(run.cluster, self.requests, self.arrays.gpu_types)
        self.engine = idle_engine(site, self.requests, limits, preemption_of(run.cluster, len(run.jobs)))
        self.by_raw = {job.raw: k for k, job in enumerate(run.jobs) if job.start_s is not None}
        self.by_label = {job.label: k for k, job in enumerate(run.jobs)}
        self.node = {node.name: k for k, node in enumerate(run.cluster.nodes)}
        self.partition = {partition.name: k for k, partition in enumerate(run.cluster.partitions)}
        self.odd_layouts = 0
        self.going: set[int] = set()  # suspended for the job that starts next
        self.requeued = {
            self.by_raw[event.raw]
            for event in run.events
            if event.kind in ("requeue", "failed") and event.raw in self.by_raw
        }

    def job_of(self, event: Event | Test) -> int:
        """The place of the job that a line names."""
        return self.by_label.get(event.label, self.by_raw.get(event.raw, NOT_GIVEN))

    def apply(self, event: Event) -> None:
        """Starts or ends the job of an event."""
        job = self.job_of(event)
        if event.kind == "start":
            self._start(job, event.nodes, int(event.time) if job in self.requeued else None)
        elif event.kind == "warn":
            job = self.by_raw.get(event.raw, NOT_GIVEN)
            end_earlier(self.engine, job, int(event.time) + event.seconds)
            self.engine.preemption.doomed[job] = True
        elif event.kind in ("suspend", "resume"):
            self._halt(self.by_raw[event.raw], int(event.time), event.kind == "resume")
        elif event.kind in ("away", "back"):
            away = FOREVER if event.kind == "away" else NOT_GIVEN
            self.engine.scratch.away[[self.node[name] for name in event.nodes]] = away
        elif event.kind in ("requeue", "failed"):
            job = self.by_raw.get(event.raw, NOT_GIVEN)
            if self._runs(job):
                end_job(self.engine, job, 0)
            self.engine.running.start[job] = NOT_GIVEN
            self.requeued.add(job)
        elif self.engine.running.start[job] >= 0 and self._runs(job):
            count_past(self.engine, job, int(event.time) - int(self.engine.running.start[job]))
            end_job(self.engine, job, 0)

    def _halt(self, job: int, now: int, goes_on: bool) -> None:
        """The job is suspended, or goes on and ends later."""
        rules = self.engine.preemption
        if goes_on and rules.suspended[job] >= 0:
            move_end(self.engine, job, int(self.engine.running.end[job]) + now - int(rules.suspended[job]))
        rules.suspended[job] = NOT_GIVEN if goes_on else now
        rules.doomed[job] = False  # until the job starts for which it goes
        self.going = self.going - {job} if goes_on else self.going | {job}

    def _runs(self, job: int) -> bool:
        running = self.engine.running
        return job in running.job[: running.length[0]]

    def _start(self, job: int, nodes: tuple[str, ...], at: int | None) -> None:
        """The log has the nodes, the engine lays the job out on them. at: None for the start that accounting has."""
        scratch = self.engine.scratch
        places = sorted(self.node[name] for name in nodes)
        partition = self.partition[self.run.jobs[job].partition]
        scratch.weight[:] = self.engine.site.weight * 256 + 255
        scratch.marked[0] = 0
        # a choice among these nodes alone may share their CPUs in another way
        scratch.allowed[:] = self.engine.site.partition_nodes[partition]
        chosen = choose_above(self.engine, job, partition)
        if sorted(scratch.chosen[:chosen].tolist()) != places:
            scratch.allowed[:] = False
            scratch.allowed[places] = True
            chosen = choose_above(self.engine, job, partition)
        if chosen != len(places):
            self.odd_layouts += 1
            scratch.chosen[: len(places)] = places
            each, more = divmod(self.run.jobs[job].cpus, len(places))
            scratch.cpus[: len(places)] = [each + (k < more) for k in range(len(places))]
        began = self.run.jobs[job].start_s if at is None else at
        begin_job(self.engine, job, partition, len(places), began if began is not None else 0)

    def suspended(self) -> tuple[set[int], set[int]]:
        """Whom the real one and our engine suspended for the job that has just begun."""
        rules = self.engine.preemption
        ours, theirs = set(rules.victims[: rules.length[0]].tolist()), self.going
        rules.length[0], self.going = 0, set()
        rules.doomed[list(ours)] = False
        rules.doomed[list(theirs)] = True
        return theirs, ours

    def victims(self, label: str, now: int) -> set[int]:
        """Whom our engine preempts for a job. The state stays."""
        job = self.by_label[label]
        engine = copied(self.engine)
        partition = self.partition[self.run.jobs[job].partition]
        engine.scratch.allowed[:] = engine.site.partition_nodes[partition]
        preempt_for(engine, job, partition, now)
        return set(engine.preemption.victims[: engine.preemption.length[0]].tolist())

    def queue_of(self, cycle: Cycle) -> WaitingRows:
        """The queue of a cycle: the jobs that it tested, in order."""
        jobs, partitions, delays = [], [], []
        next_task = np.full(len(self.run.jobs), NOT_GIVEN, dtype=np.int64)
        split = {test.label for test in cycle.tests if not test.label.endswith("_*")}
        seen = set()
        for test in cycle.tests:
            if (test.label, test.partition) in seen:
                continue
            seen.add((test.label, test.partition))
            if test.label.endswith("_*"):
                tasks = self._waiting_tasks(test.label[:-2], split)
                if not tasks:
                    continue
                for one, following in pairwise(tasks):
                    next_task[one] = following
                jobs.append(tasks[0])
            else:
                jobs.append(self.by_label.get(test.label, self.by_raw.get(test.raw, NOT_GIVEN)))
            partitions.append(self.partition[test.partition])
            delays.append(int(test.time) - int(cycle.time))
        rows = tuple(np.array(column, dtype=np.int64) for column in (jobs, partitions, delays))
        return waiting_rows((rows[0], rows[1], rows[2]), len(jobs), next_task, self.requests, len(self.partition))

    def _waiting_tasks(self, array: str, split: set[str]) -> list[int]:
        """Tasks of an array that wait as one record."""
        tasks = [
            k
            for k, job in enumerate(self.run.jobs)
            if job.label.startswith(f"{array}_") and self.engine.running.start[k] < 0 and job.label not in split
        ]
        return sorted(tasks, key=lambda k: self.run.jobs[k].request.array_task)

    def decide(self, cycle: Cycle) -> Decisions:
        """What the engine decides in the state of the log. The state stays."""
        period = priority_rules(self.run.cluster.scheduler).period
        count_elapsed(self.engine, int(cycle.time) - (int(cycle.time) - self.run.counting_s) % period)
        engine = copied(self.engine)
        rows = len(self.run.jobs) + len(cycle.tests) + 1
        decisions = Decisions(
            np.zeros(1, dtype=np.int64),
            *(np.zeros(rows, dtype=np.int64) for _ in range(4)),
            np.zeros((rows, self.arrays.num_nodes), dtype=np.bool_),
        )
        backfill_cycle(engine, self.queue_of(cycle), decisions, int(cycle.time))
        return decisions


def copied(engine: Engine) -> Engine:
    """The engine with copies of what changes."""
    return engine._replace(
        free=type(engine.free)(*(array.copy() for array in engine.free)),
        running=type(engine.running)(*(array.copy() for array in engine.running)),
        limits=engine.limits._replace(used=engine.limits.used.copy(), elapsed=engine.limits.elapsed.copy()),
        preemption=type(engine.preemption)(*(array.copy() for array in engine.preemption)),
        shapes=type(engine.shapes)(*(array.copy() for array in engine.shapes)),
        scratch=engine.scratch._replace(
            weight=engine.site.weight * 256 + 255, marked=np.zeros_like(engine.scratch.marked)
        ),
    )


def judge(run: GoldenRun, most_cycles: int | None = None) -> Tally:
    """Compares all decisions of a run, or those of its first cycles."""
    follower = Follower(run)
    tally = Tally()
    ends = [event.time for event in run.events if event.kind == "end"]
    for event in run.events:
        if event.kind in VICTIMS:
            _compare_victims(follower, event, tally)
        if event.kind == "cycle" and event.cycle is not None:
            cycle = event.cycle
            near = any(cycle.time - RECENT_S <= end <= max(cycle.end_time, cycle.time) for end in ends)
            if cycle.tests and cycle.end_time and not near:
                _compare(follower, cycle, tally)
                if tally.cycles == most_cycles:
                    break
        elif event.kind in ("start", "end", "suspend", "resume", *VICTIMS, *OF_NODES):
            follower.apply(event)
            if event.kind == "start" and follower.engine.preemption.suspends[0] > 0:
                _count_victims(follower, event, *follower.suspended(), tally)
    return tally


def _compare_victims(follower: Follower, event: Event, tally: Tally) -> None:
    """Compares those that go for a job, at the first of them."""
    events = follower.run.events
    theirs = {
        follower.by_raw[one.raw]
        for one in events
        if one.kind in VICTIMS and one.label == event.label and abs(one.time - event.time) < 1
    }
    if any(one.kind in VICTIMS and one.label == event.label and 0 < event.time - one.time < 1 for one in events):
        return
    _count_victims(follower, event, theirs, follower.victims(event.label, int(event.time)), tally)


def _count_victims(follower: Follower, event: Event, theirs: set[int], ours: set[int], tally: Tally) -> None:
    if not theirs and not ours:
        return
    tally.counts["victims"] += 1
    tally.counts["same_victims"] += ours == theirs
    if ours != theirs:
        names = [sorted(follower.run.jobs[job].label for job in jobs) for jobs in (theirs, ours)]
        tally.differences.append(f"{int(event.time)} for {event.label}: {names[0]} went, ours {names[1]}")


def _compare(follower: Follower, cycle: Cycle, tally: Tally) -> None:
    decisions = follower.decide(cycle)
    names = [node.name for node in follower.run.cluster.nodes]
    ours: dict[tuple[str, int], tuple[str, int, int, tuple[str, ...]]] = {}
    times: Counter[str] = Counter()
    tested = {test.label for test in cycle.tests}
    for row in range(int(decisions.length[0])):
        label = follower.run.jobs[decisions.job[row]].label
        if label not in tested and "_" in label:
            label = f"{label.split('_')[0]}_*"
        nodes = tuple(name for name, mine in zip(names, decisions.nodes[row], strict=True) if mine)
        ours[label, times[label]] = (
            KINDS[int(decisions.kind[row])],
            int(decisions.start[row]),
            int(decisions.end[row]),
            nodes,
        )
        times[label] += 1
    theirs: dict[tuple[str, int], Test] = {}
    times.clear()
    for test in cycle.tests:
        theirs[test.label, times[test.label]] = test
        times[test.label] += 1
    before = len(tally.differences)
    for key in theirs | ours:
        _compare_one(key, theirs.get(key), ours.get(key), cycle, tally)
    tally.cycles += 1
    tally.same_cycles += len(tally.differences) == before


def _compare_one(
    key: tuple[str, int],
    test: Test | None,
    mine: tuple[str, int, int, tuple[str, ...]] | None,
    cycle: Cycle,
    tally: Tally,
) -> None:
    count = tally.counts
    count["decisions"] += 1
    where = f"{int(cycle.time)} {key[0]}#{key[1]}"
    if mine is None and test is not None:
        mine = ("", 0, 0, ())  # passed over before its nodes were looked at
    if test is None or mine is None or test.kind != mine[0]:
        real = "untested" if test is None else f"{test.kind or 'neither'} {test.start} {','.join(test.nodes)}"
        tally.differences.append(f"{where}: {real}, ours {mine}")
        return
    count["same"] += 1
    nodes = tuple(sorted(test.nodes)) == tuple(sorted(mine[3]))
    if test.kind == "start":
        count["starts"] += 1
        count["same_start_nodes"] += nodes
        if not nodes:
            tally.differences.append(f"{where}: start on {','.join(test.nodes)}, ours {','.join(mine[3])}")
    elif test.kind == "plan":
        count["plans"] += 1
        count["same_plan"] += test.start == mine[1]
        count["same_plan_nodes"] += nodes and test.start == mine[1]
        if not nodes or (test.start, test.end) != (mine[1], mine[2]):
            tally.differences.append(
                f"{where}: plan {test.start} {test.end} {','.join(test.nodes)}, ours {mine[1]} {mine[2]} {','.join(mine[3])}"
            )


def golden_folders() -> list[Path]:
    """Folders of all recorded runs: those of the reference, or those below the folder that TRACEHOUSE_RECORDED names."""
    recorded = os.environ.get("TRACEHOUSE_RECORDED")
    return sorted((Path(recorded) if recorded else SHARED / "golden" / "slurm").glob("*/run*"))


def main() -> None:
    """Prints the table. Names of scenarios may be given; with -v every difference is printed."""
    words = sys.argv[1:]
    names = [word for word in words if not word.startswith("-")]
    print("| run | cycles | decisions | starts on the same nodes | planned start to the second | same planned nodes |")
    print("| --- | --- | --- | --- | --- | --- |")
    for folder in golden_folders():
        if names and folder.parent.name not in names:
            continue
        tally = judge(read_golden_run(folder))
        print(tally.row(f"{folder.parent.name} {folder.name}"), flush=True)
        if "-v" in words:
            print("\n".join(tally.differences[:3000]))


if __name__ == "__main__":
    main()
