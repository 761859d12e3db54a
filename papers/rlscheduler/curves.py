"""The asset experiments/curves: training curves (RLScheduler, figures 8 and 9)."""

import dagster as dg
from pydantic import Field

from assets.common.asset import asset
from assets.common.describe import table
from assets.common.trace import load_trace
from assets.core.jobs import jobs
from assets.policies.config import PPOConfig
from assets.policies.training import PolicyTask, arena_of_task, split_of
from models.scheduling.arena import Windows
from models.scheduling.learning.training import Lessons
from models.scheduling.trajectory_filter import filter_trajectories
from papers.experiment_tables import curve_rows, last_epochs, store_curves
from papers.rlscheduler.ten_windows import CHOOSING_WINDOWS
from warehouse import Warehouse


class CurvesConfig(dg.Config):
    networks: list[str] = Field(
        default=["kernel", "mlp_v1", "mlp_v2", "mlp_v3", "lenet"],
        description="Figure 8; none: leaves its rows as they are",
    )
    filtering: bool = Field(default=True, description="Figure 9; false: leaves its rows as they are")
    seeds: list[int] = Field(default=[1, 2, 3, 4, 5], min_length=1, description="Training seeds")
    backfill: str = Field(default="none", description="Backfilling rule")
    window_jobs: int = Field(default=256, ge=32, description="Jobs in a window of training")
    ppo: PPOConfig = PPOConfig(epochs=30, reward="plain", baseline="critic", siblings=1, trajectories=100)


@asset("experiments.curves", deps=[jobs], kinds={"pytorch", "numba"})
def curves(
    context: dg.AssetExecutionContext, config: CurvesConfig, warehouse: dg.ResourceParam[Warehouse]
) -> dg.MaterializeResult:
    """Training curves from random weights: the kernel network against others (RLScheduler, figure 8), and trajectory filtering
    against none and against rewards relative to SJF's on the same window (figure 9). Textbook rules."""

    source = context.partition_key
    trace = load_trace(warehouse, source)
    split = split_of(trace, config.window_jobs)
    arena = arena_of_task(trace, PolicyTask(backfill=config.backfill, window_jobs=config.window_jobs))
    kept = filter_trajectories(arena, split.learn)
    scored = split.choose.scored  # windows that begin on an empty cluster, as those of the paper's figures
    choosing = Windows.spread(scored.start, scored.stop, min(split.learn.jobs, len(scored) // 5), CHOOSING_WINDOWS)
    lessons = Lessons(split.learn, kept.kept_windows, choosing)
    rows = curve_rows(arena, lessons, config.ppo, config.networks, config.filtering, config.seeds)
    store_curves(warehouse, source, rows, ["experiment"])
    return dg.MaterializeResult(
        metadata={"dagster/row_count": rows.height, "skewness": kept.skewness, "last": table(last_epochs(rows))}
    )
