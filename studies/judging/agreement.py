"""How far replays agree with other simulators: `python -m studies agreement`, where the shared logs and results are.

The same comparisons are tests: tests/simulator/engine/test_replay.py and tests/papers/rlscheduler/test_rules.py.
This prints their figures.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from papers.archive import jobs_of_file
from papers.markdown import print_cells, print_heading
from simulator.engine.replay import replay
from simulator.jobs.jobs import Jobs
from simulator.jobs.schedule import Schedule
from simulator.metrics.metrics import metrics
from traces.catalogue.places import PROJECT
from traces.swf.reader import read_swf

SHARED = Path(os.environ.get("TRACEHOUSE_SHARED", PROJECT.parent / "shared"))
CASES = [
    ("lublin_256.swf.gz", 256, "none", "lublin-1-fcfs-no-backfill.starts"),
    ("lublin_256.swf.gz", 256, "easy", "lublin-1-easy.starts"),
    ("lublin_256.swf.gz", 256, "conservative", "lublin-1-conservative-pyss.starts"),
    ("KTH-SP2-1996-2.1-cln.swf.gz", 100, "easy", "kth-sp2-easy-pyss.starts"),
    ("KTH-SP2-1996-2.1-cln.swf.gz", 100, "conservative", ""),
    ("SDSC-SP2-1998-derived.swf.gz", 128, "easy", "waits of the log"),
    ("HPC2N-2002-2.2-cln.swf.gz", 240, "easy", ""),
]


def averages(jobs: Jobs, procs: int, start: np.ndarray) -> list[str]:
    """The mean wait in seconds and the mean bounded slowdown."""
    of_all = metrics(jobs, Schedule(start, np.zeros(len(jobs), dtype=np.bool_)), procs)
    return [f"{of_all['average_wait_s']:,.2f}", f"{of_all['average_bounded_slowdown']:.3f}"]


def other_starts(path: Path, jobs: Jobs, golden: str) -> np.ndarray | None:
    """Starts of the other simulator, of the replayable jobs in order."""
    records = read_swf(path).records.sort("submit_s", maintain_order=True)
    procs = records["allocated_procs"].fill_null(-1).to_numpy()
    keep = (records["runtime_s"].fill_null(-1).to_numpy() > 0) & (
        np.where(procs > 0, procs, records["requested_procs"].fill_null(-1).to_numpy()) > 0
    )
    if golden == "waits of the log":
        return jobs.submit + records["wait_s"].to_numpy()[keep]
    if not golden:
        return None
    start = dict(np.loadtxt(SHARED / "golden" / "replay" / golden, dtype=np.int64).tolist())
    return np.array([start[job] for job in records["job_number"].to_numpy()[keep].tolist()])


def main() -> None:
    if not (SHARED / "golden").exists():
        print(f"no results of other simulators at {SHARED}: name the folder with TRACEHOUSE_SHARED")
        return
    print_heading(
        "log", "jobs", "backfilling", "mean wait, s", "bounded slowdown", "the other's wait", "slowdown", "equal starts"
    )
    for log, procs, backfill, golden in CASES:
        path = SHARED / "traces" / "swf" / log
        jobs = jobs_of_file(path)
        start = replay(jobs, procs, "FCFS", backfill).start
        other = other_starts(path, jobs, golden)
        others = ["", "", ""]
        if other is not None:
            others = [*averages(jobs, procs, other), f"{int((start == other).sum()):,}"]
        name = log.removesuffix(".swf.gz")
        print_cells(name, f"{len(jobs):,}", backfill, *averages(jobs, procs, start), *others)
