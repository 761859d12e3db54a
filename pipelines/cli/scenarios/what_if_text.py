"""What `tracehouse what-if` prints for people: tables in hours that fit the terminal, and whose waits change most."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from assets.what_if.scenarios.columns import CHANGE_COLUMNS, WAIT_COLUMNS, Column, hours

if TYPE_CHECKING:
    from assets.what_if.scenarios.results import ScenarioResults

LEAST_WIDTH = 80
SHORTEST_NAME = 12


def what_if_text(results: ScenarioResults, width: int, top: int) -> str:
    """The whole answer. width: of the terminal, in characters. top: groups of a kind that are shown for each scenario."""
    width = max(width, LEAST_WIDTH)
    rows = results.rows.to_dicts()
    lines = _wrapped(f"{results.plan.source}: {results.scored_words}", width)
    lines += _wrapped(f"base: {results.base_words}", width)
    for sentence in results.plan.configuration.trust:
        lines += _wrapped(f"trust: {sentence}", width)
    name_width = min(max(len(row["scenario"]) for row in rows), width - _total(WAIT_COLUMNS))
    if name_width + _total(WAIT_COLUMNS) + _total(CHANGE_COLUMNS) <= width:
        lines += ["", *_table(rows, (*WAIT_COLUMNS, *CHANGE_COLUMNS), name_width)]
    else:
        lines += ["", *_table(rows, WAIT_COLUMNS, name_width)]
        compared = [row for row in rows if row["verdict"] is not None]
        lines += [
            "",
            *_table(compared, CHANGE_COLUMNS, min(name_width, width - _total(CHANGE_COLUMNS)), "against the base"),
        ]
    remarks = [line for text in results.remarks for line in _wrapped(text, width)]
    lines += ["", *remarks] if remarks else []
    lines += ["", *_fate(results, width, top)]
    return "\n".join(line.rstrip() for line in lines)


def _table(
    rows: Sequence[dict[str, Any]], columns: Sequence[Column], name_width: int, heading: str = "waits"
) -> list[str]:
    name_width = max(name_width, len(heading), SHORTEST_NAME)
    lines = [f"{heading:<{name_width}}" + "".join(f"{column.title:>{column.width}}" for column in columns)]
    for row in rows:
        name = row["scenario"]
        name = name if len(name) <= name_width else f"{name[: name_width - 1]}…"
        lines.append(f"{name:<{name_width}}" + "".join(f"{column.cell(row):>{column.width}}" for column in columns))
    return lines


def _fate(results: ScenarioResults, width: int, top: int) -> list[str]:
    from assets.what_if.scenarios.fate import most_changed

    lines = _wrapped("whose waits change most, by hours of all their jobs; mean wait before and after", width)
    for scenario in results.groups["scenario"].unique(maintain_order=True):
        parts = most_changed(results.groups.filter(scenario=scenario), top)
        lines += _wrapped(scenario if parts else f"{scenario}: nobody's", width)
        for kind, word, groups in parts:
            lines += [_group_line(kind, word, row) for row in groups.iter_rows(named=True)]
    return lines


def _group_line(kind: str, word: str, row: dict[str, Any]) -> str:
    moved = row[f"jobs_{word}_by_1h"]
    return (
        f"  {word:<8}{kind:<8}{row['group']:<12.12}{row['jobs']:>7,} jobs{hours(row['base_wait_h']):>7} -> {hours(row['wait_h']):>6} h"
        f" {moved:>6,} over 1 h"
    )


def _total(columns: Sequence[Column]) -> int:
    return sum(column.width for column in columns)


def _wrapped(text: str, width: int) -> list[str]:
    return wrap(text, width, subsequent_indent="  ", break_on_hyphens=False)
