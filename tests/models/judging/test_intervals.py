"""Tests of models/judging: intervals, verdict."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

import sql
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
from models.judging.panel import Panel
from models.judging.verdict import (
    BEST_FIRST,
    DOMINATES,
    HARMS,
    NO_DIFFERENCE,
    NOT_SIGNIFICANT,
    TRADES,
    VERDICT_MEANING,
    WORSE,
    TypicalBlock,
    plain_word,
    ratios_of,
    verdict_of,
)

# intervals: Intervals of ratios: their symmetries, their agreement with SciPy on series without correlation, and how
# often they hold.

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


# verdict: Verdicts, by the rules of docs/reference/semantics.md.

FCFS = Panel(10.0, 7200.0, 30_000.0, 50_000.0, 90_000.0, 20_000.0, 15_000.0, 0.05)


def over(
    bsld: float, wait: float, p99: float = 1, area: float = 1, wide: float = 1, lost: float = 0, p95: float = 1
) -> Panel:
    """FCFS's panel times these ratios."""
    return Panel(10 * bsld, 7200 * wait, 30_000 * p95, 50_000 * p99, 90_000, 20_000 * area, 15_000 * wide, 0.05 + lost)


@pytest.mark.parametrize(
    ("panel", "word"),
    [
        (over(0.8, 0.9), DOMINATES),
        (over(0.8, 0.9, p99=1.09, area=1.09, wide=1.09, lost=0.0099), DOMINATES),
        (over(0.8, 0.9, p99=1.11), TRADES),
        (over(0.8, 0.9, p95=1.09), DOMINATES),
        (over(0.8, 0.9, p95=1.45), TRADES),
        (over(0.8, 0.9, p95=2.2), HARMS),
        (over(0.8, 0.9, area=1.11), TRADES),
        (over(0.8, 0.9, wide=1.11), TRADES),
        (over(0.8, 0.9, lost=0.011), TRADES),
        (over(0.8, 1.1), TRADES),
        (over(1.1, 0.8), TRADES),
        (over(0.4, 0.8, area=2.01), HARMS),
        (over(0.4, 0.8, wide=12), HARMS),
        (over(1.4, 0.8, p99=3), HARMS),
        (over(1.1, 1.1), WORSE),
        (over(1.1, 1.1, area=5), WORSE),
        (over(1, 1), NO_DIFFERENCE),
        (over(0.991, 0.991), NO_DIFFERENCE),
        (over(1, 1, lost=0.002), WORSE),
        (over(0.98, 0.98), DOMINATES),
    ],
)
def test_one_replay(panel: Panel, word: str) -> None:
    assert verdict_of([panel], [FCFS]).word == word


def test_a_wait_that_falls_to_nothing_has_a_verdict() -> None:
    assert verdict_of([over(0.9, 0, p99=0, area=0, wide=0)], [FCFS]).word == DOMINATES
    assert verdict_of([FCFS], [over(0.9, 0, p99=0, area=0, wide=0)]).word == WORSE


def test_every_shift_counts() -> None:
    good, poor = over(0.8, 0.9), over(0.8, 0.9, wide=1.2)
    assert verdict_of([good, good], [FCFS, FCFS]).word == DOMINATES
    found = verdict_of([good, poor], [FCFS, FCFS])
    assert found.word == TRADES and found.payers == ("wait of wide jobs 5.0 h instead of 4.2 h",)
    assert verdict_of([good, over(0.8, 0.9, area=2.5)], [FCFS, FCFS]).word == HARMS
    assert verdict_of([over(1, 1), good], [FCFS, FCFS]).word == TRADES  # it gains in one of two
    with pytest.raises(ValueError, match="same shifts, got 2 and 1"):
        verdict_of([good, good], [FCFS])


def around(low: float, high: float) -> RatioInterval:
    return RatioInterval(1.0, low, high, 0.1, 16, 12.0, None)


def block(slowdown: RatioInterval, wait: RatioInterval) -> TypicalBlock:
    """The guards do not change."""
    return TypicalBlock(slowdown, wait, around(0.99, 1.01), around(0.99, 1.01))


def interval(high: float | None) -> RatioInterval:
    return RatioInterval(0.8, 0.7 if high else None, high, 0.1, 16, 12.0, None if high else "8 blocks")


@pytest.mark.parametrize(
    ("slowdown", "wait", "certain"),
    [(0.9, 0.95, True), (0.9, 1.02, False), (1.02, 0.9, False), (None, 0.9, False), (0.9, None, False)],
)
def test_certain_only_where_both_intervals_lie_below_one(
    slowdown: float | None, wait: float | None, certain: bool
) -> None:
    found = verdict_of([over(0.8, 0.9)], [FCFS], block(interval(slowdown), interval(wait)))
    assert (found.word, found.is_certain) == (DOMINATES, certain)
    assert str(found) == ("dominates, certain" if certain else "dominates")
    assert not verdict_of([over(0.8, 0.9)], [FCFS]).is_certain
    assert not verdict_of([over(0.8, 0.9, wide=3)], [FCFS], block(interval(0.9), interval(0.9))).is_certain


