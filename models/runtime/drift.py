"""How far new jobs are from those that a model learned from: the population stability index of its inputs."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

BINS = 10
LEAST_SHARE = 1e-3
"""An empty bin counts as this much; else one job in a new bin would make the index infinite."""


def population_stability(before: FloatArray, now: FloatArray, bins: int = BINS) -> float:
    """Sum over bins of (now - before) ln(now / before), shares of jobs; bins are the deciles of `before` (a value that several of
    them share is a bin by itself), and one for unknown (NaN). 0 where either is empty."""
    if not len(before) or not len(now):
        return 0.0
    known = before[~np.isnan(before)]
    edges = np.quantile(known, np.linspace(0, 1, bins + 1)[1:-1]) if len(known) else np.zeros(0)
    # a value that fills whole bins (a flag, a count that mostly is 0) is a bin by itself, apart from all above it
    often = edges[1:][edges[1:] == edges[:-1]]
    edges = np.unique(np.append(edges, np.nextafter(often, np.inf)))
    shares = []
    for values in (before, now):
        unknown = np.isnan(values)
        counts = np.bincount(np.searchsorted(edges, values[~unknown], side="right"), minlength=len(edges) + 1)
        shares.append(np.maximum(np.append(counts, unknown.sum()) / len(values), LEAST_SHARE))
    old, new = shares
    return float(((new - old) * np.log(new / old)).sum())


def input_drift(before: pl.DataFrame, now: pl.DataFrame, columns: tuple[str, ...]) -> dict[str, float]:
    """The index of each column, most shifted first."""
    values = {}
    for name in columns:
        old, new = (frame[name].cast(pl.Float64).to_numpy().astype(np.float64) for frame in (before, now))
        values[name] = population_stability(old, new)
    return dict(sorted(values.items(), key=lambda item: -item[1]))
