"""When waiting jobs start, by boosted trees that look at the state of the queue, with intervals that follow the past.

The trees learn from the queues of the past: what each waiting job asked for, which work was ahead of it in priority order, what ran, and
how fast jobs like it had started of late. Nothing is used that was not known at the moment of a queue, and a job that had not started
by the moment of the prediction counts for as long as it had waited.

What can be seen of each waiting job in the state of a queue: the features of the trees, from the jobs of a log.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
from numpy.typing import NDArray

from models.runtime.predictor import FloatArray
from models.waits.answers import INTERVAL
from models.waits.clock import LogClock

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

OWN_FEATURES = (
    *("procs", "gpus", "nodes", "memory_mib", "request_s", "waited_s"),
    *("priority", "fair_share", "usage", "hour", "weekday"),
)
"""What is seen of the job itself. fair_share, usage: of its account; NaN where the source does not say."""
QUEUE_SCOPES = ("all", "partition", "account", "both")
"""Jobs that are counted: all, of the job's partition, of its account, of both."""
QUEUE_AMOUNTS = ("jobs", "procs", "memory_mib", "proc_hours", "gpus", "gpu_hours")
STATE_FEATURES = (
    *(
        f"{state}_{scope}_{amount}"
        for state in ("ahead", "running")
        for scope in QUEUE_SCOPES
        for amount in QUEUE_AMOUNTS
    ),
    *(f"{what}_{scope}" for scope in ("partition", "account") for what in ("day_starts", "hour_starts", "day_wait_s")),
)
"""ahead: waiting jobs of higher priority, with what they ask for. running: as far as they have asked for. starts of the last day and of
the last two hours, and the median wait of the first."""
DAY_S, HOURS_S = 86_400, 7_200
SHORT_S = 60.0
"""Added to waits before logarithms are taken."""
MOST_ALIKE = 60
"""Jobs of a queue with the same account and partition that are learned from; more of them say the same."""
ROUNDS, SETTINGS = 100, {
    **{"max_depth": 6, "eta": 0.12, "min_child_weight": 20, "subsample": 0.7, "colsample_bytree": 0.4, "max_bin": 64},
    **{"tree_method": "hist", "nthread": 1},
}  # fmt: skip
LEAST_SPREAD, TENTHS_APART = 0.1, 2.563
"""Between the ends of an interval: at least, and how many standard deviations of a normal distribution."""
REMEMBERED_QUEUES = 12
"""Queues of the past whose intervals set the ends of the next ones."""


class PastQueue(NamedTuple):
    """The waiting jobs of one moment. features: float64 (jobs, features). wait: seconds from that moment to the start, or to when it was
    seen last. started: whether it has. group: equal for jobs of one account and partition. wait, group: int64 (jobs,)."""

    now: int
    features: FloatArray
    wait: IntArray
    started: BoolArray
    group: IntArray

    def seen_at(self, moment: int) -> PastQueue:
        """The queue as it was known at a moment."""
        elapsed = moment - self.now
        return self._replace(wait=np.minimum(self.wait, elapsed), started=self.started & (self.wait <= elapsed))


