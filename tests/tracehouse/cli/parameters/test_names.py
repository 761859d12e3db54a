"""Names that shells complete are those that there are."""

from __future__ import annotations

import click

from pipelines.definitions import defs
from tracehouse.cli.main import load_command
from tracehouse.cli.parameters.names import ASSET_NAMES, complete_assets, complete_backfilling, complete_policies

CONTEXT, PARAMETER = click.Context(click.Command("any")), click.Option(["--any"])


def test_assets_are_those_of_the_definitions() -> None:
    keys = defs.resolve_asset_graph().get_all_asset_keys()
    assert sorted(key.to_user_string() for key in keys) == list(ASSET_NAMES)


def test_what_is_begun_is_completed() -> None:
    assert [item.value for item in complete_policies(CONTEXT, PARAMETER, "s")] == [
        "SJF",
        "smallest",
        "SAF",
        "SRF",
        "SEXP",
    ]
    assert [item.value for item in complete_backfilling(CONTEXT, PARAMETER, "easy")] == ["easy", "easy-sjbf"]
    assert [item.value for item in complete_assets(CONTEXT, PARAMETER, "+marts/l")] == ["+marts/leaderboard"]


def test_options_that_take_names_complete_them() -> None:
    for command, option in (
        ("replay", "policy"),
        ("replay", "backfill"),
        ("wait", "policy"),
        ("wait", "backfill"),
        ("run", "selections"),
    ):
        (parameter,) = [each for each in load_command(command).params if each.name == option]
        assert parameter.shell_complete(CONTEXT, "") != []
