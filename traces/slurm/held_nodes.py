"""The nodes that jobs of Slurm held, of the host lists that sacct prints (NodeList)."""

from __future__ import annotations

import numpy as np
import polars as pl

from traces.cluster.hostlists import expand_hostlist

MOST_NODES_HELD = 100_000
"""Nodes of one job. A longer list is a fault of the log."""


def slurm_nodes_held(texts: pl.Series) -> pl.DataFrame:
    """One row a job and node: place (of the text in `texts`), node_name, and procs, gpus and memory_kb, which such a list does not tell.

    Texts that are no host list have no row.
    """
    distinct = texts.drop_nulls().unique(maintain_order=True)
    lists = [_names_of(text) for text in distinct]
    names = pl.DataFrame({"text": distinct, "node_name": pl.Series(lists, dtype=pl.List(pl.Utf8))})
    places = pl.DataFrame({"place": np.arange(len(texts)), "text": texts})
    rows = places.join(names, on="text", how="inner", maintain_order="left").drop("text")
    unknown = (pl.lit(None, pl.Int64).alias(name) for name in ("procs", "gpus", "memory_kb"))
    return rows.explode("node_name").filter(pl.col("node_name").is_not_null()).with_columns(*unknown)


def _names_of(text: str) -> list[str]:
    try:
        return list(dict.fromkeys(expand_hostlist(text, MOST_NODES_HELD)))
    except ValueError:
        return []
