"""The asset predictions/runtime_evaluation: run-time predictors tried as they would be used, period after period."""

import dagster as dg
import polars as pl
from pydantic import Field

from assets.common.asset import asset
from assets.common.describe import plot, table
from assets.common.progress import progress_bar
from assets.features.job_features import job_features
from assets.features.similar_jobs import similar_jobs
from assets.features.tables import runtime_rows
from assets.predictions import plots
from models.runtime.calibration import calibrated
from models.runtime.named import PREDICTORS, SERVING, make_predictor
from models.runtime.predictor import Prediction, runtimes
from models.runtime.prequential import (
    BASELINE,
    FALLBACK,
    fallback_jobs,
    period_scores_of_predictors,
    periods_of,
    prediction_rows,
    prequential,
    user_class_scores,
)
from warehouse import Warehouse, replace_partitions

SHOWN_BY_CLASS = (
    "user_class",
    "jobs",
    "fallback_jobs",
    "mean_absolute_error_s",
    "mean_accuracy",
    "underestimated_share",
    "coverage_80",
)


class RuntimeEvaluationConfig(dg.Config):
    predictors: list[str] = Field(
        default=list(PREDICTORS), description="Predictors to evaluate. The serving one is always among them"
    )
    predictor: str = Field(
        default=SERVING, description="The predictor that serves: its predictions are kept job by job"
    )
    days: int = Field(default=30, ge=1, description="Length of a period, at whose beginning models are trained again")
    threads: int = Field(default=2, ge=1, description="Periods computed at once. Results do not depend on it")
    seed: int = Field(default=1, ge=0, description="Seed of the bootstrap over users")


@asset(
    "predictions.runtime_evaluation",
    deps=[job_features, similar_jobs],
    table="predictions.runtime_scores",
    kinds={"xgboost", "scikitlearn", "duckdb"},
    least_jobs=1,
)
def runtime_evaluation(
    context: dg.AssetExecutionContext, config: RuntimeEvaluationConfig, warehouse: dg.ResourceParam[Warehouse]
) -> dg.MaterializeResult:
    """Every predictor on every job, as in operation: fitted on what had ended before each period. Scores by user class and
    over time, with quantiles and their coverage."""

    source = context.partition_key
    rows = runtime_rows(warehouse, source)
    if rows.is_empty():
        raise ValueError(f"source {source!r} has no job with a known run time: nothing to predict")
    names = list(dict.fromkeys([*config.predictors, BASELINE, config.predictor]))
    for name in names:
        make_predictor(name)  # refuse a wrong name before hours of work
    periods = periods_of(rows, config.days)
    calibrated_of: dict[str, Prediction] = {}
    raw = None
    with progress_bar("predictors as in operation, month by month", total=len(names) * len(periods)) as bar:
        for name in names:
            predicted = prequential(rows, name, config.days, config.threads, done=bar.update)
            calibrated_of[name] = calibrated(predicted, rows)
            raw = predicted if name == config.predictor else raw
    true = runtimes(rows)
    assert raw is not None
    fallback = {name: fallback_jobs(name, periods) for name in names}
    scores = user_class_scores(rows, calibrated_of, fallback, true, config.seed)
    by_period = period_scores_of_predictors(periods, calibrated_of, fallback, true)
    served = prediction_rows(rows["job_index"], raw, config.predictor).with_columns(
        predictor=pl.when(pl.Series(fallback[config.predictor])).then(pl.lit(FALLBACK)).otherwise("predictor")
    )
    tables = {"runtime_scores": scores, "runtime_scores_by_period": by_period, "prequential_predictions": served}
    replace_partitions(warehouse, source, {f"predictions.{name}": rows_of for name, rows_of in tables.items()})
    everyone = scores.filter(pl.col("user_class") == "all users").sort("mean_absolute_error_s")
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": scores.height,
            "jobs": rows.height,
            "periods": len(periods),
            "scores": table(everyone.drop("user_class", "jobs")),
            "by_user_class": table(scores.filter(pl.col("predictor") == config.predictor).select(SHOWN_BY_CLASS)),
            "coverage": plot(plots.quantile_coverage(calibrated_of[config.predictor].quantiles, true)),
        }
    )
