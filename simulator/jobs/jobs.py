"""The jobs of one replay as a structure of arrays, which the engine reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from simulator.jobs.followers import NEVER_SUBMITTED, NO_JOB
from simulator.jobs.words import ADMIT_BY, RESERVE_BY, one_of

IntArray = NDArray[np.int64]

NEVER = 1 << 61
"""`cancel` of a job that waits until it starts."""

COLUMNS = (
    "submit",
    "runtime",
    "procs",
    "estimate",
    "limit",
    "user",
    "cancel",
    "hold",
    "admit",
    "after",
    "think",
    "array",
)


class LazyFacts(Mapping[str, NDArray[np.float32]]):
    """`simulator.jobs.jobs.Jobs.facts`: float32 (jobs,) by name, from functions that give an array of numbers each. Each is called once
    at most."""

    def __init__(self, functions: Mapping[str, Callable[[], NDArray[Any]]]) -> None:
        self._functions = functions
        self._computed: dict[str, NDArray[np.float32]] = {}

    def __getitem__(self, name: str) -> NDArray[np.float32]:
        if name not in self._computed:
            self._computed[name] = self._functions[name]().astype(np.float32)
        return self._computed[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._functions)

    def __len__(self) -> int:
        return len(self._functions)

    def __reduce__(self) -> tuple[type[dict[str, Any]], tuple[dict[str, Any]]]:
        """Another process gets the arrays."""
        return dict, (dict(self),)

    def part(self, part: slice | NDArray[np.int64]) -> LazyFacts:
        """The facts of some of the jobs."""

        def function(name: str) -> Callable[[], NDArray[np.float32]]:
            return lambda: self[name][part]

        return LazyFacts({name: function(name) for name in self._functions})


def column_of(values: object) -> IntArray:
    """The values as one contiguous int64 array, read-only. numba compiles again for every mixture of writable and read-only
    arrays, and arrays from a data frame are mostly read-only."""
    column = np.ascontiguousarray(values, dtype=np.int64).view()
    column.flags.writeable = False
    return column


def _unset() -> IntArray:
    return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class Jobs:
    """Jobs in the order (submit time, order in the log). Every array is int64 of shape (num_jobs,).

    submit: submit time, seconds in the log's own clock, >= 0 and non-decreasing.
    runtime: run time, seconds, >= 0.
    procs: processors, >= 1.
    estimate: the run time that the scheduler uses from submission on, seconds, 1 <= estimate <= limit.
    limit: requested time, seconds, >= runtime. It is the estimate of a job that runs longer than `estimate`.
    origin: second of the log's clock from which F1 to F4 count submit times.
    user: number of the user, 0 <= user. Default: all jobs are user 0's.
    cancel: second at which the job leaves the queue if it has not started, >= submit. Default: NEVER.
    hold: the time that the job is expected to hold its processors once it runs, seconds, 1 <= hold <= limit. Default: the
    estimate.
    admit: the run time by which a job may go before a blocked head, seconds, 1 <= admit <= limit. Default: the estimate.
    after, think: the job is submitted `think` seconds >= 0 after the job at the place `after`, an earlier one, has left: it has ended, or
    was cancelled. `submit` is then of the log alone, and `cancel` moves with the submission. Default: NO_JOB and 0, at `submit`.
    array: number of the array of which the job is a task. One that follows a task does so after all tasks of its array have left. Default:
    NO_JOB.
    facts: what else is known of the jobs at submission, float32 (num_jobs,) by name. See simulator/policies/observation.py. LazyFacts are
    computed when a policy reads them.
    is_replayed: submissions are those of a closed replay that is over, in any order.

    Raises ValueError when a rule above is broken, naming the first job that breaks it.
    """

    submit: IntArray
    runtime: IntArray
    procs: IntArray
    estimate: IntArray
    limit: IntArray
    origin: int = 0
    user: IntArray = field(default_factory=_unset)
    cancel: IntArray = field(default_factory=_unset)
    hold: IntArray = field(default_factory=_unset)
    admit: IntArray = field(default_factory=_unset)
    after: IntArray = field(default_factory=_unset)
    think: IntArray = field(default_factory=_unset)
    array: IntArray = field(default_factory=_unset)
    is_replayed: bool = False
    facts: Mapping[str, NDArray[np.float32]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        num_jobs = len(self.submit)
        if len(self.user) != num_jobs and len(self.user) == 0:
            object.__setattr__(self, "user", np.zeros(num_jobs, dtype=np.int64))
        if len(self.cancel) != num_jobs and len(self.cancel) == 0:
            object.__setattr__(self, "cancel", np.full(num_jobs, NEVER, dtype=np.int64))
        for name, usual in (("after", NO_JOB), ("think", 0), ("array", NO_JOB)):
            if len(getattr(self, name)) != num_jobs and len(getattr(self, name)) == 0:
                object.__setattr__(self, name, np.full(num_jobs, usual, dtype=np.int64))
        for name in ("hold", "admit"):
            if len(getattr(self, name)) != num_jobs and len(getattr(self, name)) == 0:
                object.__setattr__(self, name, self.estimate)
        for name in COLUMNS:
            column = column_of(getattr(self, name))
            if column.ndim != 1 or len(column) != num_jobs:
                raise ValueError(f"Jobs.{name} must have one value per job, got shape {column.shape}")
            object.__setattr__(self, name, column)
        _require(self.submit >= 0, "submit times must not be negative")
        if not self.is_replayed:
            _require(self.submit[1:] >= self.submit[:-1], "submit times must not decrease", offset=1)
        _require(self.runtime >= 0, "run time must not be negative")
        _require(self.procs >= 1, "processors must be at least 1")
        _require(self.estimate >= 1, "estimate must be at least 1 s")
        _require(self.limit >= self.runtime, "limit must not be shorter than the run time")
        _require(self.limit >= self.estimate, "limit must not be shorter than the estimate")
        _require(self.hold >= 1, "hold must be at least 1 s")
        _require(self.limit >= self.hold, "limit must not be shorter than hold")
        _require(self.admit >= 1, "admit must be at least 1 s")
        _require(self.limit >= self.admit, "limit must not be shorter than admit")
        _require(self.user >= 0, "the number of a user must not be negative")
        _require(self.cancel >= self.submit, "a job must not be cancelled before it is submitted")
        _require(self.after < np.arange(num_jobs), "a job must follow an earlier one")
        _require(self.think >= 0, "think times must not be negative")
        if isinstance(self.facts, LazyFacts):
            return  # they have as many values as the columns that they come from
        for name, values in self.facts.items():
            if np.shape(values) != (num_jobs,):
                raise ValueError(f"Jobs.facts[{name!r}] must have one value per job, got shape {np.shape(values)}")

    def __setstate__(self, state: dict[str, Any]) -> None:
        """A pickle forgets that arrays are read-only, so processes that train beside each other compiled the event loop once more."""
        self.__dict__.update(state | {name: column_of(state[name]) for name in COLUMNS})

    def __len__(self) -> int:
        return len(self.submit)

    def window(self, start: int, length: int) -> Jobs:
        """The `length` consecutive jobs from index `start`. They keep the log's clock and origin. One that follows a job outside comes at
        the log's time, here as in `only`."""
        return self._part(slice(start, start + length))

    def only(self, index: IntArray) -> Jobs:
        """The jobs at these positions, ascending. They keep the log's clock and origin."""
        return self._part(index)

    @property
    def is_closed(self) -> bool:
        """Whether any job follows another, so that when it is submitted depends on the schedule."""
        return bool((self.after != NO_JOB).any())

    def require_open(self, who: str) -> None:
        """Raises ValueError for jobs of which some follow others, and for submissions that are in any order. who: has no rule for them."""
        if self.is_closed or self.is_replayed:
            raise ValueError(
                f"{who} has no rule for jobs that follow others, whose submissions the schedule decides: replay them at the log's times, "
                'with --users "keep times"'
            )

    def submitted_at(self, submit: IntArray) -> Jobs:
        """The jobs as a closed replay has had them. submit: (num_jobs,), when each was submitted; one that is NEVER_SUBMITTED keeps the
        time of the log, and leaves then."""
        never = submit == NEVER_SUBMITTED
        submit = np.where(never, self.submit, submit)
        cancel = np.where(self.cancel < NEVER, self.cancel + submit - self.submit, NEVER)
        cancel = np.where(never, submit, cancel)  # it waits at no time
        return replace(self, submit=submit, cancel=cancel, is_replayed=True)

    def without_followers(self) -> Jobs:
        """The jobs at the log's times."""
        return replace(self, after=_unset(), think=_unset(), array=_unset())

    def _part(self, part: slice | IntArray) -> Jobs:
        given = self.facts
        facts = given.part(part) if isinstance(given, LazyFacts) else {name: v[part] for name, v in given.items()}
        columns = {name: getattr(self, name)[part] for name in COLUMNS}
        if self.is_closed:
            place = np.full(len(self) + 1, NO_JOB, dtype=np.int64)  # the last one is that of NO_JOB
            place[np.arange(len(self))[part]] = np.arange(len(columns["after"]))
            columns["after"] = place[columns["after"]]
        return Jobs(**columns, origin=self.origin, facts=facts, is_replayed=self.is_replayed)


