"""Which columns a column of a view or query is computed from, so that the UI can show it."""

from __future__ import annotations

import warnings
from functools import cache
from typing import TYPE_CHECKING

import dagster as dg

import sql
from warehouse.schema import table_columns

if TYPE_CHECKING:
    from sqlglot.lineage import Node

ASSETS = {
    "core.jobs": ["core", "jobs"],
    "core.sources": ["core", "jobs"],
    "raw.vasp_runs": ["raw", "vasp_runs"],
    "predictions.runtime_scores_by_period": ["predictions", "runtime_evaluation"],
}
"""Tables that views and queries of assets read, and the assets that write them."""


@cache
def column_lineage(statement: str) -> dg.TableColumnLineage:
    """By column of a statement below sql/, a view or a query, the columns of other assets that it is computed from.

    Columns that are computed from none, such as a count of rows, are left out. Raises KeyError for a table that ASSETS does not have.
    """
    import sqlglot
    from sqlglot.lineage import lineage

    parsed = sqlglot.parse_one(sql.load(statement), dialect="duckdb")
    query = parsed.expression if isinstance(parsed, sqlglot.exp.Create) else parsed
    assert isinstance(query, sqlglot.exp.Query)
    deps = {}
    for column in query.named_selects:
        nodes = lineage(column, query.sql("duckdb"), schema=_tables(), dialect="duckdb").walk()
        leaves = sorted({leaf for node in nodes if (leaf := _leaf(node)) is not None})
        if leaves:
            deps[column] = [dg.TableColumnDep(dg.AssetKey(ASSETS[table]), name) for table, name in leaves]
    return dg.TableColumnLineage(deps)


def lineage_metadata(statement: str) -> dict[str, dg.TableColumnLineage]:
    """The same as metadata of a materialization."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dg.BetaWarning)  # of this (pinned) Dagster
        return {"dagster/column_lineage": column_lineage(statement)}


def _leaf(node: Node) -> tuple[str, str] | None:
    """Table and column where a node stands for a column of a table."""
    import sqlglot

    if node.downstream or not isinstance(node.expression, sqlglot.exp.Table):
        return None
    return f"{node.expression.db}.{node.expression.name}", node.name.rpartition(".")[2]


@cache
def _tables() -> dict[str, dict[str, dict[str, str]]]:
    """Schema, table, column and type of all tables that ASSETS has."""
    tables: dict[str, dict[str, dict[str, str]]] = {}
    for name in ASSETS:
        schema, _, table = name.partition(".")
        tables.setdefault(schema, {})[table] = dict(table_columns(sql.load(name)))
    return tables
