"""Decisions of our PBS, one by one, against recorded runs: `python -m studies pbs_decisions`.

At each pass of the scheduler's log, the state is that of the log: which jobs run, and where, and which wait. Our pass then has to start
the jobs that PBS started, on the same nodes, and to plan the same top jobs for the same second.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from simulator.jobs.cluster import FOREVER
from simulator.pbs.cycle import run_pass
from simulator.pbs.placing import is_whole
from simulator.pbs.queueing import ASKED_EVERY_S, NEXT_DECAY, count_running, join_pbs_queue
from simulator.pbs.replaying import idle_pbs
from simulator.pbs.settings import PbsPhases
from simulator.pbs.starting import end_pbs_job, start_pbs_job
from simulator.pbs.state import BEGINS, KEPT, KEPT_S, OVER, UNSET, WHOLE_VNODE, PbsEngine
from studies.pbs.recorded_runs import Pass, Record, RecordedRun, read_recorded_run, recorded_folders


@dataclass
class DecisionTally:
    """What agreed. differences: one line each."""

    counts: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)

    def row(self, name: str) -> str:
        """The row of a run in the table."""
        count = self.counts

        def share(part: str, whole: str) -> str:
            return f"{count[part] / count[whole]:.3f} of {count[whole]}" if count[whole] else "-"

        cells = (
            share("same", "decisions"),
            share("same_starts", "starts"),
            share("same_nodes", "same_starts"),
            share("same_tops", "tops"),
            share("same_seconds", "same_tops"),
        )
        return f"| {name} | {count['passes']} | {' | '.join(cells)} |"


class PbsFollower:
    """Follows a recorded run: the engine's state is that of the log."""

    def __init__(self, run: RecordedRun, phases: PbsPhases) -> None:
        self.run = run
        asked = [each.job for each in run.jobs]
        submit = np.array([job.submit_s for job in asked], dtype=np.int64)
        self.engine = idle_pbs(run.cluster, asked, submit, phases)
        self.engine.shares.clock[NEXT_DECAY] = FOREVER
        self.place = {each.label: k for k, each in enumerate(run.jobs)}
        self.arrays: dict[str, list[int]] = {}
        for k, each in enumerate(run.jobs):
            if each.job.array >= 0:
                self.arrays.setdefault(each.label.partition("[")[0] + "[]", []).append(k)
        weights = np.array([node.weight for node in run.cluster.nodes])
        self.order = [run.cluster.nodes[int(k)].name for k in np.argsort(weights, kind="stable")]
        self.node = {name: k for k, name in enumerate(self.order)}
        self.ends = [record for record in run.records if record.kind in "ERz" and record.label in self.place]
        self.done = 0

    def runs(self, job: int) -> bool:
        """Whether a job runs."""
        return bool(self.engine.running.end[job] != UNSET)

    def free(self, second: int) -> int:
        """Processors that neither a job nor a reservation that lasts holds."""
        site = self.engine.site
        times = site.reservation_times
        last = (times[:, BEGINS] <= second) & (second < np.maximum(times[:, OVER], times[:, KEPT]))
        held = site.reservation_nodes[site.reservation_entry[last]].any(axis=0)
        return int(self.engine.load.free[~held, 0].sum())

    def rows(self, job: int) -> list[int]:
        """The row of the ask of each chunk of a job."""
        asks, ask = self.engine.asks, self.engine.jobs.ask[job]
        return [row for row in range(asks.first[ask], asks.first[ask + 1]) for _ in range(asks.count[row])]

    def start(self, job: int, at: int) -> None:
        """A job starts on the nodes of the log."""
        engine, each = self.engine, self.run.jobs[job]
        rows = self.rows(job)
        engine.scratch.node[: len(rows)] = [self.node[name] for name in each.nodes[: len(rows)]]
        engine.scratch.chunk[: len(rows)] = rows
        start_pbs_job(engine, job, len(rows), at)

    def end_until(self, current: Pass) -> None:
        """Lets the jobs end that had ended at a pass. Its second, and the next one, may have ends before it and after it. As many
        come before it as make the processors free that it says are free, or those that its jobs started on."""
        while self.done < len(self.ends) and self.ends[self.done].time < current.time:
            self._end(self.ends[self.done])
        for second in (current.time, current.time + 1):
            while self.done < len(self.ends) and self.ends[self.done].time == second and not self._is_enough(current):
                self._end(self.ends[self.done])

    def _is_enough(self, current: Pass) -> bool:
        started = [self.place[label] for label in current.started if label in self.place]
        if current.free is not None:
            before = started[: current.started_before_free]
            return self.free(current.time) >= current.free + sum(int(self.engine.jobs.procs[job]) for job in before)
        return self._has_room(started)

    def _has_room(self, started: list[int]) -> bool:
        """Whether all of these jobs fit on the nodes that they got."""
        engine = self.engine
        free, jobs = engine.load.free.copy(), engine.load.jobs.copy()
        for job in started:
            ask = engine.jobs.ask[job]
            for name, row in zip(self.run.jobs[job].nodes, self.rows(job), strict=False):
                node = self.node[name]
                free[node] -= engine.asks.amounts[row]
                if jobs[node] >= WHOLE_VNODE or (is_whole(engine.site, engine.asks, ask, node) and jobs[node] > 0):
                    return False
            for name in set(self.run.jobs[job].nodes):
                jobs[self.node[name]] += WHOLE_VNODE if is_whole(engine.site, engine.asks, ask, self.node[name]) else 1
        return bool((free >= 0).all())

    def _end(self, record: Record) -> None:
        job = self.place[record.label]
        self.done += 1
        if self.runs(job):
            end_pbs_job(self.engine, job)

    def considered(self, current: Pass) -> list[int]:
        """The jobs that a pass considered, of an array all tasks."""
        jobs: dict[int, None] = {}
        for label in current.considered:
            jobs |= dict.fromkeys(self.arrays.get(label, [self.place[label]] if label in self.place else []))
        return sorted(jobs)

    def queue(self, current: Pass) -> list[int]:
        """The jobs that a pass considered and that have not run."""
        return [job for job in self.considered(current) if self.engine.running.start[job] == UNSET]

    def keep_nodes(self, current: Pass) -> None:
        """Reservations that ended with a job in them keep their nodes for some time."""
        engine = self.engine
        times = engine.site.reservation_times
        for k in range(len(times)):
            of = engine.asks.reservation[engine.jobs.ask] == engine.site.reservation_group[k]
            if times[k, OVER] <= current.time and times[k, KEPT] == times[k, OVER] + 1:
                is_used = any(self.runs(int(job)) for job in np.flatnonzero(of))
                times[k, KEPT] = times[k, OVER] + KEPT_S if is_used else 0

    def decide(self, current: Pass) -> PbsEngine:
        """The engine after our pass in the state of the log. The state stays, but for usage and eligible time."""
        queue = self.engine.waiting
        queue.length[0] = 0
        if self.engine.settings.fair_share:
            self.engine.shares.clock[NEXT_DECAY] = current.time if current.decayed else FOREVER
            count_running(self.engine, current.time)
            self.engine.shares.clock[NEXT_DECAY] = FOREVER
        engine = copied_pbs(self.engine)
        for job in self.queue(current):
            if queue.since[job] == UNSET and queue.eligible[job] == 0:
                queue.since[job] = max(engine.jobs.submit[job], self.run.jobs[job].job.begin_s)
            join_pbs_queue(engine, job, 0)
        run_pass(engine, current.time)
        return engine


