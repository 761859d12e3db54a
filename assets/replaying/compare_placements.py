"""Two saved placements of a source over the same jobs: what the second one changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

import sql
from assets.replaying.running.on_nodes import PLACEMENT_METRICS
from models.judging.intervals import HOP_OFFSET, WAIT_OFFSET_S, cut_into_blocks, ratio_interval
from warehouse import Warehouse

WAITS = ("average_wait_s", "p99_wait_s", "max_wait_s", "average_bounded_slowdown")
FEWEST_JOBS = 160
"""Jobs of which 16 blocks have ten each."""


def compare_placements(warehouse: Warehouse, source: str, one: str, other: str) -> dict[str, Any]:
    """How placement `other` of a source differs from `one` over the same jobs, from the warehouse.

    settings: those that differ. metrics: by name a, b and difference. paired: mean hop cost and wait of the jobs that started in both,
    with the shares of jobs for which it is lower, equal and higher. typical_block: ratios of hop cost and wait with their intervals.
    Raises ValueError for unknown placements, for those that were not over the same jobs, and for those that lack jobs.
    """
    with warehouse.read() as connection:
        rows = connection.sql("FROM replay.placements WHERE source = $source", params={"source": source}).pl()
        parameters = {"source": source, "placement_a": one, "placement_b": other}
        paired = connection.sql(sql.load("replay.paired_placements"), params=parameters).pl()
        counts = "SELECT placement, count(*) FROM replay.placed_jobs WHERE source = ? GROUP BY ALL"
        stored = dict(connection.execute(counts, [source]).fetchall())
    a, b = (_row(rows, source, name) for name in (one, other))
    if a["trace_sha256"] != b["trace_sha256"]:
        raise ValueError(f"{one!r} and {other!r} were not made of the same jobs: save one of them again")
    for row in (a, b):
        if stored.get(row["placement"], 0) != row["jobs"]:
            raise ValueError(
                f"{row['placement']!r} was saved by an earlier tracehouse, without the jobs that never ran: save it again"
            )
    metrics = (*WAITS, *PLACEMENT_METRICS)
    settings = [name for name in a if name not in (*metrics, "placement", "source")]
    return {
        "source": source,
        "placement_a": one,
        "placement_b": other,
        "settings": {name: [a[name], b[name]] for name in settings if a[name] != b[name]},
        "paired_jobs": paired.height,
        "metrics": {name: {"a": a[name], "b": b[name], "difference": b[name] - a[name]} for name in metrics},
        "paired": {
            "hop_cost": _pair(paired["hop_cost_a"], paired["hop_cost_b"]),
            "wait_s": _pair(paired["wait_a_s"], paired["wait_b_s"]),
        },
        "typical_block": {
            "hop_cost": _ratio(paired["hop_cost_a"], paired["hop_cost_b"], HOP_OFFSET),
            "wait_s": _ratio(paired["wait_a_s"], paired["wait_b_s"], WAIT_OFFSET_S),
        },
    }


def saved_placements(warehouse: Warehouse, source: str) -> list[str]:
    """Names of the saved placements of a source, sorted."""
    with warehouse.read() as connection:
        rows = connection.execute("SELECT placement FROM replay.placements WHERE source = ? ORDER BY ALL", [source])
        return [name for (name,) in rows.fetchall()]


def _row(rows: pl.DataFrame, source: str, name: str) -> dict[str, Any]:
    names = rows["placement"].to_list()
    if name not in names:
        raise ValueError(
            f"source {source!r} has no saved placement {name!r}; it has {', '.join(sorted(names)) or 'none'}. Save one with "
            f"`tracehouse replay {source} --topology TREE --save {name}`"
        )
    return rows.row(by_predicate=pl.col("placement") == name, named=True)


def _pair(a: pl.Series, b: pl.Series) -> dict[str, float]:
    change = np.sign(b.to_numpy() - a.to_numpy())
    shares = {word: float((change == sign).mean()) for word, sign in (("lower", -1), ("equal", 0), ("higher", 1))}
    return {
        "a": float(a.to_numpy().mean()),
        "b": float(b.to_numpy().mean()),
        **{f"{word}_share": share for word, share in shares.items()},
    }


def _ratio(a: pl.Series, b: pl.Series, offset: float) -> dict[str, Any] | None:
    """B over A in the typical of 16 blocks; None for too few jobs."""
    if len(a) < FEWEST_JOBS:
        return None
    blocks = cut_into_blocks(np.ones(len(a), dtype=np.bool_))
    interval = ratio_interval(blocks.means(b.to_numpy()), blocks.means(a.to_numpy()), offset)
    return {"ratio": interval.ratio, "low": interval.low, "high": interval.high, "why_none": interval.why_none}
