"""RLSchert: schedulers that learn to select and kill jobs in a cluster of synthetic VASP jobs, against heuristics."""

from typing import Any

import dagster as dg
import polars as pl
from pydantic import Field

from assets.common.describe import plot, table, table_metadata
from assets.common.partitions import OWNERS, VASP
from assets.common.progress import progress_bar
from assets.experiments.rlschert_plots import curves_plot, holes_plot, killed_plot, sweep_plot, waits_plot
from assets.experiments.rlschert_runs import Bench, errors_of, observed_jobs
from assets.vasp.remaining_time_evaluation import remaining_time_evaluation
from models.rlschert.options import RLSchertOptions
from warehouse import Warehouse, replace_partition


class RLSchertTraining(dg.Config, RLSchertOptions):
    pass


class RLSchertConfig(dg.Config):
    errors: str = Field(
        default="paper",
        pattern="^(paper|measured)$",
        description="How predictions err: paper, as RLSchert's Table 5; measured, as the predictors of this folder of runs",
    )
    jobs_like: str = Field(
        default="paper",
        pattern="^(paper|runs)$",
        description="What lengths and processors are like: paper, its statistics; runs, the finished runs of this folder",
    )
    seeds: list[int] = Field(default=[1, 2, 3, 4, 5], min_length=1, description="Training seeds")
    procs: int = Field(default=16, ge=10, le=64, description="Processors of the cluster, in units of ten")
    job_rate: float = Field(default=0.7, gt=0, le=1, description="Probability that a job arrives in a unit of time")
    jobs: int = Field(default=200, ge=10, description="Jobs in a sequence")
    test_sequences: int = Field(default=16, ge=4, description="Sequences that judge, of unseen jobs")
    training: RLSchertTraining = RLSchertTraining()
    completion_seeds: int = Field(
        default=1, ge=0, description="So many of the seeds train for completion time too (Table 8, Figure 8); 0: none"
    )
    network_iterations: int = Field(
        default=0, ge=0, description="Iterations in which the networks of Table 3 are trained on state images; 0: none"
    )
    job_rates: list[float] = Field(default=[0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.95], description="Figure 10")
    cluster_sizes: list[int] = Field(default=[12, 14, 16, 18, 20, 22, 24], description="Figure 11")
    predictable_shares: list[float] = Field(default=[0.0, 0.5, 0.8, 1.0], description="Table 9")
    other_error: float = Field(
        default=1.212, ge=0, lt=3,
        description="Error (MAPE, a share) of the general predictor on the half of the jobs of Table 11 that are not VASP; "
        "default: RLSchert's Table 10",
    )  # fmt: skip


@dg.asset(
    key=["experiments", "rlschert"],
    deps=[remaining_time_evaluation],
    partitions_def=VASP,
    group_name="experiments",
    owners=OWNERS,
    kinds={"pytorch", "numba"},
    metadata=table_metadata("experiments.rlschert"),
)
def rlschert(
    context: dg.AssetExecutionContext, config: RLSchertConfig, warehouse: dg.ResourceParam[Warehouse]
) -> dg.MaterializeResult:
    """Trains DeepRM, RLSchert without killing, with killing by rule and with learned killing on synthetic VASP jobs, and tries
    them beside the heuristics on unseen ones: Tables 6 to 9 and 11 and Figures 7 to 13 of RLSchert, Table 3 if asked for.
    Policies are trained at one load on one cluster; load, size, predictable jobs and mixed applications vary without training
    again."""

    source = context.partition_key
    errors = errors_of(warehouse, source, config.errors)
    context.log.info(f"predictions err like {errors}")
    observed = observed_jobs(warehouse, source) if config.jobs_like == "runs" else ()
    bench = Bench(config, errors, context.log.info, observed)
    with progress_bar("RLSchert, iterations of training", bench.iterations) as bar:
        bench.train(lambda done: bar.update(done - bar.n))
    bench.main()
    bench.sweeps()
    if config.completion_seeds:
        bench.completion()
    if config.network_iterations:
        bench.networks()
    results, found, curves, jobs, holes = bench.tables()
    with warehouse.write() as connection:
        for name, rows in (
            ("rlschert", results), ("rlschert_comparisons", found), ("rlschert_curves", curves), ("rlschert_jobs", jobs),
            ("rlschert_holes", holes),
        ):  # fmt: skip
            replace_partition(connection, f"experiments.{name}", source, rows)
    main = results.filter(experiment="main").group_by("part", "policy", "kill", maintain_order=True)
    shown = main.agg(pl.col("slowdown", "completion", "holes", "kills").mean())
    metadata: dict[str, Any] = {
        "dagster/row_count": results.height,
        "slowdown": table(shown, most=40),
        "differences": table(found.filter(experiment="main"), most=40),
        "training": plot(curves_plot(curves.filter(experiment="main"))),
        "killed": plot(killed_plot(jobs)),
        "waits": plot(waits_plot(jobs)),
        "holes": plot(holes_plot(holes)),
    }
    for experiment, label in (("load", "job rate"), ("resources", "processors")):
        rows = results.filter(experiment=experiment)
        if rows.height:
            metadata[f"by_{experiment}"] = plot(sweep_plot(rows, label))
    return dg.MaterializeResult(metadata=metadata)
