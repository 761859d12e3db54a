"""The binomial bound on a quantile of recent waits."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from models.waits.binomial_bounds import BOUNDED, ClassBound, binomial_bounds, upper_ranks
from models.waits.history import history_of
from tests.models.waits.states import rows_of


def test_ranks_are_those_of_the_paper() -> None:
    """59 waits are the fewest for the 0.95 quantile with 95 % confidence (Brevik, Nurmi and Wolski 2006), and 29 for the 0.9."""
    for level, fewest in ((0.95, 59), (0.9, 29)):
        ranks = upper_ranks(level, 100)
        assert ranks[fewest] == fewest and ranks[fewest - 1] == fewest


@pytest.mark.parametrize(("bounded", "beyond"), zip(BOUNDED, (0.1, 0.5, 0.1), strict=True))
def test_independent_waits_are_bounded_with_the_confidence(bounded: tuple[float, bool], beyond: float) -> None:
    level, is_upper = bounded
    ranks, rng = upper_ranks(level if is_upper else 1 - level, 200), np.random.default_rng(1)
    held = []
    for _ in range(400):
        one = ClassBound(ranks, 1 if is_upper else -1)
        for wait in rng.integers(0, 1_000_000, 100).tolist():
            one.add(wait, float("nan"))
        told = one.bound() / 1_000_000
        held.append((1 - told if is_upper else told) <= beyond)
    assert 0.93 <= np.mean(held) <= 0.99


def test_three_misses_in_a_row_forget_older_waits() -> None:
    one = ClassBound(upper_ranks(0.9, 300), 1)
    for _ in range(100):
        one.add(10, float("nan"))
    for _ in range(2):
        one.add(1000, one.bound())
    assert one.bound() == 10
    one.add(1000, one.bound())
    assert one.bound() == 1000, "of the 29 that are left"


def test_bounds_use_only_what_had_started() -> None:
    rows = rows_of(600)
    told = binomial_bounds(history_of(rows, 16))
    assert np.isnan(told[0]).all() and (~np.isnan(told[-100:])).any()
    moment = int(rows["submit_s"][400])
    later = rows.with_columns(
        start_s=pl.when(pl.col("start_s") > moment).then(pl.col("start_s") + 9999).otherwise("start_s")
    )
    kept = history_of(rows, 16).submit <= moment
    assert np.array_equal(told[kept], binomial_bounds(history_of(later, 16))[kept], equal_nan=True)
    known = told[~np.isnan(told).any(axis=1)]
    assert len(known) and (known[:, 0] <= known[:, 2]).all()
