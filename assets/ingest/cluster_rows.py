"""Rows of core.nodes, core.partitions, core.limits and core.reservations: the configurations of the cluster that a source names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import duckdb
import polars as pl

import sql
from traces.cluster.description import ClusterDescription
from traces.cluster.hostlists import compress_names
from traces.cluster.nodes import Node
from warehouse.migrations import table_columns

Rows = dict[str, list[dict[str, Any]]]
CLUSTER_TABLES = ("core.nodes", "core.partitions", "core.limits", "core.reservations")
_TYPES: dict[str, Any] = {
    "VARCHAR": pl.Utf8,
    "BIGINT": pl.Int64,
    "BOOLEAN": pl.Boolean,
    "TIMESTAMP": pl.Datetime("us"),
}


def write_cluster_rows(
    connection: duckdb.DuckDBPyConnection, source: str, descriptions: Sequence[ClusterDescription]
) -> None:
    """Exchanges what the warehouse has of the cluster of a source, in the caller's transaction. No descriptions leave no rows."""
    rows: Rows = {table: [] for table in CLUSTER_TABLES}
    for description in descriptions:
        for table, made in cluster_rows(description).items():
            rows[table] += made
    for table, made in rows.items():
        connection.execute(f"DELETE FROM {table} WHERE source = ?", [source])
        if made:
            columns = {name: _TYPES[kind] for name, kind in table_columns(sql.load(table))}
            frame = pl.DataFrame([row | {"source": source} for row in made], schema=columns)
            connection.register("cluster_rows", frame.to_arrow())
            connection.execute(f"INSERT INTO {table} BY NAME SELECT * FROM cluster_rows")
            connection.unregister("cluster_rows")


def cluster_rows(description: ClusterDescription) -> Rows:
    """The rows of one configuration by table, without their source."""
    about = {
        "cluster": description.name,
        "valid_from": None if description.valid_from_s is None else _time(description.valid_from_s),
    }
    made: Rows = {
        "core.nodes": [_node(place, node) for place, node in enumerate(description.nodes)],
        "core.partitions": list(_partitions(description)),
        "core.limits": list(_limits(description)),
        "core.reservations": list(_reservations(description)),
    }
    return {table: [about | row for row in rows] for table, rows in made.items()}


def _node(place: int, node: Node) -> dict[str, Any]:
    return {
        "position": place,
        "node_name": node.name,
        "cpus": node.cpus,
        "cores": node.cores,
        "sockets": node.sockets or None,
        "memory_mib": node.memory_mib or None,
        "gpus": node.num_gpus,
        "gpu_types": _types(node.gpus),
        "features": _words(node.features),
        "weight": node.weight,
    }


def _partitions(description: ClusterDescription) -> Iterable[dict[str, Any]]:
    nodes = {node.name: node for node in description.nodes}
    for partition in description.partitions:
        names = description.nodes_of(partition)
        yield {
            "partition": partition.name,
            "node_list": compress_names(names),
            "nodes": len(names),
            "cpus": sum(nodes[name].cpus for name in names),
            "gpus": sum(nodes[name].num_gpus for name in names),
            "is_default": partition.is_default,
            "state": partition.state,
            "max_time_s": partition.max_time_s,
            "default_time_s": partition.default_time_s,
            "tier": partition.tier,
            "factor": partition.factor,
            "qos": partition.qos or None,
            "oversubscribe": partition.oversubscribe,
            "allow_accounts": _words(partition.allow_accounts),
            "allow_qos": _words(partition.allow_qos),
        }


def _limits(description: ClusterDescription) -> Iterable[dict[str, Any]]:
    for limit in description.limits:
        yield {
            "owner": limit.owner,
            "owner_name": limit.owner_name,
            "counts": limit.counts,
            "each": limit.each,
            "who": limit.who or None,
            "resource": limit.resource,
            "bound": limit.bound,
            "is_least": limit.is_least,
            "is_soft": limit.is_soft,
            "origin": limit.source,
        }


def _reservations(description: ClusterDescription) -> Iterable[dict[str, Any]]:
    for reservation in description.reservations:
        yield {
            "reservation": reservation.name,
            "begin_time": _time(reservation.begin_s),
            "end_time": _time(reservation.end_s),
            "repeats": reservation.repeats or None,
            "node_list": compress_names(reservation.nodes) or None,
            "cpus": reservation.cpus or None,
            "users": _words(reservation.users),
            "accounts": _words(reservation.accounts),
            "flags": _words(reservation.flags),
        }


def _types(gpus: Mapping[str, int]) -> str | None:
    return ",".join(f"{kind}={count}" for kind, count in sorted(gpus.items()) if kind and count) or None


def _words(words: Sequence[str]) -> str | None:
    return ",".join(words) or None


def _time(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)
