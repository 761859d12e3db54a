"""How far windows mislead, by what they begin with: `python -m studies backlogs`.

Six logs are replayed as a whole under FCFS and six other rules. Disjoint windows of the second half are replayed by themselves:
from an empty cluster, from the backlog that FCFS had, and from the rule's own, with and without arrivals behind the window. The
bounded slowdown (and the wait) of a rule over all windows is divided by that of FCFS. The error is the mean distance of the
logarithm of this ratio from that of the same jobs in the whole replay. Tau is Kendall's, of the ranking of the seven rules.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kendalltau

from papers.archive import LOGS, SHARED, jobs_of_file
from simulator.agents.batch import WindowRules, replay_windows
from simulator.agents.episodes import keep_backlogs
from simulator.engine.replay import replay
from simulator.jobs.jobs import Jobs
from simulator.metrics.metrics import bounded_slowdown

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

RULES = (
    ("FCFS", "easy"),
    ("SJF", "easy"),
    ("SAF", "easy"),
    ("F1", "easy"),
    ("formula:-(submit + 8*estimate*sqrt(procs))", "easy"),
    ("WFP3", "easy"),
    ("FCFS", "easy-sjbf"),
)
LENGTHS = (256, 1024, 4096)
STARTS = ("empty", "FCFS's", "own", "own, as many jobs after")


@dataclass(frozen=True)
class Misled:
    """What windows of one log say. error: of the logarithms of ratios; tau: of rankings; each (bounded slowdown, wait)."""

    error: FloatArray
    tau: FloatArray


def main() -> None:
    logs = [(jobs_of_file(SHARED / name), procs) for name, procs in LOGS.values()]
    whole = [[replay(jobs, procs, *rule).start for rule in RULES] for jobs, procs in logs]
    print("| windows of | begin with | error: bounded slowdown | and wait | tau: bounded slowdown | and wait |")
    print("| ---: | --- | ---: | ---: | ---: | ---: |")
    for length in LENGTHS:
        for begins in STARTS:
            of_logs = [
                misled(jobs, procs, starts, length, begins) for (jobs, procs), starts in zip(logs, whole, strict=True)
            ]
            error, tau = (np.mean([getattr(each, name) for each in of_logs], axis=0) for name in ("error", "tau"))
            print(
                f"| {length:,} | {begins} | {error[0]:.3f} | {error[1]:.3f} | {tau[0]:.2f} | {tau[1]:.2f} |", flush=True
            )


def misled(jobs: Jobs, procs: int, whole: list[IntArray], length: int, begins: str) -> Misled:
    """Windows of the second half beside the same jobs in the whole replays. whole: start times by rule."""
    first = np.arange(len(jobs) // 2, len(jobs) - length + 1, length)
    where = first[:, None] + np.arange(length)
    after = length if "after" in begins else 0
    of_fcfs = None if begins == "empty" else keep_backlogs(jobs, procs, first, *RULES[0], after)
    alone = []
    for policy, backfill in RULES:
        backlogs = of_fcfs
        if begins.startswith("own"):
            backlogs = keep_backlogs(jobs, procs, first, policy, backfill, after)
        rules = WindowRules(backfill, threads=1, backlogs=backlogs)
        alone.append(replay_windows(jobs, procs, first, length, policy, rules)[0])
    seen, true = (
        np.array([_means(jobs, where, start) for start in starts]) for starts in (alone, [w[where] for w in whole])
    )
    error = np.abs(np.log(seen[1:] / seen[0]) - np.log(true[1:] / true[0])).mean(axis=0)
    tau = [kendalltau(seen[:, k], true[:, k]).statistic for k in range(2)]
    return Misled(error, np.array(tau))


def _means(jobs: Jobs, where: IntArray, start: IntArray) -> tuple[float, float]:
    """Mean bounded slowdown and mean wait in seconds of the jobs at these positions."""
    wait = start - jobs.submit[where]
    return float(bounded_slowdown(wait, jobs.runtime[where]).mean()), float(wait.mean())
