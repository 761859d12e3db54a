"""The asset policies/priority_key: the best order of a simple form, which a learned policy has to beat."""

import dagster as dg
import numpy as np
import polars as pl
from pydantic import Field

from assets.common.describe import table, table_metadata
from assets.common.partitions import OWNERS, SOURCES
from assets.common.progress import progress_bar
from assets.common.trace import load_trained_trace
from assets.ingest.core_jobs import jobs
from assets.policies.config import KeyConfig, TaskConfig, task_of
from assets.policies.lessons import lessons_of
from assets.policies.training import arena_of_task
from assets.policies.trajectory_filter import trajectory_filter
from models.scheduling.priority_key import search_key
from warehouse import Warehouse, replace_partition


class PriorityKeyConfig(TaskConfig):
    search: KeyConfig = KeyConfig()
    seed: int = Field(default=1, ge=0, description="Seed of the search")


@dg.asset(
    key=["policies", "priority_key"],
    deps=[trajectory_filter, jobs],
    partitions_def=SOURCES,
    group_name="policies",
    owners=OWNERS,
    kinds={"numba", "duckdb"},
    metadata=table_metadata("policies.priority_keys"),
)
def priority_key(
    context: dg.AssetExecutionContext, config: PriorityKeyConfig, warehouse: dg.ResourceParam[Warehouse]
) -> dg.MaterializeResult:
    """The best order of the form submit + c * estimate^a * procs^b on windows of the training part, found by random search
    and CMA-ES: a learned policy that loses to it is not worth deploying."""

    source = context.partition_key
    trace, test_position = load_trained_trace(warehouse, source)
    lessons = lessons_of(warehouse, trace, test_position, config.goal, 1)
    windows = lessons.windows.some(np.random.default_rng(config.seed), config.search.windows)
    with progress_bar(f"searching a key for {source}", config.search.random_keys + config.search.steps) as bar:
        search = search_key(arena_of_task(trace, task_of(config)), windows, config.search, config.seed, bar.update)
    best = search.best
    rows = pl.DataFrame(
        [
            {"goal": config.goal, "estimates": config.estimates, "formula": best.formula}
            | {"log_c": best.log_c, "a": best.a, "b": best.b, "cost": search.cost}
            | {"keys_tried": len(search.tried), "trained_jobs": test_position}
        ]
    )
    with warehouse.write() as connection:
        replace_partition(connection, "policies.priority_keys", source, rows)
    return dg.MaterializeResult(metadata={"dagster/row_count": 1, "key": table(rows)})
