"""Agents of Deep Back-Filling as its authors train them, window 20: `python -m papers.deep_back_filling.as_published`.

Prints what the agents of docs/results/backfilling-policies.tar.xz are worth in the 100 test episodes beside rules, what a split of the
window is worth to each, and their learning curves (Figure 3). One agent sees the first 20 jobs of the queue, one the first and the last
10. Tests begin on later jobs of the log than those that were learned from.
`python -m studies dbf_agents FOLDER` writes the archive.
"""

from __future__ import annotations

import csv
import io
from functools import partial
from typing import NamedTuple

import numpy as np

from papers.archive import jobs_of_file, log_file
from papers.deep_back_filling.options import DeepBackFillingOptions
from papers.deep_back_filling.placing_file import placing_from_bytes
from papers.deep_back_filling.protocol import RIVALS, ProtocolMetrics, try_rival, window_rival
from papers.deep_back_filling.study import DIGITS, HOURS, PROCS, SHOWN_METRICS, print_row
from papers.deep_back_filling.trials import trial_starts, try_placing
from papers.kept_files import kept_archive, members_of
from papers.markdown import print_cells, print_heading
from simulator.jobs.jobs import Jobs

KEPT_AGENTS = kept_archive("backfilling")
CURVES, TESTS = "curves.csv", "tests.csv"
"""Of the archive: means over 100 training episodes, and over the test episodes of each checkpoint."""
TRAINED_WINDOWS = ("20-0", "10-10")
BLOCK, SHOWN_EPISODES = 100, 400
"""Episodes of a row of the curve, and of a row that is shown."""
WHOLE_QUEUE_RULES = ("FCFS+EASY", "EASY-SJBF", "LCFS+EASY", "SAF+EASY")
SPLIT_COLUMNS = {"wait placed": "wait_placed", "wait arrived": "wait_arrived", "queue": "queue"}


class TestedAgent(NamedTuple):
    """metrics: of the test episodes. It has drawn its actions as in training, or taken the likeliest."""

    name: str
    metrics: ProtocolMetrics


def tested(
    jobs: Jobs, members: dict[str, bytes], first: np.ndarray, options: DeepBackFillingOptions
) -> list[TestedAgent]:
    """Rules that see the whole queue, and for each window a rule that starts the shortest job which fits, and the agent."""
    rows = [TestedAgent(name, try_rival(RIVALS[name], jobs, PROCS, first)) for name in WHOLE_QUEUE_RULES]
    for window in TRAINED_WINDOWS:
        agent = placing_from_bytes(members[f"{window}.json"])
        of_window = options.model_copy(update={"front": agent.front, "back": agent.back, "longest_s": agent.longest_s})
        try_rule = partial(try_rival, jobs=jobs, cluster_procs=PROCS, first=first, window=of_window.slots)
        rows.append(TestedAgent(f"{window}, shortest", try_rule(window_rival("shortest", agent.front, agent.back))))
        for how in ("drawn", "likeliest"):
            name = f"{window}, agent of {agent.card['episodes']:,} episodes, {how}"
            metrics = try_placing(agent.actor(), jobs, PROCS, first, of_window, how == "drawn")
            rows.append(TestedAgent(name, metrics))
    return rows


def split_rows(rows: list[TestedAgent]) -> list[list[str]]:
    """By how much less the half window has than the whole head, and in how many of the episodes. These overlap, so no interval is given."""
    whole, half = ([row for row in rows if row.name.startswith(window)] for window in TRAINED_WINDOWS)
    lines = []
    for one, other in zip(half, whole, strict=True):
        cells = []
        for column in SPLIT_COLUMNS.values():
            ours, theirs = (getattr(row.metrics, column) for row in (one, other))
            cells.append(f"{100 * (1 - ours.mean() / theirs.mean()):.0f} % ({(ours < theirs).sum()})")
        lines.append([one.name.removeprefix(f"{TRAINED_WINDOWS[1]}, "), *cells])
    return lines


def curve_lines(text: str) -> list[list[str]]:
    """Window, episodes, and means over the last SHOWN_EPISODES of them."""
    rows: dict[str, list[list[float]]] = {}
    for window, end, *cells in csv.reader(io.StringIO(text)):
        rows.setdefault(window, []).append([float(end), *map(float, cells)])
    lines, together = [], SHOWN_EPISODES // BLOCK
    for window, of in rows.items():
        for k in range(0, len(of), together):
            part = of[k : k + together]
            reward, placed, arrived, queue, use, decisions = np.mean([row[1:] for row in part], axis=0)
            shown = [
                f"{reward:,.0f}",
                f"{placed:,.0f}",
                f"{arrived:,.0f}",
                f"{queue:.1f}",
                f"{use:.3f}",
                f"{decisions:,.0f}",
            ]
            lines.append([window, f"{part[-1][0]:,.0f}", *shown])
    return lines


def main() -> None:
    """Prints the tables."""
    jobs, members, options = jobs_of_file(log_file("Lublin-1")), members_of(KEPT_AGENTS), DeepBackFillingOptions()
    first = trial_starts(len(jobs), options)
    rows = tested(jobs, members, first, options)
    print("\ntests\n")
    print_heading("window, who picks", *SHOWN_METRICS)
    for row in rows:
        print_row(row.name, row.metrics)
    print("\nwhat the split is worth\n")
    print_heading("who picks", *(f"less {name}" for name in SPLIT_COLUMNS))
    for line in split_rows(rows):
        print_cells(*line)
    print("\nlearning curves (Figure 3)\n")
    print_heading("window", "episodes", "reward", "wait placed, s", "wait arrived, s", "queue", "use", "decisions")
    for line in curve_lines(members[CURVES].decode()):
        print_cells(*line)
    print("\ncheckpoints\n")
    print_heading("window", "episodes", "actions", *SHOWN_METRICS)
    for window, episodes, how, *values in csv.reader(io.StringIO(members[TESTS].decode())):
        means = zip(SHOWN_METRICS.values(), map(float, values), strict=True)
        shown = [f"{mean / (3600 if name in HOURS else 1):,.{DIGITS.get(name, 0)}f}" for name, mean in means]
        print_cells(window, f"{int(episodes):,}", how, *shown)


if __name__ == "__main__":
    main()
