"""What a change does on the hidden cluster, and what a replay of the identified one says that it does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from models.judging.fidelity import ALIKE_S, FEWEST_WAITING, WAIT_FIGURES, agreement_of, figure_of
from models.runtime.scores import USER_CLASSES, user_classes
from simulator.metrics.metrics import SIZE_CLASSES, size_classes
from studies.planted.changes import ClusterChange, changes_of
from studies.planted.clusters import PlantedCluster, starts_on
from studies.planted.planting import PlantedLog
from studies.planted.workloads import Workload

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
