"""Configuration that the experiments on policies share."""

import dagster as dg
from pydantic import Field

from assets.policies.config import EvolutionConfig, HindsightConfig, KeyConfig, PPOConfig
from models.scheduling.options import ImitationOptions, Recipe


class LearningConfig(dg.Config):
    methods: list[str] = Field(default=["ppo", "evolution", "imitation"], description="Ways of training")
    start: str = Field(default="saf", description="What training starts from: nothing, key, saf or best")
    cautious: bool = Field(default=True, description="Keep what it starts from unless better beyond noise")
    seeds: list[int] = Field(default=[1, 2, 3, 4, 5], min_length=1, description="Training seeds")
    ppo: PPOConfig = PPOConfig(layout="informed")
    evolution: EvolutionConfig = EvolutionConfig()
    hindsight: HindsightConfig = HindsightConfig()
    key: KeyConfig = KeyConfig()

    def recipe(self, method: str, layout: str | None = None) -> Recipe:
        names = {"start", "cautious", "ppo", "evolution", "hindsight", "key"}
        found = Recipe(method=method, imitation=ImitationOptions(passes=10), **self.model_dump(include=names))
        return (
            found
            if layout is None
            else found.model_copy(update={"ppo": found.ppo.model_copy(update={"layout": layout})})
        )
