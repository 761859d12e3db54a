"""One configuration gives the recipe of every method."""

from __future__ import annotations

from typing import get_args

import pytest
from pydantic import ValidationError

from assets.experiments.config import LearningConfig
from models.scheduling.options import LearningMethod


@pytest.mark.parametrize("method", get_args(LearningMethod))
def test_recipes_have_the_settings_of_the_configuration(method: LearningMethod) -> None:
    config = LearningConfig(start="key", cautious=False)
    recipe = config.recipe(method)
    assert (recipe.method, recipe.start, recipe.cautious) == (method, "key", False)
    assert recipe.ppo.layout == "informed" and recipe.imitation.passes == 10
    plain = config.recipe(method, "plain")
    assert plain.ppo.layout == "plain" and plain.evolution == recipe.evolution
    assert config.ppo.layout == "informed", "the configuration stays as it is"


def test_other_methods_are_refused() -> None:
    with pytest.raises(ValidationError, match="method"):
        LearningConfig().recipe("guessing")
