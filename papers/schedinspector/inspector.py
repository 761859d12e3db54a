"""The asset experiments/inspector: inspectors that accept or reject picks, on jobs later than all they learned from."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import dagster as dg
import polars as pl
from pydantic import Field

from assets.common.asset import asset
from assets.common.trace import Trace, load_trace
from assets.core.jobs import jobs
from assets.policies.config import PPOConfig
from assets.policies.training import PolicyTask, TrainingSetup
from assets.predictions.runtime_predictions import runtime_predictions
from models.scheduling.arena import Windows
from models.scheduling.learning.training_run import Split
from models.scheduling.options import AGENT_PPO, PAPER_INSPECTOR, Recipe
from papers.experiment_agents import AgentsConfig, judge_agents, shown_results
from papers.experiment_tables import ExperimentEntry, comparisons, costs_of, trained_entries
from simulator.policies.agents import parse_agent
from simulator.policies.registry import assisted
from warehouse import Warehouse

if TYPE_CHECKING:
    import dagster as dg


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
    "experiments.inspector", deps=[jobs, runtime_predictions], table="experiments.verdicts", kinds={"pytorch", "numba"}
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


LEARNED_JOBS, TESTED_JOBS = 128, 256
"""Jobs in a window to learn from, and in one that chooses or tests; the paper's."""
CHOOSING_WINDOWS, TESTING_WINDOWS = 20, 100


@dataclass(frozen=True)
class InspectorTrials:
    """What is trained. bases: names in papers.rlscheduler.inspecting.INSPECTOR_BASES. epochs, seeds: of each training."""

    bases: list[str]
    epochs: int
    seeds: list[int]
    goal: str = "bsld"


def own_split(jobs: int) -> Split:
    """The windows of a log of so many jobs: the first 40 % teach, 10 % choose, and the later half tests."""
    chosen, tested = int(0.4 * jobs), int(0.5 * jobs)
    return Split(
        Windows.spread(0, chosen, min(LEARNED_JOBS, chosen // 2), 4000),
        Windows.spread(chosen, tested, min(TESTED_JOBS, (tested - chosen) // 2), CHOOSING_WINDOWS),
        None,
        Windows.spread(tested, jobs, min(TESTED_JOBS, (jobs - tested) // 2), TESTING_WINDOWS),
        tested,
    )


def inspectors_by_own_rules(
    context: dg.AssetExecutionContext, trace: Trace, trials: InspectorTrials
) -> tuple[pl.DataFrame, pl.DataFrame, list[dict[str, Any]]]:
    """Trains inspectors from random weights and tests them beside their base, the rule that rejects what does not fit, and the same
    base under the standard rules. Returns rows of experiments.window_costs, of experiments.comparisons and of experiments.policies."""
    split = own_split(trace.rows.height)
    recipe = Recipe(start="nothing", cautious=False, ppo=PAPER_INSPECTOR).with_epochs(trials.epochs)
    costs, differences, stored = [], [], []
    for backfill in ("none", "easy"):
        entries: list[ExperimentEntry] = []
        for name in trials.bases:
            task = PolicyTask(trials.goal, backfill, rules="rlscheduler", agent="inspect:accept", base=name)
            setup = TrainingSetup.on_split(trace, task, split)
            arena = setup.arena
            standard = replace(arena, rules="standard", agent=None)
            rule = assisted(arena.base, parse_agent("inspect:unfit"))
            for policy, values in (
                (name, arena.costs(arena.base, split.judge)),
                (f"{name}, inspect:unfit", arena.costs(rule, split.judge)),
                (f"{name}, standard rules", standard.costs(arena.base, split.judge)),
            ):
                entries.append(ExperimentEntry(policy, "requested", None, None, values))
            learned, policies = trained_entries(context, setup, "inspector", [recipe], trials.seeds)
            entries += learned
            stored += policies
        labels = {"experiment": "inspector", "rules": "rlscheduler", "backfill": backfill, "goal": trials.goal}
        rivals = [(entry.policy, entry.estimates) for entry in entries if entry.seed is None]
        costs.append(costs_of(entries, split.judge, labels))
        differences.append(comparisons(entries, split.judge, labels, rivals))
    return pl.concat(costs), pl.concat(differences), stored
