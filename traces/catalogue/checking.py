"""Checks the TOML tables of a catalogue; faults name the file and the line."""

from __future__ import annotations

import tomllib
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from traces.catalogue.sources import FORMATS, NAME, CatalogueError, Source
from traces.common.pseudonyms import DEFAULT, KINDS
from traces.synthetic.workload import WorkloadOptions


class Checker:
    """Turns the TOML tables [section.NAME] into sources, or fails with the file, the line, what was expected and what to do."""

    def __init__(self, path: Path, text: str, section: str = "sources") -> None:
        self.path = path
        self.section = section
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

    def source(self, name: str, table: dict[str, Any], time_zone: str) -> Source:
        allowed = {f.name for f in fields(Source)} - {"name", "declared_at"}
        self.keys(table, allowed, name)
        log_format = self.typed(table, "format", str, name)
        if log_format is None:
            self.fail(name, None, f"`format` is missing; expected one of {', '.join(FORMATS)}")
        if log_format not in FORMATS:
            self.fail(name, "format", f"unknown format {log_format!r}; expected one of {', '.join(FORMATS)}")
        log_path, generator = self.typed(table, "path", str, name), table.get("generator", {})
        if not isinstance(generator, dict):
            self.fail(name, "generator", "expected a table of generator options")
        if log_path == "":
            self.fail(name, "path", "`path` is empty; give the log file or the folder of log files")
        if (log_path is None) == (not generator):
            self.fail(name, None, "give either `path` (a log) or `generator` (options of a synthetic log)")
        procs = self.typed(table, "procs", int, name)
        if procs is not None and procs < 1:
            self.fail(name, "procs", f"a cluster has at least 1 processor, found {procs}")
        cluster = {key: self.typed(table, key, int, name) for key in ("nodes", "gpus", "node_memory_gb")}
        for key, amount in cluster.items():
            if amount is not None and amount < 1:
                self.fail(name, key, f"{key} must be at least 1, found {amount}; leave it out where there are none")
        if generator:
            if procs is None:
                self.fail(name, "generator", "a generated source needs `procs`, the processors of its cluster")
            self.generator(name, generator, procs or 1)
        return Source(
            name,
            log_format or "",
            (self.path.parent / log_path).resolve() if log_path else None,
            procs,
            self.time_zone(table["time_zone"], name) if "time_zone" in table else time_zone if generator else None,
            self.typed(table, "description", str, name) or "",
            bool(self.typed(table, "drop_wider", bool, name)),
            self.typed(table, "columns", str, name) or "",
            self.pseudonyms(name, table) if log_path else (),
            **cluster,
            generator=generator,
            declared_at=f"{self.path}:{self.line(name, None)}",
        )

    def pseudonyms(self, name: str, table: dict[str, Any]) -> tuple[str, ...]:
        kinds = table.get("pseudonyms", list(DEFAULT))
        if not isinstance(kinds, list) or not all(kind in KINDS for kind in kinds):
            self.fail(
                name, "pseudonyms", f"expected a list of {', '.join(KINDS)} ([] keeps all names), found {kinds!r}"
            )
        return tuple(kinds)

    def generator(self, name: str, options: dict[str, Any], procs: int) -> None:

        declared = [f for f in fields(WorkloadOptions) if f.name != "procs"]
        known = {f.name for f in declared}
        for key in options:
            if key not in known:
                self.fail(
                    name, ("generator", key), f"unknown generator option {key!r}; expected {', '.join(sorted(known))}"
                )
        missing = [f.name for f in declared if f.default is MISSING and f.name not in options]
        if missing:
            self.fail(name, "generator", f"generator options are missing: {', '.join(missing)}")
        try:
            WorkloadOptions(procs=procs, **options)
        except ValueError as error:
            self.fail(name, "generator", f"bad generator options: {error}")

    def keys(self, table: dict[str, Any], allowed: set[str], source: str | None) -> None:
        for key in table:
            if key not in allowed:
                self.fail(source, key, f"unknown key {key!r}; expected one of {', '.join(sorted(allowed))}")

    def typed(self, table: dict[str, Any], key: str, kind: type, source: str | None) -> Any:
        value = table.get(key)
        if value is not None and (not isinstance(value, kind) or (kind is int and isinstance(value, bool))):
            self.fail(source, key, f"{key} must be a {kind.__name__}, found {value!r}")
        return value

    def time_zone(self, value: Any, source: str | None) -> str:
        try:
            ZoneInfo(value)
        except Exception:  # zoneinfo raises ValueError, OSError or its own error, by the kind of nonsense
            self.fail(
                source, "time_zone", f'unknown time zone {value!r}; expected an IANA name such as "Europe/Berlin"'
            )
        return str(value)

    def fail(self, source: str | None, key: str | tuple[str, ...] | None, problem: str) -> None:
        where = f" [{self.section}.{source}]" if source else ""
        raise CatalogueError(f"{self.path}:{self.line(source, key)}:{where} {problem}")

    def line(self, source: str | None, key: str | tuple[str, ...] | None) -> int:
        """The line of the key within the source, else that of the source, else 1."""
        table = (self.section, source) if source is not None else ()
        keys = (key,) if isinstance(key, str) else key or ()
        return next((self.lines[path] for path in ((*table, *keys), table) if path in self.lines), 1)


def _lines_of(text: str) -> dict[tuple[str, ...], int]:
    """Path of every table and key of a TOML text -> the line where it first appears; values are not looked into, but
    for inline tables of one line."""
    found: dict[tuple[str, ...], int] = {}
    no_table: tuple[str, ...] = ()
    table = no_table
    statement, first = "", 1
    for number, line in enumerate(text.splitlines(), start=1):
        if not statement:
            first = number
        statement += line + "\n"
        try:
            parsed = tomllib.loads(statement)  # a table header, or key = value, which may go on over several lines
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
            found.setdefault((*prefix, *path), first)
    return found


def _paths(value: Any) -> list[tuple[str, ...]]:
    if isinstance(value, list):  # [[an array of tables]]
        value = value[0] if value else {}
    if not isinstance(value, dict):
        return []
    return [path for key, inner in value.items() for path in [(key,), *((key, *rest) for rest in _paths(inner))]]
