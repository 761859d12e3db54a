"""The asset predictions/remaining_time_model: the predictor of remaining times."""

from typing import Any

import dagster as dg
import numpy as np
import polars as pl
from pydantic import Field

from assets.common.asset import asset
from assets.common.partitions import VASP
from assets.common.storage import remove_unused_models, store_model
from assets.predictions.stored_runs import PREDICTORS_HELP, load_runs
from assets.raw.vasp_runs import vasp_runs
from models.remaining.evaluation import REMAINING_PREDICTORS, finished, remaining_to_bytes
from warehouse import Warehouse, replace_partitions


class RemainingTimeModelConfig(dg.Config):
    predictor: str = Field(
        default="progress", pattern="^(inputs_only|progress|multimodal)$", description=PREDICTORS_HELP
    )
    seed: int = Field(default=1, description="Of the fit")


@asset(
    "predictions.remaining_time_model",
    group_name="vasp",
    deps=[vasp_runs],
    table="predictions.remaining_time_models",
    partitions_def=VASP,
    kinds={"xgboost"},
)
def remaining_time_model(
    context: dg.AssetExecutionContext, config: RemainingTimeModelConfig, warehouse: dg.ResourceParam[Warehouse]
) -> dg.MaterializeResult:
    """Trains the predictor of remaining times on every finished run of the folder and keeps it as a file."""
    source = context.partition_key
    runs = load_runs(warehouse, source)
    which = finished(runs)
    predictor = REMAINING_PREDICTORS[config.predictor]()
    predictor.fit(runs, which, config.seed)
    file, sha256 = store_model(source, "remaining_time", remaining_to_bytes(predictor))
    systems = len(np.unique(runs.group[which]))
    row: dict[str, Any] = {
        "predictor": config.predictor,
        "seed": config.seed,
        "runs": len(which),
        "systems": systems,
        "file": file,
        "sha256": sha256,
    }
    replace_partitions(warehouse, source, {"predictions.remaining_time_models": pl.DataFrame([row])})
    remove_unused_models(source, "remaining_time", [file])
    return dg.MaterializeResult(metadata={"dagster/row_count": 1, **{k: v for k, v in row.items() if k != "sha256"}})
