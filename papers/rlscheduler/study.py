"""RLScheduler's published tables: what rules give under its protocol, beside its column RL: `python -m papers.rlscheduler.study`.

Rules are replayed by that code's rules on its ten windows of the first 10,000 jobs. *RL, as published* is the paper's column RL of the
tables V, VI, X, XI and VIII, copied; tests compare it with the paper's text. Utilisation *as coded* divides by the time to the last
start, and *by makespan* by the time to the last completion. Half a CPU-minute.
"""

from __future__ import annotations

from itertools import product

from assets.common.trace import Trace
from assets.policies.training import PolicyTask, arena_of_task
from papers.archive import trace_of_log
from papers.markdown import print_cells, print_heading
from papers.rlscheduler.ten_windows import BACKFILLINGS, PUBLISHED_HEURISTICS, published_split

GOALS = {
    "bounded slowdown (V)": ("bsld", ".2f"),
    "utilisation (VI)": ("utilisation_as_coded", ".3f"),
    "slowdown (X)": ("slowdown", ".2f"),
    "wait, s (XI)": ("wait", ".0f"),
    "of the worst user (VIII)": ("bsld:max_user", ".2f"),
}
"""The paper's tables: the goal, and how its figures are written."""
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
PAPER_TRANSFER = {
    ("Lublin-1", "none"): ("254.67", "482.62", "283.00", "334.73"),
    ("SDSC-SP2", "none"): ("1543.40", "466.44", "1016.83", "1329.41"),
    ("HPC2N", "none"): ("169.91", "300.43", "186.42", "236.00"),
    ("Lublin-2", "none"): ("665.49", "805.16", "648.52", "724.51"),
    ("Lublin-1", "easy"): ("58.64", "93.16", "54.65", "64.45"),
    ("SDSC-SP2", "easy"): ("1364.43", "397.82", "746.65", "1192.97"),
    ("HPC2N", "easy"): ("115.93", "128.73", "115.79", "144.54"),
    ("Lublin-2", "easy"): ("172.15", "183.98", "139.80", "118.79"),
}
"""Table VII, bounded slowdown, by log and backfilling: policies that learned from PAPER_LOGS. On HPC2N Table V has other figures."""
PAGES = (("Lublin-1", "Lublin-2"), ("SDSC-SP2", "HPC2N", "KTH-SP2"))
"""The logs of each table. KTH-SP2 is not in the paper."""
UTILISATIONS = ("utilisation_as_coded", "utilisation")
"""As goals call them: as coded, by makespan."""


def main() -> None:
    """Prints the tables."""
    for logs in PAGES:
        traces = [trace_of_log(log) for log in logs]
        columns = [f"{log}, {backfill}" for log in logs for backfill in BACKFILLINGS]
        print(f"\n{', '.join(logs)}\n")
        print_heading("goal, policy", *columns)
        of_paper = {goal: how for goal, how in GOALS.items() if set(paper_cells(goal, logs)) != {"-"}}
        for goal, (metric, digits) in of_paper.items():
            for policy in PUBLISHED_HEURISTICS:
                cells = [
                    f"{mean_of(trace, policy, backfill, metric):{digits}}"
                    for trace, backfill in product(traces, BACKFILLINGS)
                ]
                print_cells(f"{goal}, {policy}", *cells)
            print_cells(f"{goal}, RL, as published", *paper_cells(goal, logs))
        print(f"\nutilisation of {', '.join(logs)}\n")
        print_heading("policy", *columns)
        for policy in PUBLISHED_HEURISTICS:
            cells = [
                ", ".join(f"{mean_of(trace, policy, backfill, metric):.3f}" for metric in UTILISATIONS)
                for trace, backfill in product(traces, BACKFILLINGS)
            ]
            print_cells(policy, *cells)


def paper_cells(goal: str, logs: tuple[str, ...]) -> list[str]:
    """The paper's figures, a hyphen where it has none."""
    return [
        (PAPER_RL[goal, backfill][PAPER_LOGS.index(log)] if log in PAPER_LOGS else "") or "-"
        for log in logs
        for backfill in BACKFILLINGS
    ]


def mean_of(trace: Trace, policy: str, backfill: str, metric: str) -> float:
    """The mean of a metric over the ten windows, by that code's rules."""
    arena = arena_of_task(trace, PolicyTask(metric, backfill, "requested", "rlscheduler"))
    cost = float(arena.costs(policy, published_split(trace.rows.height, 256).judge).mean())
    return -cost if metric in UTILISATIONS else cost


if __name__ == "__main__":
    main()
