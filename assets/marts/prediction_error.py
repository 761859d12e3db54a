"""Errors of run-time predictions over time: has a predictor become worse, and when."""

import dagster as dg
import polars as pl

from assets.common.asset import asset
from assets.common.describe import lineage_metadata, plot, table
from assets.predictions import plots
from assets.predictions.runtime_evaluation import runtime_evaluation
from warehouse import Warehouse


@asset(
    "marts.prediction_error", group_name="predictions", deps=[runtime_evaluation], kinds={"duckdb", "sql"}, least_jobs=1
)
def prediction_error(context: dg.AssetExecutionContext, warehouse: dg.ResourceParam[Warehouse]) -> dg.MaterializeResult:
    """Mean error, underestimates and coverage of every predictor, period by period, beside the user's last two jobs."""

    with warehouse.read() as connection:
        rows = connection.sql(
            "SELECT * EXCLUDE (source) FROM marts.prediction_error WHERE source = $source ORDER BY predictor, period_start",
            params={"source": context.partition_key},
        ).pl()
    newest = rows.filter(pl.col("period_start") == pl.col("period_start").max()).sort("mean_absolute_error_s")
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": rows.height,
            "newest_period": table(newest),
            "error_over_time": plot(plots.error_over_time(rows)),
            **lineage_metadata("marts.prediction_error"),
        }
    )
