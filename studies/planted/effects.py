"""What a change does on the hidden cluster, and what a replay of the identified one says that it does.

What an operator might change on a planted cluster, and on the one that was identified.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from models.judging.fidelity import ALIKE_S, FEWEST_WAITING, WAIT_FIGURES, agreement_of
from models.runtime.scores import USER_CLASSES, user_classes
from simulator.metrics.metrics import SIZE_CLASSES, size_classes
from studies.planted.clusters import CORES, ORDERS, PBS, SLURM, PlantedCluster, Workload, starts_on
from studies.planted.planting import CLASSES, HOURS, LIMIT, RESERVED, SHARES, PlantedLog

MORE, RAISED, ORDER, BACKFILLING = "20 % more nodes", "rule relaxed", "another order", "another backfilling"
MORE_SHARE, RAISED_SHARE = 1.2, 1.5
OTHER_BACKFILLING = {"none": "easy", "easy": "any"}
"""The others change to EASY."""
LONG_HALF_LIFE = "fairshare:half_life_days=28"
LIFTED = {HOURS: "gates", RESERVED: "reservations", CLASSES: "partitions"}
"""Kinds of rules that can be lifted. Limits are raised."""


@dataclass(frozen=True)
class ClusterChange:
    """name: one of the four above. value: the order or the backfilling rule that it brings, or the kind of rule that is relaxed."""

    name: str
    value: str = ""

    def on(self, cluster: PlantedCluster) -> PlantedCluster:
        """The changed cluster. Limits are raised by half. Hours, reservations and queues that own nodes are lifted."""
        if self.name == MORE:
            sizes = cluster.sizes
            if sizes is not None:
                sizes = replace(sizes, procs=tuple(more_procs(procs) for procs in sizes.procs))
            partitions = tuple((queue, more_procs(procs)) for queue, procs in cluster.partitions)
            procs = sum(procs for _, procs in partitions) if partitions else more_procs(cluster.procs)
            procs = procs if sizes is None else sizes.most
            return replace(cluster, procs=procs, sizes=sizes, partitions=partitions)
        if self.name == RAISED:
            return replace(cluster, **self._relaxed(cluster))
        if self.name == ORDER:
            return replace(cluster, policy=self.value)
        return replace(cluster, backfill=self.value)

    def _relaxed(self, cluster: PlantedCluster) -> dict[str, Any]:
        if self.value == LIMIT:
            return {"limits": tuple(replace(limit, bound=raised(limit.bound)) for limit in cluster.limits)}
        return {LIFTED[self.value]: ()}


def changes_of(planted: PlantedLog) -> Iterator[ClusterChange]:
    """The changes that are tried on a planted cluster."""
    cluster = planted.cluster
    yield ClusterChange(MORE)
    if planted.kind == LIMIT or planted.kind in LIFTED:
        yield ClusterChange(RAISED, planted.kind)
    if planted.kind == SHARES:
        yield ClusterChange(ORDER, LONG_HALF_LIFE)
    elif cluster.engine == SLURM:
        yield ClusterChange(ORDER, "fairshare:half_life_days=7")
    elif cluster.engine == ORDERS:
        yield ClusterChange(ORDER, "SAF" if cluster.policy == "FCFS" else "FCFS")
    if cluster.engine not in (SLURM, PBS):
        yield ClusterChange(BACKFILLING, OTHER_BACKFILLING.get(cluster.backfill, "easy"))


def raised(bound: int) -> int:
    """The bound of a limit that is relaxed."""
    return int(bound * RAISED_SHARE + 0.5)


def more_procs(procs: int) -> int:
    """Processors of a cluster, or of a part of it, with more nodes."""
    return max(round(procs * MORE_SHARE / CORES), procs // CORES + 1) * CORES


# --- effects


IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

Predictor = Callable[[ClusterChange | None], IntArray | None]
"""Waits of the jobs of a log after a change, None for none, as somebody says who has the log alone."""

SEED_OF_CHANGE = 7
"""Of the phases of Slurm's cycles once something has changed."""
SCHEMA: dict[str, Any] = {
    "predictor": pl.Utf8,
    "part": pl.Utf8,
    "value": pl.Utf8,
    "figure": pl.Utf8,
    "change": pl.Utf8,
    "jobs": pl.Int64,
    "rank": pl.Float64,
    "alike": pl.Float64,
    "distance": pl.Float64,
    "logged_s": pl.Float64,
    "replayed_s": pl.Float64,
    "true_s": pl.Float64,
    "predicted_s": pl.Float64,
}


