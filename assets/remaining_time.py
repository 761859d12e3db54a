"""Remaining times of VASP runs: how well they can be predicted, the predictor, and what it says of runs without an end."""

import json
from typing import Any

import dagster as dg
import numpy as np
import polars as pl
from pydantic import Field

from assets.describe import plot, table, table_metadata
from assets.partitions import OWNERS, VASP
from assets.progress import progress_bar
from assets.storage import read_model, remove_unused_models, store_model
from assets.vasp import vasp_runs
from warehouse import Warehouse, first_row, replace_partition

PREDICTORS = "inputs_only: the parameters alone; progress: boosted trees over the steps; multimodal: RLSchert's network"
QUANTILES = [f"remaining_p{percent}_s" for percent in (10, 25, 50, 75, 90)]
MODEL_VERSION = 1
_WITHOUT_END = "elapsed_s IS NULL AND state <> 'finished'"
_LONGEST_S = 90 * 86400
"""Clocks that are further apart do not belong to one run: its time is taken from its steps then."""


class RemainingTimeEvaluationConfig(dg.Config):
    predictors: list[str] = Field(
        default=["inputs_only", "progress", "multimodal"], min_length=1, description=PREDICTORS
    )
    folds: int = Field(default=5, ge=2, description="Parts of the systems; each is predicted by a fit on the others")
    seeds: list[int] = Field(default=[1], min_length=1, description="Splits into parts, and fits")


class RemainingTimeModelConfig(dg.Config):
    predictor: str = Field(default="progress", pattern="^(inputs_only|progress|multimodal)$", description=PREDICTORS)
    seed: int = Field(default=1, description="Of the fit")


@dg.asset(
    key=["predictions", "remaining_time_evaluation"],
    deps=[vasp_runs],
    partitions_def=VASP,
    group_name="vasp",
    owners=OWNERS,
    kinds={"xgboost", "pytorch"},
    metadata=table_metadata("predictions.remaining_time_scores"),
)
def remaining_time_evaluation(
    context: dg.AssetExecutionContext,
    config: RemainingTimeEvaluationConfig,
    warehouse: dg.ResourceParam[Warehouse],
) -> dg.MaterializeResult:
    """Predicts every finished run at each tenth of its steps by fits that have not seen its system, and by the parameters
    alone before it starts: RLSchert's Table 5 and Figure 6 on these runs."""
    from assets.vasp_plots import error_by_progress
    from models.remaining.evaluation import PREDICTORS as known
    from models.remaining.evaluation import SHARES, try_out

    unknown = [name for name in config.predictors if name not in known]
    if unknown:
        raise ValueError(f"unknown predictor {unknown[0]!r}; expected {', '.join(known)}")
    source = context.partition_key
    runs = _load_runs(warehouse, source)
    rows, before = [], []
    with progress_bar("remaining times", len(config.seeds) * len(config.predictors) * config.folds) as bar:
        for seed in config.seeds:
            for name in config.predictors:
                trial = try_out(runs, name, config.folds, seed, bar.update)
                which, shares = trial.which, len(SHARES)
                keys = runs.keys[np.repeat(which, shares)].with_columns(
                    predictor=pl.lit(name),
                    seed=pl.lit(seed),
                    ionic=pl.Series(np.where(np.repeat(runs.single[which], shares), "single", "multiple")),
                    group=pl.Series(np.repeat(runs.group[which], shares)),
                    progress=pl.Series(np.tile(SHARES, len(which))),
                    used_s=pl.Series(trial.used_s.ravel()),
                    remaining_s=pl.Series(np.maximum(runs.total_s[which][:, None] - trial.used_s, 0.0).ravel()),
                    error=pl.Series(trial.errors(runs).ravel()),
                    covered=pl.Series(trial.covered(runs).ravel()),
                    **{column: pl.Series(trial.quantiles[:, :, k].ravel()) for k, column in enumerate(QUANTILES)},
                )
                rows.append(keys)
                if not np.isnan(trial.before_s).any():
                    first = keys.filter(pl.col("progress") == SHARES[0])
                    errors = pl.Series(trial.errors_before(runs))
                    before.append(first.with_columns(progress=0.0, error=errors, covered=pl.lit(None, pl.Boolean)))
    trials = pl.concat(rows)
    scores = _scores(pl.concat([trials, *before]))
    with warehouse.write() as connection:
        replace_partition(connection, "predictions.remaining_time_trials", source, trials.drop("group", "covered"))
        replace_partition(connection, "predictions.remaining_time_scores", source, scores)
    shown = scores.filter(pl.col("progress").is_in([0.0, 0.1, 0.3, 0.5, 0.7, 1.0]))
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": trials.height,
            "errors": table(shown, most=60),
            "by_progress": plot(error_by_progress(scores)),
        }
    )


@dg.asset(
    key=["predictions", "remaining_time_model"],
    deps=[vasp_runs],
    partitions_def=VASP,
    group_name="vasp",
    owners=OWNERS,
    kinds={"xgboost"},
    metadata=table_metadata("predictions.remaining_time_models"),
)
def remaining_time_model(
    context: dg.AssetExecutionContext, config: RemainingTimeModelConfig, warehouse: dg.ResourceParam[Warehouse]
) -> dg.MaterializeResult:
    """Trains the predictor of remaining times on every finished run of the folder and keeps it as a file."""
    from models.remaining.evaluation import PREDICTORS as known
    from models.remaining.evaluation import finished

    source = context.partition_key
    runs = _load_runs(warehouse, source)
    which = finished(runs)
    predictor = known[config.predictor]()
    predictor.fit(runs, which, config.seed)
    content = {"version": MODEL_VERSION, "predictor": config.predictor, "state": predictor.state()}
    file, sha256 = store_model(source, "remaining_time", json.dumps(content).encode())
    systems = len(np.unique(runs.group[which]))
    row: dict[str, Any] = {
        "predictor": config.predictor, "seed": config.seed, "runs": len(which), "systems": systems, "file": file,
        "sha256": sha256,
    }  # fmt: skip
    with warehouse.write() as connection:
        replace_partition(connection, "predictions.remaining_time_models", source, pl.DataFrame([row]))
    remove_unused_models(source, "remaining_time", [file])
    return dg.MaterializeResult(metadata={"dagster/row_count": 1, **{k: v for k, v in row.items() if k != "sha256"}})


