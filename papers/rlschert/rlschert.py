"""RLSchert: schedulers that learn to select and kill jobs in a cluster of synthetic VASP jobs, against heuristics."""

from typing import TYPE_CHECKING, Any

import dagster as dg
import polars as pl
from pydantic import Field

from assets.common.asset import asset
from assets.common.describe import plot, table
from assets.common.partitions import VASP
from assets.common.plots import BLUE, GREY, INK, ORANGE, figure
from assets.common.progress import progress_bar
from assets.predictions.remaining_time_evaluation import remaining_time_evaluation
from papers.rlschert.measured import errors_of, observed_jobs
from papers.rlschert.plan import RLSchertOptions, RLSchertPlan, count_iterations, ladder_tasks
from papers.rlschert.tables import RLSchertTables, make_tables
from papers.rlschert.trials import train_side_by_side, try_everything
from papers.rlschert.workload import Workload
from warehouse import Warehouse, replace_partitions

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class RLSchertTraining(dg.Config, RLSchertOptions):
    """Settings of training, in the form that a run takes."""


class RLSchertConfig(dg.Config):
    """Settings of the experiment, in the form that a run takes."""

    errors: str = Field(
        default="paper",
        pattern="^(paper|measured)$",
        description="How predictions err: paper (as RLSchert's Table 5), or measured (as the predictors of this folder of runs)",
    )
    jobs_like: str = Field(
        default="paper",
        pattern="^(paper|runs)$",
        description="What lengths and processors are like: paper (its statistics), or runs (the finished runs of this folder)",
    )
    seeds: list[int] = Field(
        default=[1, 2, 3, 4, 5], description="Training seeds. [] takes heuristics alone, which takes a minute"
    )
    procs: int = Field(default=16, ge=10, le=64, description="Processors of the cluster, in units of ten")
    job_rate: float = Field(default=0.7, gt=0, le=1, description="Probability that a job arrives in a unit of time")
    jobs: int = Field(default=200, ge=10, description="Jobs in a sequence")
    test_sequences: int = Field(default=16, ge=4, description="Sequences of held-out jobs, which judge")
    training: RLSchertTraining = RLSchertTraining()
    completion_seeds: int = Field(
        default=1, ge=0, description="How many of the seeds also train for completion time (Table 8, Figure 8)"
    )
    network_iterations: int = Field(
        default=0,
        ge=0,
        description="Iterations in which the networks of Table 3 are trained on state images, 0 for none",
    )
    job_rates: list[float] = Field(default=[0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.95], description="Figure 10")
    cluster_sizes: list[int] = Field(default=[12, 14, 16, 18, 20, 22, 24], description="Figure 11")
    predictable_shares: list[float] = Field(default=[0.0, 0.5, 0.8, 1.0], description="Table 9")
    other_error: float = Field(
        default=1.212,
        ge=0,
        lt=3,
        description="Error (MAPE, a share) of the general predictor on the half of the jobs of Table 11 that are not VASP. "
        "Default: RLSchert's Table 10",
    )
    preemption_cost: int = Field(
        default=0,
        ge=0,
        description="Units by which each run of a job after a kill is longer, where policies are trained and tried",
    )
    preemption_costs: list[int] = Field(
        default=[0, 1, 2, 5, 10, 20], description="Such costs that are tried without training again"
    )
    stop_within: int = Field(
        default=5, ge=1, description="The stopping rule stops jobs that have run for at most this number of units"
    )
    stop_ratio: float = Field(
        default=3.0, ge=1, description="It stops them when a job waits that is shorter by at least this factor"
    )


