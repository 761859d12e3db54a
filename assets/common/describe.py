"""Metadata a person looks at in the UI: column schemas from `sql/`, tables and plots."""

from __future__ import annotations

import base64
import io
import re
from typing import TYPE_CHECKING, Any

import dagster as dg
import polars as pl

import sql
from warehouse.schema import column_comments, relation_comment, table_columns

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_MARKUP = re.compile(r"[\\`*\[\]<>|&~!]")
"""What Markdown takes for more than text. A name in a log could be a link, a picture from the network or HTML."""


def table_metadata(table: str) -> dict[str, Any]:
    """Name and column schema of a warehouse table, as its statement below sql/ says."""
    statement = sql.load(table)
    types = dict(table_columns(statement))
    columns = [
        dg.TableColumn(name, types.get(name, ""), description=comment)
        for name, comment in column_comments(statement).items()
    ]
    return {
        "dagster/table_name": table,
        "dagster/column_schema": dg.TableSchema(columns=columns),
        "about": dg.MetadataValue.md(relation_comment(statement)),
    }


def table(rows: pl.DataFrame, most: int = 30) -> dg.MarkdownMetadataValue:
    """A Markdown table of the first rows."""
    shown = rows.head(most)
    lines = ["| " + " | ".join(shown.columns) + " |", "|" + " --- |" * shown.width]
    lines += ["| " + " | ".join(_cell(value) for value in row) + " |" for row in shown.iter_rows()]
    if rows.height > most:
        lines.append(f"\n… and {rows.height - most} more rows")
    return dg.MetadataValue.md("\n".join(lines))


def plot(figure: Figure) -> dg.MarkdownMetadataValue:
    """A picture inside Markdown, which is how the UI shows one."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=80)
    return dg.MetadataValue.md(f"![plot](data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()})")


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.3f}" if abs(value) < 100 else f"{value:,.0f}"
    return _MARKUP.sub(r"\\\g<0>", " ".join(str(value).split()))
