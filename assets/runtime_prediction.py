"""Stage 3: job features -> run-time model -> run-time predictions."""

import json

import dagster as dg
import numpy as np
import polars as pl
from pydantic import Field

import sql
from assets.describe import plot, table, table_metadata
from assets.features import job_features
from assets.partitions import OWNERS, POOL, SOURCES
from assets.storage import in_data_folder, model_path
from warehouse import Warehouse, first_row, replace_partition

MODEL_FILE = "runtime-model.json"


class RuntimeModelConfig(dg.Config):
    train_share: float = Field(
        default=0.6, gt=0, lt=1, description="First share of the jobs, by submission; all training stays inside it"
    )
    seed: int = Field(default=1, ge=0, description="Seed of the trees' row sampling and of the bootstrap")
    max_trees: int = Field(
        default=400, ge=1, description="Most boosting rounds; the last tenth of training stops earlier"
    )
    max_depth: int = Field(default=6, ge=1, description="Depth of a tree")
    learning_rate: float = Field(default=0.1, gt=0, description="Shrinkage of each tree")


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
    split = runtime.split_position(rows.height, config.train_share)
    train, test = rows[:split], rows[split:]
    options = runtime.RuntimeModelOptions(
        config.train_share, config.seed, config.max_trees, config.max_depth, config.learning_rate
    )
    model = runtime.train_runtime_model(train, options)
    path = model_path(source, MODEL_FILE)
    digest = runtime.save_runtime_model(model, path)

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
        if predictor == "last_two":
            gain = (None, None, None)  # type: ignore[assignment]
        names = ("mae_gain_over_last_two_s", "mae_gain_low_s", "mae_gain_high_s")
        scored = runtime.score(guess, true) | dict(zip(names, gain, strict=True))
        scores.append({"predictor": predictor, "jobs": test.height} | scored)
    score_rows = pl.DataFrame(scores)
    card = pl.DataFrame(
        {
            "predictor": ["xgboost"],
            "first_job_index": [train["job_index"][0]],
            "test_job_index": [test["job_index"][0]],
            "trained_from": [train["submit_time"][0]],
            "trained_until": [train["submit_time"][-1]],
            "jobs_trained": [train.height],
            "trees": [model.trees],
            "parameters": [json.dumps(model.parameters)],
            "feature_names": [json.dumps(runtime.FEATURE_NAMES)],
            "file": [in_data_folder(path)],
            "sha256": [digest],
        }
    )
    with warehouse.write() as connection:
        replace_partition(connection, "predictions.runtime_models", source, card)
        replace_partition(connection, "predictions.runtime_scores", source, score_rows)
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": card.height,
            "scores_on_later_jobs": table(score_rows),
            "importance": plot(plots.feature_importance(model.booster.get_score(importance_type="gain"))),
            "jobs_trained": train.height,
            "jobs_tested": test.height,
            "file": dg.MetadataValue.path(str(path)),
        }
    )


@dg.asset(
    key=["predictions", "runtime_predictions"],
    deps=[runtime_model],
    partitions_def=SOURCES,
    group_name="runtime_prediction",
    owners=OWNERS,
    kinds={"xgboost", "duckdb"},
    pool=POOL,
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
            connection, "SELECT test_job_index FROM predictions.runtime_models WHERE source = ?", [source]
        )
    if found is None:
        raise ValueError(f"source {source!r} has no run-time model: materialize predictions/runtime_model first")
    model = runtime.load_runtime_model(model_path(source, MODEL_FILE))
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
