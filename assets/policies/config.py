"""Configuration that the assets which train policies share, for the launchpad."""

from typing import Any, get_args

import dagster as dg
from pydantic import BaseModel, Field

from assets.policies.training import PolicyTask
from models.scheduling.options import (
    EvolutionOptions,
    HindsightOptions,
    ImitationOptions,
    KeySearchOptions,
    PPOOptions,
)


def text_field(options: type[BaseModel], name: str, **changes: Any) -> Any:
    """A field of the options that takes one of several words, as text for the launchpad. changes: to the Field.

    Dagster ignores the default of a nested configuration where a field is a Literal, so configurations have text there.
    """
    field = options.model_fields[name]
    words = "|".join(get_args(field.annotation))
    return Field(**({"default": field.default, "description": field.description, "pattern": f"^({words})$"} | changes))


class TaskConfig(dg.Config):
    """What policies are trained for. The assets of the group `policies` must all have the same."""

    goal: str = Field(
        default="bsld", description="What to minimize: bsld, wait, 0.7*bsld + 0.001*wait, bsld:max_user, ..."
    )
    backfill: str = Field(default="easy", description="Backfilling: none, any, easy or easy-sjbf")
    estimates: str = Field(default="predicted", description="Run times the scheduler uses: requested, predicted, ...")


class KeyConfig(dg.Config, KeySearchOptions):
    pass


class PPOConfig(dg.Config, PPOOptions):
    layout: str = text_field(PPOOptions, "layout")  # type: ignore[assignment]
    reward: str = text_field(PPOOptions, "reward")  # type: ignore[assignment]
    baseline: str = text_field(PPOOptions, "baseline")  # type: ignore[assignment]


class EvolutionConfig(dg.Config, EvolutionOptions):
    pass


class ImitationConfig(dg.Config, ImitationOptions):
    pass


class HindsightConfig(dg.Config, HindsightOptions):
    pass


def task_of(config: TaskConfig) -> PolicyTask:
    """The task of a configuration, under the standard rules."""
    return PolicyTask(config.goal, config.backfill, config.estimates)
