"""A setting is declared once: a field of a pydantic model, and an Option that says how people write it. The options of commands, the
keys of scenarios, Dagster's configuration and Python's keywords are made of that."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel

_Model = TypeVar("_Model", bound=BaseModel)


@dataclass(frozen=True)
class Option:
    """How people write a setting.

    flag: the long option, where it is not the name of the field. short: its letter. metavar: what stands for a value in the help. words:
    all that it may be. form: "duration", "share" or "file" for values that are read as such. least: of a whole number. share: limits,
    and whether each is excluded. default: what the help shows, where that is not the field's. help: of the command line, where the
    description of the field does not fit there. convert: from what is written, or given in Python, to the field's value. key: what a
    scenario may give, in words, "" where scenarios cannot change it. refusable: whether some replayers do not honour it.
    is_saved: whether a saved run says what it was."""

    flag: str = ""
    short: str = ""
    metavar: str | None = None
    words: tuple[str, ...] = ()
    form: str = ""
    least: int | None = None
    share: tuple[float, float, tuple[bool, bool]] | None = None
    default: str = ""
    help: str = ""
    convert: Callable[[Any], Any] | None = None
    key: str = ""
    refusable: bool = False
    is_saved: bool = True

    def read(self, value: Any) -> Any:
        """The field's value, of one as people write it."""
        return value if self.convert is None else self.convert(value)


def options_of(*models: type[BaseModel]) -> dict[str, Option]:
    """By name of the field, in order: how people write the settings of models."""
    fields = {name: field for model in models for name, field in model.model_fields.items()}
    return {name: option for name, field in fields.items() for option in field.metadata if isinstance(option, Option)}


def written_settings(model: type[_Model], given: Mapping[str, Any]) -> _Model:
    """The settings of a model, of values as people write them. None is not given, and those of other models
    are not read. Raises ValueError with the remedy."""
    options = options_of(model)
    values = {name: given[name] for name in options if given.get(name) is not None}
    return model(**{name: options[name].read(value) for name, value in values.items()})
