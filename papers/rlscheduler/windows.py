"""Many windows of a trace under the RLScheduler rules, one after another, in compiled code."""

from __future__ import annotations

import numpy as np

from papers.compiled import compiled
from papers.rlscheduler.loop import RLSchedulerJobs, replay_jobs
from simulator.policies.sampling import DECISIONS, ROWS, seed_draws


@compiled
def replay_range(rules, jobs, inspector, recorder, first, start, backfilled):
    """Replays windows of a trace, each on an initially empty cluster. first: of each window, int64 (windows,).

    inspector: see `replay_jobs`. Fills start times and whether jobs were backfilled, (windows, window jobs).
    """
    for k in range(len(first)):
        window = _window(jobs, first[k], first[k] + start.shape[1])
        backfilled[k] = False
        replay_jobs(rules, window, inspector, recorder, start[k], backfilled[k])


@compiled
def sample_range(rules, jobs, inspector, recorder, first, seeds, start, count):
    """Replays windows of a trace with a network whose choices are drawn or, for FOLLOW, those of the teacher.

    inspector: see `replay_jobs`. first, seeds: of each window, int64 (windows,). Fills start times (windows, window jobs) and
    numbers of decisions (windows,). Returns how many windows fitted into the recorder, and the rows of those.
    """
    backfilled = np.empty(start.shape[1], dtype=np.bool_)
    for k in range(len(first)):
        seed_draws(seeds[k])
        before, rows = recorder.used[DECISIONS], recorder.used[ROWS]
        window = _window(jobs, first[k], first[k] + start.shape[1])
        if not replay_jobs(rules, window, inspector, recorder, start[k], backfilled):
            return k, rows
        count[k] = recorder.used[DECISIONS] - before
    return len(first), recorder.used[ROWS]


@compiled
def _window(jobs, low, high):
    return RLSchedulerJobs(
        jobs.submit[low:high], jobs.runtime[low:high], jobs.procs[low:high], jobs.estimate[low:high], jobs.need[low:high],
        jobs.given[low:high], jobs.facts[low:high],
    )  # fmt: skip