@asset("experiments.rlschert", deps=[remaining_time_evaluation], partitions_def=VASP, kinds={"pytorch", "numba"})
def rlschert(
    context: dg.AssetExecutionContext, config: RLSchertConfig, warehouse: dg.ResourceParam[Warehouse]
) -> dg.MaterializeResult:
    """Trains a network to select, without killing, with killing by rule and with learned killing, and with first predictions alone, on
    synthetic VASP jobs. Rows are called RLSchert and DeepRM, but the network is ours unless the settings say so. Compares them
    with the heuristics on held-out ones: Tables 6 to 9 and 11 and Figures 7 to 13 of RLSchert, Table 3 if the settings want it.
    Policies are trained at one load on one cluster. Load, size, predictable jobs, mixed applications and the cost of a kill vary
    without training again."""

    source = context.partition_key
    plan = _plan_of(config, warehouse, source)
    context.log.info(f"predictions err like {plan.workload.errors}")
    tasks = ladder_tasks(plan)
    trained = []
    with progress_bar("RLSchert, iterations of training", count_iterations(tasks)) as bar:
        for scheduler in train_side_by_side(tasks, lambda done: bar.update(done - bar.n)):
            context.log.info(scheduler.describe())
            trained.append(scheduler)
    tables = make_tables(plan, trained, try_everything(plan, trained))
    others = ("comparisons", "curves", "jobs", "holes")
    rows = {f"experiments.rlschert_{name}": getattr(tables, name) for name in others}
    replace_partitions(warehouse, source, {"experiments.rlschert": tables.results} | rows)
    return dg.MaterializeResult(metadata=_describe(tables))


def _plan_of(config: RLSchertConfig, warehouse: Warehouse, source: str) -> RLSchertPlan:
    observed = observed_jobs(warehouse, source) if config.jobs_like == "runs" else ()
    errors = errors_of(warehouse, source, config.errors)
    return RLSchertPlan(
        workload=Workload(jobs=config.jobs, job_rate=config.job_rate, errors=errors, observed=observed),
        options=RLSchertOptions(**config.training.model_dump()),
        seeds=tuple(config.seeds),
        procs=config.procs,
        test_sequences=config.test_sequences,
        completion_seeds=config.completion_seeds,
        network_iterations=config.network_iterations,
        job_rates=tuple(config.job_rates),
        cluster_sizes=tuple(config.cluster_sizes),
        predictable_shares=tuple(config.predictable_shares),
        other_error=config.other_error,
        preemption_cost=config.preemption_cost,
        preemption_costs=tuple(config.preemption_costs),
        stop_within=config.stop_within,
        stop_ratio=config.stop_ratio,
    )


def _describe(tables: RLSchertTables) -> dict[str, Any]:
    results = tables.results
    main = results.filter(experiment="main").group_by("part", "policy", "kill", maintain_order=True)
    shown = main.agg(pl.col("slowdown", "completion", "holes", "kills").mean())
    metadata: dict[str, Any] = {
        "dagster/row_count": results.height,
        "slowdown": table(shown, most=50),
        "differences": table(tables.comparisons.filter(experiment="main"), most=40),
        "waits": plot(waits_plot(tables.jobs)),
        "holes": plot(holes_plot(tables.holes)),
    }
    for experiment, label in (("main", "training"), ("completion", "training_for_completion"), ("networks", "table_3")):
        curves = tables.curves.filter(experiment=experiment)
        if curves.height:
            metadata[label] = plot(curves_plot(curves))
    if tables.curves.height:  # policies were trained, not heuristics alone
        metadata["killed"] = plot(killed_plot(tables.jobs))
    sweeps = (("load", "job rate"), ("resources", "processors"), ("preemption", "units that a kill costs"))
    for experiment, label in sweeps:
        rows = results.filter(experiment=experiment)
        if rows.height:
            metadata[f"by_{experiment}"] = plot(sweep_plot(rows, label))
    return metadata


_COLOURS = {
    ("Random", "none"): "#cbd5e0",
    ("SJF", "none"): "#2f855a",
    ("SAF", "none"): "#805ad5",
    ("SJF, whole queue", "none"): "#68d391",
    ("SJF, whole queue", "stopping"): "#1a202c",
    ("Tetris", "none"): GREY,
    ("Tetris*", "none"): "#b7791f",
    ("DeepRM", "none"): "#c53030",
    ("RLSchert", "none"): ORANGE,
    ("RLSchert", "rule"): "#63b3ed",
    ("RLSchert", "learned"): BLUE,
}


