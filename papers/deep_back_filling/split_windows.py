"""Deep Back-Filling's figures 4 to 7 with agents of our own mode on Lublin-1: `python -m papers.deep_back_filling.split_windows`.

Each window of 8 to 128 slots is split in four ways, and each split has five trainings by PPO. An agent starts from the rule "shortest
first" in its window. It learns from the earlier half of the log, in closed windows in which the wait of every job counts. It is tested in
the paper's episodes, which end when 1,000 jobs are placed, among the later half. The rule and the agents have the same episodes.
They are also judged on the later half of one continuous replay, as all policies here are.

Beside them are the paper's rivals: FCFS, both rules that it may mean by SJF, LCFS, and SchedInspector on SJF and F1. An inspector learns
by its own rules. It is tested online, as agents are, and in closed windows of 128 jobs ("offline" in the paper).

    python -m papers.deep_back_filling.split_windows --folder FOLDER

keeps what every training gave in FOLDER, and an interrupted run goes on from there. `python -m studies split_pictures FOLDER` draws the
figures of the page.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

import numpy as np

from models.judging.judge import judge
from models.judging.panel import Replayed, scored_after
from papers.deep_back_filling.protocol import window_splits
from papers.deep_back_filling.split_trial import Episodes, SplitTrial
from papers.deep_back_filling.study import DIGITS, HOURS, PROCS, SHOWN_METRICS
from papers.markdown import markdown
from papers.schedinspector.study import jobs_of_window_tables
from simulator.engine.replay import replay
from simulator.jobs.schedule import Schedule


def main() -> None:
    """Trains what the folder lacks, and prints all tables."""
    parser = argparse.ArgumentParser(prog="python -m papers.deep_back_filling.split_windows")
    parser.add_argument("--folder", type=Path, help="keeps results here, and goes on from those that it has")
    arguments = parser.parse_args()
    trial = SplitTrial(jobs_of_window_tables("Lublin-1")[0], arguments.folder)
    print("rivals\n")
    print(table_of(trial.rivals()), flush=True)
    print("\nagents\n")
    print(table_of(trial.agents()), flush=True)
    print("\nagents in one continuous replay\n")
    print(continuous_table(trial), flush=True)
    print("\nwho is placed, 10 slots\n")
    print(trial.classes_table(), flush=True)


def table_of(rows: dict[str, list[Episodes]]) -> str:
    """Means over the episodes, and over the seeds where there are several. Waits of arrived jobs then have the least and the most of
    the seeds beside them."""
    lines = []
    for name, seeds in rows.items():
        cells = []
        for column in SHOWN_METRICS.values():
            means = np.array([np.nanmean(each[column]) for each in seeds]) / (3600 if column in HOURS else 1)
            digits = DIGITS.get(column, 0)
            spread = (
                f" ({means.min():,.0f} to {means.max():,.0f})" if len(seeds) > 1 and column == "wait_arrived" else ""
            )
            cells.append(f"{means.mean():,.{digits}f}{spread}")
        lines.append([name, *cells])
    return markdown(["window, who picks", *SHOWN_METRICS], lines)


def continuous_table(trial: SplitTrial) -> str:
    """The later half of the log in one replay: each rule beside FCFS with EASY, and each agent beside its rule."""
    jobs = trial.jobs
    scored = scored_after(len(jobs), len(jobs) // 2)

    def replayed(start: list[int]) -> Replayed:
        backfilled = np.zeros(len(start), dtype=np.bool_)  # no measure of the panel reads it
        return Replayed(jobs, PROCS, Schedule(np.array(start, dtype=np.int64), backfilled), scored)

    usual = [replayed(replay(jobs, PROCS, "FCFS", "easy").start.tolist())]
    lines = []
    for slots in trial.slots:
        for front, back in window_splits(slots).values():
            rule = [replayed(trial.window(front, back, None)["start"])]
            agents = [[replayed(trial.window(front, back, seed)["start"])] for seed in trial.seeds]
            words = Counter(judge(agent, rule).verdict.word for agent in agents)
            panels = [agent[0].panel() for agent in agents]
            own = rule[0].panel()
            lines.append(
                [
                    f"{front}-{back}",
                    f"{own.bounded_slowdown:,.1f}",
                    f"{own.wait_s / 3600:,.1f}",
                    f"{own.max_wait_s / 86400:,.1f}",
                    judge(rule, usual).verdict.word,
                    f"{np.mean([each.bounded_slowdown for each in panels]):,.1f}",
                    f"{np.mean([each.wait_s for each in panels]) / 3600:,.1f}",
                    f"{np.mean([each.max_wait_s for each in panels]) / 86400:,.1f}",
                    ", ".join(f"{count} {word}" for word, count in sorted(words.items())),
                ]
            )
    titles = ["window", "rule: bounded slowdown", "mean wait, h", "longest, days", "against FCFS with EASY"]
    titles += ["agents: bounded slowdown", "mean wait, h", "longest, days", "against their rule"]
    return markdown(titles, lines)


if __name__ == "__main__":
    main()
