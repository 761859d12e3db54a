"""Limits and gates of one replay, as they are given and as the compiled loop takes them. Rules: docs/reference/limits.md.

Hours of gates and repeated reservations as seconds of a log's clock. Rules: docs/reference/limits.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from simulator.jobs.jobs import column_of
from simulator.jobs.tasks import Tasks
from traces.cluster.description import AdvanceReservation, Gate

IntArray = NDArray[np.int64]

RUNNING_JOBS, RUNNING_PROCS, OUTSTANDING, USED, GATE = range(5)
"""What a slot counts of its running jobs: jobs, processors, processor-seconds that they may still use by their requested times, or all
that were ever used. A gate is a slot that lets nothing start while it is closed."""
NO_KEY = -1
"""Key of a job for which a limit does not hold."""
BOUNDLESS = 1 << 60
"""Bound of a key without a limit, for a time."""
LONGEST_REQUEST_S = 1 << 40
"""Requested times count up to this, so that sums stay whole numbers."""


@dataclass(frozen=True)
class JobLimit:
    """At most `bound` of what jobs of the same key have together.

    counts: RUNNING_JOBS, RUNNING_PROCS, OUTSTANDING or USED. key: int64 (jobs,), such as the number of the user, NO_KEY where it does not
    hold. bound: int64 (keys,), or one number for all keys. changes: int64 (changes, 3), a second, a key, and its bound from then on.
    BOUNDLESS stands for none.
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


def grouped_slots(
    limits: Sequence[JobLimit], gates: Sequence[StartGate], tasks: Tasks, apart: Sequence[IntArray] = (), ended: int = 0
) -> tuple[LimitSlots, IntArray]:
    """The slots of all limits and gates, and the group of every job, int64 (ended + running + jobs,). apart: int64 (jobs,) each, at least
    NO_KEY; jobs with other values are in other groups. ended: how many of the first have ended already.

    Raises ValueError where one has another number of jobs."""
    jobs = ended + tasks.last
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
    sizes = np.bincount(group[ended + tasks.first :], minlength=len(members))
    of_tasks = np.zeros(len(tasks.submit), dtype=np.int64)
    of_tasks[: tasks.last] = group[ended:]
    first_gate = count - len(gates)
    changes += [
        (second, first_gate + number, 1 - place % 2)
        for number, gate in enumerate(gates)
        for place, second in enumerate(gate.changes.tolist())
    ]
    time, slot, becomes = np.array(sorted(changes), dtype=np.int64).reshape(-1, 3).T
    slots = LimitSlots(
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
    return slots, group


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


# --- hours


DAY_MINUTES = 1440
KNOWN_AFTER_S = 3653 * 86_400
"""How long after the last submission gates and repeated reservations come back, ten years. Then gates are open."""
REPEATS = {"daily": range(7), "weekly": None, "weekday": range(5), "weekend": range(5, 7)}
"""Days on which a reservation repeats, None for the day of its beginning. 0 is Monday."""


def gate_changes(gate: Gate, zero_s: int, first: int, last: int) -> IntArray:
    """When a gate closes and opens, in turns, seconds of the log's clock.

    zero_s: UTC second of the log's second 0. first, last: seconds of the first and of the last submission."""
    zone = ZoneInfo(gate.timezone)
    day = datetime.fromtimestamp(zero_s + first, zone).date() - timedelta(days=2)
    end = datetime.fromtimestamp(zero_s + last + KNOWN_AFTER_S, zone).date()
    length = (gate.end_minute - gate.begin_minute - 1) % DAY_MINUTES + 1
    spans: list[list[int]] = []
    while day <= end:
        if day.weekday() in gate.days:
            close, opens = (
                second_of_day(day, minute, zone) - zero_s for minute in (gate.begin_minute, gate.begin_minute + length)
            )
            if spans and close <= spans[-1][1]:
                spans[-1][1] = max(spans[-1][1], opens)
            elif opens > close:
                spans.append([close, opens])
        day += timedelta(days=1)
    return np.array([second for pair in spans for second in pair], dtype=np.int64)


def second_of_day(day: date, minute: int, zone: ZoneInfo) -> int:
    """The UTC second of a minute of a day by the clock on the wall, which may be one of the next day."""
    moment = datetime(day.year, day.month, day.day) + timedelta(minutes=minute)
    return int(moment.replace(tzinfo=zone).timestamp())


def occurrences(reservation: AdvanceReservation, first: int, last: int) -> Iterator[tuple[int, int]]:
    """Begin and end, UTC seconds, of each time that is not over before `first` and begins by `last`."""
    begin, length = reservation.begin_s, reservation.end_s - reservation.begin_s
    if not reservation.repeats:
        if begin + length > first and begin <= last:
            yield begin, begin + length
        return
    zone = ZoneInfo(reservation.timezone)
    moment = datetime.fromtimestamp(begin, zone).replace(tzinfo=None)
    days = REPEATS[reservation.repeats] or (moment.weekday(),)
    while begin <= last:
        if begin + length > first and moment.weekday() in days:
            yield begin, begin + length
        moment += timedelta(days=1)
        begin = int(moment.replace(tzinfo=zone).timestamp())


def wall_clock(seconds: IntArray, timezone: str) -> tuple[IntArray, IntArray]:
    """Minute of the day and day of the week (0 is Monday) of UTC seconds, by the clock on the wall. All int64 of the same shape."""
    zone = ZoneInfo(timezone)
    hours, place = np.unique(seconds // 3600, return_inverse=True)
    shift = [datetime.fromtimestamp(int(hour) * 3600, UTC).astimezone(zone).utcoffset() for hour in hours.tolist()]
    local = seconds + np.array([each.total_seconds() if each else 0 for each in shift], dtype=np.int64)[place]
    return local // 60 % DAY_MINUTES, (local // 86_400 + 3) % 7
