"""Rules beside the leaderboard of HPCOpt (ErenAri/HPC-workload-optimizer), in its measure: `python -m studies hpcopt`.

Whole logs from an empty cluster, all jobs scored, requested times but where another estimate is named. The measure is the 95th
percentile of (wait + run time) / max(run time, 60 s). HPCOpt's figures are those of its published leaderboard, which has no longest
waits. Its simulator is not ours: its EASY waits longer on the same logs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

import tracehouse
from assets.policies.verdicts import BOUNDED_KEY, INCUMBENT, PLAIN_RIVALS, JudgedRule, judged_replays
from models.judging.panel import Replayed
from papers.archive import SHARED
from simulator.metrics.metrics import bounded_slowdown

FLOOR_S = 60
"""Shorter run times count as so long."""
PERCENT = 95
RULES = (
    INCUMBENT,
    *(rule for rule in PLAIN_RIVALS if rule.name != "F1"),
    JudgedRule("bounded-key, factor 1, requested times", "bounded-key:factor=1"),
    replace(BOUNDED_KEY, name="bounded-key, live estimates"),
)


@dataclass(frozen=True)
class RivalLog:
    """A log of the leaderboard. file, procs: the log and the processors that HPCOpt gives the cluster.

    best, easy: its best row and its FCFS with EASY, each (name, measure, mean wait in seconds).
    """

    file: str
    procs: int
    best: tuple[str, float, int]
    easy: tuple[str, float, int]


RIVAL_LOGS = {
    "SDSC-SP2": RivalLog(
        "SDSC-SP2-1998-derived.swf.gz", 128, ("SJF_BACKFILL", 144.14, 61_673), ("EASY", 585.27, 34_010)
    ),
    "CTC-SP2": RivalLog("CTC-SP2-1996-3.1-cln.swf.gz", 512, ("RL_TRAINED", 3.85, 714), ("EASY", 18.24, 2_466)),
    "HPC2N": RivalLog("HPC2N-2002-2.2-cln.swf.gz", 240, ("FAIRSHARE_BACKFILL", 17.82, 7_900), ("EASY", 113.40, 12_369)),
}


def main() -> None:
    print("| log | policy | p95 bounded slowdown, 60 s | mean wait, h | longest wait, days |")
    print("| --- | --- | ---: | ---: | ---: |")
    for name, rival in RIVAL_LOGS.items():
        trace = tracehouse.load_log(SHARED / rival.file, procs=rival.procs).trace()
        for rule, (replayed, _) in zip(RULES, judged_replays(trace, RULES, 0), strict=True):
            print(f"| {name} | {rule.name} | {cells_of(replayed)} |", flush=True)
        for policy, measure, wait_s in (rival.best, rival.easy):
            print(f"| {name} | *HPCOpt's {policy}* | *{measure:.2f}* | *{wait_s / 3600:.2f}* | |")


def cells_of(replayed: Replayed) -> str:
    """The measure, the mean wait in hours and the longest in days."""
    wait = (replayed.schedule.start - replayed.jobs.submit).astype(np.float64)
    measure = high_slowdown(wait, replayed.jobs.runtime)
    return f"{measure:.2f} | {wait.mean() / 3600:.2f} | {wait.max() / 86400:.1f}"


def high_slowdown(wait_s: NDArray[np.float64], runtime_s: NDArray[np.int64]) -> float:
    """HPCOpt's measure of jobs, interpolated between the nearest two."""
    return float(np.percentile(bounded_slowdown(wait_s, runtime_s, FLOOR_S), PERCENT))
