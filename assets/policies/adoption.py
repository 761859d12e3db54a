"""Agents that pick what is backfilled, or inspect picks: the best of a training challenges the champion of its kind."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import polars as pl

from assets.common.storage import remove_unused_models
from assets.policies.registry import POLICY_COLUMNS, Candidate, champion_agent, learned_kind, promote
from assets.policies.training import PolicyTask, TrainingSetup, store_policy
from models.scheduling.learning.training_run import JudgedPolicy
from models.scheduling.options import Recipe
from warehouse import Warehouse

AGENT_CARD = ("source", "cluster_procs", "agent", "base", *POLICY_COLUMNS)
"""What the file of an agent in the warehouse says of itself."""


def adopt_agents(
    warehouse: Warehouse, setup: TrainingSetup, policies: Sequence[JudgedPolicy], accept_trade: bool = False
) -> tuple[pl.DataFrame, pl.DataFrame, str]:
    """Keeps newly trained agents, of which the best challenges the champion on the jobs that confirmed it.

    setup: of an agent, whose lessons have jobs that confirm. policies: one for each seed. accept_trade: as
    models.judging.judge.takes_over has it. Returns what assets.policies.registry.promote does.
    """
    task, confirming = setup.task, setup.lessons.confirming
    assert setup.arena.agent is not None and task.agent is not None and confirming is not None
    learns, source = learned_kind(setup.arena.agent), setup.trace.source
    candidates = []
    for policy in policies:
        parameters = json.dumps(policy.trained.parameters | {"agent": task.agent, "base": task.base})
        changed = {"parameters": parameters} | ({"backfill": task.agent} if learns == "backfilling" else {})
        card = setup.card(policy, AGENT_CARD, **changed)
        stored = store_policy(source, f"{learns}-{policy.seed}", policy.trained.weights, card, task.agent)
        row = {name: card[name] for name in POLICY_COLUMNS}
        candidates.append(Candidate(row | stored, policy.trained.weights))
    promoted = promote(warehouse, source, setup.arena, candidates, confirming.scored, None, accept_trade)
    remove_unused_models(source, learns, promoted[0]["file"])
    return promoted


def lesson_of_champion(warehouse: Warehouse, source: str, learns: str) -> tuple[PolicyTask, Recipe] | None:
    """What the champion of this kind was trained for, and how, None where none is kept."""
    champion = champion_agent(warehouse, source, learns)
    if champion is None:
        return None
    row = champion.row
    parameters: dict[str, Any] = json.loads(row["parameters"])
    backfill = "easy" if learns == "backfilling" else row["backfill"]
    task = PolicyTask(row["goal"], backfill, row["estimates"], agent=parameters["agent"], base=parameters["base"])
    return task, Recipe(**{name: parameters[name] for name in Recipe.model_fields if name in parameters})
