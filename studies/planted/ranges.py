"""Predictions of a change on planted clusters, and ranges around them that hold the truth as often as they promise.

A range is around the closed replay. It reaches half as far as open is from it, and a factor further, which is calibrated on other clusters
(split conformal prediction: Vovk, Gammerman and Shafer, "Algorithmic Learning in a Random World", 2005).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.judging.fidelity import OFFSET_S, WITHIN, change_error

PROMISED = WITHIN["A"] or 1.0
"""The factor by which a change with the letter A is off at most."""
IN_RANGE = 0.9
"""Of the calibrating cases in which open is off, that the range holds."""
RANGE_TITLES = [
    "open off by 10 %",
    "of these between",
    "of these in the range",
    "width of between",
    "width of the range",
]
RANGE_TITLES += ["cases", "in the range", "width", "widened by"]


@dataclass(frozen=True)
class Predicted:
    """One change on one cluster, which has its seed as number.

    share: of the jobs that truly follow another. found, right: of the jobs, those that the closed replay lets follow one, and the one that
    they truly follow. Each of true, open, closed and again: the mean wait before and after, seconds, of the jobs that start in both. again
    is the cluster's own once more, where jobs come up to a minute later."""

    share: float
    gives_up: bool
    change: str
    found: float
    right: float
    true: tuple[float, float]
    open: tuple[float, float]
    closed: tuple[float, float]
    again: tuple[float, float]
    cluster: int

    @property
    def errors(self) -> list[float]:
        """By which factor the change is off, 1 for not at all: open, closed, the prediction that nothing changes, and again."""
        no_change = (self.true[0], self.true[0])
        return [change_error(self.true, each) for each in (self.open, self.closed, no_change, self.again)]

    @property
    def factors(self) -> tuple[float, float, float]:
        """By which the change multiplies the mean wait: truly, open and closed."""
        both = (self.true, self.open, self.closed)
        true, at_times, at_pace = ((after + OFFSET_S) / (before + OFFSET_S) for before, after in both)
        return true, at_times, at_pace

    @property
    def is_off(self) -> bool:
        """Whether open is off by more than is promised."""
        return self.errors[0] > PROMISED

    @property
    def between(self) -> tuple[float, float]:
        """The logarithms of the two predicted factors, the smaller one first."""
        low, high = sorted(np.log(self.factors[1:]).tolist())
        return low, high

    def range_of(self, widened: float) -> tuple[float, float]:
        """The logarithms of the ends of a range around closed: to half-way from it to open, and as far beyond it. widened: the logarithm of
        a factor by which both ends lie further out."""
        _, at_times, at_pace = np.log(self.factors)
        half = float(abs(at_pace - at_times) / 2 + widened)
        return float(at_pace) - half, float(at_pace) + half

    @property
    def beyond_range(self) -> float:
        """By how much, as a logarithm, the true change is outside of the range that is not widened. Below 0 within it."""
        low, high = self.range_of(0.0)
        true = float(np.log(self.factors[0]))
        return max(low - true, true - high)

    def is_in(self, ends: tuple[float, float]) -> bool:
        """Whether the true change is in a range."""
        return bool(ends[0] <= np.log(self.factors[0]) <= ends[1])

    @property
    def is_beyond_closed(self) -> bool:
        """Whether it lies outside, on the side of the closed replay."""
        true, at_times, at_pace = self.factors
        return (true - at_pace) * (at_pace - at_times) > 0


def widening_of(cases: list[Predicted]) -> float:
    """By how much, as a logarithm, a range is widened so that it holds IN_RANGE of the cases in which open is off. Raises ValueError where
    open is off in none."""
    beyond = [each.beyond_range for each in cases if each.is_off]
    if not beyond:
        raise ValueError("open is off in no case: calibrate on more clusters")
    return max(float(np.quantile(beyond, IN_RANGE, method="higher")), 0.0)


def range_cells(cases: list[Predicted], widened: float) -> list[str]:
    """What RANGE_TITLES say of some cases: of those in which open is off, then of all. widened: see `Predicted.range_of`."""
    off = [each for each in cases if each.is_off]
    return [
        f"{len(off)}",
        share_of([each.is_in(each.between) for each in off]),
        share_of([each.is_in(each.range_of(widened)) for each in off]),
        _width([each.between for each in off]),
        _width([each.range_of(widened) for each in off]),
        f"{len(cases)}",
        share_of([each.is_in(each.range_of(widened)) for each in cases]),
        _width([each.range_of(widened) for each in cases]),
        percent(np.expm1(widened)),
    ]


def _width(ends: list[tuple[float, float]]) -> str:
    """By how much the upper end of a range is above the lower one, the median."""
    return percent(np.expm1(np.median([high - low for low, high in ends]))) if ends else ""


def share_of(holds: list[bool]) -> str:
    """The share of the cases in which something holds, "" where there are none."""
    return percent(np.mean(holds)) if holds else ""


def percent(share: float | np.floating) -> str:
    """Such as 12 %."""
    return f"{100 * share:.0f} %"
