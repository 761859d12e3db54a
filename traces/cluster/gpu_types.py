"""GPUs of a type, of nodes and of jobs. Slurm's accounting may write a type in another case than the nodes have it."""

from __future__ import annotations

import re
from collections.abc import Iterable

import polars as pl

from traces.cluster.description import Node


def gpus_of_type(kind: str, column: str = "gpu_types") -> pl.Expr:
    """How many GPUs of a type a job has, of the columns gpus and gpu_types. Null where nobody knows whether it has any."""
    named = pl.col(column).str.extract(rf"(?i)(?:^|,){re.escape(kind)}=(\d+)").cast(pl.Int64)
    return pl.when(pl.col("gpus").is_not_null() | named.is_not_null()).then(named.fill_null(0))


def gpu_types_of(jobs: pl.DataFrame) -> set[str]:
    """The types that jobs asked for, as the log writes them."""
    texts = jobs["requested_gpu_types"].drop_nulls().unique()
    return {word.partition("=")[0] for text in texts for word in text.split(",")}


def gpus_of_nodes(nodes: Iterable[Node], kind: str) -> int:
    """GPUs of a type that the nodes have, of those without a type for ""."""
    return sum(count for node in nodes for name, count in node.gpus.items() if name.lower() == kind.lower())
