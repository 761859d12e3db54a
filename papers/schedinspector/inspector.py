"""The asset experiments/inspector: inspectors that accept or reject picks, on jobs later than all they learned from."""

import dagster as dg
from pydantic import Field

from assets.common.asset import asset
from assets.common.describe import table_metadata
from assets.common.partitions import SOURCES
from assets.common.trace import load_trace
from assets.experiments.agents import AgentsConfig, judge_agents, shown_results
from assets.ingest.core_jobs import jobs
from assets.policies.config import PPOConfig
from assets.predictions.runtime_predictions import runtime_predictions
from models.scheduling.options import AGENT_PPO
from papers.schedinspector.own_rules import InspectorTrials, inspectors_by_own_rules
from warehouse import Warehouse


class InspectorConfig(AgentsConfig):
    policies: list[str] = Field(
        default=["SJF", "F1", "SAF", "FCFS"], min_length=1, description="The policies whose picks are inspected"
    )
    agent: str = Field(
        default="inspect:accept", description="What the inspector starts from: inspect:accept or inspect:unfit"
    )
    own_bases: list[str] = Field(
        default=["SJF", "F1"],
        description="Bases that are inspected under SchedInspector's own rules, too (none leaves these out)",
    )
    own_epochs: int = Field(default=40, ge=1, description="Epochs of training under these rules")
    ppo: PPOConfig = PPOConfig(**(AGENT_PPO.model_dump() | {"layout": "inspecting"}))


@asset(
    key=["experiments", "inspector"],
    deps=[jobs, runtime_predictions],
    partitions_def=SOURCES,
    group_name="experiments",
    tags={"cost": "hours", "paper": "schedinspector"},
    kinds={"pytorch", "numba"},
    metadata=table_metadata("experiments.verdicts"),
)
def inspector(
    context: dg.AssetExecutionContext, config: InspectorConfig, warehouse: dg.ResourceParam[Warehouse]
) -> dg.MaterializeResult:
    """Inspectors (SchedInspector) beside several policies, the rule that rejects what does not fit, and the rules with any view, on
    the jobs of one continuous replay that are later than everything that was learned from or chosen by. Beside it, by the paper's
    own rules, windows of 256 later jobs that begin on an empty cluster."""
    trace = load_trace(warehouse, context.partition_key)
    decisions = [(policy, config.agent) for policy in config.policies]
    own = None
    if config.own_bases:
        trials = InspectorTrials(config.own_bases, config.own_epochs, config.seeds, config.goal)
        own = inspectors_by_own_rules(context, trace, trials)
    verdicts, differences = judge_agents(context, warehouse, trace, config, "inspector", decisions, own)
    return dg.MaterializeResult(metadata=shown_results(verdicts, differences))
