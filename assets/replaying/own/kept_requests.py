"""What the jobs of a log asked for, made once for replays that differ in other things."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any, NamedTuple, TypeVar

import polars as pl

from traces.cluster.description import ClusterDescription, SchedulerSettings

MOST_JOBS_KEPT = 100_000
"""Jobs whose requests stay in memory, which take about 100 MB."""
Asked = TypeVar("Asked")
Makes = Callable[[pl.DataFrame, ClusterDescription], Asked]


class _Kept(NamedTuple):
    """hashes: of the rows, which with the rows would keep the trace that they are a part of."""

    hashes: bytes
    cluster: ClusterDescription
    jobs: int
    asked: Any


def kept_for_rows(make: Makes[Asked]) -> Makes[Asked]:
    """The function, which gives the same object again for the rows of one of its last calls, also under a cluster with another scheduler
    or other limits. Nobody may change the object."""
    kept: list[_Kept] = []

    @wraps(make)
    def kept_or_made(rows: pl.DataFrame, cluster: ClusterDescription) -> Asked:
        same, hashes = replace(cluster, scheduler=SchedulerSettings(), limits=()), rows.hash_rows().to_numpy().tobytes()
        lately = list(kept)
        for each in lately:
            if each.hashes == hashes and each.cluster == same:
                asked: Asked = each.asked
                return asked
        asked = make(rows, same)
        lately.insert(0, _Kept(hashes, same, rows.height, asked))
        while sum(each.jobs for each in lately) > MOST_JOBS_KEPT:
            lately.pop()
        kept[:] = lately  # at once: replays run side by side
        return asked

    return kept_or_made
