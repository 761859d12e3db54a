"""What kept waiting jobs against what real OpenPBS said: `python -m studies pbs_reasons`.

Our engine follows the starts and ends of a recorded run, and says what keeps every job. The scheduler's log says at each pass why each job
that it considers does not run. A reason counts for as long as it stands, up to the next pass.
"""

from __future__ import annotations

import sys
from collections import Counter
from itertools import pairwise

import numpy as np

from simulator.jobs.cluster import FOREVER
from simulator.pbs.settings import cycle_settings
from simulator.pbs.state import UNSET
from simulator.pbs.waiting.following import GivenStarts, follow_pbs
from simulator.pbs.waiting.looking import PBS_KEPT
from studies.pbs.recorded_runs import Pass, RecordedRun, read_recorded_run, recorded_folders

MISSING = {"cores", "fragments", "whole_nodes", "reservation"}
"""PBS counts the processors of a reservation that lasts as used."""
BEHIND = {each for each in PBS_KEPT if each.startswith("behind_")}
CAUSES_OF_WORDS = (
    ("Insufficient amount of resource: ncpus", MISSING),
    ("Insufficient amount of resource: ngpus", {"gpus", "fragments"}),
    ("Not enough free nodes available", MISSING | {"gpus"}),
    ("Job would conflict with reservation or top job", BEHIND | {"reservation"}),
    ("would exceed", {"limit"}),
    ("Server per-user", {"limit"}),
    ("Queue ", {"limit"}),
)
"""Beginnings of what PBS says, and our causes that are the same."""


def kept_at(run: RecordedRun, moments: list[int]) -> np.ndarray:
    """What keeps each job of a recorded run by our engine, codes of PBS_KEPT, int8 (moments, jobs)."""
    start = np.array([UNSET if job.start_s is None else job.start_s for job in run.jobs], dtype=np.int64)
    end = np.array([FOREVER if job.end_s is None else job.end_s for job in run.jobs], dtype=np.int64)
    place = {node.name: k for k, node in enumerate(run.cluster.nodes)}
    nodes = [sorted({place[name] for name in job.nodes}) if job.start_s is not None else [] for job in run.jobs]
    given = GivenStarts(
        start=start,
        end=np.maximum(end, start),
        left=np.where(start >= 0, start, end),
        first=np.concatenate([[0], np.cumsum([len(each) for each in nodes])]).astype(np.int64),
        node=np.array([one for each in nodes for one in each], dtype=np.int64),
        cpus=np.full(sum(map(len, nodes)), UNSET, dtype=np.int64),
    )
    asked = [job.job for job in run.jobs]
    iteration_s = cycle_settings(run.cluster.scheduler).iteration
    return follow_pbs(run.cluster, asked, given, iteration_s, np.array(moments, dtype=np.int64))[1]


def compare_reasons(run: RecordedRun) -> tuple[Counter[str], Counter[tuple[str, str]]]:
    """Of a recorded run, in seconds of waiting jobs: `all` reasons that PBS said, `same` those that we say too, `cores` those that an
    answer of missing processors for all would have; and what did not agree."""
    passes = last_of_each_second(run.passes)
    # starts have the stamp of the second in which the last pass ends
    after = [min(a.time + 1, max(b.time - 1, a.time)) for a, b in pairwise(passes)]
    kept = kept_at(run, after)
    jobs: dict[str, list[int]] = {}
    for k, job in enumerate(run.jobs):
        jobs.setdefault(job.label, []).append(k)
        if "[" in job.label:
            jobs.setdefault(job.label.partition("[")[0] + "[]", []).append(k)
    seconds: Counter[str] = Counter()
    pairs: Counter[tuple[str, str]] = Counter()
    for row, (current, following) in enumerate(pairwise(passes)):
        lasts = following.time - current.time
        for label, said in current.reasons.items():
            codes = [int(kept[row, k]) for k in jobs.get(label, ()) if kept[row, k] != UNSET]
            causes = next((causes for words, causes in CAUSES_OF_WORDS if said.startswith(words)), None)
            if not codes or causes is None:
                continue  # it starts in this second, or has left the queue
            ours = PBS_KEPT[codes[0]]
            seconds["all"] += lasts
            seconds["same"] += lasts * (ours in causes)
            seconds["cores"] += lasts * ("cores" in causes)
            if ours not in causes:
                pairs[said.partition(" (")[0], ours] += lasts
    return seconds, pairs


def last_of_each_second(passes: list[Pass]) -> list[Pass]:
    """The last pass of each second that has some."""
    return list({each.time: each for each in passes}.values())


def main() -> None:
    """Prints the table. Names of runs may be given; with -v what did not agree is printed."""
    names = [word for word in sys.argv[1:] if not word.startswith("-")]
    print("| run | job-seconds with a reason | the same | if all lacked processors |\n| --- | --- | --- | --- |")
    whole: Counter[str] = Counter()
    for folder in recorded_folders():
        if names and folder.parent.name not in names:
            continue
        seconds, pairs = compare_reasons(read_recorded_run(folder))
        whole += seconds
        print(_row(folder.parent.name, seconds), flush=True)
        if "-v" in sys.argv:
            for (said, ours), lasts in pairs.most_common(8):
                print(f"    {lasts}: {said} - ours {ours}")
    print(_row("all", whole))


def _row(name: str, seconds: Counter[str]) -> str:
    total = max(seconds["all"], 1)
    return f"| {name} | {seconds['all']:,} | {seconds['same'] / total:.1%} | {seconds['cores'] / total:.1%} |"


if __name__ == "__main__":
    main()