def copied_pbs(engine: PbsEngine) -> PbsEngine:
    """The engine with copies of what a pass changes, but for the clocks of eligible time."""
    return engine._replace(
        load=type(engine.load)(*(array.copy() for array in engine.load)),
        running=type(engine.running)(*(array.copy() for array in engine.running)),
        limits=engine.limits._replace(used=engine.limits.used.copy()),
        shares=engine.shares._replace(usage=engine.shares.usage.copy(), clock=engine.shares.clock.copy()),
        waiting=engine.waiting._replace(
            length=engine.waiting.length.copy(),
            pending=engine.waiting.pending.copy(),
            suspended=engine.waiting.suspended.copy(),
        ),
    )


def judge_run(run: RecordedRun) -> DecisionTally:
    """Compares all passes of a run. When PBS asked nodes what jobs use is not in the log. The second of ten with the most agreement
    counts."""
    follower = PbsFollower(run, PbsPhases())
    seconds = range(ASKED_EVERY_S) if follower.engine.settings.fair_share else range(1)
    tallies = [_judge(PbsFollower(run, PbsPhases(poll_s=second))) for second in seconds]
    return max(tallies, key=lambda tally: tally.counts["same"] + tally.counts["same_tops"])


def _judge(follower: PbsFollower) -> DecisionTally:
    run, tally = follower.run, DecisionTally()
    for current in run.passes:
        follower.keep_nodes(current)
        follower.end_until(current)
        _compare(follower, current, tally)
        for label in current.started:
            job = follower.place.get(label)
            if job is not None and not follower.runs(job):
                start = run.jobs[job].start_s
                follower.start(job, current.time if start is None else start)
    return tally


