"""What can be seen of each waiting job in the state of a queue: the features of models/waits/start_trees.py, from the jobs of a log."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

from models.waits.clock import LogClock
from models.waits.history import IntArray
from models.waits.start_trees import DAY_S, HOURS_S, OWN_FEATURES, QUEUE_AMOUNTS, STATE_FEATURES, PastQueue

QUEUE_COLUMNS = (
    *("submit_s", "start_s", "leaves_s", "end_s", "procs", "gpus", "nodes", "memory_mib", "request_s", "priority"),
    *("partition", "account", "fair_share", "usage"),
)
_SCOPE_COLUMNS: dict[str, list[str]] = {
    "all": [],
    "partition": ["partition"],
    "account": ["account"],
    "both": ["partition", "account"],
}
_AMOUNT_COLUMNS = {
    "jobs": pl.col("submit_s").is_not_null(),
    "procs": pl.col("procs"),
    "memory_mib": pl.col("memory_mib"),
    "proc_hours": pl.col("procs") * pl.col("request_s") / 3600,
    "gpus": pl.col("gpus"),
    "gpu_hours": pl.col("gpus") * pl.col("request_s") / 3600,
}


class AgePart(NamedTuple):
    """What age adds to a priority: up to `weight`, after `longest_s` seconds of waiting (Slurm's PriorityWeightAge and PriorityMaxAge)."""

    weight: float
    longest_s: float

    def after(self, waited_s: pl.Expr) -> pl.Expr:
        """Of a job that has waited so long."""
        return self.weight * (waited_s / max(self.longest_s, 1.0)).clip(0.0, 1.0)


def queue_at(jobs: pl.DataFrame, now: int, clock: LogClock, until: int, age: AgePart) -> tuple[PastQueue, IntArray]:
    """The queue at a second of the log's clock as it is known at second `until`, and the rows of its jobs.

    jobs: QUEUE_COLUMNS, times in seconds of the log's clock, null for what is not known. start_s: null for a job that did not start.
    leaves_s: when it left the queue, null for one that still waits. priority: without what age adds."""
    rows = jobs.with_row_index("row")
    has_come = pl.col("submit_s") <= now
    waiting = rows.filter(has_come, pl.col("leaves_s").is_null() | (pl.col("leaves_s") > now))
    running = rows.filter(pl.col("start_s") <= now, pl.col("end_s").is_null() | (pl.col("end_s") > now))
    recent = rows.filter(has_come, pl.col("start_s").is_between(now - DAY_S, now, closed="right"))
    hour, weekday = clock.hour_and_weekday(now)
    waiting = waiting.with_columns(priority=pl.col("priority") + age.after(now - pl.col("submit_s")))
    table = waiting.sort("priority", "submit_s", "row", descending=[True, False, False], nulls_last=True).with_columns(
        waited_s=now - pl.col("submit_s"), hour=pl.lit(hour), weekday=pl.lit(weekday)
    )
    amounts = {name: each.cast(pl.Float64).fill_null(0.0) for name, each in _AMOUNT_COLUMNS.items()}
    for scope, columns in _SCOPE_COLUMNS.items():
        sums_so_far = {
            name: each.cum_sum().over(columns) if columns else each.cum_sum() for name, each in amounts.items()
        }
        table = table.with_columns(
            **{f"ahead_{scope}_{name}": sums_so_far[name] - each for name, each in amounts.items()}
        )
        sums = {f"running_{scope}_{name}": each.sum() for name, each in amounts.items()}
        if columns:
            of_group = running.group_by(columns).agg(**sums)
            table = table.join(of_group, on=columns, how="left", maintain_order="left", nulls_equal=True)
        else:
            table = table.join(running.select(**sums), how="cross", maintain_order="left")
    table = table.with_columns(
        pl.col(f"running_{scope}_{name}").fill_null(0.0) for scope in _SCOPE_COLUMNS for name in QUEUE_AMOUNTS
    )
    for scope in ("partition", "account"):
        of_group = recent.group_by(scope).agg(
            **{f"day_starts_{scope}": pl.len()},
            **{f"hour_starts_{scope}": (pl.col("start_s") > now - HOURS_S).sum()},
            **{f"day_wait_s_{scope}": (pl.col("start_s") - pl.col("submit_s")).median()},
        )
        table = table.join(of_group, on=scope, how="left", maintain_order="left", nulls_equal=True)
    table = table.with_columns(
        pl.col(f"{what}_{scope}").fill_null(0)
        for what in ("day_starts", "hour_starts")
        for scope in ("partition", "account")
    )
    features = table.select(OWN_FEATURES + STATE_FEATURES).cast(pl.Float64).fill_null(float("nan")).to_numpy()
    leaves = table["leaves_s"].fill_null(until).to_numpy()
    started = (table["start_s"].is_not_null() & (pl.Series(leaves) <= until)).to_numpy()
    group = table.select(pl.struct("partition", "account").rank("dense")).to_series().to_numpy().astype(np.int64)
    queue = PastQueue(now, features, np.minimum(leaves, until) - now, started, group)
    return queue, table["row"].to_numpy().astype(np.int64)
