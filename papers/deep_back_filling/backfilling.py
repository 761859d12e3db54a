"""The asset experiments/backfilling: agents that pick what starts past a blocked job, on jobs later than all they learned from."""

import dagster as dg
from pydantic import Field

from assets.common.asset import asset
from assets.common.describe import plot, table_metadata
from assets.common.partitions import SOURCES
from assets.common.trace import load_trace
from assets.experiments.agents import AgentsConfig, judge_agents, shown_results
from assets.ingest.core_jobs import jobs
from assets.predictions.runtime_predictions import runtime_predictions
from papers.deep_back_filling.plots import queue_over_time, wait_by_tail, who_waits
from warehouse import Warehouse


class BackfillingConfig(AgentsConfig):
    policy: str = Field(default="FCFS", description="The policy beside which agents pick")
    agents: list[str] = Field(
        default=[
            "pick:by=shortest,window=64-63",
            "pick:by=shortest,window=64-63,guard=none",
            "pick:by=shortest,window=127-0,guard=none,must=1",
            "pick:by=shortest,from=all,window=20-0",
            "pick:by=shortest,from=all,window=19-1",
            "pick:by=shortest,from=all,window=10-10",
            "pick:by=shortest,from=all,window=0-20",
        ],
        min_length=1,
        description="What agents pick from, and the rule that they start from. The third is RLBackfilling's protocol, the last four are "
        "Deep Back-Filling's windows",
    )


@asset(
    key=["experiments", "backfilling"],
    deps=[jobs, runtime_predictions],
    partitions_def=SOURCES,
    group_name="experiments",
    tags={"cost": "hours", "paper": "deep_back_filling"},
    kinds={"pytorch", "numba"},
    metadata=table_metadata("experiments.verdicts"),
)
def backfilling(
    context: dg.AssetExecutionContext, config: BackfillingConfig, warehouse: dg.ResourceParam[Warehouse]
) -> dg.MaterializeResult:
    """Agents that pick what is backfilled (Deep Back-Filling, RLBackfilling), the rules with the same view, and the rules with any,
    on the jobs of one continuous replay that are later than everything that was learned from or chosen by."""
    trace = load_trace(warehouse, context.partition_key)
    decisions = [(config.policy, agent) for agent in config.agents]
    verdicts, differences = judge_agents(context, warehouse, trace, config, "backfilling", decisions)
    pictures = {
        "wait_by_tail": plot(wait_by_tail(verdicts)),
        "queue": plot(queue_over_time(trace, config.policy, config.agents)),
        "who_waits": plot(who_waits(trace, config.policy, config.agents)),
    }
    return dg.MaterializeResult(metadata=shown_results(verdicts, differences) | pictures)
