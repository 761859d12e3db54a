"""What a part of the campaign has seen, and how tables are compared."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb

from pipelines.faults import FAULT

IGNORED = {"modified_ns"}
"""Columns that tell when a log was written, which is the home's own."""
Tables = dict[str, Counter[str]]


@dataclass
class Difference:
    """Rows that differ from those of an undisturbed run. wrong: rows which that run does not have at all."""

    lost: int = 0
    doubled: int = 0
    wrong: int = 0
    where: set[str] = field(default_factory=set)

    def __bool__(self) -> bool:
        return bool(self.lost or self.doubled or self.wrong)

    def add(self, other: Difference) -> None:
        """Counts the rows of another comparison, too."""
        self.lost += other.lost
        self.doubled += other.doubled
        self.wrong += other.wrong
        self.where |= other.where

    def __str__(self) -> str:
        return f"{self.lost} rows lost, {self.doubled} doubled, {self.wrong} wrong in {', '.join(sorted(self.where))}"


@dataclass
class Result:
    """What one part has seen.

    lines: its table, as it is printed. findings: what is wrong, in words. undone: what the part was asked for and has not done, so
    that finding nothing proves nothing.
    """

    part: str
    lines: list[str] = field(default_factory=list)
    difference: Difference = field(default_factory=Difference)
    tracebacks: int = 0
    findings: list[str] = field(default_factory=list)
    undone: list[str] = field(default_factory=list)

    def compare(self, what: str, ours: Tables, undisturbed: Tables) -> Difference:
        """Counts the rows that differ, and notes where."""
        difference = compare_tables(ours, undisturbed)
        if difference:
            self.difference.add(difference)
            self.findings.append(f"{what}: {difference}")
        return difference

    def look_at(self, what: str, text: str) -> None:
        """Counts what a user would see of a fault of the program."""
        if "Traceback (most recent call last)" in text or FAULT in text:
            self.tracebacks += 1
            self.findings.append(f"{what}: traceback: {text.strip().splitlines()[-1][:200]}")

    def require(self, done: bool, what: str) -> None:
        """Notes what was not done."""
        if not done:
            self.undone.append(what)

    def head(self, *cells: str) -> None:
        """A Markdown table begins, with these columns."""
        self.lines += ["", f"| {' | '.join(cells)} |", f"| --- |{' ---: |' * (len(cells) - 1)}"]

    def add(self, *cells: object) -> None:
        """A row of the Markdown table."""
        self.lines.append(f"| {' | '.join(f'{c:,}' if isinstance(c, int) else str(c) for c in cells)} |")


def compare_tables(ours: Tables, undisturbed: Tables) -> Difference:
    """Rows of all tables that either side has, counted by their text."""
    difference = Difference()
    for name in ours.keys() | undisturbed.keys():
        mine, theirs = ours.get(name, Counter()), undisturbed.get(name, Counter())
        if mine == theirs:
            continue
        difference.where.add(name)
        difference.lost += (theirs - mine).total()
        more = mine - theirs
        difference.doubled += sum(count for row, count in more.items() if row in theirs)
        difference.wrong += sum(count for row, count in more.items() if row not in theirs)
    return difference


def read_tables(database: Path, schemas: tuple[str, ...] = (), source: str = "") -> Tables:
    """Every table of a warehouse, not opened by its door; schemas: only of these. source: only its rows, without its name."""
    if not database.exists():
        return {}
    with duckdb.connect(str(database), read_only=True) as connection:
        names = connection.execute(
            "SELECT schema_name, table_name, list(column_name ORDER BY column_index) FROM duckdb_columns() "
            "WHERE (schema_name, table_name) IN (SELECT (schema_name, table_name) FROM duckdb_tables()) GROUP BY ALL"
        ).fetchall()
        tables: Tables = {}
        for schema, table, columns in names:
            if (schemas and schema not in schemas) or table == "schema_version" or (source and "source" not in columns):
                continue
            kept = [f'"{c}"' for c in columns if c not in IGNORED and not (source and c == "source")]
            where, values = (" WHERE source = ?", [source]) if source else ("", [])
            rows: list[tuple[Any, ...]] = connection.execute(
                f"SELECT {', '.join(kept)} FROM {schema}.{table}{where}", values
            ).fetchall()
            tables[f"{schema}.{table}"] = Counter(map(repr, rows))
        return tables
