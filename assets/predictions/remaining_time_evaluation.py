"""The asset predictions/remaining_time_evaluation: how well remaining times can be predicted."""

from functools import partial
from itertools import product
from typing import TYPE_CHECKING

import dagster as dg
import polars as pl
from pydantic import Field

from assets.common.asset import asset
from assets.common.describe import plot, table
from assets.common.partitions import VASP
from assets.common.plots import BLUE, GREEN, GREY, ORANGE, figure
from assets.common.progress import progress_bar
from assets.predictions.stored_runs import PREDICTORS_HELP, load_runs
from assets.raw.vasp_runs import vasp_runs
from models.remaining.evaluation import REMAINING_PREDICTORS, REMAINING_RIVALS, SPLITS, try_out
from models.remaining.score_tables import rows_before_the_start, trial_rows, trial_scores
from warehouse import Warehouse, replace_partitions

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COSTS = {"inputs_only": 25, "progress": 90, "multimodal": 90}
"""How long a fold takes beside one of a rival, about, so that the time left is right from the beginning."""
_COLOURS = {"inputs_only": GREY, "progress": BLUE, "multimodal": ORANGE, "ends_now": GREEN}


def error_by_progress(scores: pl.DataFrame) -> "Figure":
    """scores: rows of predictions.remaining_time_scores of one source. RLSchert, figure 6, with the median below: the predictors and
    the rival ends_now on systems that were not learned from."""
    scores = scores.filter((pl.col("split") == "unseen") & pl.col("predictor").is_in(list(_COLOURS)))
    canvas, axes = figure(height=5.6, rows=2, share_x=True)
    for axis, column, label in zip(axes, ("mape", "median_error"), ("MAPE, %", "median error, %"), strict=True):
        for name in scores["predictor"].unique(maintain_order=True):
            for ionic, style in (("single", "-"), ("multiple", "--")):
                rows = scores.filter(
                    (pl.col("predictor") == name) & (pl.col("ionic") == ionic) & (pl.col("progress") > 0)
                )
                if rows.height:
                    axis.plot(
                        100 * rows["progress"].to_numpy(),
                        rows[column].to_numpy(),
                        style,
                        marker="o",
                        markersize=3,
                        color=_COLOURS[name],
                        label=f"{name}, {ionic}",
                    )
        axis.set_ylabel(label, fontsize=9)
        axis.set_ylim(bottom=0)
    axes[0].legend(fontsize=8, frameon=False)
    axes[-1].set_xlabel("electronic steps that were over, % of the run's", fontsize=9)
    return canvas


class RemainingTimeEvaluationConfig(dg.Config):
    predictors: list[str] = Field(
        default=["inputs_only", "progress", "multimodal"],
        min_length=1,
        description=f"{PREDICTORS_HELP}. Judged beside the rivals {', '.join(REMAINING_RIVALS)}",
    )
    folds: int = Field(
        default=5, ge=2, description="Parts of the systems, or of the runs; each is predicted by a fit on the others"
    )
    seeds: list[int] = Field(default=[1], min_length=1, description="Splits into parts, and fits")


@asset(
    "predictions.remaining_time_evaluation",
    group_name="vasp",
    deps=[vasp_runs],
    table="predictions.remaining_time_scores",
    partitions_def=VASP,
    kinds={"xgboost", "pytorch"},
)
def remaining_time_evaluation(
    context: dg.AssetExecutionContext,
    config: RemainingTimeEvaluationConfig,
    warehouse: dg.ResourceParam[Warehouse],
) -> dg.MaterializeResult:
    """Predicts every finished run at each tenth of its steps by fits that have not seen its system, and by the parameters
    alone before it starts: RLSchert's Table 5 and Figure 6 on these runs. Then the same by fits that have seen other runs of its
    system. Rivals that need no learning are judged beside the predictors."""
    unknown = [name for name in config.predictors if name not in REMAINING_PREDICTORS]
    if unknown:
        raise ValueError(f"unknown predictor {unknown[0]!r}; expected {', '.join(REMAINING_PREDICTORS)}")
    source = context.partition_key
    runs = load_runs(warehouse, source)
    during, before = [], []
    names = list(dict.fromkeys([*config.predictors, *REMAINING_RIVALS]))
    costs = [_COSTS.get(name, 1) for name in names]
    with progress_bar("remaining times", len(config.seeds) * len(SPLITS) * sum(costs) * config.folds) as bar:
        for seed, split, (name, cost) in product(config.seeds, SPLITS, zip(names, costs, strict=True)):
            trial = try_out(runs, name, config.folds, seed, partial(bar.update, cost), split)
            during.append(trial_rows(trial, runs, seed))
            before.append(rows_before_the_start(during[-1], trial, runs))
    trials = pl.concat(during)
    scores = trial_scores([trials, *(rows for rows in before if rows is not None)])
    replace_partitions(
        warehouse,
        source,
        {
            "predictions.remaining_time_trials": trials.drop("group", "covered"),
            "predictions.remaining_time_scores": scores,
        },
    )
    shown = scores.filter(pl.col("progress").is_in([0.0, 0.1, 0.3, 0.5, 0.7, 1.0]))
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": trials.height,
            "errors": table(shown, most=200),
            "by_progress": plot(error_by_progress(scores)),
        }
    )
