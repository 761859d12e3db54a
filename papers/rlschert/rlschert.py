"""RLSchert: schedulers that learn to select and kill jobs in a cluster of synthetic VASP jobs, against heuristics."""

from typing import Any

import dagster as dg
import polars as pl
from pydantic import Field

from assets.common.asset import asset
from assets.common.describe import plot, table, table_metadata
from assets.common.partitions import VASP
from assets.common.progress import progress_bar
from assets.vasp.remaining_time_evaluation import remaining_time_evaluation
from papers.rlschert.ladder import train_side_by_side
from papers.rlschert.options import RLSchertOptions
from papers.rlschert.plan import RLSchertPlan, count_iterations, ladder_tasks
from papers.rlschert.plots import curves_plot, holes_plot, killed_plot, sweep_plot, waits_plot
from papers.rlschert.rlschert_runs import errors_of, observed_jobs
from papers.rlschert.tables import RLSchertTables, make_tables
from papers.rlschert.trials import try_everything
from papers.rlschert.workload import Workload
from warehouse import Warehouse, replace_partitions


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


@asset(
    key=["experiments", "rlschert"],
    deps=[remaining_time_evaluation],
    partitions_def=VASP,
    group_name="experiments",
    tags={"cost": "hours", "paper": "rlschert"},
    kinds={"pytorch", "numba"},
    metadata=table_metadata("experiments.rlschert"),
)
def rlschert(
    context: dg.AssetExecutionContext, config: RLSchertConfig, warehouse: dg.ResourceParam[Warehouse]
) -> dg.MaterializeResult:
    """Trains DeepRM, RLSchert without killing, with killing by rule and with learned killing on synthetic VASP jobs. Compares them
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
