"""Lines of slurm.conf and its companions: comments, continued lines, included files, and pairs of key and value.

Syntax: Slurm's man page slurm.conf(5).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from traces.cluster.notes import ConfigurationError, Entry, TextFile

_COMMENT = re.compile(r"(?<!\\)#.*")
_INCLUDE = re.compile(r"\s*include\s+(\S+)\s*", re.IGNORECASE)
_PAIR = re.compile(r"""\s*([\w.\[\]/-]+)\s*=\s*(?:"([^"]*)"(?=\s|$)|'([^']*)'(?=\s|$)|(\S*))""")
"""A value in quotes only before a blank, else all up to the next blank: `AuthInfo="cred_expire=1200","ttl=1500"`."""
_TEMPLATE = re.compile(r"\{\{|\{%|\{#|<%")

Finder = Callable[[str], TextFile | None]
"""Gives the file of a path that an Include names, None where there is none."""


@dataclass(frozen=True)
class ConfLine:
    """The pairs of one line, continued lines included, each with the line that its key is in."""

    file: str
    line: int
    entries: tuple[Entry, ...]


def conf_lines(file: TextFile, finder: Finder = lambda path: None, within: tuple[str, ...] = ()) -> Iterator[ConfLine]:
    """The lines of a file with pairs, and of the files that it includes, in order. within: the files that include this one.

    Raises ConfigurationError, with file and line, for what is no pair, a template, and a file that is missing or includes itself.
    """
    for text, starts in _joined(file):
        include = _INCLUDE.fullmatch(text)
        if include is None:
            entries = tuple(_pairs(file.name, text, starts))
            if entries:
                yield ConfLine(file.name, starts[0][1], entries)
            continue
        path, line = include.group(1), starts[0][1]
        included = finder(path)
        if included is None:
            raise ConfigurationError(
                file.name, line, f"the file {path}, which this line includes", "Copy it next to slurm.conf"
            )
        if included.name in (*within, file.name):
            raise ConfigurationError(file.name, line, f"a file that does not include itself, found {path}")
        yield from conf_lines(included, finder, (*within, file.name))


def _joined(file: TextFile) -> Iterator[tuple[str, list[tuple[int, int]]]]:
    """Each line with those that continue it, without comments, and (place in the text, line) of each part."""
    text, starts = "", []
    for number, line in enumerate(file.text.splitlines(), 1):
        part = _COMMENT.sub("", line).rstrip()
        if _TEMPLATE.search(part):
            raise ConfigurationError(
                file.name,
                number,
                f"a configuration, but this is a template: {part.strip()[:60]!r}",
                "Render it first, or take /etc/slurm/slurm.conf of the running cluster",
            )
        starts.append((len(text), number))
        text += part.removesuffix("\\")
        if part.endswith("\\"):
            continue
        if text.strip():
            yield text, starts
        text, starts = "", []
    if text.strip():
        yield text, starts


def _pairs(file: str, text: str, starts: list[tuple[int, int]]) -> Iterator[Entry]:
    place = 0
    while text[place:].strip():
        match = _PAIR.match(text, place)
        line = max(number for begin, number in starts if begin <= place + _blanks(text, place))
        if match is None:
            expected = f"pairs such as CPUs=4 with blanks between, found {text[place:].strip()[:60]!r}"
            raise ConfigurationError(file, line, expected, "Correct the line, or put a # before it")
        value = next((group for group in match.groups()[1:] if group is not None), "")
        yield Entry(file, line, match.group(1), value)
        place = match.end()


def _blanks(text: str, place: int) -> int:
    return len(text) - place - len(text[place:].lstrip())
