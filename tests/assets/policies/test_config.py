"""Configurations as Dagster fills them: words as text, and defaults of nested ones stay."""

from typing import Any

import dagster as dg
import pytest

from assets.policies.config import PPOConfig, TaskConfig, task_of
from assets.policies.scheduling_policy import SchedulingPolicyConfig
from models.scheduling.options import PPOOptions, Recipe

QUICK = {"epochs": 2, "trajectories": 6}


class Nested(dg.Config):
    ppo: PPOConfig = PPOConfig(epochs=30, reward="plain", baseline="critic", siblings=1, trajectories=100)


def filled(config: dict[str, Any]) -> PPOConfig:
    """The nested configuration that an asset gets."""
    seen: list[PPOConfig] = []

    @dg.op
    def read(config: Nested) -> None:
        seen.append(config.ppo)

    @dg.job
    def job() -> None:
        read()

    assert job.execute_in_process(run_config={"ops": {"read": {"config": config}}}).success
    return seen[0]


def test_layers_of_the_critic() -> None:
    assert PPOOptions(**filled({}).model_dump()).critic_layers == [32, 16, 8]
    assert PPOOptions(**filled({"ppo": {"critic_layers": [64, 32, 8]}}).model_dump()).critic_layers == [64, 32, 8]
    with pytest.raises(Exception, match="each at least 1"):
        filled({"ppo": {"critic_layers": [64, 0]}})


@pytest.mark.parametrize("asked", [{}, QUICK])
def test_nested_defaults_stay_where_nothing_else_is_asked_for(asked: dict[str, Any]) -> None:
    ppo = filled({"ppo": asked} if asked else {})
    assert (ppo.reward, ppo.baseline, ppo.siblings, ppo.layout) == ("plain", "critic", 1, "plain")
    assert ppo.epochs == asked.get("epochs", 30)


def test_other_words_are_refused() -> None:
    with pytest.raises(Exception, match="String should match pattern"):
        filled({"ppo": {"reward": "absolute"}})


def test_the_nightly_recipe_is_the_default_one() -> None:
    config = SchedulingPolicyConfig()
    assert config.recipe() == Recipe() and type(config.recipe().ppo) is PPOOptions
    assert SchedulingPolicyConfig(method="evolution", start="best").recipe().method == "evolution"


def test_tasks_are_of_the_standard_rules() -> None:
    task = task_of(TaskConfig(goal="wait", backfill="none"))
    assert (task.goal, task.backfill, task.estimates, task.rules) == ("wait", "none", "predicted", "standard")
