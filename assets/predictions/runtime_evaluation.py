"""Stage 3a: run-time predictors tried as they would be used: trained up to a date, predicting the next period, moved on."""

from typing import Any

import dagster as dg
import numpy as np
import polars as pl
from pydantic import Field

from assets.common.describe import plot, table, table_metadata
from assets.common.partitions import OWNERS, SOURCES
from assets.common.progress import progress_bar
from assets.predictions import plots
from assets.predictions.features import runtime_rows
from assets.predictions.job_features import job_features
from assets.predictions.similar_jobs import similar_jobs
from models.runtime.calibration import calibrated
from models.runtime.named import PREDICTORS, make_predictor
from models.runtime.predictor import QUANTILE_COLUMNS, Prediction, runtimes
from models.runtime.prequential import periods_of, prequential
from models.runtime.scores import USER_CLASSES, gain_interval, score, user_classes
from warehouse import Warehouse, replace_partition

SERVING = "stack"
"""The predictor that serves where nothing else is configured."""

BASELINE = "last_two"


class RuntimeEvaluationConfig(dg.Config):
    predictors: list[str] = Field(
        default=list(PREDICTORS), description="Predictors to evaluate; the serving one is always among them"
    )
    predictor: str = Field(
        default=SERVING, description="The predictor that serves: its predictions are kept job by job"
    )
    days: int = Field(default=30, ge=1, description="Length of a period: models are trained anew at its beginning")
    threads: int = Field(default=2, ge=1, description="Periods worked on at once; results do not depend on it")
    seed: int = Field(default=1, ge=0, description="Seed of the bootstrap over users")


@dg.asset(
    key=["predictions", "runtime_evaluation"],
    deps=[job_features, similar_jobs],
    partitions_def=SOURCES,
    group_name="predictions",
    owners=OWNERS,
    kinds={"xgboost", "scikitlearn", "duckdb"},
    metadata=table_metadata("predictions.runtime_scores"),
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
    found: dict[str, Prediction] = {}
    raw = None
    with progress_bar("predictors as in operation, month by month", total=len(names) * len(periods)) as bar:
        for name in names:
            predicted = prequential(rows, name, config.days, config.threads, done=bar.update)
            found[name] = calibrated(predicted, rows)
            raw = predicted if name == config.predictor else raw
    true = runtimes(rows)
    assert raw is not None
    scores = _scores(rows, found, true, config.seed)
    by_period = _scores_by_period(periods, found, true)
    with warehouse.write() as connection:
        replace_partition(connection, "predictions.runtime_scores", source, scores)
        replace_partition(connection, "predictions.runtime_scores_by_period", source, by_period)
        replace_partition(
            connection, "predictions.prequential_predictions", source,
            prediction_rows(rows["job_index"], raw, config.predictor),
        )  # fmt: skip
    everyone = scores.filter(pl.col("user_class") == "all users").sort("mean_absolute_error_s")
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": scores.height,
            "jobs": rows.height,
            "periods": len(periods),
            "scores": table(everyone.drop("user_class", "jobs")),
            "by_user_class": table(
                scores.filter(pl.col("predictor") == config.predictor).drop("predictor").select(
                    "user_class", "jobs", "mean_absolute_error_s", "mean_accuracy", "underestimated_share", "coverage_80"
                )
            ),
            "coverage": plot(plots.quantile_coverage(found[config.predictor].quantiles, true)),
        }
    )  # fmt: skip


def prediction_rows(job_index: pl.Series, prediction: Prediction, predictor: str) -> pl.DataFrame:
    """Predictions as the warehouse stores them."""
    columns = {"job_index": job_index, "predicted_runtime_s": prediction.point}
    columns |= {name: prediction.quantiles[:, k] for k, name in enumerate(QUANTILE_COLUMNS)}
    return pl.DataFrame(columns).with_columns(pl.lit(predictor).alias("predictor"))


def _part(prediction: Prediction, which: Any) -> Prediction:
    return Prediction(prediction.point[which], prediction.quantiles[which])


def _scores(rows: pl.DataFrame, found: dict[str, Prediction], true: np.ndarray, seed: int) -> pl.DataFrame:

    users = rows["user_name"].fill_null("").to_numpy()
    class_of = user_classes(users)
    parts = {"all users": np.ones(len(true), dtype=np.bool_)}
    parts |= {name: class_of == k for k, name in enumerate(USER_CLASSES) if (class_of == k).any()}
    scores = []
    for name, prediction in found.items():
        for label, part in parts.items():
            error, baseline = (np.abs(x.point[part] - true[part]) for x in (prediction, found[BASELINE]))
            gain = (None,) * 3 if name == BASELINE else gain_interval(error, baseline, users[part], seed)
            names = ("mae_gain_over_last_two_s", "mae_gain_low_s", "mae_gain_high_s")
            row = {"predictor": name, "user_class": label, "jobs": int(part.sum())}
            scores.append(row | score(_part(prediction, part), true[part]) | dict(zip(names, gain, strict=True)))
    return pl.DataFrame(scores, infer_schema_length=None)


def _scores_by_period(periods: list, found: dict[str, Prediction], true: np.ndarray) -> pl.DataFrame:

    kept = ("mean_absolute_error_s", "mean_accuracy", "underestimated_share", "pinball_loss_s", "coverage_80")
    scores = []
    for name, prediction in found.items():
        for period in periods:
            part = slice(period.first, period.last)
            values = score(_part(prediction, part), true[part])
            row = {"predictor": name, "period_start": period.start, "jobs": period.last - period.first}
            scores.append(row | {"jobs_fitted": period.fitted} | {key: values[key] for key in kept})
    return pl.DataFrame(scores, infer_schema_length=None)