@dg.asset(
    key=["predictions", "remaining_times"],
    deps=[vasp_runs, remaining_time_model],
    partitions_def=VASP,
    group_name="vasp",
    owners=OWNERS,
    kinds={"duckdb"},
    metadata=table_metadata("predictions.remaining_times"),
)
def remaining_times(context: dg.AssetExecutionContext, warehouse: dg.ResourceParam[Warehouse]) -> dg.MaterializeResult:
    """How long every run without an end still needs, with quantiles, from the steps it has made so far."""
    from models.remaining.evaluation import PREDICTORS as known
    from models.remaining.snapshots import Moments

    source = context.partition_key
    with warehouse.read() as connection:
        model = first_row(
            connection, "SELECT file, sha256 FROM predictions.remaining_time_models WHERE source = ?", [source]
        )
        open_runs = connection.sql(
            "SELECT folder, outcar, launch, state, changed_at AS at_time, started_at, loops_s, electronic_steps, ionic_steps, "
            "launch = max(launch) OVER (PARTITION BY folder, outcar) AS is_last "
            f"FROM raw.vasp_runs WHERE source = $source AND {_WITHOUT_END} ORDER BY folder, outcar, launch",
            params={"source": source},
        ).pl()
    if model is None:  # the sensor asks before anything could be learned
        context.log.warning(f"no predictor for {source!r} yet: materialize predictions/remaining_time_model first")
        return dg.MaterializeResult(metadata={"dagster/row_count": 0})
    content = json.loads(read_model(*model))
    if content["version"] != MODEL_VERSION:
        raise ValueError(f"the predictor of {source!r} is of another version: materialize remaining_time_model again")
    predictor = known[content["predictor"]]()
    predictor.restore(content["state"])
    runs = _load_runs(warehouse, source, _WITHOUT_END)
    clock = (pl.col("at_time") - pl.col("started_at")).dt.total_seconds().cast(pl.Float64)
    # the file goes on after a launch that was started again: its steps tell how long it ran
    used = pl.when(pl.col("is_last") & clock.is_between(0, _LONGEST_S)).then(clock)
    rows = open_runs.with_columns(used_s=pl.max_horizontal(used, "loops_s"), predictor=pl.lit(content["predictor"]))
    quantiles = predictor.predict(runs, Moments(np.arange(len(runs)), rows["used_s"].to_numpy()))
    rows = rows.with_columns(
        **{column: pl.Series(quantiles[:, k], dtype=pl.Float64) for k, column in enumerate(QUANTILES)}
    ).with_columns(expected_end=pl.col("at_time") + pl.duration(milliseconds=1000 * pl.col("remaining_p50_s")))
    with warehouse.write() as connection:
        replace_partition(
            connection, "predictions.remaining_times", source, rows.drop("started_at", "loops_s", "is_last")
        )
    shown = rows.select("folder", "state", "used_s", "electronic_steps", "ionic_steps", *QUANTILES, "expected_end")
    return dg.MaterializeResult(metadata={"dagster/row_count": rows.height, "remaining_times": table(shown)})


def _load_runs(warehouse: Warehouse, source: str, condition: str = "true"):
    """The runs of a source that fulfil a condition, ordered by folder, file and launch, as models.remaining.runs.Runs."""
    from models.remaining.runs import runs_of

    order = "ORDER BY folder, outcar, launch"
    told = {"source": source}
    with warehouse.read() as connection:
        runs = connection.sql(
            f"SELECT * FROM raw.vasp_runs WHERE source = $source AND {condition} {order}", params=told
        ).pl()
        steps = [
            connection.sql(
                f"SELECT s.* FROM raw.{name} AS s SEMI JOIN (SELECT * FROM raw.vasp_runs WHERE source = $source AND {condition}) "
                "AS r ON s.source = r.source AND s.folder = r.folder AND s.outcar = r.outcar AND s.launch = r.launch "
                f"{order}, position",
                params=told,
            ).pl()
            for name in ("vasp_electronic_steps", "vasp_ionic_steps")
        ]
    return runs_of(runs, *steps)


def _scores(trials: pl.DataFrame) -> pl.DataFrame:
    """Rows of predictions.remaining_time_scores: the mean over seeds of what each split gives."""
    both = pl.concat([trials, trials.with_columns(ionic=pl.lit("all"))])
    by_seed = both.group_by("predictor", "ionic", "progress", "seed").agg(
        runs=pl.len().cast(pl.Int64),
        systems=pl.col("group").n_unique().cast(pl.Int64),
        mape=100 * pl.col("error").mean(),
        median_error=100 * pl.col("error").median(),
        coverage=pl.col("covered").cast(pl.Float64).mean(),
    )
    found = by_seed.group_by("predictor", "ionic", "progress").agg(
        pl.col("runs", "systems").first(),
        pl.len().cast(pl.Int64).alias("seeds"),
        pl.col("mape", "median_error", "coverage").mean(),
    )
    return found.sort("predictor", "ionic", "progress")
