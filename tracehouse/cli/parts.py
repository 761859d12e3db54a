"""Options of commands that score, or export, a part of the jobs: a period, a queue, a user, an account."""

from __future__ import annotations

from collections.abc import Callable, Collection
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
"""Fields of assets.replay.scored_part.PartOptions, and what they are called here."""
TIME = ("period", "begin", "end")
"""Of these, those of a time."""
METAVARS = {"period": "PERIOD", "begin": "TIME", "end": "TIME"}
HELP = {
    "period": "{does} jobs submitted in last-month (the last complete one), in a month such as 2026-03, or in the last days of the log, "
    "such as last-30-days.",
    "begin": "{does} jobs submitted then or later: 2026-03-01, 2026-03-01T14:30, or a second of the log's own clock.",
    "end": "{does} jobs submitted before then.",
    "queue": "{does} jobs of this queue, or partition.",
    "user": "{does} jobs of this user, as the warehouse names users.",
    "account": "{does} jobs of this account.",
}
WHOLE_REPLAY = " The replay begins with the log's first job all the same."


def part_options(
    does: str = "Score", names: Collection[str] = tuple(OPTIONS)
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Adds the options to a command, which takes them by their names in PartOptions with `scored_` before them. does: what the command does
    with such jobs. names: fields of PartOptions, all by default."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for name in reversed([name for name in OPTIONS if name in names]):
            text = HELP[name].format(does=does) + (WHOLE_REPLAY if name == "period" and does == "Score" else "")
            option = click.option(OPTIONS[name], f"scored_{name}", metavar=METAVARS.get(name, "NAME"), help=text)
            command = option(command)
        return command

    return add


def take_part(given: dict[str, Any], names: Collection[str] = tuple(OPTIONS)) -> dict[str, Any]:
    """Takes the options of the part out of all that were given. names: as `part_options` had them."""
    asked = {name: given.pop(f"scored_{name}") for name in names}
    return {name: value for name, value in asked.items() if value is not None}
