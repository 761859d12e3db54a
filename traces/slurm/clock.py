"""Local times of jobs as Unix seconds, also in the hour that a clock shows twice when it is put back."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import polars as pl

LOCAL_TIMES = ("submit", "eligible", "start", "end")
"""sacct's columns of local times."""
_DISORDER_S = 10**9
"""Counts more than any difference of durations."""


def seconds_of_local(local: pl.Expr, time_zone: str, ambiguous: str = "earliest") -> pl.Expr:
    """Unix seconds of a local time. ambiguous: "earliest" or "latest", which one is meant of a time that the clock shows twice."""
    zoned = _seconds(local, time_zone, ambiguous)
    # a clock that was not put forward would show a time that the clock leaves out, so the offset of the day before holds
    return pl.coalesce(zoned, _seconds(local - pl.duration(days=1), time_zone, ambiguous) + 86_400)


def _seconds(local: pl.Expr, time_zone: str, ambiguous: str) -> pl.Expr:
    zoned = local.dt.replace_time_zone(time_zone, ambiguous=ambiguous, non_existent="null")  # type: ignore[arg-type]
    return zoned.dt.epoch("s")


def with_settled_times(jobs: pl.DataFrame, local: Mapping[str, pl.Expr], time_zone: str) -> pl.DataFrame:
    """The jobs with `submit_s`, `eligible_s`, `start_s` and `end_s` from their local times.

    local: an expression for each of LOCAL_TIMES, null where there is none; such times keep the value that the jobs have.
    Of the readings of times that the clock shows twice that one is taken in which submission, start and end are in order and the run
    time is nearest to elapsed_s and suspended_s. Of equals it is the earliest.
    """
    first = {f"{name}_s": seconds_of_local(time, time_zone) for name, time in local.items()}
    last = {f"_last_{name}": seconds_of_local(time, time_zone, "latest") for name, time in local.items()}
    jobs = jobs.with_columns(**last, **{f"_first_{name}": first[f"{name}_s"] for name in LOCAL_TIMES})
    jobs = jobs.with_columns(pl.coalesce(f"_first_{name}", f"{name}_s").alias(f"{name}_s") for name in LOCAL_TIMES)
    is_twofold = pl.any_horizontal(
        pl.col(f"_first_{name}") != pl.col(f"_last_{name}") for name in LOCAL_TIMES
    ).fill_null(False)
    rows = jobs.with_row_index("_row")
    twofold = rows.filter(is_twofold)
    if twofold.height:
        settled = pl.concat([rows.filter(~is_twofold), _settled(twofold)]).sort("_row")
        jobs = settled.drop("_row")
    return jobs.drop(*last, *(f"_first_{name}" for name in LOCAL_TIMES))


def _settled(jobs: pl.DataFrame) -> pl.DataFrame:
    """The jobs with their likeliest times. Columns `_first_...` and `_last_...` hold both readings of each time."""
    other = {name: pl.coalesce(f"_last_{name}", f"{name}_s") for name in LOCAL_TIMES}
    readings = list(product((False, True), repeat=3))  # the earliest first
    faults = []
    for submit_later, start_later, end_later in readings:
        submit_s = other["submit"] if submit_later else pl.col("submit_s")
        start_s = other["start"] if start_later else pl.col("start_s")
        end_s = other["end"] if end_later else pl.col("end_s")
        ran_s = pl.col("elapsed_s") + pl.col("suspended_s").fill_null(0)
        off_s = (end_s - start_s - ran_s).abs().fill_null(0)
        in_order = (
            (submit_s <= start_s).fill_null(True)
            & (start_s <= end_s).fill_null(True)
            & (submit_s <= end_s).fill_null(True)
        )
        faults.append(off_s + pl.when(in_order).then(0).otherwise(_DISORDER_S))
    best = pl.concat_list(faults).list.arg_min()
    jobs = jobs.with_columns(_best=best)
    for place, name in enumerate(("submit", "start", "end")):
        later = [number for number, reading in enumerate(readings) if reading[place]]
        jobs = jobs.with_columns(
            pl.when(pl.col("_best").is_in(later)).then(other[name]).otherwise(f"{name}_s").alias(f"_new_{name}")
        )
    jobs = jobs.with_columns(pl.col(f"_new_{name}").alias(f"{name}_s") for name in ("submit", "start", "end"))
    # a job cannot be eligible before its submission
    eligible_s = pl.when(pl.col("eligible_s") < pl.col("submit_s")).then(other["eligible"]).otherwise("eligible_s")
    return jobs.with_columns(eligible_s=eligible_s).drop("_best", "_new_submit", "_new_start", "_new_end")
