"""Configuration that the experiments on policies share."""

import dagster as dg
from pydantic import Field

from assets.policies.config import EvolutionConfig, HindsightConfig, KeyConfig, PPOConfig, text_field
from models.scheduling.options import ImitationOptions, InputLayout, Recipe


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
