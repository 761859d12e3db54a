"""The report's page: HTML with styles, charts and their library inside, nothing loaded from anywhere."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

SUMMARY_ID = "summary-as-data"
"""Element of a report that holds the summary as JSON: the index page and the command line read it."""
HEAD_BYTES = 200_000
"""Within so many first bytes of a report that element ends."""

STYLE = """
@page { size: A4; margin: 12mm; }
* { box-sizing: border-box; }
body { font: 15px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; color: #22303c; background: #fff;
       max-width: 718px; margin: 1.5rem auto; padding: 0; overflow-wrap: break-word; }
h1 { margin: 0; line-height: 1.2; } p.sub { color: #4a5568; margin: .2rem 0 1rem; }
h2 { margin-top: 2.6rem; border-bottom: 2px solid #2b6cb0; padding-bottom: .2rem; }
h3 { margin: 1.8rem 0 .3rem; font-size: 1.05rem; } p { margin: .5rem 0; } li { margin: .25rem 0; }
nav { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; margin: 1rem 0; } a { color: #2b6cb0; }
.advice { border-left: 5px solid #2b6cb0; background: #ebf4fb; padding: .7rem 1rem; margin: 1rem 0; }
.advice b { display: block; margin-bottom: .2rem; } .note { color: #4a5568; font-size: 13px; }
.wide { overflow-x: auto; margin: .2rem 0 1rem; background:
  linear-gradient(to right, #fff, #fff 12px, transparent 28px) local, linear-gradient(to left, #fff, #fff 12px, transparent 28px) local,
  linear-gradient(to right, #cbd5e0, transparent 14px), linear-gradient(to left, #cbd5e0, transparent 14px); }
.caption { margin: .6rem 0 0; }
table { border-collapse: collapse; font-size: 13px; min-width: 100%; }
th, td { padding: .28rem .4rem; border-bottom: 1px solid #e2e8f0; text-align: right; vertical-align: top; }
th { background: #f1f5f9; font-weight: 600; vertical-align: bottom; } .text { text-align: left; }
td.text { min-width: 5.5rem; overflow-wrap: anywhere; }
th:first-child, td:first-child { text-align: left; min-width: 10.5rem; } td.long { min-width: 12.5rem; }
code { font-size: .92em; } table.links th:first-child, table.links td:first-child { min-width: 5rem; }
tr.marked td { background: #ebf4fb; font-weight: 600; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; font-size: 14px; }
dt { color: #4a5568; } dd { margin: 0; } figure { margin: .4rem 0 1rem; }
footer { margin: 3rem 0 1rem; color: #4a5568; font-size: 13px; border-top: 1px solid #e2e8f0; padding-top: .6rem; }
@media screen and (max-width: 742px) { body { padding: 0 12px; margin-top: 1rem; } h1 { font-size: 1.5rem; }
  dl { grid-template-columns: 1fr; } dd { margin-bottom: .4rem; } ul { padding-left: 1.2rem; }
  th:first-child, td:first-child { min-width: 7.5rem; max-width: 10rem; overflow-wrap: anywhere; position: sticky;
    left: 0; background: #fff; }
  th:first-child { background: #f1f5f9; } tr.marked td:first-child { background: #ebf4fb; } }
@media print { body { margin: 0; max-width: none; padding: 0; font-size: 12px; } nav, .screen { display: none; }
  h2, h3, .caption { break-after: avoid; } figure, tr, .advice, li { break-inside: avoid; }
  .wide { overflow: visible; } table { font-size: 10px; } th, td { padding: .2rem .25rem; }
  td.text { min-width: 4.5rem; } th:first-child, td:first-child { min-width: 8rem; } td.long { min-width: 11rem; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
"""
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:"
"""A browser refuses to fetch anything for such a page."""
PRINT_WIDTH = 700
DRAW = """
(function () {
  var coarse = window.matchMedia && matchMedia("(pointer: coarse)").matches, boxes = [];
  document.querySelectorAll("script[data-chart]").forEach(function (data) {
    var chart = JSON.parse(data.textContent), box = document.getElementById(data.dataset.chart);
    if (coarse) chart.layout.dragmode = false;
    Plotly.newPlot(box, chart.data, chart.layout, {displayModeBar: false, responsive: true, plotlyServerURL: ""});
    boxes.push(box);
  });
  function each(width) {
    boxes.forEach(function (box) { Plotly.relayout(box, width ? {width: width, autosize: false} : {width: null, autosize: true}); });
  }
  window.addEventListener("beforeprint", function () { each(PRINT_WIDTH); });
  window.addEventListener("afterprint", function () { each(0); });
  document.body.dataset.drawn = boxes.length;
})();
""".replace("PRINT_WIDTH", str(PRINT_WIDTH))


@dataclass(frozen=True)
class Table:
    """Rows of text. Its first column labels the rows: no label is empty or there twice. Raises ValueError otherwise.

    text_columns: indices of further columns that hold words. marked: labels of rows that stand out. links: pages beside this one that
    labels lead to.
    """

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    text_columns: Sequence[int] = ()
    marked: Sequence[str] = ()
    links: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        labels = [row[0].strip() for row in self.rows]
        if not all(labels) or len({*labels}) < len(labels) or any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError(f"the table {self.caption!r} has rows without a label of their own: {labels}")


@dataclass(frozen=True)
class Chart:
    """A figure under a name that is unique on the page. caption: what it shows. Raises ValueError for a figure without a value."""

    name: str
    caption: str
    figure: Figure
    height: int = 300

    def __post_init__(self) -> None:
        if not any(
            value is not None for trace in self.figure.data for value in (trace.y if trace.y is not None else ())
        ):
            raise ValueError(f"the chart {self.name!r} shows nothing")


@dataclass(frozen=True)
class Heading:
    """A heading within a section."""

    text: str


@dataclass(frozen=True)
class Bullets:
    """A list of sentences."""

    items: Sequence[str]


@dataclass(frozen=True)
class Callout:
    """A box that stands out: a headline and sentences."""

    headline: str
    text: str


@dataclass(frozen=True)
class TermList:
    """Pairs of a term and what it is."""

    pairs: Sequence[tuple[str, str]]


Block = str | Table | Chart | Heading | Bullets | Callout | TermList
"""A paragraph, or one of the above."""


@dataclass(frozen=True)
class Section:
    """A heading with what stands below it."""

    title: str
    blocks: Sequence[Block]


def page(
    title: str, subtitle: str, created: datetime, sections: Sequence[Section], data: dict[str, Any] | None = None
) -> str:
    """The whole document. The same arguments give the same bytes. data: the summary for programs, under SUMMARY_ID."""
    nav = "".join(f'<a href="#{_anchor(section.title)}">{html.escape(section.title)}</a>' for section in sections)
    charts = [block for section in sections for block in section.blocks if isinstance(block, Chart)]
    if len({chart.name for chart in charts}) < len(charts):
        raise ValueError("two charts of a page have one name")
    stored = f'<script type="application/json" id="{SUMMARY_ID}">{_json(data)}</script>' if data is not None else ""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)} - tracehouse</title><style>{STYLE}</style>{stored}</head><body>"
        f'<h1>{html.escape(title)}</h1><p class="sub">{html.escape(subtitle)}</p>'
        f'<p class="note" id="created">Created on {created:%-d %B %Y at %H:%M %Z}</p>'
        f"{f'<nav>{nav}</nav>' if len(sections) > 1 else ''}{''.join(map(_section, sections))}"
        "<footer>Made by tracehouse. The page is complete in itself and loads nothing from anywhere.</footer>"
        f"{_scripts() if charts else ''}</body></html>\n"
    )


def summary_of_page(head: str) -> dict[str, Any] | None:
    """What `page` was given as `data`, from the beginning of its text. None where it has none."""
    match = re.search(rf'<script type="application/json" id="{SUMMARY_ID}">(.*?)</script>', head, re.DOTALL)
    return json.loads(match.group(1)) if match else None


def _scripts() -> str:
    from plotly.offline import get_plotlyjs

    return (
        "<noscript><p>The charts need JavaScript. Everything else does not.</p></noscript>"
        f"<script>{get_plotlyjs()}</script>\n<script>{DRAW}</script>"
    )


def _words(text: str) -> str:
    """Text as HTML. What is between back quotes is a command."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", html.escape(text))


def _section(section: Section) -> str:
    body = "".join(map(_block, section.blocks))
    return f'<section id="{_anchor(section.title)}"><h2>{html.escape(section.title)}</h2>{body}</section>'


def _block(block: Block) -> str:
    match block:
        case Table():
            return _table(block)
        case Chart():
            return _chart(block)
        case Heading(text):
            return f"<h3>{html.escape(text)}</h3>"
        case Bullets(items):
            return f"<ul>{''.join(f'<li>{_words(item)}</li>' for item in items)}</ul>"
        case Callout(headline, text):
            return f'<div class="advice"><b>{_words(headline)}</b>{_words(text)}</div>'
        case TermList(pairs):
            listed = "".join(f"<dt>{html.escape(key)}</dt><dd>{_words(value)}</dd>" for key, value in pairs)
            return f"<dl>{listed}</dl>"
        case _:
            return f"<p>{_words(block)}</p>"


def _chart(chart: Chart) -> str:
    drawn = json.loads(chart.figure.to_json())
    name = f"chart-{chart.name}"
    return (
        f'<figure><figcaption class="note">{html.escape(chart.caption)}</figcaption>'
        f'<div id="{name}" role="img" aria-label="{html.escape(chart.caption, quote=True)}" style="height:{chart.height}px"></div>'
        f'<script type="application/json" data-chart="{name}">{_json(drawn)}</script></figure>'
    )


def _table(table: Table) -> str:
    def cell(tag: str, column: int, text: str) -> str:
        kind = "text" if column == 0 or column in table.text_columns else "number"
        # a number stays with its unit, and what is in brackets may go below
        inner = _words(text if kind == "text" or tag == "th" else text.replace(" ", "\u00a0").replace("\u00a0(", " ("))
        if tag == "td" and column == 0 and text in table.links:
            inner = f'<a href="{html.escape(quote(table.links[text]), quote=True)}">{inner}</a>'
        long = " long" if tag == "td" and column and len(text) > 50 else ""
        return f'<{tag} class="{kind}{long}">{inner}</{tag}>'

    kind = ' class="links"' if table.links else ""
    head = "".join(cell("th", k, name) for k, name in enumerate(table.columns))
    lines = [
        f"<tr{' class=marked' if row[0] in table.marked else ''}>{''.join(cell('td', k, text) for k, text in enumerate(row))}</tr>"
        for row in table.rows
    ]
    return (
        f'<p class="note caption">{html.escape(table.caption)}</p><div class="wide" tabindex="0">'
        f"<table{kind}><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
    )


def _json(value: object) -> str:
    """JSON that cannot end the element which it is in."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _anchor(title: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in title.lower()).strip("-")
