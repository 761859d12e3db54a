"""What RLScheduler's paper has in the column RL, and utilisation by two definitions: `python -m benchmarks.published`.

The first tables are the paper's (V, VI, X, XI and VIII), copied; tests compare them with its text. The last one replays heuristics by
that code's rules on its ten windows of the first 10,000 jobs. *As coded* divides by the time to the last start, and *by makespan* by
the time to the last completion.
"""

from __future__ import annotations

import sys

import tracehouse
from assets.common.trace import Trace
from assets.experiments.published_windows import PUBLISHED_HEURISTICS, published_split
from assets.policies.training import PolicyTask, arena_of_task
from benchmarks.backlogs import LOGS
from benchmarks.logs import SHARED

PAPER_LOGS = ("Lublin-1", "SDSC-SP2", "HPC2N", "Lublin-2")
PAPER_RL = {
    ("bounded slowdown (V)", "none"): ("254.67", "466.44", "117.01", "724.51"),
    ("bounded slowdown (V)", "easy"): ("58.64", "397.82", "86.14", "118.79"),
    ("utilisation (VI)", "none"): ("0.714", "0.671", "0.640", "0.562"),
    ("utilisation (VI)", "easy"): ("0.850", "0.707", "0.642", "0.593"),
    ("slowdown (X)", "none"): ("429.5", "637.5", "270.7", "1181.2"),
    ("slowdown (X)", "easy"): ("85.55", "619.5", "170.7", "114.3"),
    ("wait, s (XI)", "none"): ("20550", "18984", "6858", "17809"),
    ("wait, s (XI)", "easy"): ("12460", "13817", "5394", "5172"),
    ("of the worst user (VIII)", "none"): ("", "4116", "1147", ""),
    ("of the worst user (VIII)", "easy"): ("", "2712", "519", ""),
}
"""By goal and backfilling: the column RL, in the order of PAPER_LOGS. Empty: the paper has none."""
PAPER_TRANSFER = {"none": "186.42", "easy": "115.79"}
"""Bounded slowdown on HPC2N of the policy that was trained there, by backfilling, in Table VII; Table V has other figures."""
PAGES = (("Lublin-1", "Lublin-2"), ("SDSC-SP2", "HPC2N", "KTH-SP2"))
"""The logs of each table on the page. KTH-SP2 is not in the paper."""
UTILISATIONS = ("utilisation_as_coded", "utilisation")
"""As goals call them: as coded, by makespan."""
BACKFILLINGS = ("none", "easy")


def main() -> None:
    for logs in PAGES:
        print(f"\n{columns_of('goal, policy', logs)}")
        for goal in dict.fromkeys(goal for goal, _ in PAPER_RL):
            print(f"| {goal}, RL, as published | {' | '.join(paper_cells(goal, logs))} |")
    print(f"\nTable VII, RL-HPC2N on HPC2N: {', '.join(PAPER_TRANSFER.values())}")
    if not SHARED.exists():
        sys.exit(f"{SHARED}: the archive logs are not there; name the folder above with TRACEHOUSE_SHARED")
    for logs in PAGES:
        print(f"\nutilisation as coded, by makespan\n\n{columns_of('policy', logs)}")
        traces = [
            tracehouse.load_log(SHARED / file, procs=procs).trace() for file, procs in (LOGS[log] for log in logs)
        ]
        for policy in PUBLISHED_HEURISTICS:
            cells = [
                ", ".join(f"{utilisation_of(trace, policy, backfill, metric):.3f}" for metric in UTILISATIONS)
                for trace in traces
                for backfill in BACKFILLINGS
            ]
            print(f"| {policy} | {' | '.join(cells)} |", flush=True)


def columns_of(title: str, logs: tuple[str, ...]) -> str:
    """The first two lines of a table with two columns for each log."""
    titles = [title, *(f"{log}, {backfill}" for log in logs for backfill in BACKFILLINGS)]
    return f"| {' | '.join(titles)} |\n{'|---' * len(titles)}|"


def paper_cells(goal: str, logs: tuple[str, ...]) -> list[str]:
    """The paper's figures, a hyphen where it has none."""
    return [
        (PAPER_RL[goal, backfill][PAPER_LOGS.index(log)] if log in PAPER_LOGS else "") or "-"
        for log in logs
        for backfill in BACKFILLINGS
    ]


def utilisation_of(trace: Trace, policy: str, backfill: str, metric: str) -> float:
    """The mean over the ten windows, by that code's rules."""
    arena = arena_of_task(trace, PolicyTask(metric, backfill, "requested", "rlscheduler"))
    return -float(arena.costs(policy, published_split(trace.rows.height, 256).judge).mean())


if __name__ == "__main__":
    main()
