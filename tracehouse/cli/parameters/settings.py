"""Options of a command: those of the settings that it takes (assets/common/writing/options.py), and those of a part of the jobs."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, get_origin

import click
from click.core import ParameterSource
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from assets.common.writing.options import Option, options_of
from tracehouse.cli.parameters.amounts import DurationType, ShareType
from tracehouse.cli.parameters.names import complete_backfilling, complete_policies

COMPLETED = {"policy": complete_policies, "backfill": complete_backfilling}
"""By setting: what a shell completes."""
OPTIONS = {
    "period": "--period",
    "begin": "--from",
    "end": "--to",
    "queue": "--queue",
    "user": "--user",
    "account": "--account",
}
"""Fields of assets.replaying.running.scored_part.PartOptions, and what they are called here."""
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


def setting_options(model: type[BaseModel], has_defaults: bool = True) -> Callable[[Callable[..., Any]], Any]:
    """Adds an option for each setting of a model to a command, which takes it by the name of its field. has_defaults: whether settings that
    are not given have the value of the model, and not None."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for name, option in reversed(options_of(model).items()):
            command = _option(name, option, model.model_fields[name], has_defaults)(command)
        return command

    return add


def without_defaults(given: dict[str, Any]) -> dict[str, Any]:
    """The values of a command that somebody gave. The model has the others, or the source."""
    context = click.get_current_context()
    return {
        name: value
        for name, value in given.items()
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT
    }


def _option(name: str, option: Option, field: FieldInfo, has_defaults: bool) -> Callable[..., Any]:
    holds_several = get_origin(field.annotation) in (list, dict)
    default = (option.default or field.default) if has_defaults and not holds_several else None
    attributes: dict[str, Any] = {
        "metavar": option.metavar,
        "help": option.help or field.description,
        "default": default,
    }
    if field.annotation is bool:
        attributes["is_flag"] = True
    else:
        attributes |= {"type": _type(option), "multiple": holds_several and option.form != "file"}
        attributes |= {"show_default": isinstance(default, str), "shell_complete": COMPLETED.get(name)}
    flag = option.flag or name.replace("_", "-")
    return click.option(f"--{flag}", *([f"-{option.short}"] if option.short else []), name, **attributes)


def _type(option: Option) -> Any:
    if option.words:
        return click.Choice(option.words)
    if option.least is not None:
        return click.IntRange(option.least)
    if option.share is not None:
        return ShareType(*option.share)
    return {"duration": DurationType(), "file": click.Path(path_type=Path)}.get(option.form)


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
