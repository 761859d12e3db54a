"""Options that choose which jobs are scored."""

from __future__ import annotations

from typing import Any

import click
from click.testing import CliRunner

from assets.replay.scored_part import PartOptions
from tracehouse.cli.parts import OPTIONS, part_options, take_part


def test_every_field_of_a_part_has_an_option() -> None:
    assert set(OPTIONS) == set(PartOptions.model_fields)


def test_options_are_taken_out_of_the_others() -> None:
    taken: list[tuple[dict[str, str], dict[str, Any]]] = []

    @click.command()
    @click.option("--period-of-the-scheduler", "period", default=60)
    @part_options()
    def command(**others: Any) -> None:
        taken.append((take_part(others), others))

    assert CliRunner().invoke(command, ["--period", "last-month", "--queue", "long"]).exit_code == 0
    assert CliRunner().invoke(command, []).exit_code == 0
    assert taken == [({"period": "last-month", "queue": "long"}, {"period": 60}), ({}, {"period": 60})]
