"""What SchedInspector's rules give without learning: `python -m papers.schedinspector.study`, where the shared logs are.

Its sixteen bases are replayed under its own rules on ten windows of 1,024 jobs, by themselves and with the rule that rejects exactly
what does not fit: at most 72 times a job as published, or without a limit. Beside them stands the same base under the standard rules.
The figures are average bounded slowdowns; policies that know the wait use the true one. SJF is that code's, which breaks ties by
processors. Lublin-1 has all bases, the other logs SJF and SAF.
"""

from __future__ import annotations

import numpy as np

from assets.policies.training import PolicyTask, arena_of_task
from papers.archive import LOGS, trace_of_log
from papers.markdown import print_cells, print_heading
from papers.rlscheduler.inspecting import INSPECTOR_BASES, inspector_base
from papers.rlscheduler.ten_windows import BACKFILLINGS, PUBLISHED_LENGTH, PUBLISHED_WINDOWS
from simulator.agents.batch import WindowRules, replay_windows
from simulator.jobs.jobs import Jobs
from simulator.metrics.metrics import bounded_slowdown
from simulator.policies.agents import Agent, parse_inspecting
from simulator.policies.registry import Policy, assisted

UNFIT = parse_inspecting("unfit")
NO_LIMIT = 1 << 40
"""Rejections of a job."""
TITLES = ("base", "rule", "no limit", "standard rules")


def main() -> None:
    """Prints a row for each log and base."""
    print_heading("log", "policy", *(f"{backfill}: {title}" for backfill in BACKFILLINGS for title in TITLES))
    for log in ("Lublin-1", *(name for name in LOGS if name != "Lublin-1")):
        jobs, procs = jobs_of_window_tables(log)
        for base in INSPECTOR_BASES if log == "Lublin-1" else ("SJF", "SAF"):
            cells = [
                f"{cost:,.1f}" for backfill in BACKFILLINGS for cost in inspected_costs(jobs, procs, base, backfill)
            ]
            print_cells(log, base, *cells)


def jobs_of_window_tables(log: str) -> tuple[Jobs, int]:
    """The jobs of a log as RLScheduler's code reads them, and the cluster's processors."""
    task = PolicyTask("bsld", "none", "requested", "rlscheduler")
    return arena_of_task(trace_of_log(log), task).jobs, LOGS[log][1]


def inspected_costs(jobs: Jobs, procs: int, base: str, backfill: str) -> list[float]:
    """Mean bounded slowdowns of the ten windows, in the order of TITLES. backfill: "none" or "easy", that code's own but for the
    standard rules."""
    policy = inspector_base(base)
    limited, unlimited = (
        assisted(policy, Agent(inspecting=UNFIT._replace(rejections=most))) for most in (UNFIT.rejections, NO_LIMIT)
    )
    corrected = WindowRules(backfill, rule_set="rlscheduler-corrected")
    costs = [_windows_cost(jobs, procs, each, corrected) for each in (policy, limited, unlimited)]
    return [*costs, _windows_cost(jobs, procs, policy, WindowRules(backfill))]


def _windows_cost(jobs: Jobs, procs: int, policy: Policy, rules: WindowRules) -> float:
    first = np.array(PUBLISHED_WINDOWS)
    start, _ = replay_windows(jobs, procs, first, PUBLISHED_LENGTH, policy, rules)
    where = first[:, None] + np.arange(PUBLISHED_LENGTH)
    return float(bounded_slowdown(start - jobs.submit[where], jobs.runtime[where]).mean())


if __name__ == "__main__":
    main()