@dataclass
class StartTrees:
    """Trees of the logarithm of the time to the start.

    The median is the mean of what two kinds of trees say, of the mean and of the median, and the spread comes from trees of both ends. As
    the start the likeliest second counts, that of a normal logarithm with this spread, which is earlier. seed: of what is drawn.
    chosen: features that are looked at, all by default."""

    seed: int = 1
    chosen: tuple[int, ...] | None = None
    _trees: list = field(default_factory=list)

    def fit(self, queues: list[PastQueue]) -> None:
        """Learns from queues as they were known. Raises ValueError with none."""
        import xgboost

        if not queues:
            raise ValueError("no queue of the past to learn from")
        features, wait = (
            np.concatenate(parts) for parts in zip(*(self._thinned(queue) for queue in queues), strict=True)
        )
        rows = xgboost.QuantileDMatrix(self._columns(features), np.log(wait + SHORT_S), max_bin=SETTINGS["max_bin"])
        objectives = (
            {"objective": "reg:squarederror"},
            {"objective": "reg:absoluteerror"},
            {"objective": "reg:quantileerror", "quantile_alpha": [INTERVAL[0], INTERVAL[-1]]},
        )
        self._trees = [xgboost.train(SETTINGS | {"seed": self.seed} | each, rows, ROUNDS) for each in objectives]

    def predict(self, features: FloatArray) -> FloatArray:
        """Logarithms of SHORT_S plus the seconds to the start: low end, likeliest, high end and median, (jobs, 4)."""
        import xgboost

        rows = xgboost.DMatrix(self._columns(features))
        mean, median, ends = (each.predict(rows).astype(np.float64) for each in self._trees)
        middle = (mean + median) / 2
        spread = np.maximum(ends[:, 1] - ends[:, 0], LEAST_SPREAD) / TENTHS_APART
        return np.stack([ends[:, 0], middle - spread**2, ends[:, 1], middle], axis=1)

    def _columns(self, features: FloatArray) -> FloatArray:
        finite = np.where(np.isfinite(features), features, np.nan)
        return finite if self.chosen is None else finite[:, self.chosen]

    def _thinned(self, queue: PastQueue) -> tuple[FloatArray, IntArray]:
        order = np.random.default_rng([self.seed, queue.now]).permutation(len(queue.wait))
        place = (
            pl.DataFrame({"group": queue.group[order]})
            .select(pl.int_range(pl.len()).over("group"))
            .to_series()
            .to_numpy()
        )
        kept = order[place < MOST_ALIKE]
        return queue.features[kept], queue.wait[kept]


@dataclass
class IntervalsOverTime:
    """Moves the ends of intervals by how those of the last queues held (conformalized quantiles, Romano, Patterson and Candès 2019). Each
    queue counts the same. A job that has not started counts for as long as it has waited (Kaplan and Meier 1958)."""

    remembered: int = REMEMBERED_QUEUES
    _queues: list[tuple[PastQueue, FloatArray]] = field(default_factory=list)

    def moved(self, predicted: FloatArray, moment: int) -> FloatArray:
        """Predictions of a queue at a moment, with ends that would have held as often as they should in the last queues."""
        low, high = self._shifts(moment) if self._queues else (0.0, 0.0)
        inside = predicted[:, [1, 3]]
        moved = predicted.copy()
        moved[:, 0] = np.minimum(predicted[:, 0] - low, inside.min(axis=1))
        moved[:, 2] = np.maximum(predicted[:, 2] + high, inside.max(axis=1))
        return moved

    def _shifts(self, moment: int) -> tuple[float, float]:
        below, above, started, weights = [], [], [], []
        for queue, ends in self._queues[-self.remembered :]:
            seen = queue.seen_at(moment)
            true = np.log(seen.wait + SHORT_S)
            below.append(ends[:, 0] - true)
            above.append(true - ends[:, 2])
            started.append(seen.started)
            weights.append(np.full(len(true), 1 / len(true)))
        is_over, weight = np.concatenate(started), np.concatenate(weights)
        low = _upper_end(np.concatenate(below), np.ones_like(is_over), weight)
        return low, _upper_end(np.concatenate(above), is_over, weight)

    def note(self, queue: PastQueue, predicted: FloatArray) -> None:
        """Remembers what was predicted of a queue, before its ends were moved."""
        self._queues.append((queue, predicted))


def _upper_end(scores: FloatArray, is_over: BoolArray, weight: FloatArray) -> float:
    """The score that a tenth of the weight is above. is_over: scores that cannot grow any more."""
    order = np.lexsort((~is_over, scores))
    weights = weight[order]
    at_risk = np.cumsum(weights[::-1])[::-1]
    gone = 1 - np.cumprod(np.where(is_over[order], 1 - weights / at_risk, 1.0))
    return float(scores[order][min(int(np.searchsorted(gone, INTERVAL[-1] - 1e-9)), len(scores) - 1)])


# --- queue features


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
    local = (clock.zero + timedelta(seconds=now)).replace(tzinfo=UTC).astimezone(ZoneInfo(clock.time_zone))
    waiting = waiting.with_columns(priority=pl.col("priority") + age.after(now - pl.col("submit_s")))
    table = waiting.sort("priority", "submit_s", "row", descending=[True, False, False], nulls_last=True).with_columns(
        waited_s=now - pl.col("submit_s"), hour=pl.lit(local.hour), weekday=pl.lit(local.isoweekday())
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
