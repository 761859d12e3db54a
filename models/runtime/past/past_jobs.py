"""The jobs of a log as arrays, for passes over millions of them in the order of time, and which of them are alike.

Classes are a ladder, from the same user, executable, request and processors down to about the same request. A log of 50 million jobs
comes in parts, whose columns go into arrays of four bytes a job. Pairs of numbers are then numbered, which is compiled: ranks of
columns would need the whole log as a table, with its names.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from models.compiled import compiled

Numbers = NDArray[np.int32] | NDArray[np.int64]

NOT_LOGGED = np.iinfo(np.int32).min
"""A number that the log does not know. It fits into the arrays of any log."""
NUM_KINDS = 4
USER, ALIKE, EXECUTABLE, GROUP = range(NUM_KINDS)
"""Kinds of classes: jobs of a user, those of them with the same request, those with the same executable, and jobs of a group."""


class PastJobs(NamedTuple):
    """Jobs in the order of submission. class_of: int32 (NUM_KINDS, jobs), -1 for none. Users have the first numbers. failed: bool (jobs,).
    All else (jobs,), NOT_LOGGED where unknown: int32, or int64 where one of them needs it. Times are seconds since the first submission."""

    class_of: NDArray[np.int32]
    failed: NDArray[np.bool_]
    submit: Numbers
    start: Numbers
    end: Numbers
    runtime: Numbers
    procs: Numbers
    requested_procs: Numbers
    requested_walltime: Numbers


_TIMES = ("submit", "start", "end")
_AMOUNTS = ("runtime", "procs", "requested_procs", "requested_walltime")


def past_jobs_of(parts: Iterable[pl.DataFrame], num_jobs: int) -> tuple[PastJobs, list[int]]:
    """The jobs as arrays, their classes not numbered yet, and how many jobs each part has."""
    class_of = np.full((NUM_KINDS, num_jobs), -1, dtype=np.int32)
    failed = np.empty(num_jobs, dtype=np.bool_)
    numbers: dict[str, Any] = {name: np.empty(num_jobs, dtype=np.int32) for name in _TIMES + _AMOUNTS}
    heights: list[int] = []
    begin = first_s = 0
    for jobs in parts:
        if not begin and jobs.height:
            first_s = int(jobs["submit_s"][0])
        here = slice(begin, begin + jobs.height)
        for kind, name in ((USER, "user"), (EXECUTABLE, "executable"), (GROUP, "group")):
            class_of[kind, here] = jobs[f"{name}_number"].fill_null(-1).to_numpy()
        failed[here] = jobs["failed"].to_numpy()
        for name in numbers:
            seconds = jobs[f"{name}_s" if name in (*_TIMES, "runtime", "requested_walltime") else name]
            values = (seconds - first_s if name in _TIMES else seconds).fill_null(NOT_LOGGED).to_numpy()
            # all of them, so that the pass is compiled for two types at most
            if numbers[name].dtype == np.int32 and not _fit(values):
                numbers = {name: column.astype(np.int64) for name, column in numbers.items()}
            numbers[name][here] = values
        heights.append(jobs.height)
        begin = here.stop
    return PastJobs(class_of, failed, **numbers), heights


def _fit(values: NDArray[np.int64]) -> bool:
    """Whether int32 can hold them."""
    return bool(values.max(initial=0) <= np.iinfo(np.int32).max and values.min(initial=0) >= NOT_LOGGED)


def number_classes(log: PastJobs) -> tuple[int, int]:
    """Numbers the classes of all kinds. Returns the number of users, and that of all classes."""
    user, executable, group = (log.class_of[kind] for kind in (USER, EXECUTABLE, GROUP))
    num_users = int(user.max(initial=-1)) + 1
    with_procs = np.empty_like(user)
    _number_known(user, log.requested_procs, 0, with_procs)
    count = _number_known(with_procs, log.requested_walltime, num_users, log.class_of[ALIKE])
    with_procs[:] = executable
    count = _number_known(np.where(executable < 0, -1, user), with_procs, count, executable)
    group[group >= 0] += count
    return num_users, max(count, int(group.max(initial=-1)) + 1)


def _number_known(one: Numbers, other: Numbers, first: int, numbers: NDArray[np.int32]) -> int:
    """`number_pairs`, and -1 where `one` is negative: of nobody, or without an executable."""
    following = number_pairs(one, other, first, numbers)
    numbers[one < 0] = -1
    return following


def in_order(moment: Numbers) -> NDArray[np.int32]:
    """Jobs by their moment, then as they come, without those of which it is NOT_LOGGED."""
    jobs = np.flatnonzero(moment != NOT_LOGGED)
    if moment.dtype == np.int64:
        return jobs[np.argsort(moment[jobs], kind="stable")].astype(np.int32)
    # moment and job in one number are sorted in place: for 50 million jobs an argsort would take 2 GB
    both = moment[jobs].astype(np.int64)
    both <<= 32
    both |= jobs
    del jobs
    both.sort()
    both &= 0xFFFFFFFF
    return both.astype(np.int32)


NUM_CLASSES = 7
SAME_ALL, BUT_PROCS, SAME_REQUEST, SAME_EXECUTABLE, SAME_USER, ABOUT_REQUEST_AND_PROCS, ABOUT_REQUEST = range(
    NUM_CLASSES
)
"""Classes by what is the same. The first five are of one user."""

_SIZES = 64
"""More than any number of octaves."""
_ABOUT = 2 * _SIZES
"""More than any number of half octaves."""


class Likeness(NamedTuple):
    """class_of: number of the job's class, int32 (NUM_CLASSES, jobs). No two classes share a number, whatever their kind.
    request: requested time in seconds, not positive for none, int32 or int64 (jobs,)."""

    class_of: NDArray[np.int32]
    request: Numbers


def likeness_of(rows: pl.DataFrame) -> Likeness:
    """Classes of jobs. rows: user_name, executable, requested_walltime_s and requested_procs, each null where unknown."""
    likeness = LikenessInParts(rows.height)
    likeness.add(rows.with_columns(numbers_of_names()))
    return likeness.finish()


def numbers_of_names() -> list[pl.Expr]:
    """user_number and executable_number from user_name and executable: int32 from 0, null where unknown."""
    names = {"user_number": "user_name", "executable_number": "executable"}
    return [(pl.col(name).rank("dense").cast(pl.Int32) - 1).alias(number) for number, name in names.items()]


class LikenessInParts:
    """`Likeness` of a log that comes in parts, the first jobs first. A job takes 36 bytes, and up to 16 more while pairs are numbered."""

    def __init__(self, num_jobs: int) -> None:
        """num_jobs: of all parts."""
        self._class_of = np.empty((NUM_CLASSES, num_jobs), dtype=np.int32)
        self._request: Numbers = np.empty(num_jobs, dtype=np.int32)
        self._procs: Numbers = np.empty(num_jobs, dtype=np.int32)
        self._added = 0

    def add(self, part: pl.DataFrame) -> None:
        """part: user_number and executable_number (from 0), requested_walltime_s and requested_procs, each null where unknown."""
        # half an octave of wall time, an octave of processors
        request = pl.col("requested_walltime_s").fill_null(-1)
        request_class = pl.when(request > 0).then((2 * request.clip(1).log(2)).round() + 1).otherwise(0).cast(pl.Int32)
        procs = pl.col("requested_procs").fill_null(-1)
        columns = part.select(
            user=pl.col("user_number").fill_null(-1) + 1,
            executable=pl.col("executable_number").fill_null(-1) + 1,
            request=request,
            procs=procs,
            about=request_class,
            size=procs.clip(1).log(2).ceil().cast(pl.Int32),
        )
        here = slice(self._added, self._added + part.height)
        self._class_of[SAME_USER, here] = columns["user"].to_numpy()
        self._class_of[BUT_PROCS, here] = columns["executable"].to_numpy()  # the class itself comes last
        self._class_of[ABOUT_REQUEST, here] = columns["about"].to_numpy()
        self._class_of[ABOUT_REQUEST_AND_PROCS, here] = (columns["about"] * _SIZES + columns["size"]).to_numpy()
        self._request = with_values(self._request, here, columns["request"].to_numpy())
        self._procs = with_values(self._procs, here, columns["procs"].to_numpy())
        self._added = here.stop

    def finish(self) -> Likeness:
        """Numbers the classes of all jobs, once all parts were added."""
        class_of, request, procs = self._class_of, self._request, self._procs
        del self._procs
        count = int(class_of[SAME_USER].max(initial=-1)) + 1
        for kind, most in ((ABOUT_REQUEST, _ABOUT), (ABOUT_REQUEST_AND_PROCS, _ABOUT * _SIZES)):
            class_of[kind] += count
            count += most
        ladder: tuple[tuple[int, Any, Any], ...] = (
            (SAME_EXECUTABLE, class_of[SAME_USER], class_of[BUT_PROCS]),
            (SAME_REQUEST, class_of[SAME_USER], request),
            (BUT_PROCS, class_of[SAME_EXECUTABLE], request),
            (SAME_ALL, class_of[BUT_PROCS], procs),
        )
        for kind, one, other in ladder:
            count = number_pairs(one, other, count, class_of[kind])
        return Likeness(class_of, request)


def with_values(column: Numbers, here: slice, values: NDArray[np.int64]) -> Numbers:
    """Writes values into a column. Returns it, or an int64 copy of it where they need more than int32."""
    bounds = np.iinfo(np.int32)
    if column.dtype == np.int32 and not bounds.min <= values.min(initial=0) <= values.max(initial=0) <= bounds.max:
        column = column.astype(np.int64)
    column[here] = values
    return column


def number_pairs(one: Numbers, other: Numbers, first: int, numbers: NDArray[np.int32]) -> int:
    """Numbers the pairs of values in the order in which they come, from `first` on. Fills numbers, (pairs,), which is none of the
    others. Returns the next number."""
    size = 2
    while size < 2 * len(one):
        size *= 2
    return int(_number_pairs(one, other, first, numbers, np.zeros(size, dtype=np.int32)))


@compiled
def _number_pairs(one, other, first, numbers, slots):
    """slots: zeros, a power of two of them. The system gives memory only to those that are used."""
    mask = len(slots) - 1
    count = first
    for row in range(len(one)):
        mixed = (np.int64(one[row]) * 0x9E3779B1 + other[row]) * 0x2545F4914F6CDD1D
        slot = (mixed ^ (mixed >> 32)) & mask
        while slots[slot]:
            before = slots[slot] - 1  # the first row that has this pair
            if one[before] == one[row] and other[before] == other[row]:
                break
            slot = (slot + 1) & mask
        if slots[slot]:
            numbers[row] = numbers[slots[slot] - 1]
        else:
            slots[slot] = row + 1
            numbers[row] = count
            count += 1
    return count