@pytest.mark.parametrize(
    ("tail", "area", "certain"), [(1.09, 1.09, True), (1.11, 1.0, False), (1.0, 1.11, False), (None, 1.0, False)]
)
def test_certain_only_where_the_guards_surely_hold(tail: float | None, area: float, certain: bool) -> None:
    typical = TypicalBlock(interval(0.9), interval(0.9), interval(tail), interval(area))
    assert verdict_of([over(0.8, 0.9)], [FCFS], typical).is_certain == certain


@pytest.mark.parametrize(
    ("panel", "ends", "word"),
    [
        (over(0.985, 0.985), (0.97, 0.999), NOT_SIGNIFICANT),  # too small an effect
        (over(0.985, 0.985), (0.981, 0.999), NO_DIFFERENCE),
        (over(0.999, 1.001, p99=1.04), (0.99, 1.01), NO_DIFFERENCE),
        (over(0.999, 1.001, p99=1.2), (0.99, 1.01), TRADES),
        (over(0.99, 0.97), (0.96, 0.999), DOMINATES),
    ],
)
def test_an_effect_has_a_size(panel: Panel, ends: tuple[float, float], word: str) -> None:
    assert verdict_of([panel], [FCFS], block(around(*ends), around(*ends))).word == word


def test_a_log_in_which_nobody_waits_tells_no_difference() -> None:
    """Seconds, and twice as many of them."""
    idle = Panel(1.001, 0.2, 1.0, 3.0, 20.0, 0.3, None, 0.0)
    assert verdict_of([replace(idle, wait_s=0.4, p99_wait_s=3.5)], [idle]).word == NO_DIFFERENCE
    none = replace(idle, wait_s=0.0, p99_wait_s=0.0, max_wait_s=0.0, area_wait_s=0.0)
    assert ratios_of(none, none).wait == 1.0
    assert ratios_of(idle, none).wait == float("inf")


def test_who_pays_is_told_worst_first() -> None:
    found = verdict_of([over(1.2, 0.8, area=8, wide=10, lost=0.03)], [FCFS])
    assert found.payers == (
        "wait of wide jobs 41.7 h instead of 4.2 h",
        "wait weighted by work 44.4 h instead of 5.6 h",
        "bounded slowdown 12.0 instead of 10.0",
        "3.0% more of the capacity lost",
    )


def test_a_larger_cluster_loses_no_capacity() -> None:
    """More nodes leave more of each free, which harms nobody."""
    more, today = replace(over(0.8, 0.8, lost=0.03), procs=110), replace(FCFS, procs=100)
    assert verdict_of([more], [today]).word == DOMINATES and verdict_of([more], [today]).payers == ()
    assert verdict_of([replace(more, procs=100)], [today]).word == TRADES


def test_those_that_dominate_are_ranked_by_both_gains() -> None:
    strong, weak = (verdict_of([panel], [FCFS]) for panel in (over(0.5, 0.9), over(0.8, 0.8)))
    assert strong.rank_value < weak.rank_value < 0


def test_every_verdict_has_a_place_and_a_meaning() -> None:
    assert {plain_word(text) for text in VERDICT_MEANING} == set(BEST_FIRST)
    check = sql.load("checks.ranks_follow_verdicts")
    assert ", ".join(f"'{word}'" for word in BEST_FIRST) in check


@pytest.mark.parametrize(
    ("panel", "slowdown", "wait", "word"),
    [
        (over(0.8, 0.9), around(0.7, 1.1), around(0.6, 1.2), NOT_SIGNIFICANT),
        (over(0.8, 0.9), around(0.7, 0.9), around(0.6, 1.2), DOMINATES),
        (over(1.2, 1.3), around(0.7, 1.4), around(0.6, 1.5), NOT_SIGNIFICANT),
        (over(1.2, 1.3), around(1.1, 1.4), around(0.6, 1.5), WORSE),
        (over(0.8, 1.1), around(0.7, 1.1), around(0.6, 1.5), TRADES),
    ],
)
def test_what_may_be_chance_is_no_significant_difference(
    panel: Panel, slowdown: RatioInterval, wait: RatioInterval, word: str
) -> None:
    assert verdict_of([panel], [FCFS], block(slowdown, wait)).word == word


@pytest.mark.parametrize("panel", [over(1.005, 0.8), over(0.8, 1), over(0.9, 1.0001)])
def test_whoever_neither_dominates_nor_makes_no_difference_names_who_pays(panel: Panel) -> None:
    """No payer was named between 1 and 1.01, and `what-if` ended in an AttributeError."""
    found = verdict_of([panel], [FCFS])
    assert found.word == TRADES and len(found.payers) == 1
    ours, _, theirs = found.payers[0].partition(" instead of ")
    assert ours.split()[-1] != theirs and ours.split()[-2:] != theirs.split()
