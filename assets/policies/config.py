"""Configuration that the assets which train policies share, for the launchpad."""

import dagster as dg
from pydantic import Field

from assets.policies.training import PolicyTask
from models.scheduling.options import (
    EvolutionOptions,
    HindsightOptions,
    ImitationOptions,
    KeySearchOptions,
    PPOOptions,
)


class TaskConfig(dg.Config):
    """What policies are trained for. The assets of the group `policies` must all have the same."""

    goal: str = Field(
        default="bsld", description="What to make small: bsld, wait, 0.7*bsld + 0.001*wait, bsld:max_user, ..."
    )
    backfill: str = Field(default="easy", description="Backfilling: none, easy or easy-sjbf")
    estimates: str = Field(
        default="predicted", description="Run times the scheduler believes: requested, predicted, ..."
    )


class KeyConfig(dg.Config, KeySearchOptions):
    pass


class PPOConfig(dg.Config, PPOOptions):
    pass


class EvolutionConfig(dg.Config, EvolutionOptions):
    pass


class ImitationConfig(dg.Config, ImitationOptions):
    pass


class HindsightConfig(dg.Config, HindsightOptions):
    pass


def task_of(config: TaskConfig) -> PolicyTask:
    """The task of a configuration, under the standard rules."""
    return PolicyTask(config.goal, config.backfill, config.estimates)
