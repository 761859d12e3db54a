"""The letter of a figure of waits: how far the change of it in a what-if is from what the change would really do.

Calibrated on clusters with planted rules, whose true answer is available: docs/results/grades.md. Definitions:
docs/reference/semantics/fidelity.md, "The grade".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

WAIT_FIGURES = ("mean", "median", "p95")
"""Of the waits of some jobs."""
FIGURE_WORDS = {"mean": "mean wait", "median": "median wait", "p95": "95th percentile of wait"}
GRADES = ("A", "B", "C", "D")
NO_FIGURES = GRADES[-1]
"""The grade with which only ranks and directions are said."""
OFFSET_S = 60.0
"""Added to waits before they are divided, or their logarithm is taken. For a person who waits, a second and a minute are the same."""
KEPT_SHARE = 0.9
"""Each letter keeps its promise in so many cases."""


WITHIN: dict[str, float | None] = {"A": 1.1, "B": 1.3, "C": 2.0, "D": None}
"""By letter, the best first: the factor by which a change of a figure, as a what-if has it, is at most off from the true one. None for no
promise."""


@dataclass(frozen=True)
class LetterRule:
    """What a letter asks for. off: the largest ratio of the figure in the replay and in the log, either way, OFFSET_S added to both. rank:
    the least rank correlation of the waits. distance: the largest distance of the two distributions."""

    off: float
    rank: float
    distance: float


LETTER_RULES = {
    "mean": {"A": LetterRule(1.1, 0.95, 0.05), "B": LetterRule(1.25, 0.85, 0.15), "C": LetterRule(2.0, 0.5, 0.3)},
    "median": {"A": LetterRule(1.05, 0.98, 0.05), "B": LetterRule(1.1, 0.98, 0.05), "C": LetterRule(1.2, 0.95, 0.1)},
    "p95": {"A": LetterRule(1.1, 0.95, 0.1), "B": LetterRule(1.2, 0.9, 0.15), "C": LetterRule(2.0, 0.5, 0.3)},
}
"""By figure and letter. All that meets none has the last letter."""


def figure_of(figure: str, waits: NDArray[np.int64]) -> float:
    """One of WAIT_FIGURES, seconds. waits: int64 (jobs,), seconds, at least one."""
    if figure == "mean":
        return float(waits.mean())
    return float(np.quantile(waits, 0.5 if figure == "median" else 0.95))


def times_off(logged_s: float, replayed_s: float) -> float:
    """By which factor the figure of a replay is off, up or down, 1 for not at all."""
    ratio = (replayed_s + OFFSET_S) / (logged_s + OFFSET_S)
    return max(ratio, 1 / ratio)


def change_error(true_s: tuple[float, float], predicted_s: tuple[float, float]) -> float:
    """The factor by which the change of a figure from before to after is off, 1 for not at all. Each: the figure before and after."""
    true, predicted = ((after + OFFSET_S) / (before + OFFSET_S) for before, after in (true_s, predicted_s))
    return max(true / predicted, predicted / true)


def letter_of(figure: str, waits_s: tuple[float, float], rank: float | None, distance: float) -> str:
    """The letter of one of WAIT_FIGURES. waits_s: it in the log and in the replay. rank, distance: of the waits."""
    off = times_off(*waits_s)
    for letter, rule in LETTER_RULES[figure].items():
        if off <= rule.off and (rank or 0.0) >= rule.rank and distance <= rule.distance:
            return letter
    return GRADES[-1]


def promise_of(letter: str, figure: str) -> str:
    """What a letter promises, in words."""
    within = WITHIN[letter]
    if within is None:
        return "no promise: trust no what-if figure"
    by = f"within {within - 1:.0%}".replace("%", " %") if within < 2 else f"within a factor of {within:g}"
    return f"predicted changes of the {FIGURE_WORDS[figure]} are {by} of the true ones in 9 of 10 cases"