def figure_of(figure: str, waits: NDArray[np.int64]) -> float:
    """One of WAIT_FIGURES, seconds. waits: int64 (jobs,), seconds, at least one."""
    if figure == "mean":
        return float(waits.mean())
    return float(np.quantile(waits, 0.5 if figure == "median" else 0.95))


def parts_of(workload: Workload) -> Iterator[tuple[str, str, BoolArray]]:
    """Groups of the graded jobs: all, and those of each queue, class of users and class of sizes."""
    graded, rows = workload.later_half, workload.rows
    yield "all", "", graded
    queues = rows["queue"].to_numpy()
    for queue in np.unique(queues).tolist():
        yield "queue", queue, graded & (queues == queue)
    for part, names, number in (
        ("user class", USER_CLASSES, user_classes(rows["user_name"].to_numpy())),
        ("size", SIZE_CLASSES, size_classes(rows["procs"].to_numpy(), workload.procs)),
    ):
        for place, name in enumerate(names):
            yield part, name, graded & (number == place)


def effect_rows(planted: PlantedLog, predictors: Mapping[str, Predictor]) -> pl.DataFrame:
    """A row for each predictor, part, figure and change, with the columns of SCHEMA. Parts in which too few waited have none.

    Changes after which a job could never start are left out, on the hidden cluster or by the predictor."""
    workload = planted.workload
    logged = planted.start - workload.jobs.submit
    parts = [
        (part, value, of)
        for part, value, of in parts_of(workload)
        if int((logged[of] > ALIKE_S).sum()) >= FEWEST_WAITING
    ]
    changes = [(change, true_waits(planted, change)) for change in changes_of(planted)]
    rows: list[dict[str, Any]] = []
    for name, predictor in predictors.items():
        now = predictor(None)
        if now is None:
            continue
        agreements = [agreement_of(logged[of], now[of], workload.jobs.runtime[of]) for _, _, of in parts]
        for change, true in changes:
            after = predictor(change)
            if true is None or after is None:
                continue
            for (part, value, of), agreement in zip(parts, agreements, strict=True):
                row = {
                    "predictor": name,
                    "part": part,
                    "value": value,
                    "change": change.name,
                    "jobs": int(of.sum()),
                    "rank": agreement.rank_correlation,
                    "alike": agreement.alike,
                    "distance": agreement.distance,
                }
                for figure in WAIT_FIGURES:
                    waits = zip(("logged", "replayed", "true", "predicted"), (logged, now, true, after), strict=True)
                    values = {f"{which}_s": figure_of(figure, each[of]) for which, each in waits}
                    rows.append(row | {"figure": figure} | values)
    return pl.DataFrame(rows, schema=SCHEMA)


def true_waits(planted: PlantedLog, change: ClusterChange) -> IntArray | None:
    """Waits of the jobs on the hidden cluster once something has changed. None where some job never starts."""
    return _waits(change.on(planted.cluster), planted.workload, True)


def predictor_of(cluster: PlantedCluster, workload: Workload) -> Predictor:
    """What replays of a cluster say, which know of nothing that no log shows."""
    return lambda change: _waits(cluster if change is None else change.on(cluster), workload, False)


def _waits(cluster: PlantedCluster, workload: Workload, is_true: bool) -> IntArray | None:
    try:
        return starts_on(cluster, workload, is_true, SEED_OF_CHANGE) - workload.jobs.submit
    except ValueError:  # some job never starts, or the scheduler has no such rule
        return None
