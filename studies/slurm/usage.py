"""Used time of users and accounts from accounting alone, against `sshare` of recorded runs: `python -m studies slurm_usage`.

Accounting has what each job was billed a second, its start and its end. The phase of the controller's periods is not in it: of all
phases we take the one that fits best, and print it.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from simulator.slurm.priority import PriorityRules, decay_of, priority_rules
from studies.slurm.decisions import golden_folders
from studies.slurm.golden_cluster import golden_cluster, text_of

LEAST = 1000.0
"""Billing-seconds below which a relative error says nothing."""


@dataclass(frozen=True)
class UsageErrors:
    """Relative errors over all users and snapshots, with the phase that fits best, in seconds."""

    values: int
    median: float
    ninth_decile: float
    phase_s: int


def compare_usage(folder: Path) -> UsageErrors:
    """How far usage from accounting is from that of the controller."""
    rules = priority_rules(golden_cluster(folder).scheduler)
    users, jobs = _jobs(folder)
    times, shown = _shown(folder, users)
    phases = [_errors(rules, jobs, times, shown, phase) for phase in range(rules.period)]
    best = int(np.argmin([np.median(errors) for errors in phases]))
    errors = phases[best]
    return UsageErrors(len(errors), float(np.median(errors)), float(np.quantile(errors, 0.9)), best)


def _jobs(folder: Path) -> tuple[list[tuple[str, str]], NDArray[np.float64]]:
    """Users with their accounts, and of each job its user, what it is billed a second, its start and its end."""
    names, *lines = text_of(folder, "sacct.psv").strip().splitlines()
    users: dict[tuple[str, str], int] = {}
    jobs = []
    for line in lines:
        row = dict(zip(names.split("|"), line.split("|"), strict=False))
        amounts = dict(pair.split("=") for pair in row["AllocTRES"].split(",") if "=" in pair)
        if row["Start"].isdigit() and row["End"].isdigit() and "billing" in amounts:
            user = users.setdefault((row["Account"], row["User"]), len(users))
            jobs.append((user, float(amounts["billing"]), float(row["Start"]), float(row["End"])))
    return list(users), np.array(jobs)


def _shown(folder: Path, users: list[tuple[str, str]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Times of the snapshots, and each user's usage in them."""
    begin = json.loads(text_of(folder, "meta.json"))["T0"]
    times, rows = [], []
    for block in text_of(folder, "snapshots.txt").split("### ")[1:]:
        head, _, body = block.partition("\n")
        lines = body.partition("## sshare\n")[2].splitlines()
        usage = {(words[0].strip(), words[1].strip()): float(words[4]) for words in (line.split("|") for line in lines)}
        times.append(begin + float(head))
        rows.append([usage.get(user, 0.0) for user in users])
    return np.array(times), np.array(rows)


def _errors(
    rules: PriorityRules,
    jobs: NDArray[np.float64],
    times: NDArray[np.float64],
    shown: NDArray[np.float64],
    phase: int,
) -> NDArray[np.float64]:
    """Relative errors with periods that end at this phase."""
    first = times[0] - times[0] % rules.period - rules.period + phase
    ends = np.arange(first, times[-1] + 1, rules.period)
    usage = np.zeros((len(ends), shown.shape[1]))
    user, billed = jobs[:, 0].astype(np.int64), jobs[:, 1]
    left = decay_of(rules.period, rules.half_life)
    for k, end in enumerate(ends):
        seconds = np.minimum(jobs[:, 3], end) - np.maximum(jobs[:, 2], end - rules.period)
        runs = seconds > 0
        used = billed[runs] * seconds[runs] * decay_of(1, rules.half_life) ** seconds[runs]
        usage[k] = (usage[k - 1] * left if k else 0.0) + np.bincount(user[runs], used, shown.shape[1])
    at = np.searchsorted(ends, times, side="right") - 1
    mine, real = usage[at], shown
    counted = real >= LEAST
    return np.abs(mine[counted] / real[counted] - 1)


def main() -> None:
    """Prints the table."""
    print("| run | usages | median error, % | 90 % below, % | phase, s |")
    print("| --- | --- | --- | --- | --- |")
    for folder in golden_folders():
        if len(sys.argv) > 1 and folder.parent.name not in sys.argv[1:]:
            continue
        if priority_rules(golden_cluster(folder).scheduler).fair_share:
            errors = compare_usage(folder)
            print(
                f"| {folder.parent.name} | {errors.values} | {100 * errors.median:.2f} | {100 * errors.ninth_decile:.1f} | "
                f"{errors.phase_s} |"
            )


if __name__ == "__main__":
    main()
