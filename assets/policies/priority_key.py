"""The asset policies/priority_key: the best order of a simple form, which a learned policy has to beat."""

import math

import dagster as dg
import polars as pl
from pydantic import Field

from assets.common.asset import asset
from assets.common.describe import table
from assets.common.learnable import LEAST_JOBS
from assets.common.progress import progress_bar
from assets.common.trace import load_trained_trace
from assets.core.jobs import jobs
from assets.policies.config import KeyConfig, TaskConfig, task_of
from assets.policies.lessons import check_training
from assets.policies.training import arena_of_task
from assets.predictions.runtime_predictions import runtime_predictions
from models.scheduling.search.priority_key import search_guarded_key, searched_jobs
from warehouse import Warehouse, replace_partitions


class PriorityKeyConfig(TaskConfig):
    search: KeyConfig = KeyConfig()
    seed: int = Field(default=1, ge=0, description="Seed of the search")


@asset(
    "policies.priority_key",
    deps=[runtime_predictions, jobs],
    table="policies.priority_keys",
    kinds={"numba", "duckdb"},
    least_jobs=LEAST_JOBS,
)
def priority_key(
    context: dg.AssetExecutionContext, config: PriorityKeyConfig, warehouse: dg.ResourceParam[Warehouse]
) -> dg.MaterializeResult:
    """The best order of the form submit + min(c * estimate^a * procs^b, cap) that keeps the guards of a verdict, on one replay of the
    training part, over a row of processors. Random search and CMA-ES find it, and replay/evaluation judges it on the site. A learned policy
    that loses to it is not worth deploying."""

    source = context.partition_key
    trace, test_position = load_trained_trace(warehouse, source)
    check_training(warehouse, trace)
    arena, scored = arena_of_task(trace, task_of(config)), searched_jobs(test_position)
    with progress_bar(f"searching a key for {source}", config.search.random_keys + config.search.steps) as bar:
        search = search_guarded_key(arena, scored, config.search, config.seed, bar.update)
    best = search.best
    rows = pl.DataFrame(
        [
            {"goal": config.goal, "estimates": config.estimates, "formula": best.formula}
            | {
                "log_c": best.log_c,
                "a": best.a,
                "b": best.b,
                "cost": arena.cost_of(arena.replayed(best.policy, scored)),
            }
            | {"keys_tried": len(search.tried), "trained_jobs": test_position}
            | {"cap_s": None if math.isinf(best.cap_s) else best.cap_s}
        ],
        schema_overrides={"cap_s": pl.Float64},
    )
    replace_partitions(warehouse, source, {"policies.priority_keys": rows})
    return dg.MaterializeResult(metadata={"dagster/row_count": 1, "key": table(rows)})
