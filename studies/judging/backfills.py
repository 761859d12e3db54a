"""How backfilling rules differ on a bundled source: `python -m studies backfills`.

FCFS by requested times on birch, as on a row of processors. CPU-seconds, once the engine is compiled.
"""

from __future__ import annotations

import numpy as np

import tracehouse
from papers.markdown import markdown
from simulator.engine.replay import replay
from simulator.jobs.jobs import Jobs

SOURCE = "birch"
RULES = {
    "none": "nobody passes",
    "any": "nobody has one: whoever fits starts",
    "easy": "the first blocked job has one",
    "easy-sjbf": "as EASY, shortest candidates first",
    "conservative": "every job has one",
    "selective:threshold=2": "jobs have one once their expansion factor reaches 2",
    "selective:threshold=10": "the same at 10",
}
"""By `--backfill`: who has a reservation."""


def main() -> None:
    trace = tracehouse.load_log(SOURCE).trace()
    lines = [[f"`{rule}`", who, *cells_of(trace.jobs(), trace.cluster_procs, rule)] for rule, who in RULES.items()]
    titles = ["`--backfill`", "reservations", "mean wait, h", "longest wait, days", "share of jobs backfilled"]
    print(markdown(titles, lines))


def cells_of(jobs: Jobs, procs: int, rule: str) -> list[str]:
    """Mean wait in hours, longest in days, and the share of jobs that passed another."""
    schedule = replay(jobs, procs, "FCFS", rule)
    wait = schedule.start - jobs.submit
    return [f"{wait.mean() / 3600:.1f}", f"{wait.max() / 86400:.1f}", f"{np.mean(schedule.backfilled):.2f}"]
