"""Metadata a person looks at in the UI: column schemas from `sql/`, tables and plots.

Which columns a column of a view or query is computed from, so that the UI can show it.
"""

from __future__ import annotations

import base64
import io
import re
import warnings
from functools import cache
from typing import TYPE_CHECKING, Any

import dagster as dg
import polars as pl

import sql
from warehouse.schema import column_comments, relation_comment, table_columns

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from sqlglot import exp
    from sqlglot.lineage import Node


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


# --- lineage


ASSETS = {
    "core.jobs": ["core", "jobs"],
    "core.sources": ["core", "jobs"],
    "core.repeats": ["core", "jobs"],
    "raw.swf_jobs": ["raw", "log"],
    "raw.pbs_records": ["raw", "log"],
    "raw.slurm_jobs": ["raw", "log"],
    "raw.log_files": ["raw", "log"],
    "raw.line_counts": ["raw", "log"],
    "raw.rejects": ["raw", "log"],
    "core.capacity": ["core", "jobs"],
    "core.requeues": ["core", "jobs"],
    "core.suspensions": ["core", "jobs"],
    "core.job_nodes": ["core", "jobs"],
    "core.nodes": ["raw", "log"],
    "core.partitions": ["raw", "log"],
    "core.limits": ["raw", "log"],
    "core.reservations": ["raw", "log"],
    "raw.vasp_runs": ["raw", "vasp_runs"],
    "predictions.runtime_scores_by_period": ["predictions", "runtime_evaluation"],
}
"""Tables that views and queries of assets read, and the assets that write them."""
TEMPORARY = {"requeued_lines": "core.requeued_slurm", "cancelled_jobs": "core.cancelled_pbs"}
"""Tables that are there while an asset is made, and the queries that fill them."""


@cache
def column_lineage(statement: str) -> dg.TableColumnLineage:
    """By column of a statement below sql/, a view or a query, the columns of other assets that it is computed from.

    Columns that are computed from none, such as a count of rows, are left out. Raises KeyError for a table that ASSETS does not have.
    """
    import sqlglot
    from sqlglot.lineage import lineage
    from sqlglot.optimizer.qualify import qualify
    from sqlglot.optimizer.scope import build_scope

    parsed = sqlglot.parse_one(sql.load(statement), dialect="duckdb")
    query = parsed.expression if isinstance(parsed, sqlglot.exp.Create) else parsed
    assert isinstance(query, sqlglot.exp.Query)
    filled = {name: sqlglot.parse_one(sql.load(text), dialect="duckdb") for name, text in TEMPORARY.items()}
    query = sqlglot.exp.expand(query, filled, dialect="duckdb")  # type: ignore[arg-type]
    query = qualify(query, schema=_tables(), dialect="duckdb", validate_qualify_columns=False, identify=False)
    for union in query.find_all(sqlglot.exp.Union):
        if union.args.get("by_name"):
            _match_by_name(union)
    scope, deps = build_scope(query), {}
    for column in query.named_selects:  # type: ignore[attr-defined]
        nodes = lineage(column, query, _tables(), scope=scope, dialect="duckdb", trim_selects=False).walk()
        leaves = {leaf for node in nodes if (leaf := _leaf(node)) is not None}
        if leaves:
            of_assets = sorted({(tuple(ASSETS[table]), name) for table, name in leaves})
            deps[column] = [dg.TableColumnDep(dg.AssetKey(asset), name) for asset, name in of_assets]
    return dg.TableColumnLineage(deps)


def lineage_metadata(statement: str) -> dict[str, dg.TableColumnLineage]:
    """The lineage of the columns as metadata of a materialization."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dg.BetaWarning)  # of this (pinned) Dagster
        return {"dagster/column_lineage": column_lineage(statement)}


def _match_by_name(union: exp.Union) -> None:
    """Puts the columns of the second query in the order of the first, since sqlglot takes those of the same position for the same."""
    from sqlglot import exp

    first, second = union.left, union.right
    names = list(dict.fromkeys([*first.named_selects, *second.named_selects]))
    for query in (first, second):
        by_name = dict(zip(query.named_selects, query.selects, strict=True))
        query.set("expressions", [by_name.get(name) or exp.alias_(exp.null(), name) for name in names])


def _leaf(node: Node) -> tuple[str, str] | None:
    """Table and column where a node stands for a column of a table."""
    import sqlglot

    if node.downstream or not isinstance(node.expression, sqlglot.exp.Table):
        return None
    return f"{node.expression.db}.{node.expression.name}", node.name.rpartition(".")[2]


@cache
def _tables() -> dict[str, object]:
    """Schema, table, column and type of all tables that ASSETS has."""
    tables: dict[str, Any] = {}
    for name in ASSETS:
        schema, _, table = name.partition(".")
        tables.setdefault(schema, {})[table] = dict(table_columns(sql.load(name)))
    return tables
