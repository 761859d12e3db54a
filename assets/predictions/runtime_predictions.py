"""The asset predictions/runtime_predictions: the champion's for new jobs, those of the evaluation for older ones."""

from functools import partial

import dagster as dg
import duckdb
import polars as pl

from assets.common.asset import asset
from assets.common.checks import row_check
from assets.common.describe import plot, table
from assets.common.learnable import LEAST_JOBS
from assets.features.job_features import job_features
from assets.features.similar_jobs import similar_jobs
from assets.features.tables import runtime_rows
from assets.predictions import plots
from assets.predictions.model_registry import load_champion, trained_until
from assets.predictions.runtime_evaluation import runtime_evaluation
from assets.predictions.runtime_model import runtime_model
from models.runtime.calibration import calibrated
from models.runtime.predictor import runtimes
from models.runtime.prequential import first_then, prediction_of_rows, prediction_rows
from models.runtime.scores import score
from warehouse import Warehouse, first_row, replace_partition


@asset(
    "predictions.runtime_predictions",
    deps=[runtime_evaluation, runtime_model, job_features, similar_jobs],
    kinds={"xgboost", "duckdb"},
    least_jobs=LEAST_JOBS,
)
def runtime_predictions(
    context: dg.AssetExecutionContext, warehouse: dg.ResourceParam[Warehouse]
) -> dg.MaterializeResult:
    """A predicted run time and its quantiles for every replayable job, each from a model that was fitted before the job was
    submitted, so that a replay of the whole trace uses no knowledge of the future."""

    source = context.partition_key
    rows = runtime_rows(warehouse, source)
    predictions = write_predictions(warehouse, source, rows)
    true = runtimes(rows)
    stored = prediction_of_rows(predictions)
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": predictions.height,
            "from_the_champion": int(predictions["version"].is_not_null().sum()),
            "predicted_against_true": plot(
                plots.estimates_over_true(stored.point, true, rows["requested_walltime_s"].to_numpy())
            ),
            "scores": table(pl.DataFrame([score(stored, true)])),
        }
    )


def write_predictions(warehouse: Warehouse, source: str, rows: pl.DataFrame) -> pl.DataFrame:
    """Stores and returns predictions.runtime_predictions of a source. Raises ValueError before evaluation and model are there.

    Where another version has become champion in the meantime, it predicts again with that one."""
    while True:
        version, predictions = _predicted(warehouse, source, rows)
        if warehouse.transact(source, partial(_replace_predictions, source=source, version=version, rows=predictions)):
            return predictions


def _replace_predictions(connection: duckdb.DuckDBPyConnection, source: str, version: int, rows: pl.DataFrame) -> bool:
    """Replaces the predictions of the source, if this version is its champion still. Returns whether it is."""
    champion = first_row(connection, "SELECT version FROM predictions.champions WHERE source = ?", [source])
    if champion != (version,):
        return False
    replace_partition(connection, "predictions.runtime_predictions", source, rows)
    return True


def _predicted(warehouse: Warehouse, source: str, rows: pl.DataFrame) -> tuple[int, pl.DataFrame]:
    """(version of the champion, rows of predictions.runtime_predictions)."""
    version, champion = load_champion(warehouse, source)
    with warehouse.read() as connection:
        early = connection.sql(
            "SELECT * EXCLUDE (source) FROM predictions.prequential_predictions WHERE source = $source ORDER BY job_index",
            params={"source": source},
        ).pl()
    if not early["job_index"].equals(rows["job_index"]):
        raise ValueError(
            f"source {source!r}: the evaluation of predictors is of other jobs; materialize predictions/runtime_evaluation again"
        )
    # of the very version that was loaded: a rollback may just have named another champion
    older = rows.filter(pl.col("submit_time") < trained_until(warehouse, source, version)).height
    late = champion.predict(rows[older:])
    # in one stream: the champion's quantiles are calibrated by what became of those before them
    stream = calibrated(first_then(prediction_of_rows(early), older, late), rows)
    predictions = prediction_rows(rows["job_index"], stream, champion.name).with_columns(
        version=pl.Series([None] * older + [version] * (rows.height - older), dtype=pl.Int64),
        predictor=pl.concat(
            [early["predictor"][:older], pl.Series([champion.name] * (rows.height - older), dtype=pl.Utf8)]
        ),
    )
    return version, predictions


CHECKS = [
    row_check(
        runtime_predictions, "checks.predictions_finite", "one finite prediction of at least 1 s per replayable job"
    ),
]
