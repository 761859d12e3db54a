"""Slurm's lists of names: `n[1-3,7]` is n1, n2, n3 and n7. The module expands them, and writes names in that form.

Syntax: Slurm's man pages of `scontrol show hostnames` and of `topology.conf`. Numbers keep their leading zeros, a name may have
several brackets, and text may follow a bracket. With several brackets the last one changes fastest.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, product

import numpy as np
from numpy.typing import NDArray

MOST_NAMES = 1_000_000
"""Names that a list may have. A typing error such as n[1-9999999999] would fill the memory."""

_ENTRY = re.compile(r"\s*((?:[^,\[\]\s]|\[[^\[\]]*\])+)\s*")
_NAME = re.compile(r"[^,\[\]\s]+")
_RANGE = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?")
_NUMBER = re.compile(r"(?<![0-9])([0-9]{1,18})(?![0-9])")
"""A number in a name. Longer rows of digits are text, so that every number fits into 64 bits."""

_Parts = tuple[tuple[str, ...], tuple[str, ...]]
"""A name: the texts before, between and behind its numbers, and those numbers."""


def expand_hostlist(text: str, most: int = MOST_NAMES) -> list[str]:
    """The names of a hostlist, in its order. [] for an empty text. Blanks around commas do not count.

    Raises ValueError, with what was expected, for unclosed brackets, for reversed and empty ranges, and for a comma without a name.
    A list of more than `most` names is refused before it is made.
    """
    if not text.strip():
        return []
    names: list[str] = []
    for entry in _entries(text):
        parts = [_alternatives(part, entry, most) for part in re.split(r"(\[[^\]]*\])", entry) if part]
        if len(names) + math.prod(len(part) for part in parts) > most:
            raise ValueError(_too_many(text, most))
        names += parts[0] if len(parts) == 1 else map("".join, product(*parts))
    return names


def compress_names(names: Iterable[str]) -> str:
    """These names as one short hostlist, each once: n7, n1, n2 and n3 become `n[1-3,7]`. "" for no name.

    The same set of names gives the same text, whatever its order. Raises ValueError as `HostNames` does.
    """
    different = sorted(set(names))
    return HostNames(different).compress(np.arange(len(different)))


class HostNames:
    """Names of nodes, prepared once, so that many sets of them are written as hostlists fast.

    Names with several numbers get several brackets where that has the same meaning: `r[1-2]n[1-4]`. Names are in the order of their
    texts, then of their numbers.
    Raises ValueError for an empty name, for one with a blank, a comma or a bracket, and for a name that comes twice.
    """

    def __init__(self, names: Sequence[str]) -> None:
        parts = [_split(name) for name in names]
        order = sorted(range(len(names)), key=lambda node: _natural(*parts[node]))
        values = list(range(1 if names else 0))
        for here, there in pairwise(order):
            if parts[here] == parts[there]:
                raise ValueError(f"the name {names[here]!r} comes twice: expected different names")
            values.append(values[-1] + (1 if _continues(parts[here], parts[there]) else 2))
        self._value = np.empty(len(names), dtype=np.int64)
        self._value[order] = values
        """Place of each node in the order of names. Values differ by 1 exactly where one name continues the other's range."""
        self._parts = {value: parts[node] for value, node in zip(values, order, strict=True)}

    def compress(self, nodes: NDArray[np.int64]) -> str:
        """The names of these nodes as a hostlist. nodes: places in the list of names, int64 (n,), all different, in any order."""
        if not len(nodes):
            return ""
        values = np.sort(self._value[nodes])
        begins = (np.flatnonzero(values[1:] - values[:-1] != 1) + 1).tolist()
        firsts, lasts = values[[0, *begins]].tolist(), values[[*(k - 1 for k in begins), -1]].tolist()
        rows_of: dict[tuple[str, ...], dict[tuple[str, ...], list[str]]] = {}
        entries: list[str] = []
        for first, last in zip(firsts, lasts, strict=True):
            texts, numbers = self._parts[first]
            ranges = rows_of.setdefault(texts, {}).setdefault(numbers[:-1], [])
            if numbers:
                number = numbers[-1]
                ranges.append(number if first == last else f"{number}-{self._parts[last][1][-1]}")
        for texts, ranges_of in rows_of.items():
            entries += [_joined(texts, row) for row in _folded(ranges_of)]
        return ",".join(entries)


def _entries(text: str) -> Iterator[str]:
    """The parts of a list between those commas that are outside of brackets."""
    place = 0
    while True:
        match = _ENTRY.match(text, place)
        end = match.end() if match else place
        if match is None or text[end : end + 1] not in (",", ""):
            raise ValueError(_fault_at(text, end))
        yield match.group(1)
        if end == len(text):
            return
        place = end + 1


