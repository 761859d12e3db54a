"""Passes of our main scheduler against recorded ones: `python -m studies slurm_passes`.

Of every recorded pass we take the state: running jobs with their nodes, and the queue in the order of the last priorities in the log. Our
engine runs the pass, and the jobs that start are compared, and their nodes. The log does not say when nodes have completed: a job's do so
until a pass begins a moment after its end.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from simulator.cluster.requests import NOT_GIVEN
from simulator.slurm.loop import ALL
from simulator.slurm.main_pass import main_pass
from simulator.slurm.rows import waiting_rows
from studies.slurm.decisions import Follower, copied, golden_folders
from studies.slurm.golden_cluster import text_of
from studies.slurm.golden_runs import Event, GoldenRun, read_golden_run

Starts = set[tuple[int, tuple[int, ...]]]
COMPLETES_S = {"default depth": 0.12, "full queue": 0.9}
"""Seconds after an end in which nodes still complete: the first kind of pass follows the last epilog, the second one is due by time."""
AT_ONCE_S = 2
"""Starts so soon after a pass begins are its own."""
_SUBMITTED = re.compile(r"^\[([0-9T:.-]+)\] .*JobId=(\d+) InitPrio=(\d+)", re.MULTILINE)


def judge_passes(folder: Path) -> Counter[str]:
    """How many passes, how many with the same starts, and with the same nodes, of all and of those in which a job starts."""
    run = read_golden_run(folder)
    follower, queue = Follower(run), _Queue(run, text_of(folder, "ctld.log"))
    count: Counter[str] = Counter()
    ends: list[tuple[float, list[int]]] = []
    for place, event in enumerate(run.events):
        if event.kind == "pass":
            ours = _pass(follower, queue, event, ends)
            theirs = _starts(follower, run.events[place + 1 :], event.time)
            same_jobs = {job for job, _ in ours} == {job for job, _ in theirs}
            count.update(passes=1, jobs=same_jobs, nodes=ours == theirs)
            if theirs:
                count.update(starting=1, starting_jobs=same_jobs, starting_nodes=ours == theirs)
        elif event.kind == "cycle" and event.cycle is not None:
            queue.priority |= {int(test.label.split("_")[0]): test.priority for test in event.cycle.tests}
        elif event.kind in ("start", "end"):
            job, running = follower.job_of(event), follower.engine.running
            if event.kind == "start":
                queue.started.add(job)
            else:
                ends.append((event.time, running.node[running.first[job] :][: running.nodes[job]].tolist()))
            follower.apply(event)
    return count


class _Queue:
    """Who waits, and in which order. priority, submitted_s: by the number in the log."""

    def __init__(self, run: GoldenRun, log: str) -> None:
        self.run = run
        self.started: set[int] = set()
        self.priority: dict[int, int] = {}
        self.submitted_s: dict[int, float] = {}
        for time, number, priority in _SUBMITTED.findall(log):
            self.priority[int(number)] = int(priority)
            self.submitted_s[int(number)] = datetime.fromisoformat(time).replace(tzinfo=UTC).timestamp()

    def rows(self, follower: Follower, time: float) -> list[tuple[int, ...]]:
        """Rows in order, which end with the place of the job and of its partition."""
        rows = []
        for place, job in enumerate(self.run.jobs):
            number = int(job.label.split("_")[0])
            is_here = self.submitted_s.get(number, time + 1) <= time and job.eligible_s <= time + 1
            for name in job.request.partitions or (job.partition,):
                partition = follower.partition.get(name)
                if place not in self.started and is_here and partition is not None:
                    tier = int(follower.engine.site.partition_tier[partition])
                    key = (not job.request.reservation, -tier, -self.priority.get(number, 0), job.request.submit_s)
                    rows.append((*key, number, job.request.array_task, place, partition))
        return sorted(rows)


def _pass(follower: Follower, queue: _Queue, event: Event, ends: list[tuple[float, list[int]]]) -> Starts:
    """The starts of our pass in the state of the log. The state stays."""
    engine = copied(follower.engine)
    engine.scratch.completing[:] = 0
    ends[:] = [(end, nodes) for end, nodes in ends if end > event.time - COMPLETES_S[event.label]]
    for _, nodes in ends:
        engine.scratch.completing[nodes] = int(event.time) + 2
    jobs, partitions = [], []
    next_task = np.full(len(queue.run.jobs), NOT_GIVEN, dtype=np.int64)
    last = (NOT_GIVEN, NOT_GIVEN, NOT_GIVEN)
    for *_, job, partition in queue.rows(follower, event.time):
        array = queue.run.jobs[job].request.array
        if array != NOT_GIVEN and last[:2] == (array, partition):
            next_task[last[2]] = job
        else:
            jobs.append(job)
            partitions.append(partition)
        last = (array, partition, job)
    rows = np.array(jobs, dtype=np.int64), np.array(partitions, dtype=np.int64), np.zeros(len(jobs), dtype=np.int64)
    waiting = waiting_rows(rows, len(jobs), next_task, follower.requests, len(follower.partition))
    ran = set(engine.running.job[: engine.running.length[0]].tolist())
    depth = ALL if event.label == "full queue" else np.int64(engine.site.settings.depth + 1)
    main_pass(engine, waiting, depth, int(event.time))
    running = engine.running
    started = set(running.job[: running.length[0]].tolist()) - ran
    return {(job, tuple(sorted(running.node[running.first[job] :][: running.nodes[job]].tolist()))) for job in started}


def _starts(follower: Follower, events: list[Event], time: float) -> Starts:
    """The starts of the recorded pass."""
    starts: Starts = set()
    for event in events:
        if event.kind in ("pass", "cycle") or event.time > time + AT_ONCE_S:
            break
        if event.kind == "start" and not event.by_backfill:
            starts.add((follower.job_of(event), tuple(sorted(follower.node[name] for name in event.nodes))))
    return starts


def main() -> None:
    """Prints the table. Names of scenarios may be given."""
    print("| run | passes | same jobs | same nodes | passes that start jobs | same jobs there | same nodes there |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for folder in golden_folders():
        if len(sys.argv) > 1 and folder.parent.name not in sys.argv[1:]:
            continue
        count = judge_passes(folder)
        names = ("passes", "jobs", "nodes", "starting", "starting_jobs", "starting_nodes")
        print(f"| {folder.parent.name} | {' | '.join(str(count[name]) for name in names)} |", flush=True)


if __name__ == "__main__":
    main()
