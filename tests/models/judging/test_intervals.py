"""Intervals of ratios: their symmetries, their agreement with SciPy on series without correlation, and how often they hold."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from models.judging.intervals import (
    LEAST_EFFECTIVE_SIZE,
    WAIT_OFFSET_S,
    FloatArray,
    RatioInterval,
    estimate_mean,
    holm_adjusted,
    log_ratios,
    plain_estimate,
    ratio_interval,
)

SEEDS = st.integers(0, 2**32 - 1)
BLOCK_COUNTS = st.integers(8, 40)


def block_means(seed: int, blocks: int) -> tuple[FloatArray, FloatArray]:
    """Of two policies, in seconds."""
    ours, theirs = np.random.default_rng(seed).lognormal(5, 1, size=(2, blocks))
    return ours, theirs


def alternating(seed: int, blocks: int) -> FloatArray:
    """Random values without positive autocorrelation: a low one after each high one."""
    sizes = np.random.default_rng(seed).uniform(0.5, 1.5, blocks)
    return np.where(np.arange(blocks) % 2, -sizes, sizes)


def ends(interval: RatioInterval) -> tuple[float, float]:
    assert interval.low is not None and interval.high is not None
    return interval.low, interval.high


@settings(deadline=None)
@given(SEEDS, BLOCK_COUNTS)
def test_swapping_policies_gives_the_reciprocal(seed: int, blocks: int) -> None:
    ours, theirs = block_means(seed, blocks)
    one, other = ratio_interval(ours, theirs, WAIT_OFFSET_S), ratio_interval(theirs, ours, WAIT_OFFSET_S)
    assert one.ratio == pytest.approx(1 / other.ratio)
    assert (one.blocks, one.effective_size, one.why_none) == (other.blocks, other.effective_size, other.why_none)
    assert one.p_value(True) == pytest.approx(other.p_value(False))
    if one.why_none is None:
        assert ends(one) == pytest.approx(tuple(1 / end for end in ends(other))[::-1])
        assert one.is_certain_below_one == (1 / ends(other)[0] < 1)


@settings(deadline=None)
@given(SEEDS, BLOCK_COUNTS, st.floats(0.1, 10))
def test_a_factor_moves_ratio_and_interval_and_a_common_one_does_not(seed: int, blocks: int, factor: float) -> None:
    ours, theirs = block_means(seed, blocks)
    plain, scaled = ratio_interval(ours, theirs), ratio_interval(factor * ours, theirs)
    assert scaled.ratio == pytest.approx(factor * plain.ratio)
    assert ratio_interval(factor * ours, factor * theirs).ratio == pytest.approx(plain.ratio)
    if plain.why_none is None:
        assert ends(scaled) == pytest.approx(tuple(factor * end for end in ends(plain)))


@settings(deadline=None)
@given(SEEDS, BLOCK_COUNTS)
def test_series_without_correlation_have_the_t_interval_of_scipy(seed: int, blocks: int) -> None:
    series = alternating(seed, blocks)
    estimate = estimate_mean(series)
    assert estimate.effective_size == blocks
    expected = stats.ttest_1samp(series, 0.0)
    low, high = expected.confidence_interval(0.95)
    assert (estimate.mean - estimate.margin, estimate.mean + estimate.margin) == pytest.approx((low, high))
    interval = ratio_interval(np.exp(series), np.ones(blocks))
    assert interval.p_value(True) == pytest.approx(stats.ttest_1samp(series, 0.0, alternative="less").pvalue)
    assert interval.p_value(False) == pytest.approx(stats.ttest_1samp(series, 0.0, alternative="greater").pvalue)


@settings(deadline=None)
@given(SEEDS, BLOCK_COUNTS, st.randoms(use_true_random=False))
def test_the_order_of_blocks_matters_by_autocorrelation_only(seed: int, blocks: int, random) -> None:  # type: ignore[no-untyped-def]
    series = alternating(seed, blocks)
    order = list(range(blocks))
    for _ in range(blocks // 8):  # a few swaps, so that many orders are left without correlation
        a, b = random.randrange(blocks), random.randrange(blocks)
        order[a], order[b] = order[b], order[a]
    other = estimate_mean(series[order])
    assert other.mean == pytest.approx(estimate_mean(series).mean)
    assume(other.effective_size == blocks)
    assert other.margin == pytest.approx(estimate_mean(series).margin)


@settings(deadline=None)
@given(SEEDS, BLOCK_COUNTS)
def test_time_may_run_backwards(seed: int, blocks: int) -> None:
    ours, theirs = block_means(seed, blocks)
    one, other = ratio_interval(ours, theirs), ratio_interval(ours[::-1], theirs[::-1])
    assert one.effective_size == pytest.approx(other.effective_size)
    assert one.standard_error == pytest.approx(other.standard_error)


def test_the_effective_size_by_hand() -> None:
    series = np.array([0.0, 0, 0, 0, 4, 4, 4, 4])  # deviations -2 and 2: squares 32, products 3 * 4 - 4 + 3 * 4
    lag1 = 20 / 32
    correlation = lag1 + (1 + 3 * lag1) / 8
    assert correlation > 0.9
    assert plain_estimate(series).effective_size == 2
    series = np.array([1.0, 2, 1, 2, 2, 1, 1, 2])  # deviations of 0.5: squares 2, products of signs - - - + - + -
    lag1 = -3 * 0.25 / 2
    assert plain_estimate(series).effective_size == 8 and lag1 + (1 + 3 * lag1) / 8 < 0
    series = np.array([1.0, 2, 1, 2, 2, 2, 1, 1])  # products of signs - - - + + - +
    correlation = -0.25 / 2 + (1 - 3 * 0.25 / 2) / 8
    assert correlation < 0 and plain_estimate(series).effective_size == 8
    series = np.array([2.0, 2, 1, 1, 1, 2, 2, 1])  # products of signs + - + + - + -
    correlation = 0.25 / 2 + (1 + 3 * 0.25 / 2) / 8
    estimate = plain_estimate(series)
    assert estimate.effective_size == pytest.approx(8 * (1 - correlation) / (1 + correlation))
    assert estimate.standard_error == pytest.approx(math.sqrt(2 / 7 / estimate.effective_size))
    assert plain_estimate(np.arange(80.0)).effective_size == pytest.approx(80 * 0.1 / 1.9)


def test_pairs_are_joined_where_blocks_are_too_much_alike_and_pairs_are_not() -> None:
    halves = np.array([1.0, 1, -1, -1, -1, 1, -1, 1])  # lag-1 autocorrelation -1/8
    series = np.repeat(halves, 2) + np.tile([0.01, -0.01], 8)
    plain = plain_estimate(series)
    assert plain.effective_size < LEAST_EFFECTIVE_SIZE and plain.blocks == 16
    estimate = estimate_mean(series)
    assert (estimate.blocks, estimate.effective_size) == (8, 8)
    assert estimate.mean == pytest.approx(series.mean())
    assert estimate.margin == pytest.approx(plain_estimate(halves).margin)
    interval = ratio_interval(np.exp(series), np.ones(16))
    assert (interval.blocks, interval.why_none) == (8, None)
    # 15 blocks cannot be halved, and 14 would leave 7
    assert estimate_mean(series[:15]).blocks == 15 and estimate_mean(series[:14]).blocks == 14
    both = estimate_mean(np.stack([series, alternating(1, 16)]))
    assert both.blocks.tolist() == [8, 16]
    assert both.margin[0] == estimate.margin


def test_no_interval_with_too_few_blocks_or_too_much_alike() -> None:
    ours, theirs = block_means(1, 7)
    few = ratio_interval(ours, theirs)
    assert (few.low, few.high, few.blocks) == (None, None, 7)
    assert few.why_none == "7 blocks, and an interval needs at least 8" and not few.is_certain_below_one
    assert few.ratio == pytest.approx(stats.gmean(ours) / stats.gmean(theirs))
    assert (few.p_value(True), few.p_value(False)) == (1, 1)
    trend = ratio_interval(np.exp(np.arange(16.0) / 100 - 5), np.ones(16))
    assert trend.low is None and trend.blocks == 16 and trend.effective_size < 5 and not trend.is_certain_below_one
    assert trend.why_none is not None and "16 of them are worth 2.0" in trend.why_none
    assert ratio_interval(ours[:1], theirs[:1]).why_none == "1 blocks, and an interval needs at least 8"


def test_equal_policies_have_the_ratio_one_without_a_width() -> None:
    waits = np.random.default_rng(2).lognormal(5, 2, 16)
    equal = ratio_interval(waits, waits, WAIT_OFFSET_S)
    assert (equal.ratio, equal.low, equal.high, equal.standard_error, equal.why_none) == (1, 1, 1, 0, None)
    assert not equal.is_certain_below_one and equal.p_value(True) == equal.p_value(False) == 0.5
    nobody_waits = ratio_interval(np.zeros(16), np.zeros(16), WAIT_OFFSET_S)
    assert (nobody_waits.ratio, nobody_waits.low, nobody_waits.high) == (1, 1, 1)
    constant = ratio_interval(np.full(16, 3.3), np.full(16, 7.7))
    assert constant.low == constant.high == constant.ratio == pytest.approx(3.3 / 7.7)
    assert constant.is_certain_below_one and (constant.p_value(True), constant.p_value(False)) == (0, 1)


def test_what_has_no_ratio_is_refused() -> None:
    one = np.ones(16)
    with pytest.raises(ValueError, match="block means above 0, and"):
        ratio_interval(np.zeros(16), one)
    with pytest.raises(ValueError, match="block means above -60, and all of them known"):
        ratio_interval(np.where(np.arange(16) == 3, np.nan, 1.0), one, WAIT_OFFSET_S)
    with pytest.raises(ValueError, match=r"same blocks, got shapes \(16,\) and \(15,\)"):
        ratio_interval(one, one[:15])
    with pytest.raises(ValueError, match=r"for each block is needed, got shape \(0,\)"):
        ratio_interval(one[:0], one[:0])
    with pytest.raises(ValueError, match=r"for each block is needed, got shape \(2, 8\)"):
        ratio_interval(one.reshape(2, 8), one.reshape(2, 8))


def coverage(series: FloatArray, mean: float) -> float:
    estimate = estimate_mean(series)
    holds = np.abs(estimate.mean - mean) <= estimate.margin
    return float(holds[estimate.has_interval].mean())


def test_intervals_hold_on_normal_noise() -> None:
    noise = np.random.default_rng(1).normal(size=(4000, 16))
    assert 0.95 < coverage(noise, 0.0) < 0.98
    ratios = [ratio_interval(np.exp(row + 0.7), np.ones(16)) for row in noise[:500]]
    holds = [ends(r)[0] <= math.exp(0.7) <= ends(r)[1] for r in ratios if r.why_none is None]
    assert 0.93 < np.mean(holds) < 0.99 and len(holds) > 470


def test_intervals_know_that_neighbours_are_alike() -> None:
    random = np.random.default_rng(1)
    series = random.normal(size=(4000, 40))
    for k in range(1, 40):
        series[:, k] = 0.5 * series[:, k - 1] + math.sqrt(0.75) * series[:, k]
    low, high = stats.t.interval(0.95, 39, series.mean(axis=1), stats.sem(series, axis=1))
    assert ((low < 0) & (high > 0)).mean() < 0.78
    assert 0.91 < coverage(series, 0.0) < 0.96


def test_holms_example_by_hand() -> None:
    assert holm_adjusted([0.01, 0.04, 0.03, 0.005]).tolist() == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm_adjusted([0.5, 0.9]).tolist() == [1.0, 1.0]
    assert len(holm_adjusted([])) == 0


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_holm_is_between_uncorrected_and_bonferroni_and_knows_no_order(p_values: list[float], random) -> None:  # type: ignore[no-untyped-def]
    adjusted = holm_adjusted(p_values)
    assert (adjusted >= p_values).all() and (adjusted <= np.minimum(1, len(p_values) * np.array(p_values))).all()
    order = list(range(len(p_values)))
    random.shuffle(order)
    assert holm_adjusted([p_values[k] for k in order]).tolist() == pytest.approx(adjusted[order].tolist())


@settings(deadline=None)
@given(SEEDS)
def test_log_ratios_of_many_policies_are_those_of_each(seed: int) -> None:
    waits = np.random.default_rng(seed).lognormal(5, 2, size=(3, 16))
    together = log_ratios(waits[1:], waits[:1], 60)
    for k in (0, 1):
        np.testing.assert_array_equal(together[k], log_ratios(waits[k + 1], waits[0], 60))
        alone, joint = estimate_mean(together[k]), estimate_mean(together)
        assert [float(x) for x in alone] == pytest.approx([float(x[k]) for x in joint])
