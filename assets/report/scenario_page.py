"""The page of `tracehouse what-if`: plain HTML, one file, nothing loaded from anywhere."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

from assets.report.look.style import STYLE
from assets.what_if.run import engine_version
from assets.what_if.scenarios.columns import (
    CHANGE_COLUMNS,
    RANK_COLUMNS,
    RANKS_ALONE,
    WAIT_COLUMNS,
    Column,
    by_rank,
    hours,
)
from assets.what_if.scenarios.fate import most_changed
from assets.what_if.scenarios.results import ScenarioResults
from simulator.metrics.metrics import SEMANTICS

TOP = 5
"""Groups of a kind that the page shows for each scenario."""
OWN_STYLE = """
tr.log td, tr.base td { background: #f7fafc; } td.bar { min-width: 12rem; text-align: left; }
td.bar span { display: inline-block; height: .8em; background: #2b6cb0; } li { margin: .2rem 0; }
"""


def scenario_page(results: ScenarioResults) -> str:
    """The whole document; the same results give the same bytes."""
    plan = results.plan
    rows = results.rows.to_dicts()
    jobs = [results.scored_words, *([results.left_out_words] if results.left_out_words else [])]
    facts = {"base": [results.base_words], "jobs": jobs, "trust": plan.configuration.trust} | {
        "scenarios": results.scenario_words
    }
    listed = "".join(f"<dt>{key}</dt><dd>{'<br>'.join(map(html.escape, lines))}</dd>" for key, lines in facts.items())
    remarks = "".join(f"<li>{html.escape(text)}</li>" for text in results.remarks)
    remarks = f"<ul>{remarks}</ul>" if remarks else ""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>What if: {html.escape(plan.source)}</title><style>{STYLE}{OWN_STYLE}</style></head><body>"
        f"<h1>What if: {html.escape(plan.source)}</h1><dl>{listed}</dl>"
        f"{_figures(results, rows, remarks) if plan.configuration.has_figures else _ranks(rows, remarks)}"
        f"<footer>tracehouse {html.escape(engine_version())}, semantics {SEMANTICS}: docs/guides/what-if.md says how to read this.</footer>"
        "</body></html>\n"
    )


def _figures(results: ScenarioResults, rows: Sequence[dict[str, Any]], remarks: str) -> str:
    compared = [row for row in rows if row["verdict"] is not None or row["failed_because"] is not None]
    return (
        f"<h2>Waits</h2><p>Hours, over the jobs above. The log is what users waited; all other rows are replays.</p>"
        f"{_waits(rows)}"
        f"<h2>Against the base</h2><p>Over the jobs that are in both. The typical block is one of 16 blocks of jobs, with its 95 % "
        f"interval.</p>{_changes(compared)}{remarks}"
        f"<h2>Whose waits change most</h2><p>By hours of all their jobs. The last column counts jobs whose wait changes by more than "
        f"an hour in that direction.</p>{_fates(results)}"
    )


def _ranks(rows: Sequence[dict[str, Any]], remarks: str) -> str:
    ranked = by_rank(rows)
    return f"<h2>Against the base</h2><p>{RANKS_ALONE}</p>{_table(ranked, RANK_COLUMNS, [''] * len(ranked))}{remarks}"


def _waits(rows: Sequence[dict[str, Any]]) -> str:
    waits = [row["average_wait_h"] or 0.0 for row in rows]
    longest = max(waits) or 1.0
    bars = [f'<td class="bar"><span style="width:{100 * wait / longest:.1f}%"></span></td>' for wait in waits]
    return _table(rows, WAIT_COLUMNS, bars)


def _changes(rows: Sequence[dict[str, Any]]) -> str:
    return _table(rows, CHANGE_COLUMNS, [""] * len(rows))


def _table(rows: Sequence[dict[str, Any]], columns: Sequence[Column], last: Sequence[str]) -> str:
    """last: a cell behind those of the columns, as HTML, for each row."""
    head = "".join(f"<th>{html.escape(column.title)}</th>" for column in columns)
    lines = []
    for row, more in zip(rows, last, strict=True):
        cells = "".join(f"<td>{html.escape(column.cell(row))}</td>" for column in columns)
        kind = f' class="{row["scenario"]}"' if row["scenario"] in ("log", "base") else ""
        lines.append(f'<tr{kind}><td class="text">{html.escape(row["scenario"])}</td>{cells}{more}</tr>')
    extra = '<th class="text">mean wait</th>' if any(last) else ""
    body = f'<thead><tr><th class="text">scenario</th>{head}{extra}</tr></thead><tbody>{"".join(lines)}</tbody>'
    return f'<div class="wide"><table>{body}</table></div>'


def _fates(results: ScenarioResults) -> str:
    sections = []
    for scenario in results.groups["scenario"].unique(maintain_order=True):
        parts = most_changed(results.groups.filter(scenario=scenario), TOP)
        lines = [_fate(kind, word, row) for kind, word, groups in parts for row in groups.to_dicts()]
        head = '<th class="text">waits</th><th class="text">group</th><th>jobs</th><th>before, h</th><th>after, h</th><th>by over 1 h</th>'
        body = (
            f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{"".join(lines)}</tbody></table></div>'
            if lines
            else "<p>Nobody's.</p>"
        )
        sections.append(f"<h3>{html.escape(str(scenario))}</h3>{body}")
    return "".join(sections)


def _fate(kind: str, word: str, row: dict[str, Any]) -> str:
    numbers = (f"{row['jobs']:,}", hours(row["base_wait_h"]), hours(row["wait_h"]), f"{row[f'jobs_{word}_by_1h']:,}")
    cells = "".join(f"<td>{number}</td>" for number in numbers)
    return f'<tr><td class="text">{word}</td><td class="text">{html.escape(kind)} {html.escape(row["group"])}</td>{cells}</tr>'
