"""What a search may change: edits whose numbers and words are left open, with their bounds, and the file that lists them."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

OPEN = "{}"
"""In an edit: a value that is left open."""
SETTINGS_TABLE = "settings"
"""The table of a file of knobs."""
LOG_FROM = 8.0
"""Bounds whose ratio is larger are searched by their logarithm."""
_DIGITS = 3
"""Values have so many significant digits."""
_EXPECTED = 'expected [low, high] or a list of words, such as [1000, 100000] or ["yes", "no"]'

Values = tuple[str | None, ...]
"""The texts of the open values of a knob, all None where it stays as it is."""
Candidate = tuple[Values, ...]
"""The values of each knob."""


@dataclass(frozen=True)
class OpenValue:
    """low, high: the bounds of a number. words: in place of bounds."""

    low: float = 0.0
    high: float = 0.0
    words: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether the number is a whole one."""
        return float(self.low).is_integer() and float(self.high).is_integer()

    @property
    def is_log(self) -> bool:
        """Whether it is searched by its logarithm."""
        return self.low > 0 and self.high / self.low >= LOG_FROM

    def text(self, value: float) -> str:
        """A number as an edit has it, with _DIGITS digits, within the bounds."""
        kept = min(max(float(f"{value:.{_DIGITS}g}"), self.low), self.high)
        return str(round(kept)) if self.is_whole else np.format_float_positional(kept, trim="-")

    @property
    def ends(self) -> tuple[str, str]:
        """Both ends of the bounds, or the first and the last word."""
        return (self.words[0], self.words[-1]) if self.words else (self.text(self.low), self.text(self.high))


@dataclass(frozen=True)
class Knob:
    """An edit with open values, such as `PriorityWeightAge={}`. Where it has several, they change together."""

    template: str
    values: tuple[OpenValue, ...]

    def edit(self, texts: Sequence[str | None]) -> str | None:
        """The edit with these values, None where they stay as they are."""
        if all(text is None for text in texts):
            return None
        parts = self.template.split(OPEN)
        return parts[0] + "".join(f"{text}{part}" for text, part in zip(texts, parts[1:], strict=True))

    @property
    def unchanged(self) -> Values:
        """The values of a knob that stays as it is."""
        return (None,) * len(self.values)

    @property
    def line(self) -> str:
        """The knob as a line of the file."""
        bounds = [_bounds_text(each) for each in self.values]
        return f"'{self.template}' = {bounds[0] if len(bounds) == 1 else '[' + ', '.join(bounds) + ']'}"


def _bounds_text(value: OpenValue) -> str:
    if value.words:
        return "[" + ", ".join(f'"{word}"' for word in value.words) + "]"
    return "[" + ", ".join(value.ends) + "]"


def edits_of(knobs: Iterable[Knob], candidate: Candidate) -> tuple[str, ...]:
    """The edits of a candidate."""
    made = (knob.edit(texts) for knob, texts in zip(knobs, candidate, strict=True))
    return tuple(edit for edit in made if edit is not None)


def knobs_text(knobs: Iterable[Knob]) -> str:
    """The file that lists these knobs."""
    return "\n".join([f"[{SETTINGS_TABLE}]", *(knob.line for knob in knobs)]) + "\n"


def read_knobs(path: Path) -> tuple[Knob, ...]:
    """The knobs of a file. Raises ValueError that names file and line and says what is expected."""
    text = path.read_text()
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(
            f"{path}: {error}; expected a table [{SETTINGS_TABLE}] of lines such as 'bf_interval={OPEN}' = [30, 300]"
        ) from None
    if set(table) != {SETTINGS_TABLE} or not isinstance(table[SETTINGS_TABLE], dict) or not table[SETTINGS_TABLE]:
        raise ValueError(
            f"{path}: expected one table [{SETTINGS_TABLE}] with at least one line such as 'bf_interval={OPEN}' = [30, 300]"
        )
    lines = text.splitlines()
    knobs = []
    for template, bounds in table[SETTINGS_TABLE].items():
        line = next((number for number, each in enumerate(lines, 1) if template in each), 1)
        try:
            knobs.append(_knob_of(template, bounds))
        except ValueError as error:
            raise ValueError(f"{path}, line {line}: {template!r}: {error}") from None
    return tuple(knobs)


def _knob_of(template: str, bounds: Any) -> Knob:
    count = template.count(OPEN)
    if not count:
        raise ValueError(f"expected an edit with {OPEN} in the place of its value, such as 'bf_interval={OPEN}'")
    if count == 1:
        return Knob(template, (_open_value(bounds),))
    if not isinstance(bounds, list) or len(bounds) != count:
        raise ValueError(f"expected a list of {count} bounds, one for each {OPEN}")
    return Knob(template, tuple(_open_value(each) for each in bounds))


def _open_value(bounds: Any) -> OpenValue:
    if not isinstance(bounds, list) or len(bounds) < 2:
        raise ValueError(_EXPECTED)
    if all(isinstance(each, str) for each in bounds):
        return OpenValue(words=tuple(bounds))
    if len(bounds) != 2 or not all(isinstance(each, int | float) and not isinstance(each, bool) for each in bounds):
        raise ValueError(_EXPECTED)
    low, high = bounds
    if not low < high:
        raise ValueError(f"the lower bound {low} is not below the upper one, {high}")
    return OpenValue(low, high)
