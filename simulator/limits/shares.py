"""Shares of accounts and users: who has used least of them comes first. Rules: docs/reference/limits.md, "Shares"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.compiled import lean
from simulator.jobs.jobs import column_of
from simulator.limits.rules import NO_KEY
from simulator.policies.moment import usage_at

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class ShareTree:
    """path: int64 (jobs, floors), the account or user of each job on each floor of the tree, the top one first, NO_KEY where it has none.
    shares: float64 (accounts and users,), above 0."""

    path: IntArray
    shares: FloatArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", column_of(self.path))
        if self.path.ndim != 2 or self.path.max(initial=NO_KEY) >= len(self.shares):
            raise ValueError(f"a tree of shares has a row for each job, and places below {len(self.shares)}")
        if not (self.shares > 0).all():
            raise ValueError("shares must be above 0")


class Sharing(NamedTuple):
    """The tree as the loop takes it, with what has been used of each account and user; see simulator/policies/scoring.py."""

    path: IntArray  # (groups, floors)
    shares: FloatArray  # (accounts and users,)
    usage: FloatArray  # (accounts and users,)
    rate: FloatArray  # (accounts and users,)
    since: IntArray  # (accounts and users,)
    standing: FloatArray  # (groups, floors), usage by shares in this pass
    half_life_s: float


def sharing_of(tree: ShareTree | None, group: IntArray, groups: int, begin: int, half_life_s: float) -> Sharing:
    """What the loop takes. group: of each job. begin: the second from which usage counts."""
    path = np.zeros((groups, 0), dtype=np.int64)
    shares = np.ones(0)
    if tree is not None:
        path = np.full((groups, tree.path.shape[1]), NO_KEY, dtype=np.int64)
        path[group] = tree.path
        shares = np.ascontiguousarray(tree.shares, dtype=np.float64)
    count = len(shares)
    return Sharing(
        path, shares, np.zeros(count), np.zeros(count), np.full(count, begin), np.zeros(path.shape), half_life_s
    )


@lean
def change_use(sharing, group, now, procs):
    """From `now` on, everybody above a job of the group holds `procs` processors more (or fewer)."""
    for floor in range(sharing.path.shape[1]):
        owner = sharing.path[group, floor]
        if owner >= 0:
            used = usage_at(sharing.usage, sharing.rate, sharing.since, owner, now, sharing.half_life_s)
            sharing.usage[owner] = used
            sharing.since[owner] = now
            sharing.rate[owner] += procs


@lean
def change_uses(sharing, group, second, procs):
    """Jobs of these groups hold so many processors more from these seconds on. All int64 (changes,), in the order of time."""
    for k in range(len(group)):
        change_use(sharing, group[k], second[k], procs[k])


@lean
def take_standing(sharing, group, now):
    """Usage by shares of everybody above the group's jobs. Nobody's is 0."""
    for floor in range(sharing.path.shape[1]):
        owner = sharing.path[group, floor]
        used = 0.0
        if owner >= 0:
            used = usage_at(sharing.usage, sharing.rate, sharing.since, owner, now, sharing.half_life_s)
            used /= sharing.shares[owner]
        sharing.standing[group, floor] = used


@lean
def stands_before(sharing, group, key, other, other_key):
    """Whether a job of the group comes before one of the other: by standing from the top floor down, then by the lower key."""
    for floor in range(sharing.standing.shape[1]):
        ours, theirs = sharing.standing[group, floor], sharing.standing[other, floor]
        if ours != theirs:
            return ours < theirs
    return key < other_key
