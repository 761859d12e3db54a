"""Checks the TOML tables of a catalogue. Faults name the file and the line."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from traces.catalogue.sources import NAME, CatalogueError


class Checker:
    """Checks values of the TOML tables [section.NAME]. It fails with the file, the line, what was expected and what to do."""

    def __init__(self, path: Path, text: str, section: str = "sources") -> None:
        self.path = path
        self.section = section
        self.text = text
        self.lines = _lines_of(text)

    def tables(self, document: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
        """(name, table) of each table of the section."""
        tables = document.get(self.section, {})
        if not isinstance(tables, dict):
            self.fail(None, self.section, f"expected tables like [{self.section}.NAME]")
        for name, table in tables.items():
            if not NAME.fullmatch(name):
                self.fail(name, None, f"bad source name {name!r}: use letters, digits, dots, dashes and underscores")
            if not isinstance(table, dict):
                self.fail(name, None, f"expected a table [{self.section}.{name}]")
        return list(tables.items())

    def keys(self, table: dict[str, Any], allowed: set[str], source: str | None) -> None:
        """Fails when the table has a key that is not allowed. source: the table's name, None for the file itself."""
        for key in table:
            if key not in allowed:
                self.fail(source, key, f"unknown key {key!r}: expected one of {', '.join(sorted(allowed))}")

    def typed(self, table: dict[str, Any], key: str, kind: type, source: str | None) -> Any:
        """The value of a key, None where there is none. Fails when it is of another type."""
        value = table.get(key)
        if value is not None and (not isinstance(value, kind) or (kind is int and isinstance(value, bool))):
            self.fail(source, key, f"{key} must be a {kind.__name__}, found {value!r}")
        if isinstance(value, str) and "\0" in value:
            self.fail(source, key, f"{key} has a NUL character, which no path and no name can have: {value!r}")
        return value

    def time_zone(self, value: Any, source: str | None) -> str:
        """The value, which must be the name of a time zone."""
        try:
            ZoneInfo(value)
        except Exception:  # zoneinfo raises ValueError, OSError or its own error, depending on the text
            self.fail(
                source, "time_zone", f'unknown time zone {value!r}: expected an IANA name such as "Europe/Berlin"'
            )
        return str(value)

    def fail(self, source: str | None, key: str | tuple[str, ...] | None, problem: str) -> None:
        """Raises CatalogueError with the line of the key within the source, or of the source itself."""
        where = f" [{self.section}.{source}]" if source else ""
        raise CatalogueError(f"{self.path}:{self.line(source, key)}:{where} {problem}")

    def line(self, source: str | None, key: str | tuple[str, ...] | None) -> int:
        """The line of the key within the source. Where there is no such key, that of the source, else 1."""
        table = (self.section, source) if source is not None else ()
        keys = (key,) if isinstance(key, str) else key or ()
        return next((self.lines[path] for path in ((*table, *keys), table) if path in self.lines), 1)


def _lines_of(text: str) -> dict[tuple[str, ...], int]:
    """Path of every table and key of a TOML text -> the line where it first appears. Of values, only inline tables of one line are
    examined."""
    line_of: dict[tuple[str, ...], int] = {}
    no_table: tuple[str, ...] = ()
    table = no_table
    statement, first = "", 1
    for number, line in enumerate(text.splitlines(), start=1):
        if not statement:
            first = number
        statement += line + "\n"
        try:
            parsed = tomllib.loads(statement)  # a table header, or key = value, which may span several lines
        except tomllib.TOMLDecodeError:
            continue
        statement = ""
        paths = _paths(parsed)
        if line.lstrip().startswith("["):
            table = paths[-1] if paths else ()
            paths, prefix = [table[:i] for i in range(1, len(table) + 1)], no_table
        else:
            prefix = table
        for path in paths:
            line_of.setdefault((*prefix, *path), first)
    return line_of


def _paths(value: Any) -> list[tuple[str, ...]]:
    if isinstance(value, list):  # [[an array of tables]]
        value = value[0] if value else {}
    if not isinstance(value, dict):
        return []
    return [path for key, inner in value.items() for path in [(key,), *((key, *rest) for rest in _paths(inner))]]
