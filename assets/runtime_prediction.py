"""Stage 3: job features -> run-time model -> run-time predictions."""

import json

import dagster as dg
import numpy as np
import polars as pl
from pydantic import Field

import sql
from assets.describe import plot, table, table_metadata
from assets.features import job_features
from assets.partitions import OWNERS, SOURCES
from assets.storage import data_folder, read_model, remove_unused_models, store_model
from models.runtime import RuntimeModelOptions
from warehouse import Warehouse, first_row, replace_partition

MODEL = "runtime-model"
LEAST_JOBS = 300
"""Fewer jobs leave too few windows to train a policy on and to compare on; measured on cut traces."""


class RuntimeModelConfig(dg.Config, RuntimeModelOptions):
    train_share: float = Field(
        default=0.6, gt=0, lt=1, description="First share of the jobs, by submission; all training stays inside it"
    )


@dg.asset(
    key=["predictions", "runtime_model"],
    deps=[job_features],
    partitions_def=SOURCES,
    group_name="runtime_prediction",
    owners=OWNERS,
    kinds={"xgboost", "duckdb"},
    metadata=table_metadata("predictions.runtime_models"),
)
def runtime_model(
    context: dg.AssetExecutionContext, config: RuntimeModelConfig, warehouse: dg.ResourceParam[Warehouse]
) -> dg.MaterializeResult:
    """Gradient-boosted trees for the run time, trained on the first part of the trace and scored on the rest against
    the user's request and the user's last two jobs. Everything later tests on jobs this split leaves unseen."""
    from assets import plots
    from models import runtime

    source = context.partition_key
    with warehouse.read() as connection:
        rows = connection.sql(sql.load("features.runtime_rows"), params={"source": source}).pl()
    if rows.height < LEAST_JOBS:
        raise ValueError(
            f"source {source!r}: {rows.height} jobs with a known run time are too few to train and test on, at least "
            f"{LEAST_JOBS} are needed; `tracehouse replay {source} --policy SAF` works with any number"
        )
    split = int(rows.height * config.train_share)
    test = rows[split:]
    train = runtime.ended_before(rows[:split], test["submit_time"][0])
    options = runtime.RuntimeModelOptions(**config.model_dump(include=set(RuntimeModelOptions.model_fields)))
    model = runtime.train_runtime_model(train, options)
    file, digest = store_model(source, MODEL, runtime.runtime_model_to_bytes(model))

    true = test["runtime_s"].to_numpy().astype(np.float64)
    guesses = {
        "last_two": runtime.predict_last_two(test, float(np.median(train["runtime_s"].to_numpy()))),
        "xgboost": runtime.predict_runtimes(model, test),
    }
    if test["requested_walltime_s"].null_count() == 0:
        guesses = {"requested": test["requested_walltime_s"].to_numpy().astype(np.float64)} | guesses
    users = test["user_name"].fill_null("").to_numpy()
    baseline = np.abs(guesses["last_two"] - true)
    scores = []
    for predictor, guess in guesses.items():
        gain = runtime.gain_interval(np.abs(guess - true), baseline, users, config.seed)
        names = ("mae_gain_over_last_two_s", "mae_gain_low_s", "mae_gain_high_s")
        gains = dict.fromkeys(names) if predictor == "last_two" else dict(zip(names, gain, strict=True))
        scores.append({"predictor": predictor, "jobs": test.height} | runtime.score(guess, true) | gains)
    score_rows = pl.DataFrame(scores, infer_schema_length=None)
    card = pl.DataFrame(
        {
            "predictor": ["xgboost"],
            "first_job_index": [train["job_index"][0]],
            "test_job_index": [test["job_index"][0]],
            "trained_from": [train["submit_time"][0]],
            "trained_until": [train["submit_time"][-1]],
            "jobs_trained": [train.height],
            "trees": [model.trees],
            "parameters": [json.dumps(model.parameters | {"train_share": config.train_share})],
            "feature_names": [json.dumps(runtime.FEATURE_NAMES)],
            "file": [file],
            "sha256": [digest],
        }
    )
    with warehouse.write() as connection:
        replace_partition(connection, "predictions.runtime_models", source, card)
        replace_partition(connection, "predictions.runtime_scores", source, score_rows)
    remove_unused_models(source, MODEL, [file])
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": card.height,
            "scores_on_later_jobs": table(
                score_rows.select(
                    "predictor",
                    pl.col("mean_absolute_error_s").alias("mean error, s"),
                    pl.col("median_absolute_error_s").alias("median error, s"),
                    pl.col("underestimated_share").alias("underestimated"),
                    pl.col("mae_gain_over_last_two_s").alias("gain over last two, s"),
                )
            ),
            "importance": plot(plots.feature_importance(model.booster.get_score(importance_type="gain"))),
            "jobs_trained": train.height,
            "jobs_tested": test.height,
            "file": dg.MetadataValue.path(str(data_folder() / file)),
        }
    )


@dg.asset(
    key=["predictions", "runtime_predictions"],
    deps=[runtime_model, job_features],
    partitions_def=SOURCES,
    group_name="runtime_prediction",
    owners=OWNERS,
    kinds={"xgboost", "duckdb"},
    metadata=table_metadata("predictions.runtime_predictions"),
)
def runtime_predictions(
    context: dg.AssetExecutionContext, warehouse: dg.ResourceParam[Warehouse]
) -> dg.MaterializeResult:
    """A predicted run time for every replayable job: the model's for jobs it has not seen, the user's last two jobs'
    for the part it was trained on, so that a replay of the whole trace uses no knowledge of the future."""
    from assets import plots
    from models import runtime

    source = context.partition_key
    with warehouse.read() as connection:
        rows = connection.sql(sql.load("features.runtime_rows"), params={"source": source}).pl()
        found = first_row(
            connection, "SELECT test_job_index, file, sha256 FROM predictions.runtime_models WHERE source = ?", [source]
        )
    if found is None:
        raise ValueError(f"source {source!r} has no run-time model: materialize predictions/runtime_model first")
    model = runtime.runtime_model_from_bytes(read_model(found[1], found[2]))
    train, test = rows.filter(pl.col("job_index") < found[0]), rows.filter(pl.col("job_index") >= found[0])
    # with no history and no request at all, one hour: no number from the log may be used before it was known
    early, late = runtime.predict_last_two(train, 3600.0), runtime.predict_runtimes(model, test)
    predictions = pl.DataFrame(
        {
            "job_index": rows["job_index"],
            "predictor": ["last_two"] * train.height + ["xgboost"] * test.height,
            "predicted_runtime_s": np.concatenate([early, late]),
        }
    )
    with warehouse.write() as connection:
        replace_partition(connection, "predictions.runtime_predictions", source, predictions)
    true = test["runtime_s"].to_numpy().astype(np.float64)
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": predictions.height,
            "predicted_against_true": plot(plots.prediction_error(late, true, test["requested_walltime_s"].to_numpy())),
            "scores": table(pl.DataFrame([runtime.score(late, true)])),
        }
    )
