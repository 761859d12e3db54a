"""Limits and gates of one replay, as they are given and as the compiled loop takes them. Rules: docs/reference/limits.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.jobs.jobs import column_of
from simulator.jobs.tasks import Tasks

IntArray = NDArray[np.int64]

RUNNING_JOBS, RUNNING_PROCS, OUTSTANDING, USED, GATE = range(5)
"""What a slot counts of its running jobs: jobs, processors, processor-seconds that they may still use by their requested times, or all
that were ever used. A gate is a slot that lets nothing start while it is closed."""
NO_KEY = -1
"""Key of a job for which a limit does not hold."""
UNBOUNDED = 1 << 60
"""Bound of a key without a limit, for a time."""
LONGEST_REQUEST_S = 1 << 40
"""Requested times count up to this, so that sums stay whole numbers."""


@dataclass(frozen=True)
class JobLimit:
    """At most `bound` of what jobs of the same key have together.

    counts: RUNNING_JOBS, RUNNING_PROCS, OUTSTANDING or USED. key: int64 (jobs,), such as the number of the user, NO_KEY where it does not
    hold. bound: int64 (keys,), or one number for all keys. changes: int64 (changes, 3), a second, a key, and its bound from then on.
    UNBOUNDED is no limit.
    """

    counts: int
    bound: int | IntArray
    key: IntArray
    changes: IntArray = field(default_factory=lambda: np.zeros((0, 3), dtype=np.int64))

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", column_of(self.key))
        object.__setattr__(self, "changes", column_of(self.changes).reshape(-1, 3))
        if self.counts not in (RUNNING_JOBS, RUNNING_PROCS, OUTSTANDING, USED):
            raise ValueError(f"a limit counts one of four things, got {self.counts}")
        if (np.asarray(self.bound) < 0).any() or (self.changes[:, 2] < 0).any():
            raise ValueError(f"the bound of a limit must not be negative, got {self.bound} {self.changes[:, 2]}")

    def bound_of(self, key: IntArray) -> IntArray:
        """The first bound of each of these keys."""
        bound = np.asarray(self.bound, dtype=np.int64)
        return np.full(len(key), bound) if bound.ndim == 0 else bound[key]


@dataclass(frozen=True)
class StartGate:
    """Hours in which some jobs do not start. stops: bool (jobs,). changes: seconds, ascending, at which it closes, opens, closes, ..."""

    stops: NDArray[np.bool_]
    changes: IntArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "changes", column_of(self.changes))
        if (self.changes[1:] <= self.changes[:-1]).any():
            raise ValueError("a gate's changes must ascend")


class LimitSlots(NamedTuple):
    """Jobs with the same slots are a group. int64."""

    kind: IntArray  # (slots,)
    bound: IntArray  # (slots,)
    first: IntArray  # (groups + 1,), entries of each group
    slot: IntArray  # (entries,)
    begin: IntArray  # (groups,), where the group's jobs begin in an array that has room for all jobs
    group: IntArray  # (tasks,)
    amount: IntArray  # (tasks,), processors times requested time
    change_time: IntArray  # (changes,), ascending
    change_slot: IntArray  # (changes,)
    becomes: IntArray  # (changes,), the bound from then on. Of a gate 1 where it closes, 0 where it opens


def slots_of_limits(
    limits: Sequence[JobLimit], gates: Sequence[StartGate], tasks: Tasks, apart: Sequence[IntArray] = ()
) -> LimitSlots:
    """The slots of all limits and gates. apart: int64 (jobs,) each, at least NO_KEY; jobs with other values are in other groups.

    Raises ValueError where one has another number of jobs."""
    jobs = tasks.last - tasks.first
    kinds: list[IntArray] = []
    bounds: list[IntArray] = []
    columns: list[IntArray] = []
    changes: list[tuple[int, int, int]] = []
    count = 0
    for limit in limits:
        _require_length(limit.key, jobs)
        keys, place = np.unique(limit.key, return_inverse=True)
        has_nobody = int(len(keys) > 0 and keys[0] == NO_KEY)
        bounds.append(limit.bound_of(keys[has_nobody:]))
        kinds.append(np.full(len(keys) - has_nobody, limit.counts))
        columns.append(np.where(limit.key == NO_KEY, NO_KEY, place - has_nobody + count))
        slot_of = dict(zip(keys[has_nobody:].tolist(), range(count, count + len(keys)), strict=False))
        changes += [(second, slot_of[k], become) for second, k, become in limit.changes.tolist() if k in slot_of]
        count += len(keys) - has_nobody
    for gate in gates:
        _require_length(gate.stops, jobs)
        kinds.append(np.array([GATE]))
        bounds.append(np.array([0]))
        columns.append(np.where(gate.stops, count, NO_KEY))
        count += 1
    for column in apart:
        _require_length(column, jobs)
    group, members = _groups([*columns, *apart], jobs)
    entries = [[int(column[member]) for column in columns if column[member] != NO_KEY] for member in members]
    sizes = np.bincount(group, minlength=len(members))
    of_tasks = np.zeros(len(tasks.submit), dtype=np.int64)
    of_tasks[tasks.first : tasks.last] = group
    first_gate = count - len(gates)
    changes += [
        (second, first_gate + number, 1 - place % 2)
        for number, gate in enumerate(gates)
        for place, second in enumerate(gate.changes.tolist())
    ]
    time, slot, becomes = np.array(sorted(changes), dtype=np.int64).reshape(-1, 3).T
    return LimitSlots(
        kind=column_of(np.concatenate(kinds) if kinds else []),
        bound=np.array(np.concatenate(bounds) if bounds else [], dtype=np.int64),
        first=column_of(np.concatenate([[0], np.cumsum([len(entry) for entry in entries])])),
        slot=column_of([slot for entry in entries for slot in entry]),
        begin=column_of(np.cumsum(sizes) - sizes),
        group=column_of(of_tasks),
        amount=column_of(tasks.procs * np.minimum(tasks.limit, LONGEST_REQUEST_S)),
        change_time=column_of(time),
        change_slot=column_of(slot),
        becomes=column_of(becomes),
    )


def _groups(columns: list[IntArray], jobs: int) -> tuple[IntArray, IntArray]:
    """The group of each job, and a job of each group."""
    group = np.zeros(jobs, dtype=np.int64)
    for column in columns:
        width = int(column.max(initial=0)) + 2
        _, group = np.unique(group * width + column + 1, return_inverse=True)
    _, member = np.unique(group, return_index=True)
    return group, member


def _require_length(column: NDArray[np.generic], jobs: int) -> None:
    if len(column) != jobs:
        raise ValueError(f"a limit has {len(column)} jobs, the replay has {jobs}")
