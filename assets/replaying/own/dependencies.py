"""Jobs that wait for others in a replay as in the log: until the jobs that they name have left there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import polars as pl

from simulator.cluster.requests import Request
from simulator.pbs.requests import PbsJob
from traces.common.dependencies import Named, named_jobs

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
    """The jobs of a log, which wait for those that they name among the rows, in place of as long as in the log. rows: of the jobs, of a
    trace or of `jobs_and_nodes`.

    Where the log shows that a job did not wait for the jobs that it names, it waits as long as in the log. A job that was cancelled while
    it waited for them never starts."""
    asked = list(asked)
    named = named_jobs(rows)
    if not named:
        return asked
    start = rows["start_s"].fill_null(-1).to_numpy()
    left = rows.select(pl.coalesce(_end(rows), pl.lit(-1, pl.Int64))).to_series().to_numpy()
    for job, others in named.items():
        one = asked[job]
        happened = [int(start[other] if kind == "after" else left[other]) for kind, other in others]
        last = max(happened) if min(happened) >= 0 else None
        if last is not None and one.begin_s >= last - EARLY_S:
            kept_s = one.begin_s - max(last, one.submit_s)
            asked[job] = replace(
                one, dependencies=_kinds(others), begin_s=one.submit_s if kept_s <= LATE_S else one.begin_s
            )
        elif start[job] < 0:
            asked[job] = replace(one, dependencies=tuple((_NEVER, other) for _, other in others))
    return asked


def behind(asked: Sequence[Asking], ahead: int) -> list[Asking]:
    """The jobs as they depend on one another where `ahead` jobs stand before them."""
    return [
        replace(one, dependencies=tuple((kind, ahead + other) for kind, other in one.dependencies))
        if one.dependencies
        else one
        for one in asked
    ]


def _kinds(others: Named) -> Named:
    return tuple((_REPLAYED[kind], other) for kind, other in others)


def _end(rows: pl.DataFrame) -> pl.Expr:
    """The second at which each job left, null where the log does not say."""
    if "end_s" in rows.columns:
        return pl.col("end_s")
    return pl.coalesce("cancel_s", pl.col("start_s") + pl.col("runtime_s"))
