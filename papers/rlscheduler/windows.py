"""Many windows of a trace under the RLScheduler rules: for simulator/agents, which replays windows and samples networks in them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from papers.compiled import compiled
from papers.rlscheduler.inspecting import USUAL_PROTOCOL, Inspector
from papers.rlscheduler.loop import RLSchedulerJobs, RLSchedulerRules, replay_jobs
from papers.rlscheduler.rules import check_widths, rlscheduler_inputs
from simulator.agents.batch import WindowRules
from simulator.agents.episodes import Threads, WindowSchedules
from simulator.agents.trajectories import Sampled
from simulator.jobs.jobs import Jobs
from simulator.policies.registry import Policy
from simulator.policies.sampling import DECISIONS, ROWS, TAKE_BEST, Recorder, no_recorder, seed_draws


def replay_published_windows(
    jobs: Jobs, cluster_procs: int, policy: Policy, rules: WindowRules, schedules: WindowSchedules
) -> None:
    """Fills the schedules of windows, each on an initially empty cluster. Raises ValueError as `rlscheduler_inputs` does."""
    check_widths(jobs, cluster_procs)
    inputs = _inputs(jobs, cluster_procs, policy, rules, TAKE_BEST)

    def work(begin: int, end: int) -> None:
        part = slice(begin, end)
        first, start, backfilled = schedules.first[part], schedules.start[part], schedules.backfilled[part]
        replay_range(*inputs, no_recorder(), first, start, backfilled)

    Threads(rules.threads).share(len(schedules.first), 1, work)


def sampled_windows(
    jobs: Jobs, cluster_procs: int, sampled: Sampled, policy: Policy, rules: WindowRules, sample: int
) -> Callable[[Recorder, int, int], tuple[int, int]]:
    """What fills a recorder with the windows from one to before another. sample: see simulator/policies/network.py. Raises ValueError
    as `rlscheduler_inputs` does."""
    inputs = _inputs(jobs, cluster_procs, policy, rules, sample)

    def fill(recorder: Recorder, begin: int, end: int) -> tuple[int, int]:
        first, seeds, start, decisions = (column[begin:end] for column in sampled)
        fitted, rows = sample_range(*inputs, recorder, first, seeds, start, decisions)
        return begin + fitted, rows

    return fill


def _inputs(
    jobs: Jobs, cluster_procs: int, policy: Policy, rules: WindowRules, sample: int
) -> tuple[RLSchedulerRules, RLSchedulerJobs, Inspector | None]:
    return rlscheduler_inputs(
        jobs,
        cluster_procs,
        policy,
        rules.backfill != "none",
        wait_bug=rules.rule_set == "rlscheduler",
        sample=sample,
        protocol=rules.protocol or USUAL_PROTOCOL,
    )


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
