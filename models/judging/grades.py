"""The letter of a figure of waits: how far the change of it in a what-if is from what the change would really do.

Calibrated on clusters with planted rules, whose true answer is available: docs/results/grades.md. Definitions:
docs/reference/semantics/fidelity.md, "The grade".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FIGURES = ("mean", "median", "p95")
"""Of the waits of some jobs."""
FIGURE_WORDS = {"mean": "mean wait", "median": "median wait", "p95": "95th percentile of wait"}
GRADES = ("A", "B", "C", "D")
OFFSET_S = 60.0
"""Added to waits before they are divided, or their logarithm is taken. For a person who waits, a second and a minute are the same."""
KEPT_SHARE = 0.9
"""Each letter keeps its promise in so many cases."""


@dataclass(frozen=True)
class LetterRule:
    """What a letter asks for, and what it promises. off: the largest ratio of the figure in the replay and in the log, either way, OFFSET_S
    added to both. rank: the least rank correlation of the waits. distance: the largest distance of the two distributions. within: the
    factor by which a change of the figure, as a what-if has it, is at most off from the true one. None for no promise."""

    off: float
    rank: float
    distance: float
    within: float | None


RULES = {
    "A": LetterRule(off=1.05, rank=0.95, distance=0.05, within=1.1),
    "B": LetterRule(off=1.25, rank=0.8, distance=0.15, within=1.3),
    "C": LetterRule(off=2.0, rank=0.5, distance=0.3, within=2.0),
    "D": LetterRule(off=np.inf, rank=-1.0, distance=1.0, within=None),
}
"""By letter, the best first."""


def figure_of(figure: str, waits: NDArray[np.int64]) -> float:
    """One of FIGURES, seconds. waits: int64 (jobs,), seconds, at least one."""
    if figure == "mean":
        return float(waits.mean())
    return float(np.quantile(waits, 0.5 if figure == "median" else 0.95))


def times_off(logged_s: float, replayed_s: float) -> float:
    """By which factor the figure of a replay is off, up or down, 1 for not at all."""
    ratio = (replayed_s + OFFSET_S) / (logged_s + OFFSET_S)
    return max(ratio, 1 / ratio)


def letter_of(logged_s: float, replayed_s: float, rank: float | None, distance: float) -> str:
    """The letter of a figure, seconds in the log and in the replay. rank, distance: as models.judging.fidelity.Agreement has them."""
    off = times_off(logged_s, replayed_s)
    for letter, rule in RULES.items():
        if off <= rule.off and (rank or 0.0) >= rule.rank and distance <= rule.distance:
            return letter
    return GRADES[-1]


def promise_of(letter: str, figure: str) -> str:
    """What a letter promises, in words."""
    within = RULES[letter].within
    if within is None:
        return "no promise for changes: trust no what-if figure"
    by = f"within {within - 1:.0%}".replace("%", " %") if within < 2 else f"within a factor of {within:g}"
    return f"the predicted change of the {FIGURE_WORDS[figure]} is {by} of the true one in 9 of 10 cases"
