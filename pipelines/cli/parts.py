"""Options of commands that score a part of a replay: a period, a queue, a user, an account."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

OPTIONS = {
    "period": "--period",
    "begin": "--from",
    "end": "--to",
    "queue": "--queue",
    "user": "--user",
    "account": "--account",
}
"""Fields of assets.what_if.scored_part.PartOptions, and what they are called here."""
METAVARS = {"period": "PERIOD", "begin": "TIME", "end": "TIME"}
HELP = {
    "period": "Score jobs submitted in last-month (the last complete one), in a month such as 2026-03, or in the last days of the log, "
    "such as last-30-days. The replay begins with the log's first job all the same.",
    "begin": "Score jobs submitted then or later: 2026-03-01, 2026-03-01T14:30, or a second of the log's own clock.",
    "end": "Score jobs submitted before then.",
    "queue": "Score jobs of this queue, or partition.",
    "user": "Score jobs of this user, as the warehouse names users.",
    "account": "Score jobs of this account.",
}


def part_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options to a command, which takes them by their names in PartOptions with `scored_` before them."""
    for name in reversed(OPTIONS):
        command = click.option(OPTIONS[name], f"scored_{name}", metavar=METAVARS.get(name, "NAME"), help=HELP[name])(
            command
        )
    return command


def take_part(given: dict[str, Any]) -> dict[str, str]:
    """Takes the options of the part out of all that were given."""
    asked = {name: given.pop(f"scored_{name}") for name in OPTIONS}
    return {name: value for name, value in asked.items() if value is not None}
