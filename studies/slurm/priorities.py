"""Priorities of our Slurm against `sprio` and `sshare` of recorded runs: `python -m studies slurm_priorities`.

Every snapshot has the factors of each waiting job and the usage of each account. From that usage our tree must give the same factors,
and from the factors of age and fair share the same priority, with what resources, association and nice add to it.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

import numpy as np

from simulator.slurm.priority import (
    PriorityRules,
    classic_factors,
    fair_shares,
    fair_tree_factors,
    priority_rules,
    resource_priority,
    size_factor,
    static_factors,
)
from studies.slurm.decisions import Follower, golden_folders
from studies.slurm.golden_cluster import text_of
from studies.slurm.golden_runs import GoldenRun, read_golden_run

CLOSE = 6e-7
"""Factors are printed with seven digits."""


def compare_priorities(folder: Path) -> Counter[str]:
    """How many sums, factors of size, QOS and partition, and factors of Fair Tree are equal, and of how many."""
    run = read_golden_run(folder)
    follower = Follower(run)
    count: Counter[str] = Counter()
    part = ""
    begin = json.loads(text_of(folder, "meta.json"))["T0"]
    time = 0.0
    shares: list[list[str]] = []
    for line in [*text_of(folder, "snapshots.txt").splitlines(), "### end"]:
        if line.startswith("#"):
            if shares:
                _compare_shares(follower, shares, count)
                shares = []
            part = line.strip("# ")
            if line.startswith("### ") and line != "### end":
                time = begin + float(part)
        elif part == "sprio":
            _compare_job(run, follower, line.split("|"), count, time)
        elif part == "sshare":
            shares.append([word.strip() for word in line.split("|")])
    return count


def _compare_job(run: GoldenRun, follower: Follower, words: list[str], count: Counter[str], time: float) -> None:
    """One line of sprio: number, sum, weighted parts, then the factors of age, fair share, size, partition and QOS.

    A job that came within the last two periods may have its size from before nodes were looked for."""
    rules, statics = priority_rules(run.cluster.scheduler), static_factors(follower.arrays, run.cluster.scheduler)
    job = follower.by_label.get(words[0], follower.by_raw.get(int(words[0]) if words[0].isdigit() else -1))
    if job is None:
        job = next((k for k, one in enumerate(run.jobs) if one.label.startswith(f"{words[0].split('_')[0]}_")), None)
    if job is None:
        return
    age, fair, size, partition, quality = (float(word) for word in words[7:12])
    place = follower.partition[run.jobs[job].partition]
    sizes = [_size(follower, rules, job, place, was_tested) for was_tested in (True, False)]
    is_new = time - run.jobs[job].request.submit_s < 2 * rules.period
    ours = (
        sizes[1] if is_new and abs(sizes[1] - size) < CLOSE else sizes[0],
        float(statics.partition[place]) if rules.partition else 0.0,
        float(statics.qos[follower.requests.qos[job]]) if rules.qos else 0.0,
    )
    count["jobs"] += 1
    for name, mine, real in zip(("size", "partition", "qos"), ours, (size, partition, quality), strict=True):
        count[name] += abs(mine - real) < CLOSE
    weights = (rules.age, rules.fair_share, rules.job_size, rules.partition, rules.qos)
    total = sum(weight * factor for weight, factor in zip(weights, (age, fair, *ours), strict=True))
    member = follower.requests.member[job]
    total += float(statics.association[member]) if member >= 0 else 0.0
    total += float(resource_priority(follower.requests, statics.resources[place], job))
    total -= int(follower.requests.nice[job])
    # factors are printed with seven digits, which can move a sum over a whole number
    count["sum"] += int(words[1]) in {max(int(total + more), 1) for more in (-0.002, 0.0, 0.002)}


def _size(follower: Follower, rules: PriorityRules, job: int, place: int, was_tested: bool) -> float:
    follower.engine.scratch.tested[job] = was_tested
    return float(size_factor(follower.engine, rules, job, place)) if rules.job_size else 0.0


def _compare_shares(follower: Follower, rows: list[list[str]], count: Counter[str]) -> None:
    cluster = follower.run.cluster
    rules = priority_rules(cluster.scheduler)
    place = {(account.name, ""): k for k, account in enumerate(cluster.accounts)}
    place |= {(one.account, one.user): k + len(cluster.accounts) for k, one in enumerate(cluster.members)}
    tree = fair_shares(follower.arrays, follower.requests)
    real = {}
    for row in rows:
        node = place.get((row[0], row[1]))
        if node is not None:
            # under classic shares the usage shown is newer than the factors, and effective usage is that of the account of one user
            tree.usage[node] = float(row[6]) if rules.dampening else float(row[4])
            if row[1]:
                real[node - len(cluster.accounts)] = float(row[7])
    nodes = (tree.parent, tree.shares, tree.usage, tree.num_accounts)
    computed = classic_factors(*nodes, rules.dampening) if rules.dampening else fair_tree_factors(*nodes)
    factors = np.round(computed, 6)
    count["users"] += len(real)
    count["fair"] += sum(abs(factors[user] - factor) < 2e-6 for user, factor in real.items())


def main() -> None:
    """Prints the table."""
    print("| run | jobs in snapshots | same sum | size | partition | QOS | users in snapshots | same factor |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for folder in golden_folders():
        if len(sys.argv) > 1 and folder.parent.name not in sys.argv[1:]:
            continue
        count = compare_priorities(folder)
        if priority_rules(read_golden_run(folder).cluster.scheduler).age:
            cells = [count[name] for name in ("jobs", "sum", "size", "partition", "qos", "users", "fair")]
            print(f"| {folder.parent.name} | {' | '.join(map(str, cells))} |")


if __name__ == "__main__":
    main()
