"""Keys of configurations with their values and places, and remarks as they are collected while a configuration is read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from traces.cluster.remarks import (
    ASSUMED,
    MODELLED,
    NO_EFFECT,
    NOT_MODELLED,
    UNKNOWN_KEY,
    ConfigurationError,
    Remark,
)

_TRUE, _FALSE = ("true", "t", "yes", "y", "on", "1"), ("false", "f", "no", "n", "off", "0")


@dataclass(frozen=True)
class KnownKey:
    """What we know of a key. kind: MODELLED, NOT_MODELLED or NO_EFFECT. effect: what a key that is not modelled would have changed.

    harmless: values, in lower case, with which it changes nothing. form: of its value: "bool", "int", "count" (not negative), "number",
    "duration", "size" or "text".
    """

    kind: str
    effect: str = ""
    harmless: tuple[str, ...] = ()
    form: str = "text"


@dataclass(frozen=True)
class Entry:
    """A key with its value, at a line of a file."""

    file: str
    line: int
    key: str
    value: str

    @property
    def source(self) -> str:
        """File, line and key, such as `qmgr.txt:61 max_run`."""
        return f"{self.file}:{self.line} {self.key}" if self.line else f"{self.file} {self.key}"

    def refuse(self, expected: str, remedy: str = "") -> ConfigurationError:
        """The error of a value that is none of what was expected."""
        value = self.value if len(self.value) <= 80 else f"{self.value[:77]}..."
        return ConfigurationError(self.file, self.line, f"{expected} as {self.key}, found {value!r}", remedy)


@dataclass
class Notes:
    """The remarks so far, in the order in which keys were read."""

    remarks: list[Remark] = field(default_factory=list)

    def add(self, entry: Entry, kind: str, effect: str = "", place: str = "") -> None:
        """A remark on an entry."""
        self.remarks.append(Remark(entry.file, entry.line, entry.key, entry.value, kind, effect, place))

    def modelled(self, entry: Entry, place: str) -> None:
        """The entry is in the description at this dotted place."""
        self.add(entry, MODELLED, place=place)

    def unmodelled(self, entry: Entry, effect: str) -> None:
        """The entry changes schedules and is left out."""
        self.add(entry, NOT_MODELLED, effect)

    def assumed(self, entry: Entry, effect: str) -> None:
        """The files do not say, and this was taken."""
        self.add(entry, ASSUMED, effect)

    def by_table(self, table: Mapping[str, KnownKey], entry: Entry, name: str = "") -> None:
        """A remark on an entry that stays out of the description, from the table. name: of its row, the entry's key where it is ""."""
        row = table.get(name or entry.key)
        if row is None:
            self.add(entry, UNKNOWN_KEY, "no table of ours has this key: it may change schedules")
        elif row.kind == NOT_MODELLED and entry.value.strip().lower() not in row.harmless:
            self.add(entry, NOT_MODELLED, row.effect)
        else:
            self.add(entry, NO_EFFECT, "with this value" if row.kind == NOT_MODELLED else "")


def boolean_of(entry: Entry) -> bool:
    """Raises ConfigurationError for a text that is not True or False."""
    word = entry.value.strip().lower()
    if word not in (*_TRUE, *_FALSE):
        raise entry.refuse("True or False")
    return word in _TRUE


def integer_of(entry: Entry, least: int | None = 0) -> int:
    """Raises ConfigurationError for a text that is no whole number, or one below `least`."""
    text = entry.value.strip()
    if not re.fullmatch(r"[+-]?[0-9]{1,18}", text) or (least is not None and int(text) < least):
        raise entry.refuse("a whole number" if least is None else f"a whole number from {least}")
    return int(text)