def _fault_at(text: str, place: int) -> str:
    rest = text[place:].lstrip()
    if rest.startswith("["):
        opening, closing = rest.find("[", 1), rest.find("]")
        if 0 < opening < closing:
            return f"a bracket within a bracket in {_short(text)!r}: expected ranges as in n[1-3,7]"
        if closing < 0:
            return f"unclosed bracket in {_short(text)!r}: expected a closing one, as in n[1-3,7]"
    if rest.startswith("]"):
        return f"a bracket is closed that was not opened in {_short(text)!r}: expected a pair, as in n[1-3,7]"
    if rest.startswith(",") or not rest:
        return f"a name is missing at a comma of {_short(text)!r}: expected names as in n1,n2"
    return f"{_short(rest)!r} in {_short(text)!r}: expected a comma before it"


def _too_many(text: str, most: int) -> str:
    return f"{_short(text)!r} has more than {most:,} names: expected at most that many"


def _alternatives(part: str, entry: str, most: int) -> Sequence[str]:
    """What may be at this place of a name: the numbers of a bracket, or the text itself."""
    if not part.startswith("["):
        return (part,)
    numbers: list[str] = []
    for text in part[1:-1].split(","):
        match = _RANGE.fullmatch(text)
        if match is None:
            what = f"{_short(text)!r} is no range" if text.strip() else "empty range"
            raise ValueError(f"{what} in {_short(entry)!r}: expected numbers and ranges as in n[1-3,7]")
        low, high = match.group(1), match.group(2) or match.group(1)
        if int(high) < int(low):
            raise ValueError(f"reversed range {text!r} in {_short(entry)!r}: expected the lower number first")
        if high.startswith("0") and len(high) != len(low):
            raise ValueError(f"range {text!r} in {_short(entry)!r}: expected two numbers with as many digits")
        if len(numbers) + int(high) - int(low) >= most:
            raise ValueError(_too_many(entry, most))
        numbers += [f"{number:0{len(low)}d}" for number in range(int(low), int(high) + 1)]
    return numbers


def _split(name: str) -> _Parts:
    if not _NAME.fullmatch(name):
        raise ValueError(f"{_short(name)!r} cannot be in a list of names: expected no blank, comma or bracket")
    parts = _NUMBER.split(name)
    return tuple(parts[::2]), tuple(parts[1::2])


def _natural(texts: tuple[str, ...], numbers: tuple[str, ...]) -> tuple[object, ...]:
    """Sorts names by their texts, then by their numbers. Of numbers, those with fewer digits come first."""
    return texts, [(len(number), number) for number in numbers]


def _continues(before: _Parts, here: _Parts) -> bool:
    """Whether these names differ in their last number only, and the second has the next number."""
    if before[0] != here[0] or before[1][:-1] != here[1][:-1] or not here[1]:
        return False
    return _follows(here[1][-1], before[1][-1])


def _follows(number: str, before: str) -> bool:
    """Whether a range that ends with `before` may continue with `number`. `9` and `10` may follow one another, and `09` and `10`, but
    not `9` and `010`."""
    return int(number) == int(before) + 1 and (len(number) == len(before) or number[0] != "0")


def _folded(ranges_of: dict[tuple[str, ...], list[str]]) -> list[tuple[str, ...]]:
    """Ranges of the last number, by the numbers before it, in as few rows as possible. Equal ranges share a row, whose numbers are in
    brackets."""
    rows = [(*numbers, _bracket(ranges)) if ranges else () for numbers, ranges in ranges_of.items()]
    for place in reversed(range(len(rows[0]) - 1) if len(rows) > 1 else ()):
        alike: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for row in rows:
            alike[row[:place] + row[place + 1 :]].append(row[place])
        rows = [(*rest[:place], _bracket(_ranges(numbers)), *rest[place:]) for rest, numbers in alike.items()]
    return rows


def _ranges(numbers: list[str]) -> list[str]:
    """Different numbers, in ascending order, as ranges."""
    ranges = [[numbers[0], numbers[0]]]
    for number in numbers[1:]:
        if _follows(number, ranges[-1][1]):
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return [first if first == last else f"{first}-{last}" for first, last in ranges]


def _bracket(ranges: list[str]) -> str:
    """A single number needs no bracket."""
    text = ",".join(ranges)
    return text if text.isdigit() else f"[{text}]"


def _joined(texts: tuple[str, ...], row: tuple[str, ...]) -> str:
    return texts[0] + "".join(number + text for number, text in zip(row, texts[1:], strict=True))


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."


def listed(names: Sequence[str]) -> str:
    """Names as a hostlist. Some cannot be in one, such as PBS's n1[0], and stay as they are."""
    try:
        return compress_names(names)
    except ValueError:
        return ", ".join(names)
