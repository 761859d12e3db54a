"""Jobs that wait for others in a replay as in the log: until the jobs that they name have left there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from simulator.cluster.requests import Request
from simulator.pbs.requests import PbsJob
from traces.common.dependencies import named_jobs

IntArray = NDArray[np.int64]
Asking = TypeVar("Asking", Request, PbsJob)

EARLY_S = 60
"""A job that could start so long before a named one had left did not wait for that: clocks and passes differ by less."""
LATE_S = 300
"""A job that could start only so long after the named ones had left was kept by something else, too, such as a time to begin."""
_REPLAYED = {
    "after": "after",
    "afterok": "afterok",
    "aftercorr": "afterok",
    "afterany": "afterany",
    "afternotok": "afterany",
}
_NEVER = "afternotok"
"""In a replay no job fails that the log has as ended, so this one keeps a job for good."""


def with_dependencies(asked: Sequence[Asking], rows: pl.DataFrame) -> list[Asking]:
    """The jobs of a log, which wait for those that they name among the rows, in place of as long as in the log. rows: of the jobs, with
    REQUESTED_OF_JOBS. Their submissions may be others than in the log.

    Where the log shows that a job did not wait for the jobs that it names, it waits as long as in the log. A job that was cancelled while
    it waited for them never starts."""
    asked = list(asked)
    named = named_jobs(rows)
    if not named:
        return asked
    submit, eligible, start, left = (_seconds(rows[f"{name}_time"]) for name in ("submit", "eligible", "start", "end"))
    for job, others in named.items():
        one, could_start = asked[job], max(eligible[job], submit[job])
        happened = [int((start if kind == "after" else left)[other]) for kind, other in others]
        last = max(happened) if min(happened) >= 0 else None
        if last is not None and could_start >= last - EARLY_S:
            is_kept = could_start - max(last, submit[job]) > LATE_S
            pairs = tuple((_REPLAYED[kind], other) for kind, other in others)
            asked[job] = replace(one, dependencies=pairs, begin_s=one.begin_s if is_kept else one.submit_s)
        elif start[job] < 0:
            asked[job] = replace(one, dependencies=tuple((_NEVER, other) for _, other in others))
    return asked


def held_s(row: Mapping[str, Any]) -> int:
    """For how many seconds a job of the log was not eligible. row: with submit_time and eligible_time."""
    if row["eligible_time"] is None:
        return 0
    return max(int((row["eligible_time"] - row["submit_time"]).total_seconds()), 0)


def behind(asked: Sequence[Asking], ahead: int) -> list[Asking]:
    """The jobs as they depend on one another where `ahead` jobs stand before them."""
    return [
        replace(one, dependencies=tuple((kind, ahead + other) for kind, other in one.dependencies))
        if one.dependencies
        else one
        for one in asked
    ]


def _seconds(times: pl.Series) -> IntArray:
    """UTC seconds of the log, -1 where it does not say."""
    return times.cast(pl.Datetime("us")).dt.epoch("s").fill_null(-1).to_numpy()
