"""The population stability index by hand."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

from models.runtime.drift import LEAST_SHARE, input_drift, population_stability, usual_stability

SHIFTED = 0.25
"""From here on sql/checks/inputs_are_stable.sql warns."""


def test_two_bins_by_hand() -> None:
    """Half of the values on either side of the median; now three quarters are above: 2 x 1/4 x ln 3/2 or ln 2."""
    before = np.arange(100.0)
    now = np.concatenate([np.arange(25), np.arange(50, 100), np.arange(50, 75)]).astype(float)
    expected = (0.75 - 0.5) * math.log(0.75 / 0.5) + (0.25 - 0.5) * math.log(0.25 / 0.5)
    assert population_stability(before, now, bins=2) == pytest.approx(expected)


def test_a_bin_that_was_empty_counts_a_thousandth() -> None:
    before, now = np.arange(10.0), np.full(10, 3.0)
    shares = [0.1] * 10, [LEAST_SHARE] * 3 + [1.0] + [LEAST_SHARE] * 6
    expected = sum((new - old) * math.log(new / old) for old, new in zip(*shares, strict=True))
    assert population_stability(before, now) == pytest.approx(expected)


def test_the_same_population_has_not_moved() -> None:
    rng = np.random.default_rng(1)
    values = np.concatenate([rng.lognormal(5, 2, 800), np.full(100, np.nan), np.zeros(300)])
    assert population_stability(values, values) == 0
    assert population_stability(values, rng.permutation(values)) == pytest.approx(0, abs=1e-12)
    drawn = [rng.lognormal(5, 2, 4000) for _ in range(2)]
    assert 0 < population_stability(*drawn) < 0.02


def test_unknown_values_are_a_bin() -> None:
    before, now = np.arange(100.0), np.concatenate([np.arange(50.0), np.full(50, np.nan)])
    assert population_stability(np.arange(100.0), np.arange(100.0)) == 0
    assert population_stability(before, now) > SHIFTED
    assert population_stability(now, before) > SHIFTED
    half = np.concatenate([np.arange(100.0), np.full(100, np.nan)])
    quarter = np.concatenate([np.repeat(np.arange(100.0), 3), np.full(100, np.nan)])
    expected = (0.25 - 0.5) * math.log(0.5) + 10 * (0.075 - 0.05) * math.log(1.5)
    assert population_stability(half, quarter) == pytest.approx(expected)
    nothing = np.full(10, np.nan)
    assert population_stability(nothing, nothing) == 0
    assert population_stability(nothing, np.arange(10.0)) == pytest.approx(
        2 * (1 - LEAST_SHARE) * math.log(1 / LEAST_SHARE)
    )


def test_up_and_down_are_alike() -> None:
    before = np.random.default_rng(2).normal(0, 1, 1000)
    up, down = population_stability(before, before + 100), population_stability(before, before - 100)
    assert up == pytest.approx(down) and up > 5
    assert population_stability(before, before + 0.3) == pytest.approx(
        population_stability(-before, -before - 0.3), rel=0.02
    )
    assert population_stability(before + 100, before) == pytest.approx(up, rel=1e-9)


@pytest.mark.parametrize(("before", "now"), [(0.05, 0.6), (0.6, 0.05), (0.95, 0.4), (0.0, 0.5), (1.0, 0.5)])
def test_a_flag_that_comes_more_or_less_often(before: float, now: float) -> None:
    """Most of its deciles are the same value, and yet the shares of 0 and 1 have changed."""
    first, second = (np.where(np.arange(1000) < 1000 * share, 1.0, 0.0) for share in (before, now))
    assert population_stability(first, second) > SHIFTED
    old, new = (max(LEAST_SHARE, share) for share in (before, now))
    empty = [max(LEAST_SHARE, 1 - share) for share in (before, now)]
    expected = (new - old) * math.log(new / old) + (empty[1] - empty[0]) * math.log(empty[1] / empty[0])
    assert population_stability(first, second) == pytest.approx(expected)


def test_a_constant_that_changes() -> None:
    for other in (-1.0, 6.0):
        assert population_stability(np.full(100, 5.0), np.full(100, other)) > SHIFTED
    assert population_stability(np.full(100, 5.0), np.full(100, 5.0)) == 0


def test_what_is_usual_is_the_largest_of_past_stretches() -> None:
    """Three stretches are like the whole, one is not: its index against the other three."""
    calm = np.tile(np.arange(100.0), 3)
    odd = np.arange(50.0, 150.0)
    before = np.concatenate([calm[:200], odd, calm[200:]])
    edges = np.unique(np.quantile(before, np.linspace(0, 1, 11)[1:-1]))
    shares = [np.bincount(np.searchsorted(edges, values, side="right"), minlength=10) for values in (calm, odd)]
    old, new = (np.maximum(counts / counts.sum(), LEAST_SHARE) for counts in shares)
    assert usual_stability(before, 100) == pytest.approx(((new - old) * np.log(new / old)).sum())


def test_too_few_stretches_say_nothing() -> None:
    values = np.arange(100.0)
    assert usual_stability(values, 25) == usual_stability(values, 80), "four shorter ones in the place of one"
    assert usual_stability(values[:-1], 25) is None and usual_stability(values, 24) is None


def test_bursts_are_no_shift_and_a_shift_is_one() -> None:
    """Jobs of a user come ten in a row. Of 40 stretches of a log that does not change few stand out; a changed one does."""
    rng = np.random.default_rng(4)
    before = np.repeat(rng.lognormal(5, 2, 400), 10)
    usual = usual_stability(before, 200)
    assert usual is not None
    values = [population_stability(before, np.repeat(rng.lognormal(5, 2, 20), 10)) for _ in range(40)]
    assert np.mean([value > 0.25 for value in values]) > 0.5, "the custom alone warns most of the time"
    assert np.mean([value > max(0.25, 2 * usual) for value in values]) < 0.1
    assert population_stability(before, np.repeat(rng.lognormal(12, 0.1, 20), 10)) > 2 * usual


def test_nothing_to_compare() -> None:
    assert population_stability(np.zeros(0), np.arange(3.0)) == population_stability(np.arange(3.0), np.zeros(0)) == 0


def test_columns_most_shifted_first() -> None:
    before = pl.DataFrame({"same": range(100), "far": range(100), "near": range(100), "none": [None] * 100})
    now = before.with_columns(pl.col("far") + 1000, pl.col("near") + 8)
    found = input_drift(before, now, ("same", "far", "near", "none"))
    assert list(found)[:2] == ["far", "near"]
    assert found["same"] == found["none"] == 0 and found["far"] > found["near"] > 0
    assert found["near"] == population_stability(np.arange(100.0), np.arange(8.0, 108.0))
