"""The report's page: HTML with styles and drawn charts inside, no script, nothing loaded from anywhere."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import quote

from assets.report.look.drawing import Figure
from assets.report.look.style import STYLE

SUMMARY_ID = "summary-as-data"
"""Element of a report that holds the summary as JSON: the index page and the command line read it."""
HEAD_BYTES = 200_000
"""Within so many first bytes of a report that element ends."""

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""A browser refuses to fetch anything for such a page, and to run any script in it."""
MOST_IN_CELLS = 4
"""Tables with more columns become a list of cards on a phone, so that nothing is out of sight."""
MOST_IN_HALF = 6
"""Tables with more columns take the whole width of a desk."""


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


def unique_labels(rows: list[list[str]]) -> list[list[str]]:
    """The rows, of which those with a label that is empty or there already get one of their own."""
    seen: set[str] = set()
    for row in rows:
        label = row[0].strip() or "(no name)"
        row[0] = label if label not in seen else f"{label} ({len(seen) + 1})"
        seen.add(row[0])
    return rows


@dataclass(frozen=True)
class Chart:
    """A figure under a name that is unique on the page. caption: what it shows. whole: whether it takes the whole width of a desk. Raises
    ValueError for a figure without a value."""

    name: str
    caption: str
    figure: Figure
    height: int = 300
    whole: bool = False

    def __post_init__(self) -> None:
        if self.figure.is_empty:
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
        "</body></html>\n"
    )


def summary_of_page(head: str) -> dict[str, Any] | None:
    """What `page` was given as `data`, from the beginning of its text. None where it has none."""
    match = re.search(rf'<script type="application/json" id="{SUMMARY_ID}">(.*?)</script>', head, re.DOTALL)
    return json.loads(match.group(1)) if match else None


def _words(text: str) -> str:
    """Text as HTML. What is between back quotes is a command."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", html.escape(text))


def _section(section: Section) -> str:
    body = "".join(_pairs(section.blocks))
    return f'<section id="{_anchor(section.title)}"><h2>{html.escape(section.title)}</h2>{body}</section>'


def _pairs(blocks: Sequence[Block]) -> Iterator[str]:
    """The blocks as HTML: where two that follow each other need half of a desk only, they stand beside each other."""
    k = 0
    while k < len(blocks):
        pair = blocks[k : k + 2]
        if len(pair) == 2 and all(map(_fits_in_half, pair)):
            yield f'<div class="pair"><div>{_block(pair[0])}</div><div>{_block(pair[1])}</div></div>'
        else:
            pair = blocks[k : k + 1]
            yield _block(pair[0])
        k += len(pair)


def _fits_in_half(block: Block) -> bool:
    match block:
        case Table():
            return len(block.columns) <= MOST_IN_HALF
        case Chart():
            return not block.whole
        case _:
            return isinstance(block, Callout | Bullets)


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
    drawn = chart.figure.html(f"chart-{chart.name}", chart.caption, chart.height)
    return f'<figure><figcaption class="note">{html.escape(chart.caption)}</figcaption>{drawn}</figure>'


def _table(table: Table) -> str:
    def cell(tag: str, column: int, text: str) -> str:
        kind = "text" if column == 0 or column in table.text_columns else "number"
        # a number stays with its unit, and what is in brackets may go below
        inner = _words(text if kind == "text" or tag == "th" else text.replace(" ", "\u00a0").replace("\u00a0(", " ("))
        if tag == "td" and column == 0 and text in table.links:
            inner = f'<a href="{html.escape(quote(table.links[text]), quote=True)}">{inner}</a>'
        long = " long" if tag == "td" and column and len(text) > 50 else ""
        label = f' data-label="{html.escape(table.columns[column], quote=True)}"' if tag == "td" and column else ""
        return f'<{tag} class="{kind}{long}"{label}>{inner}</{tag}>'

    names = [*(["links"] if table.links else []), *(["cards"] if len(table.columns) > MOST_IN_CELLS else [])]
    if len(table.columns) == MOST_IN_CELLS + 1:
        names.append("four")
    kind = f' class="{" ".join(names)}"' if names else ""
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
