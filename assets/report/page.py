"""The report's page: plain HTML, styles and pictures inside, nothing loaded from anywhere."""

from __future__ import annotations

import html
import io
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

from simulator.metrics.metrics import SEMANTICS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #22303c; background: #fff; max-width: 66rem; margin: 2rem auto;
       padding: 0 1rem; }
h1 { margin-bottom: 0; } h2 { margin-top: 2.4rem; border-bottom: 1px solid #cbd5e0; padding-bottom: .2rem; }
p.sub { color: #4a5568; margin-top: .2rem; } nav { display: flex; flex-wrap: wrap; gap: 0 1rem; } a { color: #2b6cb0; }
table { border-collapse: collapse; font-size: 13px; margin: .8rem 0; display: block; overflow-x: auto; }
th, td { padding: .25rem .42rem; border-bottom: 1px solid #e2e8f0; text-align: right; white-space: nowrap; }
th { background: #f7fafc; font-weight: 600; } .text { text-align: left; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; } dt { color: #4a5568; } dd { margin: 0; }
figure { margin: .8rem 0; } svg { width: 100%; height: auto; }
footer { margin: 3rem 0; color: #718096; font-size: 13px; }
"""


@dataclass(frozen=True)
class Section:
    """A heading, a sentence, figures, and a table."""

    title: str
    text: str
    figures: list[Figure] = field(default_factory=list)
    rows: pl.DataFrame | None = None


def page(source: str, description: str, facts: dict[str, str], sections: list[Section]) -> str:
    """The whole document; the same arguments give the same bytes."""
    nav = "".join(f'<a href="#{_anchor(section.title)}">{html.escape(section.title)}</a>' for section in sections)
    listed = "".join(f"<dt>{html.escape(key)}</dt><dd>{html.escape(value)}</dd>" for key, value in facts.items())
    body = "".join(_section(section) for section in sections)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>tracehouse: {html.escape(source)}</title><style>{STYLE}</style></head><body>"
        f'<h1>{html.escape(source)}</h1><p class="sub">{html.escape(description)}</p>'
        f"<dl>{listed}</dl><nav>{nav}</nav>{body}"
        f"<footer>tracehouse, semantics {SEMANTICS} (docs/semantics.md defines every rule and metric). Intervals are "
        "paired percentile bootstraps over windows and training seeds.</footer></body></html>\n"
    )


def _section(section: Section) -> str:
    pictures = "".join(f"<figure>{svg(figure)}</figure>" for figure in section.figures)
    rows = _table(section.rows) if section.rows is not None else ""
    return (
        f'<section id="{_anchor(section.title)}"><h2>{html.escape(section.title)}</h2>'
        f"<p>{html.escape(section.text)}</p>{pictures}{rows}</section>"
    )


def svg(figure: Figure) -> str:
    """The figure as an inline SVG element; element ids are hashed from the content, so that a rerun changes no byte."""
    import matplotlib

    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "tracehouse"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    text = buffer.getvalue()
    return text[text.index("<svg") :]


def _table(rows: pl.DataFrame) -> str:
    classes = [' class="text"' if kind == pl.Utf8 else "" for kind in rows.dtypes]
    head = "".join(f"<th{c}>{html.escape(name)}</th>" for c, name in zip(classes, rows.columns, strict=True))
    lines = []
    for row in rows.iter_rows():
        cells = (f"<td{c}>{html.escape(_cell(value))}</td>" for c, value in zip(classes, row, strict=True))
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.2f}" if abs(value) < 1000 else f"{value:,.0f}"
    if isinstance(value, int):
        return f"{value:,}"
    return str(value)


def _anchor(title: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in title.lower()).strip("-")
