"""The asset predictions/remaining_time_evaluation: how well remaining times can be predicted."""

import dagster as dg
import numpy as np
import polars as pl
from pydantic import Field

from assets.common.describe import plot, table, table_metadata
from assets.common.partitions import OWNERS, VASP
from assets.common.progress import progress_bar
from assets.vasp.plots import error_by_progress
from assets.vasp.runs import PREDICTORS, QUANTILES, load_runs
from assets.vasp.vasp_runs import vasp_runs
from models.remaining.evaluation import PREDICTORS as known
from models.remaining.evaluation import SHARES, try_out
from warehouse import Warehouse, replace_partition


class RemainingTimeEvaluationConfig(dg.Config):
    predictors: list[str] = Field(
        default=["inputs_only", "progress", "multimodal"], min_length=1, description=PREDICTORS
    )
    folds: int = Field(default=5, ge=2, description="Parts of the systems; each is predicted by a fit on the others")
    seeds: list[int] = Field(default=[1], min_length=1, description="Splits into parts, and fits")


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

    unknown = [name for name in config.predictors if name not in known]
    if unknown:
        raise ValueError(f"unknown predictor {unknown[0]!r}; expected {', '.join(known)}")
    source = context.partition_key
    runs = load_runs(warehouse, source)
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
