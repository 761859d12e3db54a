"""The asset predictions/runtime_model: a challenger is trained every night and may become champion."""

from typing import Any

import dagster as dg
import polars as pl
from pydantic import Field

from assets.common.asset import asset
from assets.common.checks import row_check
from assets.common.describe import plot, table
from assets.common.learnable import LEAST_JOBS
from assets.common.storage import artefacts_folder
from assets.features.job_features import job_features
from assets.features.similar_jobs import similar_jobs
from assets.features.tables import runtime_rows
from assets.predictions import plots
from assets.predictions.model_registry import challenge_champion, load_champion, write_drift
from models.runtime.named import SERVING
from warehouse import Warehouse, first_row, replace_partitions


class RuntimeModelConfig(dg.Config):
    predictor: str = Field(default=SERVING, description="What the challenger is: see tracehouse's list of predictors")
    test_days: int = Field(default=14, ge=1, description="Newest days on which champion and challenger are compared")
    seed: int = Field(default=1, ge=0, description="Seed of the bootstrap of their difference")
    train_share: float = Field(
        default=0.6, gt=0, lt=1, description="First share of the jobs on which scheduling policies may be trained"
    )


@asset(
    "predictions.runtime_model",
    deps=[job_features, similar_jobs],
    table="predictions.model_versions",
    kinds={"xgboost", "duckdb"},
    least_jobs=LEAST_JOBS,
)
def runtime_model(
    context: dg.AssetExecutionContext, config: RuntimeModelConfig, warehouse: dg.ResourceParam[Warehouse]
) -> dg.MaterializeResult:
    """Trains a challenger on all but the newest days and compares it with the champion on those days, job by job. The
    champion changes only if the challenger is significantly better. Also cuts the trace for the training of policies."""

    source = context.partition_key
    rows = runtime_rows(warehouse, source)
    if rows.is_empty():
        raise ValueError(f"source {source!r} has no features: materialize features/job_features first")
    split = pl.DataFrame(
        {
            "test_job_index": [rows["job_index"][int(rows.height * config.train_share)]],
            "train_share": [config.train_share],
        }
    )
    replace_partitions(warehouse, source, {"predictions.training_splits": split})
    happened = challenge_champion(warehouse, source, rows, config.predictor, config.test_days, config.seed)
    context.log.info(happened)
    version, champion = load_champion(warehouse, source)
    drift = write_drift(warehouse, source, rows)
    with warehouse.read() as connection:
        history = connection.sql(
            "SELECT * EXCLUDE (source) FROM predictions.model_history WHERE source = $source ORDER BY event DESC",
            params={"source": source},
        ).pl()
        file = first_row(
            connection,
            "SELECT file FROM predictions.model_versions WHERE source = ? AND version = ?",
            [source, version],
        )
    importance = champion.importance()
    assert file is not None
    metadata: dict[str, Any] = {
        "happened": happened,
        "champion": version,
        "history": table(history),
        "drift": table(drift.sort("value", descending=True)),
        "file": dg.MetadataValue.path(str(artefacts_folder() / file[0])),
    }
    if importance:
        metadata["importance"] = plot(plots.feature_importance(importance))
    return dg.MaterializeResult(metadata=metadata)


CHECKS = [
    row_check(
        runtime_model,
        "checks.inputs_are_stable",
        "the newest jobs are of the population that the champion learned from",
        True,
    ),
    row_check(
        runtime_model, "checks.error_is_stable", "the champion errs at most twice as much as when it was tested", True
    ),
]