def _compare(follower: PbsFollower, current: Pass, tally: DecisionTally) -> None:
    count, run = tally.counts, follower.run
    count["passes"] += 1
    if not current.considered:
        return
    waiting = follower.queue(current)
    engine = follower.decide(current)
    ours = {run.jobs[job].label for job in waiting if engine.running.end[job] != UNSET}
    theirs = {label for label in current.started if label in follower.place}
    count["decisions"] += len(set(current.considered))
    count["same"] += len(set(current.considered)) - len(ours ^ theirs)
    count["starts"] += len(theirs)
    count["same_starts"] += len(ours & theirs)
    if ours != theirs:
        tally.differences.append(f"{current.time}: PBS starts {sorted(theirs)}, ours {sorted(ours)}")
    for label in ours & theirs:
        job = follower.place[label]
        first, rows = engine.running.first[job], engine.running.count[job]
        nodes = [follower.order[int(k)] for k in engine.running.node[first : first + rows]]
        count["same_nodes"] += tuple(nodes) == run.jobs[job].nodes
        if tuple(nodes) != run.jobs[job].nodes:
            tally.differences.append(
                f"{current.time}: {label} on {','.join(run.jobs[job].nodes)}, ours {','.join(nodes)}"
            )
    _compare_tops(follower, engine, current, tally)


def _compare_tops(follower: PbsFollower, engine: PbsEngine, current: Pass, tally: DecisionTally) -> None:
    count, tops = tally.counts, engine.tops
    ours = {follower.run.jobs[tops.job[k]].label: int(tops.start[k]) for k in range(int(tops.length[0]))}
    count["tops"] += len(current.tops.keys() | ours.keys())
    count["same_tops"] += len(current.tops.keys() & ours.keys())
    count["same_seconds"] += sum(ours[label] == second for label, second in current.tops.items() if label in ours)
    if ours != current.tops:
        tally.differences.append(f"{current.time}: top jobs {current.tops}, ours {ours}")


def main() -> None:
    """Prints the table. Names of scenarios may be given; with -v every difference is printed."""
    words = sys.argv[1:]
    names = [word for word in words if not word.startswith("-")]
    print("| run | passes | decisions | starts | on the same nodes | top jobs | planned to the second |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for folder in recorded_folders():
        if names and folder.parent.name not in names:
            continue
        tally = judge_run(read_recorded_run(folder))
        print(tally.row(folder.parent.name), flush=True)
        if "-v" in words:
            print("\n".join(tally.differences))


if __name__ == "__main__":
    main()
