"""Keys of configurations with their values and places, and remarks as they are collected while a configuration is read.

What a reader of configuration says about each key: where it went, or what it would have changed.

The text of a configuration file, plain or packed.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from traces.cluster.description import ClusterDescription

MODELLED = "modelled"
NOT_MODELLED = "not modelled"
NO_EFFECT = "no effect"
UNKNOWN_KEY = "unknown"
ASSUMED = "assumed"
REMARK_KINDS = (MODELLED, NOT_MODELLED, UNKNOWN_KEY, ASSUMED, NO_EFFECT)
"""modelled: it is in the description. not modelled: it changes schedules, and is left out. unknown: a key that no table of ours has.
assumed: the files do not say, or are a template. no effect: it does not change schedules, or has the value that does not."""

_MOST_LETTERS = 40
"""Of a value in a sentence."""


@dataclass(frozen=True)
class Remark:
    """One key of one file. kind: one of REMARK_KINDS. line: from 1, 0 where the format has none (JSON).

    effect: what the key would have changed (not modelled), what was taken instead (assumed), "" where nothing is to be said.
    place: of a modelled key, where it went in the description, as a dotted path: `partitions.high.tier`, `scheduler.backfill_depth`.

    Raises ValueError for another kind.
    """

    file: str
    line: int
    key: str
    value: str
    kind: str
    effect: str = ""
    place: str = ""

    def __post_init__(self) -> None:
        if self.kind not in REMARK_KINDS:
            raise ValueError(f"expected a kind of {', '.join(REMARK_KINDS)}, got {self.kind!r}")

    @property
    def where(self) -> str:
        """File and line, such as `slurm.conf:12`."""
        return f"{self.file}:{self.line}" if self.line else self.file

    def __str__(self) -> str:
        said = f"{self.where}: {self.key}={self.value}" if self.value else f"{self.where}: {self.key}"
        return f"{said}: {self.effect}" if self.effect else said


@dataclass(frozen=True)
class DescribedCluster:
    """A cluster as its configuration has it, and a remark for each key that was read, in the order of files and lines."""

    description: ClusterDescription
    remarks: tuple[Remark, ...]


class ConfigurationError(ValueError):
    """A configuration that cannot be used. The message has the file, the line, what was expected, and what to do."""

    def __init__(self, file: str, line: int, expected: str, remedy: str = "") -> None:
        where = f"{file}:{line}" if line else file
        super().__init__(f"{where}: expected {expected}" + (f". {remedy}" if remedy else ""))


def with_left_out(described: DescribedCluster) -> DescribedCluster:
    """The cluster, whose description names each key once that the remarks say is left out or unknown."""
    words = [
        f"{remark.key.split()[-1].lower()}={remark.value[:_MOST_LETTERS]}: {remark.effect}"
        for remark in remarks_of(described.remarks, NOT_MODELLED, UNKNOWN_KEY)
    ]
    return replace(described, description=replace(described.description, left_out=tuple(dict.fromkeys(words))))


def remarks_of(remarks: Iterable[Remark], *kinds: str) -> tuple[Remark, ...]:
    """The remarks of these kinds, in the same order."""
    return tuple(remark for remark in remarks if remark.kind in kinds)


def sources_by_place(remarks: Iterable[Remark]) -> dict[str, str]:
    """`slurm.conf:12` for each dotted place of the description that a file says. The last one counts, as it does for the schedulers."""
    return {remark.place: remark.where for remark in remarks if remark.kind == MODELLED and remark.place}


# --- notes


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


# --- files


@dataclass(frozen=True)
class TextFile:
    """name: as messages say it. text: its content."""

    name: str
    text: str

    def lines(self, comment: str = "#") -> Iterable[tuple[int, str]]:
        """Number, from 1, and text of each line that is not blank and does not begin with `comment`."""
        for number, line in enumerate(self.text.splitlines(), 1):
            stripped = line.strip()
            if stripped and not stripped.startswith(comment):
                yield number, line.rstrip()


def read_text_file(path: Path) -> TextFile:
    """A file of text, plain or packed with gzip. Raises ConfigurationError where it cannot be read."""
    try:
        content = path.read_bytes()
        if content[:2] == b"\x1f\x8b":
            content = gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise ConfigurationError(path.name, 0, f"a file that can be read, but: {error}", "Copy it again") from error
    return TextFile(path.name.removesuffix(".gz"), content.decode("utf-8-sig", errors="replace"))
