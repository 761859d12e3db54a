"""The asset policies/agents: agents that backfill or inspect, trained again for sources that have some."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import dagster as dg
from pydantic import Field

from assets.common.asset import asset
from assets.common.describe import table
from assets.common.learnable import LEAST_JOBS
from assets.common.progress import progress_bar
from assets.common.storage import artefacts_folder
from assets.common.trace import load_trained_trace
from assets.core.jobs import jobs
from assets.policies.adoption import adopt, lesson_of_champion
from assets.policies.lessons import check_training
from assets.policies.registry import LAYOUTS_OF_AGENTS
from assets.policies.training import PolicyTask, TrainingSetup, split_of
from assets.predictions.runtime_predictions import runtime_predictions
from models.scheduling.options import Recipe
from warehouse import Warehouse


class AgentTrainingConfig(dg.Config):
    seeds: list[int] = Field(
        default=[1, 2, 3], min_length=1, description="Training seeds; one agent of each kind is trained per seed"
    )
    accept_trade: bool = Field(default=False, description="Also take an agent that trades, against start and champion")


@asset(
    "policies.agents",
    deps=[runtime_predictions, jobs],
    table="policies.policy_events",
    kinds={"pytorch", "numba"},
    least_jobs=LEAST_JOBS,
)
def agents(
    context: dg.AssetExecutionContext, config: AgentTrainingConfig, warehouse: dg.ResourceParam[Warehouse]
) -> dg.MaterializeResult:
    """Agents that pick what is backfilled, and inspectors, each only where `tracehouse train --learn ...` has made one champion. It is
    trained again as it was, on the training part, and the best seed challenges the champion over the newest jobs of that part."""
    source = context.partition_key
    metadata: dict[str, Any] = {"kinds trained": 0}
    for learns, task, recipe in lessons_of_champions(warehouse, source):
        trace, _ = load_trained_trace(warehouse, source)
        check_training(warehouse, trace)
        recipe = recipe.model_copy(update={"accept_trade": config.accept_trade})
        setup = TrainingSetup.on_split(trace, task, split_of(trace, task.window_jobs, 0))
        with progress_bar(f"training agents of {source}", recipe.epochs * len(config.seeds)) as bar:
            checkpoint_of = partial(_checkpoint_of, source, learns)
            seeds = setup.train(
                recipe, config.seeds, lambda seed, report: bar.update(), checkpoint_of, side_by_side=True
            )
            trained = list(seeds)
        _, events, happened = adopt(warehouse, setup, trained, config.accept_trade)
        for seed in config.seeds:
            checkpoint_of(seed).unlink(missing_ok=True)
        context.log.info(f"{learns}: {happened}")
        metadata |= {"kinds trained": metadata["kinds trained"] + 1, learns: happened, "history": table(events)}
    return dg.MaterializeResult(metadata=metadata)


def lessons_of_champions(warehouse: Warehouse, source: str) -> Iterator[tuple[str, PolicyTask, Recipe]]:
    """For each kind of which a champion is kept: the kind, what it was trained for, and how."""
    for learns in LAYOUTS_OF_AGENTS:
        lesson = lesson_of_champion(warehouse, source, learns)
        if lesson is not None:
            yield learns, *lesson


def _checkpoint_of(source: str, learns: str, seed: int) -> Path:
    return artefacts_folder() / "models" / source / f"{learns}-{seed}.checkpoint"
