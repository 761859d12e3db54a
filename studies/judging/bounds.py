"""How far rules are from the bound in hindsight: `python -m studies bounds`, where the archive logs are.

Average waits of whole logs under EASY with run times known: the bound, the best of six rules, and FCFS. About a CPU-minute.
"""

from __future__ import annotations

from papers.archive import LOGS, SHARED, jobs_of_file
from papers.markdown import markdown
from papers.rlscheduler.ten_windows import PUBLISHED_HEURISTICS
from simulator.engine.replay import replay
from simulator.jobs.jobs import Jobs
from simulator.metrics.bound import hindsight_bound

BOUNDED = ("Lublin-1", "HPC2N", "KTH-SP2", "SDSC-SP2", "CTC-SP2")


def main() -> None:
    titles = ["trace", "processors", "jobs", "least average wait, s", "best heuristic, s", "FCFS, s"]
    lines = []
    for log in BOUNDED:
        file, procs = LOGS[log]
        jobs = jobs_of_file(SHARED / file)
        lines.append([log, str(procs), f"{len(jobs):,}", *cells_of(jobs, procs)])
    print(markdown(titles, lines))


def cells_of(jobs: Jobs, procs: int) -> list[str]:
    """The bound, the least average wait of a rule, and that of FCFS, in seconds."""
    exact = Jobs(jobs.submit, jobs.runtime, jobs.procs, jobs.runtime, jobs.runtime)
    waits = {
        name: float((replay(exact, procs, name, "easy").start - jobs.submit).mean()) for name in PUBLISHED_HEURISTICS
    }
    best = min(waits, key=lambda name: waits[name])
    least = hindsight_bound(exact, procs)["least_average_wait_s"]
    return [f"{least:,.0f}", f"{waits[best]:,.0f} ({best})", f"{waits['FCFS']:,.0f}"]