def curves_plot(curves: pl.DataFrame) -> "Figure":
    """curves: rows of experiments.rlschert_curves of one experiment. Shows means over seeds (figures 7 to 9)."""
    canvas, (axis,) = figure(height=3.6)
    measured = curves.filter(pl.col("validation").is_not_null())
    means = measured.group_by("policy", "kill", "iteration", maintain_order=True).agg(pl.col("validation").mean())
    for (policy, kill), rows in means.group_by("policy", "kill", maintain_order=True):
        rows = rows.sort("iteration")
        colour = _COLOURS.get((str(policy), str(kill)), INK)
        x, y = rows["iteration"].to_numpy(), rows["validation"].to_numpy()
        axis.plot(x, y, color=colour, label=f"{policy}, kill: {kill}")
    if means.height:
        axis.set_ylim(0, 2 * float(means["validation"].median()))  # type: ignore[arg-type]
    axis.legend(fontsize=8, frameon=False)
    axis.set_xlabel("iteration", fontsize=9)
    axis.set_ylabel("mean cost, validation", fontsize=9)
    return canvas


def sweep_plot(rows: pl.DataFrame, label: str) -> "Figure":
    """rows: of experiments.rlschert of one experiment that varies a setting (figures 10 and 11)."""
    canvas, (axis,) = figure(height=3.6)
    means = rows.group_by("policy", "kill", "setting").agg(pl.col("slowdown").mean()).sort("setting")
    _lines(axis, means, "setting", "slowdown", marker="o", markersize=3)
    axis.set_yscale("log")
    axis.set_xlabel(label, fontsize=9)
    axis.set_ylabel("mean slowdown", fontsize=9)
    return canvas


def holes_plot(holes: pl.DataFrame) -> "Figure":
    """holes: rows of experiments.rlschert_holes (figure 12a)."""
    canvas, (axis,) = figure(height=3.6)
    _lines(axis, holes.sort("unit"), "unit", "holes")
    axis.set_xlabel("unit of time", fontsize=9)
    axis.set_ylabel("free processors so far", fontsize=9)
    return canvas


def waits_plot(jobs: pl.DataFrame) -> "Figure":
    """jobs: rows of experiments.rlschert_jobs. Shows the share of the jobs that waited at most so long (figure 12b)."""
    canvas, (axis,) = figure(height=3.6)
    group = ("policy", "kill")
    rank = pl.col("wait").rank("ordinal").over(group) / pl.len().over(group)
    _lines(axis, jobs.with_columns(share=rank).sort("share"), "wait", "share")
    axis.set_xscale("symlog")
    axis.set_xlabel("wait, units of time", fontsize=9)
    axis.set_ylabel("share of the jobs", fontsize=9)
    return canvas


def _lines(axis: "Axes", rows: pl.DataFrame, x: str, y: str, **style: Any) -> None:
    """A line for each policy in the rows."""
    for (policy, kill), colour in _COLOURS.items():
        mine = rows.filter((pl.col("policy") == policy) & (pl.col("kill") == kill))
        if mine.height:
            label = policy if kill == "none" else f"{policy}, kill: {kill}"
            axis.plot(mine[x].to_numpy(), mine[y].to_numpy(), color=colour, label=label, **style)
    axis.legend(fontsize=8, frameon=False, ncols=2)


def killed_plot(jobs: pl.DataFrame) -> "Figure":
    """jobs: rows of experiments.rlschert_jobs. Shows which jobs RLSchert kills (figure 13)."""
    canvas, (axis,) = figure(height=3.6)
    for kill, colour in (("rule", ORANGE), ("learned", BLUE)):
        mine = jobs.filter((pl.col("policy") == "RLSchert") & (pl.col("kill") == kill) & (pl.col("kills") > 0))
        x, y, size = (
            mine["first_prediction"].to_numpy(),
            mine["length"].to_numpy(),
            8 + 2 * mine["killed_after"].to_numpy(),
        )
        axis.scatter(x, y, s=size, color=colour, alpha=0.6, label=f"killed, {kill} (larger: later)")
    axis.plot([1, 100], [1, 100], color=GREY, linewidth=0.8)
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.legend(fontsize=8, frameon=False)
    axis.set_xlabel("run time as predicted before the run, units", fontsize=9)
    axis.set_ylabel("real run time, units", fontsize=9)
    return canvas