class OptionalColumns(TypedDict, total=False):
    """Fields of `Jobs` that a log may not have."""

    origin: int
    user: IntArray | None  # (num_jobs,)
    cancel: IntArray | None  # (num_jobs,), seconds
    facts: Mapping[str, NDArray[np.float32]] | None  # (num_jobs,) by name
    admit_by: str


def jobs_from_log(
    submit: IntArray,
    runtime: IntArray,
    procs: IntArray,
    requested_walltime: IntArray,
    estimates: str = "requested",
    predicted: NDArray[np.float64] | None = None,
    reserve_by: str = "estimate",
    **optional: Unpack[OptionalColumns],
) -> Jobs:
    """Builds the replay's jobs from columns of a log, with the estimates of docs/reference/semantics.md.

    requested_walltime: seconds, shape (num_jobs,). Values below 1 mean that the log has no request.
    estimates: "requested", "actual", "predicted" (needs `predicted`, seconds, shape (num_jobs,), finite) or "as logged"
    (the request even where the job ran longer, as the RLScheduler code takes it).
    reserve_by: how long a reservation assumes that jobs run: "estimate", or "requested" (`limit`, or the estimate for a job without a
    request).
    optional: other fields of `Jobs`. None counts as left out. admit_by: as reserve_by, for jobs that may go before a blocked
    head.
    """
    runtime = np.asarray(runtime, dtype=np.int64)
    requested = np.asarray(requested_walltime, dtype=np.int64)
    longest = np.maximum(np.where(requested < 1, runtime, np.maximum(requested, runtime)), 1)
    if estimates == "requested":
        estimate = longest
    elif estimates == "as logged":
        estimate = np.maximum(np.where(requested < 1, runtime, requested), 1)
    elif estimates == "actual":
        estimate = np.maximum(runtime, 1)
    elif estimates == "predicted":
        if predicted is None:
            raise ValueError("estimates='predicted' needs predicted run times")
        if not np.isfinite(predicted).all():
            raise ValueError("predicted run times must be finite")
        ceiling = np.where(requested < 1, np.iinfo(np.int64).max, requested)  # never the run time: it is not known yet
        estimate = np.clip(np.rint(predicted).astype(np.int64), 1, ceiling)
    else:
        raise ValueError(f"unknown estimates {estimates!r}; expected requested, actual or predicted")
    limit = longest if estimate is longest else np.maximum(longest, estimate)
    one_of("reserve_by", reserve_by, RESERVE_BY)
    given: dict[str, Any] = {name: value for name, value in optional.items() if value is not None}
    admit_by = one_of("admit_by", given.pop("admit_by", "estimate"), ADMIT_BY)

    def time_by(word: str) -> IntArray:
        return estimate if word == "estimate" else np.where(requested < 1, estimate, limit)

    submit = np.asarray(submit, dtype=np.int64)
    return Jobs(submit, runtime, procs, estimate, limit, hold=time_by(reserve_by), admit=time_by(admit_by), **given)


def _require(holds: NDArray[np.bool_], rule: str, offset: int = 0) -> None:
    if not holds.all():
        raise ValueError(f"{rule}: broken by job at index {int(np.argmin(holds)) + offset}")
