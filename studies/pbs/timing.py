"""When PBS learned of what happened in a recorded run: which pass saw each submission and each end first, from the scheduler's log.

An accounting log has whole seconds. A job that ended in a second may be seen in the next one, two ends of one second may be seen in one
pass, and a job's start is stamped up to a second after the pass that started it. Schedules depend on all of these.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.pbs.settings import PbsPhases
from studies.pbs.decisions import PbsFollower
from studies.pbs.recorded_runs import RecordedRun

IntArray = NDArray[np.int64]
NEVER = 1 << 30


@dataclass(frozen=True)
class SeenTimes:
    """Of each job of a run. arrival_s: of the pass that considered it first. ran_s: from the pass that started it to the pass that saw its
    end. late_s: between the pass that started it and the stamp of its start. turns: numbers of the passes that saw its submission and its
    end first."""

    arrival_s: IntArray
    ran_s: IntArray
    late_s: IntArray
    turns: tuple[IntArray, IntArray]


def logged_run_times(run: RecordedRun, unknown_s: int) -> IntArray:
    """Run times of the accounting log, s. unknown_s: of jobs that never ran."""
    return np.array([unknown_s if each.ran_s is None else each.ran_s for each in run.jobs], dtype=np.int64)


def seen_times(run: RecordedRun, unknown_s: int) -> SeenTimes:
    """When PBS learned of what happened. unknown_s: run time of jobs that never ran."""
    submitted, started, ended = _passes_of_jobs(run)
    times = np.array([each.time for each in run.passes], dtype=np.int64)
    stamp = np.array([0 if each.start_s is None else each.start_s for each in run.jobs], dtype=np.int64)
    submit = np.array([each.job.submit_s for each in run.jobs], dtype=np.int64)
    has_run = (started >= 0) & (ended >= 0)
    return SeenTimes(
        arrival_s=np.where(submitted >= 0, times[submitted], submit),
        ran_s=np.where(has_run, times[ended] - times[started], logged_run_times(run, unknown_s)),
        late_s=np.where(started >= 0, stamp - times[started], 0),
        turns=(np.maximum(submitted, 0), np.where(ended >= 0, ended, NEVER)),
    )


def _passes_of_jobs(run: RecordedRun) -> tuple[IntArray, IntArray, IntArray]:
    """Numbers of the passes that considered each job first, started it, and saw its end first, -1 for none."""
    follower = PbsFollower(run, PbsPhases())
    submitted, started, ended = (np.full(len(run.jobs), -1, dtype=np.int64) for _ in range(3))
    for number, current in enumerate(run.passes):
        done = follower.done
        follower.keep_nodes(current)
        follower.end_until(current)
        for record in follower.ends[done : follower.done]:
            ended[follower.place[record.label]] = number
        for job in follower.considered(current):
            submitted[job] = number if submitted[job] < 0 else submitted[job]
        for label in current.started:
            place = follower.place.get(label)
            if place is not None and not follower.runs(place):
                started[place] = number
                stamp = run.jobs[place].start_s
                follower.start(place, current.time if stamp is None else stamp)
    return submitted, started, ended
