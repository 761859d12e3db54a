"""What a folder has of a moment besides the queue: Slurm's fair shares and priorities, and in words how far ours are from them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from assets.replaying.own.slurm.standing import CLOSE, COMPARED, QueueState, compared_factors, compared_shares
from traces.cluster.notes import read_text_file
from traces.common.blocks import PACKED
from traces.common.pseudonyms import pseudonym_of
from traces.slurm.configuration.folder import PRIORITIES_NOW, SHARES_NOW, slurm_role_of
from traces.slurm.state.priorities import PriorityRow, ShareRow, read_sprio, read_sshare

NEAR = 0.05
"""Factors of fair share that are so near to each other put jobs in nearly the same order."""
_MOST_FAULTS = 5
_USUAL_QUEUES = ("squeue.json", "qstat.json")


@dataclass(frozen=True)
class SlurmMoment:
    """shares, priorities: the lines of sshare and sprio, None where the folder has no such file. faults: of lines that cannot be read, each
    with file and number."""

    shares: list[ShareRow] | None
    priorities: list[PriorityRow] | None
    faults: tuple[str, ...] = ()

    def with_pseudonyms(self, kinds: tuple[str, ...], key: bytes) -> SlurmMoment:
        """The same with the names of users and accounts replaced, where these kinds are."""

        def hidden(kind: str, name: str) -> str:
            return pseudonym_of(key, kind, name) if name and kind in kinds else name

        shares = None
        if self.shares is not None:
            shares = [
                row._replace(account=hidden("account", row.account), user=hidden("user", row.user))
                for row in self.shares
            ]
        return replace(self, shares=shares)


@dataclass(frozen=True)
class ComparedMoment:
    """lines: in words. shares, factors: of `compared_shares` and `compared_factors`, None where they were not compared."""

    lines: list[str]
    shares: pl.DataFrame | None = None
    factors: pl.DataFrame | None = None


def queue_file(folder: Path) -> Path:
    """The file of a folder that has the queue: squeue.json or qstat.json, else the only JSON there. Raises ValueError where that is not
    one."""
    every = sorted(path for path in folder.iterdir() if path.is_file() and _is_json(path))
    files = [path for path in every if path.name.startswith(_USUAL_QUEUES)] or every
    if len(files) != 1:
        names = ", ".join(path.name for path in files) or "none"
        raise ValueError(f"{folder}: expected one file of the queue, such as squeue.json, found {names}")
    return files[0]


def _is_json(path: Path) -> bool:
    """Plain or packed."""
    return (path.with_suffix("") if path.suffix in PACKED else path).suffix == ".json"


def read_moment(folder: Path) -> SlurmMoment | None:
    """Lines of sshare and sprio in a folder, each known by its name or by what is in it. None where it has neither."""
    shares, priorities = None, None
    faults: list[str] = []
    for path in sorted(folder.iterdir()):
        if not path.is_file() or _is_json(path):
            continue
        file = read_text_file(path)
        role = slurm_role_of(file)
        if role == SHARES_NOW:
            shares, wrong = read_sshare(file)
            faults += wrong
        elif role == PRIORITIES_NOW:
            priorities, wrong = read_sprio(file)
            faults += wrong
    if shares is None and priorities is None:
        return None
    return SlurmMoment(shares, priorities, tuple(faults))


def compared_moment(moment: SlurmMoment, state: QueueState | None) -> ComparedMoment:
    """A moment next to the state that the log and the cluster's configuration give for it. state: None where there is none."""
    lines = list(moment.faults[:_MOST_FAULTS])
    if len(moment.faults) > _MOST_FAULTS:
        lines.append(f"{len(moment.faults) - _MOST_FAULTS:,} more lines of sshare and sprio cannot be read")
    if state is None or not state.has_factors:
        why = "no job waits under a Slurm of its own" if state is None else "jobs are in the order of submission"
        return ComparedMoment([*lines, f"sshare and sprio are not compared: {why}"])
    shares = None if moment.shares is None else compared_shares(state, moment.shares)
    factors = None if moment.priorities is None else compared_factors(state, moment.priorities)
    if shares is not None:
        lines += _share_lines(shares)
    if factors is not None and moment.priorities is not None:
        lines += _factor_lines(factors, moment.priorities)
    return ComparedMoment(lines, shares, factors)


def _share_lines(shares: pl.DataFrame) -> list[str]:
    if shares.is_empty():
        return ["sshare: no user of it is in the cluster's accounts (`sacctmgr dump`), so that no share is compared"]
    same = shares.filter((pl.col("fair_share") - pl.col("computed")).abs() <= CLOSE).height
    near = shares.filter((pl.col("fair_share") - pl.col("log_computed")).abs() <= NEAR).height
    return [
        f"sshare: from its own usage and the cluster's shares, the factors of {same:,} of {shares.height:,} users are computed the same; "
        f"from the log's jobs, those of {near:,} are within {NEAR:g}"
    ]


def _factor_lines(factors: pl.DataFrame, rows: list[PriorityRow]) -> list[str]:
    by_hand = sum(row.is_by_hand for row in rows)
    others = len(rows) - factors.height - by_hand
    same = factors.filter(pl.col("differing").list.len() == 0).height
    line = f"sprio: of {factors.height:,} jobs, {same:,} have the same priority factors as computed"
    counts = [(name, factors.filter(pl.col("differing").list.contains(name)).height) for name in COMPARED]
    differing = ", ".join(f"{name} of {count:,}" for name, count in counts if count)
    line += f"; different are {differing}" if differing else ""
    line += f"; {by_hand:,} have a priority that somebody has set" if by_hand else ""
    if others:
        line += (
            f"; {others:,} line is of a job that does not"
            if others == 1
            else f"; {others:,} lines are of jobs that do not"
        )
        line += " wait in that partition of the queue"
    return [line]
