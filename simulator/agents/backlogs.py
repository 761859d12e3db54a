"""Windows of a trace that begin with the backlog of a policy's own replay, instead of an empty cluster.

A window that begins empty ends before anybody has waited long, and flatters every order that lets jobs starve. So a window takes
up the state in which a replay of the whole trace was when its first job came: what ran, and who waited since when. Arrivals go on
behind its last job until all its jobs have started, or until the trace's part for that is over; only its own jobs count.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.agents.episodes import check_windows
from simulator.engine.replay import StoppableReplay
from simulator.jobs.jobs import Jobs
from simulator.policies.registry import Policy

IntArray = NDArray[np.int64]


class WindowSchedules(NamedTuple):
    """By window: its first job, and the schedule to fill in."""

    first: IntArray  # (windows,)
    start: IntArray  # (windows, window_jobs), seconds
    backfilled: NDArray[np.bool_]  # (windows, window_jobs)


@dataclass(frozen=True)
class Backlogs:
    """What windows begin with. states: one per window, kept before its first job came; under Slurm of
    simulator/agents/slurm_windows.py. after: how many jobs behind a window are submitted, too."""

    states: tuple[Any, ...]
    after: int

    def submitted(self, jobs: int, first: int, window_jobs: int) -> int:
        """How many jobs of a trace of so many there are for the window that begins at `first`: those behind it never come."""
        return min(first + window_jobs + self.after, jobs)


def keep_backlogs(
    jobs: Jobs, cluster_procs: int, first: IntArray, policy: str | Policy, backfill: str = "easy", after: int = 0
) -> Backlogs:
    """The states of one replay of the trace in which windows begin whose first jobs are at these positions, int64 (windows,).

    Raises ValueError as `simulator.engine.replay.replay` does, and where the jobs can be cancelled.
    """
    first = np.asarray(first, dtype=np.int64)
    check_windows(jobs, first, 1)
    replayed = StoppableReplay(jobs, cluster_procs, policy, backfill)
    states: dict[int, Any] = {}
    for time in np.unique(jobs.submit[first]).tolist():
        replayed.run(until=time)
        states[time] = replayed.keep()
    return Backlogs(tuple(states[time] for time in jobs.submit[first].tolist()), after)


def check_backlogs(backlogs: Backlogs, windows: int, rule_set: str) -> None:
    """Raises ValueError unless there is a state for each of so many windows, and the rules are the standard ones."""
    if rule_set != "standard":
        raise ValueError(f"the rule set {rule_set!r} knows no backlogs: its windows begin on an empty cluster")
    if windows != len(backlogs.states):
        raise ValueError(f"expected one state per window, got {len(backlogs.states)} for {windows} windows")


def replay_from_backlogs(
    jobs: Jobs,
    cluster_procs: int,
    policy: str | Policy,
    backfill: str,
    correction: str,
    backlogs: Backlogs,
    schedules: WindowSchedules,
) -> Callable[[int, int], None]:
    """What fills the schedules of windows begin : end, replayed from their backlogs.

    Raises ValueError where a state was kept without what the policy needs, and as `simulator.engine.replay.replay` does.
    """
    window_jobs = schedules.start.shape[1]

    def replay_some(begin: int, end: int) -> None:
        replayed = StoppableReplay(jobs, cluster_procs, policy, backfill, correction=correction)
        for k in range(begin, end):
            first = int(schedules.first[k])
            window = slice(first, first + window_jobs)
            submitted = backlogs.submitted(len(jobs), first, window_jobs)
            replayed.take_up(backlogs.states[k], submitted, (window.start, window.stop))
            replayed.run()
            schedules.start[k] = replayed.schedule.start[window]
            schedules.backfilled[k] = replayed.schedule.backfilled[window]

    return replay_some
