"""The jobs of a what-if replay: those of the log, at another load, without some queues, with other requests."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from assets.common.trace import Trace
from assets.replay.settings import RunSettings
from models.judging.machine import partitions_of
from simulator.partitions import shares_of

MOST_NAMED = 20
"""Queues that a message lists."""


def changed_rows(trace: Trace, settings: RunSettings) -> pl.DataFrame:
    """Rows of a trace as the settings change them, in the same order. Without queues, the trace needs the column `queue`.

    Raises ValueError for a queue that no job is of, and where no job is left.
    """
    rows = _at_load(trace.rows, settings.load)
    if settings.without_queue:
        rows = _without_queues(trace, rows, settings.without_queue)
    requested = pl.col("requested_walltime_s")
    if settings.walltime_factor != 1:
        longer = (requested * settings.walltime_factor).round().cast(pl.Int64).clip(lower_bound=1)
        rows = rows.with_columns(requested_walltime_s=pl.when(requested >= 1).then(longer).otherwise(requested))
    if (step := settings.rounding_s) is not None:
        rounded = pl.when(requested >= 1).then((requested + step - 1) // step * step).otherwise(requested)
        rows = rows.with_columns(requested_walltime_s=rounded)
    return rows


def partition_shares(rows: pl.DataFrame, owned: Mapping[str, int], cluster_procs: int) -> pl.Series:
    """Processors that each job may have: those of its partition, or of the cluster where no queue owns any.

    rows: with the column `queue` where a queue owns processors. Raises ValueError where the queues own more than the cluster has.
    """
    if not owned:
        return pl.repeat(cluster_procs, rows.height, dtype=pl.Int64, eager=True)
    shares = np.array(shares_of(owned, cluster_procs))
    return pl.Series(shares[partitions_of(rows["queue"], owned)], dtype=pl.Int64)


def check_partitions(trace: Trace, owned: Mapping[str, int]) -> None:
    """Raises ValueError for a queue that no job of the log is of. The trace has the column `queue` where a queue owns processors."""
    queues = queues_of(trace.rows) if owned else []
    for queue in owned:
        if queue not in queues:
            raise ValueError(f"partitions: no job is of queue {queue!r}: {_instead(queues)}")


def queues_of(rows: pl.DataFrame) -> list[str]:
    """The queues of jobs, the commonest first. rows: with the column `queue`."""
    counts = rows["queue"].drop_nulls().value_counts().sort("count", "queue", descending=[True, False])
    return [str(queue) for queue in counts["queue"]]


def _at_load(rows: pl.DataFrame, load: float) -> pl.DataFrame:
    """The jobs, submitted `load` times as densely from the first submission on. Jobs that were cancelled waited as long as before."""
    if load == 1 or rows.is_empty():
        return rows
    first = rows["submit_s"].min()
    submit = first + ((pl.col("submit_s") - first) / load).round().cast(pl.Int64)
    return rows.with_columns(submit_s=submit, cancel_s=submit + pl.col("cancel_s") - pl.col("submit_s"))


def _without_queues(trace: Trace, rows: pl.DataFrame, left_out: list[str]) -> pl.DataFrame:
    queues = queues_of(trace.rows)
    for queue in left_out:
        if queue not in queues:
            raise ValueError(f"without_queue {queue!r}: {trace.source} has no job of this queue: {_instead(queues)}")
    rows = rows.filter(~pl.col("queue").is_in(left_out).fill_null(False))
    if rows.is_empty():
        raise ValueError(f"without_queue: no job of {trace.source} is left: leave fewer queues out")
    return rows


def _instead(queues: list[str]) -> str:
    more = f" and {len(queues) - MOST_NAMED} more" if len(queues) > MOST_NAMED else ""
    return f"the queues are {', '.join(queues[:MOST_NAMED])}{more}" if queues else "its jobs have no queue"
