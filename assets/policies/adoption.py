"""The way of everything that was trained into the warehouse: the best of a training challenges the champion of its kind."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import polars as pl

from assets.common.storage import remove_unused_models
from assets.policies.registry import (
    POLICY_COLUMNS,
    TASK_COLUMNS,
    Candidate,
    champion_agent,
    champion_row,
    learned_kind,
    promote,
)
from assets.policies.training import PolicyTask, TrainingSetup, store_policy
from models.scheduling.learning.training_run import JudgedPolicy
from models.scheduling.options import Recipe
from warehouse import Warehouse

POLICY_CARD = ("source", "cluster_procs", *POLICY_COLUMNS)
AGENT_CARD = ("source", "cluster_procs", "agent", "base", *POLICY_COLUMNS)
"""What the files of policies that order the queue, and of agents, say of themselves in the warehouse."""


def adopt(
    warehouse: Warehouse,
    setup: TrainingSetup,
    policies: Sequence[JudgedPolicy],
    accept_trade: bool = False,
    name: str | None = None,
) -> tuple[pl.DataFrame, pl.DataFrame, str]:
    """Keeps what was trained, of which the best challenges the champion on the jobs that confirmed it.

    setup: its lessons have jobs that confirm. policies: one for each seed. accept_trade: as models.judging.judge.takes_over has it.
    name: of the files; by default that of its kind, and then the curves of policies that order the queue are kept, too. Returns what
    assets.policies.registry.promote does.
    """
    source, confirming, learns = setup.trace.source, setup.lessons.confirming, learned_kind(setup.arena.agent)
    assert confirming is not None
    curve = curve_of(policies) if learns == "order" and name is None else None
    name = name or ("policy" if learns == "order" else learns)
    candidates = [_candidate_of(setup, policy, f"{name}-{policy.seed}") for policy in policies]
    adopted = promote(warehouse, source, setup.arena, candidates, confirming.scored, curve, accept_trade)
    remove_unused_models(source, name, adopted[0]["file"])
    return adopted


def other_task_of_champion(warehouse: Warehouse, setup: TrainingSetup) -> dict[str, str] | None:
    """What the champion among the policies that order the queue is for, where that is not what the setup trains for; None where it is,
    or there is no champion."""
    champion = champion_row(warehouse, setup.trace.source, "order")
    if champion is None:
        return None
    task = {name: champion[name] for name in TASK_COLUMNS["order"]}
    return None if task == {name: getattr(setup.task, name) for name in task} else task


def curve_of(policies: Sequence[JudgedPolicy]) -> pl.DataFrame:
    """Rows of policies.training_curve."""
    rows = [{"seed": policy.seed} | asdict(report) for policy in policies for report in policy.trained.curve]
    return pl.DataFrame(rows, infer_schema_length=None).with_columns(pl.col("validation_cost").cast(pl.Float64))


def _candidate_of(setup: TrainingSetup, policy: JudgedPolicy, name: str) -> Candidate:
    """A trained policy, stored as a file of this name."""
    task, parameters = setup.task, policy.trained.parameters
    names: tuple[str, ...] = POLICY_CARD
    if task.agent is not None:
        names, parameters = AGENT_CARD, parameters | {"agent": task.agent, "base": task.base}
    changed = {"parameters": json.dumps(parameters)}
    if learned_kind(setup.arena.agent) == "backfilling":
        changed |= {"backfill": str(task.agent)}
    card = setup.card(policy, names, **changed)
    row = {column: card[column] for column in POLICY_COLUMNS}
    stored = store_policy(setup.trace.source, name, policy.trained.weights, card, task.agent)
    return Candidate(row | stored, policy.trained.weights)


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
