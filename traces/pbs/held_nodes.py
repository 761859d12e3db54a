"""The nodes that jobs of PBS and Torque held, of what their records list, as rows of a table."""

from __future__ import annotations

import numpy as np
import polars as pl

from traces.pbs.holdings import HeldNode, held_nodes


def pbs_nodes_held(texts: pl.Series) -> pl.DataFrame:
    """One row a job and node: place (of the text in `texts`), node_name, procs, and gpus and memory_kb, null where the text does not tell.

    texts: `(n1:ncpus=4:mem=2gb+n2:ncpus=4)+(n1:ncpus=1)` (exec_vnode), or `n1/0*16+n2/0-3+n2/7` (exec_host). Texts that are neither have
    no row.
    """
    places: list[int] = []
    rows: list[tuple[str, int, int | None, int | None]] = []
    for place, text in enumerate(texts):
        for held in _nodes_of(text):
            places.append(place)
            gpus = held.gpus if text.startswith("(") else None
            rows.append((held.node, held.cpus, gpus, held.memory_kb or None))
    frame = pl.DataFrame(
        rows, {"node_name": pl.Utf8, "procs": pl.Int64, "gpus": pl.Int64, "memory_kb": pl.Int64}, orient="row"
    )
    return frame.insert_column(0, pl.Series("place", np.array(places, dtype=np.int64)))


def _nodes_of(text: str | None) -> tuple[HeldNode, ...]:
    if not text:
        return ()
    try:
        return held_nodes({"exec_vnode" if text.startswith("(") else "exec_host": text}, {})
    except ValueError:
        return ()
