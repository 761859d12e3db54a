"""What the experiments on agents share: rules that have the same view, rules that have any, and one way to judge them all.

Configuration that the experiments on policies share.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import dagster as dg
import polars as pl
from pydantic import Field

from assets.common.describe import table
from assets.common.trace import Trace
from assets.policies.config import EvolutionConfig, HindsightConfig, KeyConfig, PPOConfig, text_field
from assets.policies.training import PolicyTask, TrainingSetup, arena_of_task, split_of
from assets.policies.verdicts import BOUNDED_KEY, JudgedRule
from models.scheduling.options import AGENT_PPO, ImitationOptions, InputLayout, Recipe
from models.scheduling.search.priority_key import search_guarded_key, searched_jobs
from papers.experiment_tables import (
    ExperimentEntry,
    comparisons,
    costs_of,
    trained_entries,
    verdicts_on,
    write_results,
)
from simulator.policies.agents import PICKING_RULES, Agent, agent_text, parse_agent
from simulator.policies.registry import assisted
from warehouse import Warehouse

if TYPE_CHECKING:
    import dagster as dg


class LearningConfig(dg.Config):
    methods: list[str] = Field(default=["ppo", "evolution", "imitation"], description="Ways of training")
    start: str = text_field(Recipe, "start")
    cautious: bool = Field(
        default=True, description="Keep what it starts from unless the policy is significantly better"
    )
    seeds: list[int] = Field(default=[1, 2, 3, 4, 5], min_length=1, description="Training seeds")
    ppo: PPOConfig = PPOConfig(layout="informed")
    evolution: EvolutionConfig = EvolutionConfig()
    hindsight: HindsightConfig = HindsightConfig()
    key: KeyConfig = KeyConfig()

    def recipe(self, method: str, layout: InputLayout | None = None) -> Recipe:
        """How a policy is learned. layout: instead of the one in `ppo`. Raises ValueError for another method."""
        names = {"start", "cautious", "ppo", "evolution", "hindsight", "key"}
        settings = self.model_dump(include=names)
        recipe = Recipe.model_validate({"method": method, "imitation": ImitationOptions(passes=10), **settings})
        if layout is None:
            return recipe
        return recipe.model_copy(update={"ppo": recipe.ppo.model_copy(update={"layout": layout})})


# --- agents


SAME_VIEW = ("oldest", "shortest", "narrowest", "smallest")
KEPT_FREE = (1 / 16, 1 / 4, 3 / 8)
"""Shares of the cluster that the keep-free rules leave to short jobs."""


class AgentsConfig(LearningConfig):
    methods: list[str] = Field(default=["ppo", "evolution"], description="Ways of training: ppo, evolution")
    start: str = text_field(Recipe, "start", default="rule")
    ppo: PPOConfig = PPOConfig(**AGENT_PPO.model_dump())
    goal: str = Field(default="bsld", description="What is made small")
    estimates: list[str] = Field(default=["requested"], description="Run times the scheduler uses, each judged apart")
    training_window_jobs: int = Field(default=512, ge=32, description="Jobs in a window of training")


def unlearned(policy: str, agent: Agent, estimates: str) -> JudgedRule:
    """An agent that decides by its rule, beside a policy."""
    return JudgedRule(f"{policy}, {agent_text(agent)}", policy, estimates=estimates, agent=agent)


def rules_with_the_view(policy: str, agent: Agent, estimates: str) -> list[JudgedRule]:
    """All picking rules from the agent's candidates, or all inspecting rules."""
    if not agent.picking.by:
        names = ("inspect:unfit",)
        return [unlearned(policy, parse_agent(name), estimates) for name in names]
    picking = agent.picking._replace(must=False)
    return [unlearned(policy, Agent(picking._replace(by=PICKING_RULES[by])), estimates) for by in SAME_VIEW]


