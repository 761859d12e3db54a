"""What `tracehouse what-if` prints for people: tables in hours that fit the terminal, and whose waits change most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from assets.replaying.scenarios.columns import (
    CHANGE_COLUMNS,
    RANK_COLUMNS,
    RANKS_ALONE,
    Column,
    by_rank,
    hours,
    wait_columns,
    with_random_orders,
)
from tracehouse.text.tables import cut, folded

if TYPE_CHECKING:
    from assets.replaying.scenarios.results import ScenarioResults

LEAST_WIDTH = 80
SHORTEST_NAME = 12
GROUP_LINE = 66
"""Characters of a line about a group, besides its name."""


def what_if_text(results: ScenarioResults, width: int | None, top: int) -> str:
    """The whole answer. width: of the terminal, in characters, None for a file or a pipe, where nothing is cut. top: groups of a kind that
    are shown for each scenario."""
    width = None if width is None else max(width, LEAST_WIDTH)
    rows = with_random_orders(results.rows.to_dicts(), results.spread_of_random_orders)
    words = [f"base: {results.base_words}", f"{results.plan.source}: {results.scored_words}"]
    words += [results.left_out_words] if results.left_out_words else []
    words += [f"trust: {sentence}" for sentence in results.plan.configuration.trust]
    words += [results.plan.runs_words] if results.plan.runs_words else []
    words += results.scenario_words
    if results.plan.configuration.has_figures:
        words.append(
            f"used: share of the processors in use, from the first submission to the last {results.last_of_use}"
        )
        words += [results.following_words] if results.following_words else []
        letters = results.plan.configuration.letters
        parts = [words, *_tables(rows, width, wait_columns(letters)), results.remarks, _fate(results, width, top)]
    else:
        parts = [words, _ranks(rows, width), results.remarks]
    return "\n\n".join(folded("\n".join(line.rstrip() for line in part), width) for part in parts if part)


def _tables(rows: Sequence[dict[str, Any]], width: int | None, waits: Sequence[Column]) -> list[list[str]]:
    """Lines of one table, or of two where the terminal has no room for all columns."""
    every = (*waits, *CHANGE_COLUMNS)
    longest = max(SHORTEST_NAME, *(len(row["scenario"]) for row in rows))
    if width is None or longest + _total(every) <= width:
        return [_table(rows, every, "waits", longest)]
    compared = [row for row in rows if row["verdict"] is not None or row["failed_because"] is not None]
    return [
        _table(rows, waits, "waits", min(longest, width - _total(waits))),
        _table(compared, CHANGE_COLUMNS, "against the base", min(longest, width - _total(CHANGE_COLUMNS))),
    ]


def _ranks(rows: Sequence[dict[str, Any]], width: int | None) -> list[str]:
    """The scenarios, least wait first, where no figure is to be trusted."""
    ranked = by_rank(rows)
    longest = max(SHORTEST_NAME, *(len(row["scenario"]) for row in ranked))
    name_width = longest if width is None else min(longest, width - _total(RANK_COLUMNS))
    return [RANKS_ALONE, *_table(ranked, RANK_COLUMNS, "scenario", name_width)]


def _table(rows: Sequence[dict[str, Any]], columns: Sequence[Column], heading: str, name_width: int) -> list[str]:
    name_width = max(name_width, len(heading))
    lines = [f"{heading:<{name_width}}" + "".join(f"{column.title:>{column.width}}" for column in columns)]
    for row in rows:
        name = f"{cut(row['scenario'], name_width):<{name_width}}"
        lines.append(name + "".join(f"{column.cell(row):>{column.width}}" for column in columns))
    return lines


def _fate(results: ScenarioResults, width: int | None, top: int) -> list[str]:
    from assets.replaying.scenarios.pairing import most_changed

    names = results.groups["scenario"].unique(maintain_order=True).to_list()
    changed = {name: most_changed(results.groups.filter(scenario=name), top) for name in names}
    longest = max(
        (len(group) for parts in changed.values() for _, _, part in parts for group in part["group"]), default=0
    )
    group_width = longest if width is None else min(longest, width - GROUP_LINE)
    lines = ["whose waits change most, by hours of all their jobs; mean wait before and after"]
    for name, parts in changed.items():
        lines.append(name if parts else f"{name}: nobody's")
        for kind, word, groups in parts:
            lines += [_group_line(kind, word, row, group_width) for row in groups.iter_rows(named=True)]
    return lines


def _group_line(kind: str, word: str, row: dict[str, Any], group_width: int) -> str:
    group, moved = f"{cut(row['group'], group_width):<{group_width}}", row[f"jobs_{word}_by_1h"]
    waits = f"{hours(row['base_wait_h']):>7} -> {hours(row['wait_h']):>6} h"
    tail = "   within noise" if row["within_spread"] else f"{moved:>6,} over 1 h"
    return f"  {word:<8}{kind:<8}{group} {row['jobs']:>7,} jobs{waits} {tail}"


def _total(columns: Sequence[Column]) -> int:
    return sum(column.width for column in columns)
