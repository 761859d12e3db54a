"""What kept waiting jobs against what real Slurm said: `python -m studies slurm_reasons`.

Our engine follows the starts and ends of a recorded run, and says what keeps every job. The run has squeue's reason of every job, once a
minute. Each of those is compared.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

import numpy as np

from simulator.cluster.arrays import cluster_arrays
from simulator.cluster.requests import NOT_GIVEN, request_arrays
from simulator.jobs.cluster import FOREVER
from simulator.slurm.waiting.following import GivenSchedule, KeptWaits, follow_schedule
from simulator.slurm.waiting.words import CAUSES
from studies.slurm.decisions import golden_folders
from studies.slurm.golden_cluster import text_of
from studies.slurm.golden_runs import GoldenRun, read_golden_run


def snapshot_reasons(folder: Path) -> dict[int, dict[str, str]]:
    """The reason of every waiting job by its label, at each second at which squeue was asked."""
    zero = int(json.loads(text_of(folder, "meta.json"))["T0"])
    reasons: dict[int, dict[str, str]] = {}
    for line in text_of(folder, "snapshots.txt").splitlines():
        words = line.split("|")
        if line.startswith("### ") and line[4:].replace(".", "", 1).isdigit():
            now = reasons.setdefault(zero + int(float(line[4:])), {})
        elif len(words) > 7 and words[2] == "PENDING":
            now[words[0]] = words[4]
    return reasons


def follow_golden(run: GoldenRun, moments: list[int]) -> KeptWaits:
    """Follows a recorded run's starts and ends."""
    arrays = cluster_arrays(run.cluster)
    requests = request_arrays([job.request for job in run.jobs], run.cluster, arrays)
    start = np.array([NOT_GIVEN if job.start_s is None else job.start_s for job in run.jobs], dtype=np.int64)
    end = np.array([FOREVER if job.end_s is None else job.end_s for job in run.jobs], dtype=np.int64)
    place = {node.name: k for k, node in enumerate(run.cluster.nodes)}
    partition = {one.name: k for k, one in enumerate(run.cluster.partitions)}
    nodes = [[place[name] for name in job.nodes] for job in run.jobs]
    given = GivenSchedule(
        start=start,
        end=end,
        left=np.where(start >= 0, start, end),
        partition=np.array([partition[job.partition.split(",")[0]] for job in run.jobs], dtype=np.int64),
        first=np.concatenate([[0], np.cumsum([len(each) for each in nodes])]).astype(np.int64),
        node=np.array([one for each in nodes for one in each], dtype=np.int64),
    )
    return follow_schedule(run.cluster, arrays, requests, given, np.array(moments, dtype=np.int64))


def compare_reasons(folder: Path) -> tuple[int, int, int, Counter[tuple[str, str]]]:
    """Of a recorded run: reasons that were compared, those that agree, those that are Priority, and how often which of ours met which of
    Slurm's."""
    run = read_golden_run(folder)
    reasons = snapshot_reasons(folder)
    kept = follow_golden(run, sorted(reasons))
    by_label = {job.label: k for k, job in enumerate(run.jobs)}
    pairs: Counter[tuple[str, str]] = Counter()
    same = total = priority = 0
    for row, moment in enumerate(sorted(reasons)):
        for label, reason in reasons[moment].items():
            job = by_label.get(label)
            ours = NOT_GIVEN if job is None else int(kept.at_moments[row, job])
            if ours == NOT_GIVEN or reason == "None":
                continue  # it starts in this second, or nobody has looked at it
            total += 1
            agrees = any(reason.startswith(word) for word in CAUSES[ours].reasons)
            same += agrees
            priority += reason.startswith("Priority")
            if not agrees:
                pairs[reason, CAUSES[ours].words] += 1
    return total, same, priority, pairs


def main() -> None:
    """Prints the table. Names of scenarios may be given; with -v what did not agree is printed."""
    names = [word for word in sys.argv[1:] if not word.startswith("-")]
    print(
        "| run | reasons of waiting jobs | the same | share | if all were Priority |\n| --- | --- | --- | --- | --- |"
    )
    sums = np.zeros(3, dtype=np.int64)
    for folder in golden_folders():
        if names and folder.parent.name not in names:
            continue
        *counts, pairs = compare_reasons(folder)
        sums += counts
        print(_row(folder.parent.name, *counts), flush=True)
        if "-v" in sys.argv:
            for (reason, ours), count in pairs.most_common(8):
                print(f"    {count}: {reason} - ours {ours}")
    print(_row("all", *sums.tolist()))


def _row(name: str, total: int, same: int, priority: int) -> str:
    return f"| {name} | {total} | {same} | {same / max(total, 1):.1%} | {priority / max(total, 1):.1%} |"


if __name__ == "__main__":
    main()
