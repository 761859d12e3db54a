"""The letter of a figure: how far a replay's change of it can be trusted. Thresholds: docs/results/grades.md has how they were set."""

from __future__ import annotations


import numpy as np
from numpy.typing import NDArray

from models.judging.fidelity import OFFSET_S

FIGURES = ("mean", "median", "p95")
"""Of the waits of some jobs."""


def figure_of(figure: str, waits: NDArray[np.int64]) -> float:
    """One of FIGURES, seconds. waits: int64 (jobs,), seconds, at least one."""
    if figure == "mean":
        return float(waits.mean())
    return float(np.quantile(waits, 0.5 if figure == "median" else 0.95))
