"""How often requested times that are advised would have killed jobs, and what they ask for: `python -m studies walltimes`."""

from __future__ import annotations

import numpy as np
import polars as pl

import tracehouse
from models.waits.walltime_advice import AdviceTrial, EndedJobs, ended_jobs_of, try_on_history
from papers.archive import SHARED
from papers.markdown import markdown

CHOSEN_ON = {"KTH-SP2": "KTH-SP2-1996-2.1-cln", "CTC-SP2": "CTC-SP2-1996-3.1-cln"}
"""Logs on which the margin and the step of the rule were chosen."""
HELD_OUT = {"HPC2N": "HPC2N-2002-2.2-cln", "SDSC-SP2, derived": "SDSC-SP2-1998-derived"}
FEWEST_JOBS = 200
"""Of a user, to be counted."""
RISKS = (0.05, 0.02)
HEADINGS = (
    *("log", "asked, %", "users", "killed, all jobs, %", "median user", "worst user", "users above what they asked, %"),
    "processor-hours, advised by requested",
)


def main() -> None:
    for title, logs in (("chosen on", CHOSEN_ON), ("held out", HELD_OUT)):
        lines = []
        for name, file in logs.items():
            rows = tracehouse.load_log(SHARED / f"{file}.swf.gz").trace().rows.filter(pl.col("start_s").is_not_null())
            jobs = ended_jobs_of(rows)
            lines += [line_of(name, risk, trials_of(jobs, risk)) for risk in RISKS]
        print(f"{title}\n\n{markdown(list(HEADINGS), lines)}\n")


def trials_of(jobs: EndedJobs, risk: float) -> list[AdviceTrial]:
    """Of each user with enough jobs, by user and processors."""
    users, counts = np.unique(jobs.user, return_counts=True)
    last = int(jobs.end.max())
    tried = [try_on_history(jobs, int(user), last, risk, False, True) for user in users[counts >= FEWEST_JOBS]]
    return [trial for trial in tried if trial is not None]


def line_of(name: str, risk: float, trials: list[AdviceTrial]) -> list[str]:
    """A row under HEADINGS."""
    killed = np.array([trial.killed for trial in trials])
    of_all = np.average(killed, weights=[trial.jobs for trial in trials])
    hours = np.median([trial.requested_share for trial in trials if trial.requested_share is not None])
    shares = [of_all, np.median(killed), killed.max()]
    return [
        *(name, f"{100 * risk:g}", str(len(trials))),
        *(f"{100 * share:.1f}" for share in shares),
        *(f"{100 * (killed > risk).mean():.0f}", f"{hours:.2f}"),
    ]
