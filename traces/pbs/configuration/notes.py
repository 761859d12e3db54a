"""Remarks as they are collected while a configuration is read, and values that are checked on the way."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from traces.cluster.description import Setting
from traces.cluster.remarks import (
    ASSUMED,
    MODELLED,
    NO_EFFECT,
    NOT_MODELLED,
    UNKNOWN_KEY,
    ConfigurationError,
    Remark,
)
from traces.pbs.rules import duration_s, kilobytes

_TRUE, _FALSE = ("true", "t", "yes", "y", "on", "1"), ("false", "f", "no", "n", "off", "0")
_INTEGERS = ("int", "count")


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
        return ConfigurationError(self.file, self.line, f"{expected} as {self.key}, found {self.value!r}", remedy)


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


def setting_of(entry: Entry, form: str) -> Setting:
    """The value of an entry in its form, see KnownKey. Durations and sizes keep their text. Raises ConfigurationError for another form."""
    text = entry.value.strip()
    if form == "bool":
        return boolean_of(entry)
    if form in _INTEGERS:
        return integer_of(entry, least=0 if form == "count" else None)
    if form == "number":
        if not re.fullmatch(r"-?[0-9]{1,15}(?:\.[0-9]*)?(?:[eE][+-]?[0-9]{1,3})?", text):
            raise entry.refuse("a number such as 0.5")
        return float(text)
    if form == "duration":
        seconds_of(entry)
    return text


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


def seconds_of(entry: Entry) -> int:
    """Seconds of a duration. Raises ConfigurationError for a text that is none."""
    try:
        return duration_s(entry.value.strip())
    except ValueError:
        raise entry.refuse("a duration such as 24:00:00 or 3600") from None


def kib_of(entry: Entry) -> int:
    """KiB of a size such as 64gb, rounded up. Raises ConfigurationError for a text that is none."""
    size = kilobytes(entry.value.strip())
    if size is None:
        raise entry.refuse("a size such as 64gb")
    return size


def amount_of(entry: Entry, resource: str) -> int:
    """An amount of a resource: seconds, MiB of `mem`, KiB of other sizes, or a number, where a fraction is rounded down."""
    text = entry.value.strip()
    if resource in ("walltime", "cput", "pcput", "soft_walltime"):
        return seconds_of(entry)
    if resource == "mem":
        return -(-kib_of(entry) // 1024)
    if re.fullmatch(r"[0-9]{1,15}\.[0-9]*", text):
        return int(float(text))
    if re.fullmatch(r"[0-9]{1,18}", text):
        return int(text)
    if kilobytes(text) is not None:
        return kib_of(entry)
    raise entry.refuse("a number or a size")


RESOURCE_NAMES = {"ncpus": "cpu", "ngpus": "gpu", "nodect": "nodes", "walltime": "time", "mem": "mem"}
"""PBS's resources by the names that limits have in a description."""