def rules_with_any_view(estimates: str, cluster_procs: int) -> list[JudgedRule]:
    """What anybody could use instead: EASY's kin, first fit, orders that are known to be good, and rules that keep processors free."""
    rules = [
        JudgedRule("FCFS", "FCFS", "easy", estimates),
        JudgedRule("EASY-SJBF", "FCFS", "easy-sjbf", estimates),
        JudgedRule("conservative", "FCFS", "conservative", estimates),
        JudgedRule("SJF", "SJF", "easy", estimates),
        JudgedRule("SAF", "SAF", "easy", estimates),
        *(JudgedRule(f"{policy}, first fit", policy, "any", estimates) for policy in ("FCFS", "SJF", "SAF")),
    ]
    for share in KEPT_FREE:
        kept = max(round(share * cluster_procs), 1)
        keeping = parse_agent(f"pick:from=all,keep_free={kept}")
        rules.append(replace(unlearned("SAF", keeping, estimates), name=f"SAF, first fit, {kept} kept free"))
    return rules


def judge_agents(
    context: dg.AssetExecutionContext,
    warehouse: Warehouse,
    trace: Trace,
    config: AgentsConfig,
    experiment: str,
    decisions: list[tuple[str, str]],
    others: tuple[pl.DataFrame, pl.DataFrame, list[dict[str, Any]]] | None = None,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Trains and judges agents and their rivals on the later half of a trace, and writes it down.

    decisions: policies and the agents beside them, as simulator.policies.agents.parse_agent reads these. others: rows of the same
    experiment that are written with these, of window_costs, comparisons and policies. Returns the rows of
    experiments.verdicts and of experiments.comparisons: each against the rules with its view, EASY-SJBF and the tuned key.
    """
    split = split_of(trace, config.training_window_jobs)
    entries: list[ExperimentEntry] = []
    stored = []
    for estimates in config.estimates:
        arena = arena_of_task(trace, PolicyTask(config.goal, estimates=estimates))
        rules = rules_with_any_view(estimates, trace.cluster_procs)
        for policy, text in decisions:
            rules += [unlearned(policy, parse_agent(text), estimates)]
            rules += rules_with_the_view(policy, parse_agent(text), estimates)
        key = search_guarded_key(arena, searched_jobs(split.trained_jobs), config.key, 1).best
        rules.append(JudgedRule("key", key.formula, "easy", estimates))
        for rule in {rule.name: rule for rule in rules}.values():
            place = replace(arena, backfill=rule.backfill)
            chosen = rule.policy if rule.agent is None else assisted(rule.policy, rule.agent)
            chosen = key.policy if rule.name == "key" else chosen
            entries.append(ExperimentEntry(rule.name, estimates, None, None, place.costs(chosen, split.judge), rule))
        for policy, text in decisions:
            task = PolicyTask(config.goal, "easy", estimates, "standard", config.training_window_jobs, text, policy)
            setup = TrainingSetup.on_split(trace, task, split)
            recipes = [config.recipe(method) for method in config.methods]
            learned, policies = trained_entries(context, setup, experiment, recipes, config.seeds)
            entries += learned
            stored += policies
    labels = {"experiment": experiment, "rules": "standard", "backfill": "agents", "goal": config.goal}
    rivals = [(entry.policy, entry.estimates) for entry in entries if entry.seed is None and _is_rival(entry)]
    rows, differences = costs_of(entries, split.judge, labels), comparisons(entries, split.judge, labels, rivals)
    judged = {"experiment": experiment, "goal": config.goal}
    verdicts = verdicts_on(trace, entries, [BOUNDED_KEY], split.judge.scored, judged)
    if others is not None:
        rows, differences = pl.concat([rows, others[0]], how="vertical_relaxed"), pl.concat([differences, others[1]])
        stored += others[2]
    write_results(warehouse, trace.source, experiment, rows, differences, stored, verdicts)
    return verdicts, differences


def shown_results(verdicts: pl.DataFrame, differences: pl.DataFrame) -> dict[str, Any]:
    """What the UI shows of an experiment on agents."""
    columns = ("policy", "estimates", "seed", "average_bounded_slowdown", "average_wait_s", "max_wait_s", "verdict")
    return {
        "dagster/row_count": verdicts.height,
        "verdicts": table(verdicts.select(columns)),
        "comparisons": table(differences),
    }


def _is_rival(entry: ExperimentEntry) -> bool:
    """Whether others are compared with it: rules with the same view, the usual one of the cluster, and the tuned key."""
    assert entry.rule is not None
    return entry.rule.agent is not None or entry.policy in ("EASY-SJBF", "SAF", "key")
