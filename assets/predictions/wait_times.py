"""The asset predictions/wait_times: predicted waits, scored on the history of the log."""

import dagster as dg
import polars as pl
from pydantic import Field

from assets.common.asset import asset, passed_over
from assets.common.checks import row_check
from assets.common.describe import plot, table
from assets.common.learnable import LEAST_JOBS
from assets.common.progress import progress
from assets.predictions.plots import calibration_plot
from assets.predictions.runtime_predictions import runtime_predictions
from assets.waits.loading import load_site_waits
from models.waits.scoring import LEAST_SCORED, UNSTORED, WaitsUnknown, predict_history, wait_scores
from warehouse import Warehouse, replace_partitions


class WaitTimesConfig(dg.Config):
    seed: int = Field(default=1, ge=0, description="Seed of the drawn jobs and run times")
    jobs: int = Field(
        default=1000, ge=LEAST_SCORED, description="Jobs of the last part of the log to predict and score"
    )
    last_share: float = Field(default=0.4, gt=0, lt=1, description="Last share of the log, from which they are drawn")


@asset(
    "predictions.wait_times",
    deps=[runtime_predictions],
    table="predictions.wait_scores",
    kinds={"numba", "duckdb"},
    least_jobs=LEAST_JOBS,
)
def wait_times(
    context: dg.AssetExecutionContext, config: WaitTimesConfig, warehouse: dg.ResourceParam[Warehouse]
) -> dg.MaterializeResult:
    """Waits predicted at submission for jobs drawn from the last part of the log, scored against the mean wait of similar
    recent jobs. A prediction comes from replays of the queue by the site, with run times drawn from their predicted quantiles. It is
    corrected by past queues, or over a row of processors by the waits of jobs that were alike."""
    source = context.partition_key
    try:
        waits = load_site_waits(warehouse, source)
        log, starts = waits.log, waits.starts
        rows = predict_history(log.history, config.last_share, config.jobs, config.seed, starts, progress)
    except WaitsUnknown as error:  # a log of submissions alone is no fault: there is nothing to score
        names = ("predictions.wait_predictions", "predictions.wait_scores")
        replace_partitions(warehouse, source, {name: pl.DataFrame() for name in names})
        return dg.MaterializeResult(metadata=passed_over(str(error)))
    zero = pl.lit(log.clock.zero).cast(pl.Datetime("us"))
    predictions = rows.with_columns(predicted_at=zero + pl.duration(seconds="submit_s")).drop("submit_s", *UNSTORED)
    scores = wait_scores(rows)
    replace_partitions(
        warehouse,
        source,
        {
            "predictions.wait_predictions": predictions,
            "predictions.wait_scores": scores.drop("root_mean_squared_error_s"),
        },
    )
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": scores.height,
            "jobs": rows.height,
            "scores": table(scores),
            "calibration": plot(calibration_plot(rows)),
        }
    )


CHECKS = [
    row_check(wait_times, "checks.wait_quantiles_ascend", "the quantiles of a predicted wait ascend from 0"),
]
