"""A setting is declared once, and is an option, an entry of the configuration, a key of scenarios and a keyword."""

from __future__ import annotations

from typing import Annotated, Any

import click
import dagster as dg
import pytest
from click.testing import CliRunner
from pydantic import BaseModel, Field

from assets.common.writing.options import Option, written_settings
from assets.replay.replay_placement import PlacementConfig
from assets.replay.replay_runs import OutageConfig, RunConfig
from assets.replay.scenarios.scenario_file import SCENARIO_KEYS
from assets.replay.settings import NodeSettings, RunSettings
from tracehouse import ReplaySettings
from tracehouse.cli.main import load_command
from tracehouse.cli.parameters.settings import setting_options


class Wider(RunSettings):
    """The settings of a replay with one more, which is declared here alone."""

    weekends: Annotated[int, Option(metavar="NUMBER", least=0, convert=int, key="a whole number")] = Field(
        default=2, description="Weekends that are left out."
    )


class WiderConfig(dg.Config, Wider):
    outages: list[OutageConfig] = []  # type: ignore[assignment]


def test_a_new_setting_is_declared_once() -> None:
    given: dict[str, Any] = {}

    @click.command()
    @setting_options(Wider)
    def command(**settings: Any) -> None:
        given.update(settings)

    help_text = CliRunner().invoke(command, ["--help"]).stdout
    assert "--weekends NUMBER" in help_text and "Weekends that are left out." in help_text
    CliRunner().invoke(command, ["--weekends", "3", "--load", "+10%"], catch_exceptions=False)
    settings = written_settings(Wider, given)
    assert (settings.weekends, settings.load) == (3, pytest.approx(1.1))
    assert settings.model_dump(exclude={"weekends", "load"}) == RunSettings().model_dump(exclude={"load"})
    assert WiderConfig.to_fields_dict()["weekends"].description == "Weekends that are left out."


@pytest.mark.parametrize("model", [RunSettings, NodeSettings])
def test_every_setting_is_written_everywhere(model: type[BaseModel]) -> None:
    options = {parameter.name: parameter for parameter in load_command("replay").params}
    assert options.keys() >= model.model_fields.keys()
    assert PlacementConfig.model_fields.keys() >= model.model_fields.keys()
    assert {"policy", "backfill", *ReplaySettings.__annotations__} >= model.model_fields.keys()
    assert (
        RunConfig.model_fields.keys()
        >= RunSettings.model_fields.keys()
        >= SCENARIO_KEYS.keys()
        - {
            "nodes",
            "procs_per_node",
        }
    )
    for name, field in model.model_fields.items():
        assert options[name].help == (
            field.description if name != "policy" else "Order of the queue, one of the list above."
        )  # type: ignore[attr-defined]
