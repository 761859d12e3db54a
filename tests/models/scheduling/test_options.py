"""Options: what is not one of the words is refused where it comes in."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from pydantic import ValidationError

from models.scheduling.options import PAPER_PPO, InputLayout, LearningMethod, PolicyRules, PPOOptions, Recipe
from simulator.jobs.words import RULE_SETS
from simulator.policies.observation import AGENT_LAYOUTS, LAYOUTS


def test_the_words_are_those_of_the_simulator() -> None:
    assert set(get_args(InputLayout)) == set(LAYOUTS) | set(AGENT_LAYOUTS)
    assert set(get_args(PolicyRules)) < set(RULE_SETS)


@pytest.mark.parametrize(
    ("model", "wrong"),
    [
        (Recipe, {"method": "sgd"}),
        (Recipe, {"start": "fcfs"}),
        (PPOOptions, {"layout": "wide"}),
        (PPOOptions, {"reward": "absolute"}),
        (PPOOptions, {"baseline": "mean"}),
        (PPOOptions, {"epochs": 0}),
        (PPOOptions, {"critic_layers": []}),
        (PPOOptions, {"critic_layers": [64, 0]}),
        (PPOOptions, {"critic_layers": [6.5]}),
    ],
)
def test_other_words_are_refused(model: Any, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        model(**wrong)


def test_siblings_must_fit() -> None:
    with pytest.raises(ValidationError, match="at least 2 siblings"):
        PPOOptions(siblings=1)
    with pytest.raises(ValidationError, match=r"trajectories \(10\) must be a multiple of siblings \(4\)"):
        PPOOptions(trajectories=10)
    assert PAPER_PPO.siblings == 1 and PAPER_PPO.baseline == "critic"


def test_another_critic_is_another_training_and_the_usual_one_is_as_before() -> None:
    assert "critic_layers" not in PPOOptions(critic_layers=[32, 16, 8]).model_dump()
    wide = PPOOptions(critic_layers=[64, 32, 8])
    assert wide.model_dump()["critic_layers"] == [64, 32, 8] and PPOOptions(**wide.model_dump()) == wide


@pytest.mark.parametrize("method", get_args(LearningMethod))
def test_epochs_are_those_of_the_method(method: LearningMethod) -> None:
    recipe = Recipe(method=method)
    longer = recipe.with_epochs(7)
    assert longer.epochs == 7 and recipe.epochs == Recipe(method=method).epochs != 7
    others = [name for name in get_args(LearningMethod) if name != method]
    assert all(getattr(longer, name) == getattr(recipe, name) for name in others)
