"""Verdicts, by the rules of docs/reference/semantics.md."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from models.judging.intervals import RatioInterval
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


def test_those_that_dominate_are_ranked_by_both_gains() -> None:
    strong, weak = (verdict_of([panel], [FCFS]) for panel in (over(0.5, 0.9), over(0.8, 0.8)))
    assert strong.rank_value < weak.rank_value < 0


def test_every_verdict_has_a_place_and_a_meaning() -> None:
    assert {plain_word(text) for text in VERDICT_MEANING} == set(BEST_FIRST)
    check = (Path(__file__).parents[3] / "sql" / "checks" / "ranks_follow_verdicts.sql").read_text()
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
