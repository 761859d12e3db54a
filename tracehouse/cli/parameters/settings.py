"""Options of a command, made of the settings that it takes (assets/common/writing/options.py)."""

from __future__ import annotations

from collections.abc import Callable
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
