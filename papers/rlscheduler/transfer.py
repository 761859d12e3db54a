"""The asset experiments/transfer: policies trained on other sources (RLScheduler, table VII)."""

import dagster as dg
import polars as pl
from pydantic import Field

from assets.common.asset import asset
from assets.common.describe import table
from assets.common.storage import read_model
from assets.common.trace import load_trace
from assets.policies.training import PolicyTask, arena_of_task
from models.scheduling.policy_file import policy_from_bytes
from papers.experiment_tables import ExperimentEntry, comparisons, costs_of, write_results
from papers.rlscheduler.published import published
from papers.rlscheduler.ten_windows import PUBLISHED_HEURISTICS, published_split
from warehouse import Warehouse


class TransferConfig(dg.Config):
    goal: str = Field(default="bsld", description="What the policies were trained for, and are judged by")


@asset("experiments.transfer", deps=[published], table="experiments.comparisons", kinds={"numba"})
def transfer(
    context: dg.AssetExecutionContext, config: TransferConfig, warehouse: dg.ResourceParam[Warehouse]
) -> dg.MaterializeResult:
    """RLScheduler's table VII: the policies that `published` trained on every source that has them, on the ten windows of this
    one, under that code's rules."""

    source = context.partition_key
    with warehouse.read() as connection:
        policies = connection.sql(
            "SELECT source, policy, backfill, seed, file, sha256 FROM experiments.policies "
            "WHERE experiment = 'published' AND goal = $goal ORDER BY ALL",
            params={"goal": config.goal},
        ).pl()
    if policies.is_empty():
        raise ValueError(
            f"no source has policies for the goal {config.goal!r}: materialize experiments/published first"
        )
    trace = load_trace(warehouse, source)
    split = published_split(trace.rows.height, 256)
    costs_by_backfill, differences = [], []
    for backfill in policies["backfill"].unique(maintain_order=True):
        arena = arena_of_task(trace, PolicyTask(config.goal, backfill, "requested", "rlscheduler"))
        entries = [
            ExperimentEntry(name, "requested", None, None, arena.costs(name, split.judge))
            for name in PUBLISHED_HEURISTICS
        ]
        for row in policies.filter(pl.col("backfill") == backfill).iter_rows(named=True):
            weights = policy_from_bytes(read_model(row["file"], row["sha256"]))[0]
            costs = arena.costs(weights, split.judge)
            entries.append(ExperimentEntry(row["policy"], "requested", row["source"], row["seed"], costs))
        labels = {"experiment": "transfer", "rules": "rlscheduler", "backfill": backfill, "goal": config.goal}
        costs_by_backfill.append(costs_of(entries, split.judge, labels))
        differences.append(comparisons(entries, split.judge, labels))
    whole = pl.concat(differences)
    write_results(warehouse, source, "transfer", pl.concat(costs_by_backfill), whole, [])
    return dg.MaterializeResult(metadata={"dagster/row_count": whole.height, "comparisons": table(whole)})
