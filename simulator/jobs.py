"""The jobs of one replay as a structure of arrays: what the engine reads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Jobs:
    """Jobs in the order (submit time, order in the log); every array is int64 of shape (num_jobs,).

    submit: submit time, seconds in the log's own clock, non-decreasing.
    runtime: run time, seconds, >= 1.
    procs: processors, >= 1.
    estimate: what the scheduler believes at submission, seconds, 1 <= estimate <= limit.
    limit: requested wall time, seconds, >= runtime; the estimate of a job that outlives `estimate`.
    origin: second of the log's clock from which F1 counts submit times.

    Raises ValueError when a rule above is broken, naming the first job that breaks it.
    """

    submit: IntArray
    runtime: IntArray
    procs: IntArray
    estimate: IntArray
    limit: IntArray
    origin: int = 0

    def __post_init__(self) -> None:
        for name in ("submit", "runtime", "procs", "estimate", "limit"):
            column = np.ascontiguousarray(getattr(self, name), dtype=np.int64)
            if column.ndim != 1 or len(column) != len(self.submit):
                raise ValueError(f"Jobs.{name} must have one value per job, got shape {column.shape}")
            object.__setattr__(self, name, column)
        _require(self.submit[1:] >= self.submit[:-1], "submit times must not decrease", offset=1)
        _require(self.runtime >= 1, "run time must be at least 1 s")
        _require(self.procs >= 1, "processors must be at least 1")
        _require(self.estimate >= 1, "estimate must be at least 1 s")
        _require(self.limit >= self.runtime, "limit must not be shorter than the run time")
        _require(self.limit >= self.estimate, "limit must not be shorter than the estimate")

    def __len__(self) -> int:
        return len(self.submit)

    def window(self, start: int, length: int) -> Jobs:
        """The `length` consecutive jobs from index `start`; they keep the log's clock and origin."""
        part = slice(start, start + length)
        return Jobs(
            self.submit[part], self.runtime[part], self.procs[part], self.estimate[part], self.limit[part], self.origin
        )


def jobs_from_log(
    submit: IntArray,
    runtime: IntArray,
    procs: IntArray,
    requested_walltime: IntArray,
    estimates: str = "requested",
    predicted: NDArray[np.float64] | None = None,
    origin: int = 0,
) -> Jobs:
    """Builds the replay's jobs from columns of a log, with the estimates of docs/semantics.md.

    requested_walltime: seconds, shape (num_jobs,); values below 1 mean that the log has no request.
    estimates: "requested", "actual" or "predicted"; the last needs `predicted`, seconds, shape (num_jobs,), finite.
    """
    runtime = np.asarray(runtime, dtype=np.int64)
    requested = np.asarray(requested_walltime, dtype=np.int64)
    longest = np.where(requested < 1, runtime, np.maximum(requested, runtime))
    if estimates == "requested":
        estimate = longest
    elif estimates == "actual":
        estimate = runtime
    elif estimates == "predicted":
        if predicted is None:
            raise ValueError("estimates='predicted' needs predicted run times")
        if not np.isfinite(predicted).all():
            raise ValueError("predicted run times must be finite")
        ceiling = np.where(requested < 1, np.iinfo(np.int64).max, requested)  # never the run time: it is not known yet
        estimate = np.clip(np.rint(predicted).astype(np.int64), 1, ceiling)
    else:
        raise ValueError(f"unknown estimates {estimates!r}; expected requested, actual or predicted")
    limit = np.maximum(longest, estimate)
    return Jobs(np.asarray(submit, dtype=np.int64), runtime, procs, estimate, limit, origin)


def _require(holds: NDArray[np.bool_], rule: str, offset: int = 0) -> None:
    if not holds.all():
        raise ValueError(f"{rule}: broken by job at index {int(np.argmin(holds)) + offset}")
