"""Is a policy worth adopting? A word for how its panel compares with that of what runs today.

Rules: docs/reference/semantics.md, "Verdicts".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from models.judging.intervals import WAIT_OFFSET_S, Blocks, RatioInterval, ratio_interval
from models.judging.panel import Panel
from simulator.metrics.metrics import bounded_slowdown

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

DOMINATES, TRADES, HARMS, WORSE, NO_DIFFERENCE = "dominates", "trades", "harms", "worse", "no difference"
NOT_SIGNIFICANT = "no significant difference"
LIKE_CHANCE = "no better than random orders"
NO_VERDICT = "no verdict"
DEPENDS = "depends on users"
"""In place of a verdict that is another one where users keep their pace."""
CERTAIN = "certain"
"""Behind DOMINATES, after a comma."""
BASELINE_ROW = "baseline"
"""In a column of verdicts, where the row is what the others are compared with."""
NOBODY_PAYS_MORE = "nobody by more than the limits of a verdict"
"""In place of those who pay."""
VERDICT_MEANING = {
    DOMINATES: "mean wait and mean bounded slowdown fall, fewer than 1 of 20 random orders do as well in both, and no guarded class rises "
    "by more than a tenth: the waits that 95 % and 99 % of the jobs do not exceed, and the mean waits of wide jobs and of much work. "
    "The single longest wait decides nothing",
    f"{DOMINATES}, {CERTAIN}": "the same, chance explains such a result in fewer than 1 of 40 logs, and the typical 99th percentile "
    "of waits and the typical wait by work surely rise by less than a tenth",
    LIKE_CHANCE: "it would dominate, but 1 of 20 random orders or more do as well in bounded slowdown and in mean wait",
    NOT_SIGNIFICANT: "it would dominate or be worse, but the 95 % intervals of both changes include 0, or both changes are below 2 %",
    NO_DIFFERENCE: "mean wait and mean bounded slowdown surely change by less than 2 %, or all measures are within 1 %",
    TRADES: "some gain, and others wait longer for it",
    HARMS: "some gain, and others wait more than twice as long",
    WORSE: "neither mean wait nor mean bounded slowdown falls",
    DEPENDS: "it dominates where all submit at the times of the log, and not where users keep their pace, or vice versa. Or it "
    "trades in one of both, and is harmful or worse in the other",
    NO_VERDICT: "most random orders would dominate, so that a verdict on this log says nothing",
}
"""Every verdict that is stored or printed, and what it says: docs/reference/semantics.md, "Verdicts"."""
BEST_FIRST = (DOMINATES, NO_DIFFERENCE, NOT_SIGNIFICANT, LIKE_CHANCE, DEPENDS, TRADES, HARMS, WORSE, NO_VERDICT)
"""The order in which policies are ranked."""
MOST_OF_A_GUARD = 1.10
"""No guard of a policy that dominates is above this ratio."""
MOST_LOST = 0.01
"""Nor does it lose more of the capacity than this."""
LEAST_EFFECT = 0.02
"""The smallest change of an average that matters: where neither changes by as much, nothing dominates."""
MOST_AS_GOOD = 0.05
"""No larger share of random orders is as good as a policy that dominates, in bounded slowdown and in mean wait."""
HARMFUL = 2.0
"""A policy that gains and has a guard above this ratio harms."""
HARDLY = 0.01
"""Where every ratio is within this of 1, and a tenth of it is all that the lost capacity changes, there is no difference."""
GUARDS = ("p95_wait", "p99_wait", "area_wait", "wide_wait")


@dataclass(frozen=True)
class Ratios:
    """One panel over another, without unit.

    p95_wait: with WAIT_OFFSET_S added on both sides, since most logs have hardly a queue for nine of ten jobs at some time. wide_wait:
    None where no job is wide. lost_capacity: a difference of shares, 0 between clusters of different sizes. max_wait: of single
    jobs, so that no verdict depends on it.
    """

    bounded_slowdown: float
    wait: float
    p95_wait: float
    p99_wait: float
    area_wait: float
    wide_wait: float | None
    max_wait: float
    lost_capacity: float

    @property
    def guards(self) -> dict[str, float]:
        """The ratios that must not grow, by name."""
        return {name: ratio for name in GUARDS if (ratio := getattr(self, name)) is not None}

    @property
    def has_gain(self) -> bool:
        """Whether bounded slowdown or mean wait is less."""
        return self.bounded_slowdown < 1 or self.wait < 1

    @property
    def falls(self) -> bool:
        """Whether both are less."""
        return self.bounded_slowdown < 1 and self.wait < 1

    @property
    def matters(self) -> bool:
        """Whether one of them changes by LEAST_EFFECT or more."""
        least = 1 - LEAST_EFFECT
        return min(self.bounded_slowdown, self.wait) <= least or max(self.bounded_slowdown, self.wait) >= 1 / least

    @property
    def keeps_guards(self) -> bool:
        """Whether no guard is above its limit, nor the lost capacity."""
        return max(self.guards.values()) <= MOST_OF_A_GUARD and self.lost_capacity <= MOST_LOST

    @property
    def dominates(self) -> bool:
        """Whether both are less, one of them by an amount that matters, and no guard is above its limit."""
        return self.falls and self.matters and self.keeps_guards


@dataclass(frozen=True)
class PolicyVerdict:
    """word: one of those above. is_certain: it dominates, and both intervals lie below 1. ratios: one for each shift.

    payers: what is worse than the verdict's limits allow, as text, worst first. share_as_good: the share of random orders that are as good
    in both averages, None where none was replayed.
    """

    word: str
    is_certain: bool
    ratios: tuple[Ratios, ...]
    payers: tuple[str, ...]
    share_as_good: float | None = None

    @property
    def rank_value(self) -> float:
        """By which policies that dominate are ranked, least first: the logarithms of both gains, on average over the shifts."""
        return sum(math.log(each.bounded_slowdown) + math.log(each.wait) for each in self.ratios) / len(self.ratios)

    def __str__(self) -> str:
        return verdict_text(self.word, self.is_certain)


def beside_chance(verdict: PolicyVerdict, share_as_good: float) -> PolicyVerdict:
    """The verdict of a policy of which so large a share of random orders is as good. What a lottery reaches does not dominate."""
    if verdict.word == DOMINATES and share_as_good > MOST_AS_GOOD:
        return replace(verdict, word=LIKE_CHANCE, is_certain=False, share_as_good=share_as_good)
    return replace(verdict, share_as_good=share_as_good)


def without_verdict(verdict: PolicyVerdict, share_as_good: float) -> PolicyVerdict:
    """The same on a log on which most random orders dominate, so that no verdict says anything. That a policy is like the incumbent, or
    like a lottery, stays said. Arguments as those of `beside_chance`."""
    beside = beside_chance(verdict, share_as_good)
    if beside.word in (NO_DIFFERENCE, LIKE_CHANCE):
        return beside
    return replace(beside, word=NO_VERDICT, is_certain=False, payers=())


def verdict_text(word: str, is_certain: bool) -> str:
    """A verdict as it is stored and printed everywhere, such as "dominates, certain"."""
    return f"{word}, {CERTAIN}" if is_certain else word


def plain_word(text: str) -> str:
    """The word of a verdict that is stored or printed, without its certainty."""
    return text.partition(",")[0]


def payers_text(payers: Sequence[str], most: int | None = None) -> str:
    """Those who pay for a verdict, worst first, for people. most: how many are named."""
    return "; ".join(payers[:most]) or NOBODY_PAYS_MORE


def ratios_of(ours: Panel, theirs: Panel) -> Ratios:
    """Our panel over theirs."""
    same_size = None in (ours.procs, theirs.procs) or ours.procs == theirs.procs
    both_wide = ours.wide_wait_s is not None and theirs.wide_wait_s is not None
    return Ratios(
        bounded_slowdown=_ratio(ours.bounded_slowdown, theirs.bounded_slowdown),
        wait=_ratio(ours.wait_s, theirs.wait_s),
        p95_wait=(ours.p95_wait_s + WAIT_OFFSET_S) / (theirs.p95_wait_s + WAIT_OFFSET_S),
        p99_wait=_ratio(ours.p99_wait_s, theirs.p99_wait_s),
        area_wait=_ratio(ours.area_wait_s, theirs.area_wait_s),
        wide_wait=_ratio(ours.wide_wait_s or 0.0, theirs.wide_wait_s or 0.0) if both_wide else None,
        max_wait=_ratio(ours.max_wait_s, theirs.max_wait_s),
        lost_capacity=ours.lost_capacity - theirs.lost_capacity if same_size else 0.0,
    )


class TypicalBlock(NamedTuple):
    """Ratios of the typical block, with their intervals."""

    bounded_slowdown: RatioInterval
    wait: RatioInterval
    p99_wait: RatioInterval
    area_wait: RatioInterval

    @property
    def averages(self) -> tuple[RatioInterval, RatioInterval]:
        """Of bounded slowdown and of mean wait."""
        return self.bounded_slowdown, self.wait

    @property
    def is_certain(self) -> bool:
        """Whether both averages are surely less, and neither guard is surely above its limit, or may be."""
        limits = [(each.high, 1.0) for each in self.averages]
        limits += [(each.high, MOST_OF_A_GUARD) for each in (self.p99_wait, self.area_wait)]
        return all(high is not None and high < limit for high, limit in limits)

    @property
    def is_equivalent(self) -> bool:
        """Whether both averages surely change by less than LEAST_EFFECT, by two one-sided tests with the 95 % intervals."""
        margin = math.log1p(LEAST_EFFECT)
        ends = [end for each in self.averages for end in (each.low, each.high)]
        return all(end is not None and abs(math.log(end)) < margin for end in ends)


def typical_block(cut: Blocks, waits: FloatArray, runtime: IntArray, procs: IntArray) -> TypicalBlock:
    """Of blocks of the same jobs. waits: of ours and of the incumbent, seconds, float64 (2, jobs). runtime, procs: (jobs,)."""
    slowdowns, means = cut.means(bounded_slowdown(waits, runtime)), cut.means(waits)
    area = cut.means(waits, runtime.astype(np.float64) * procs)
    tails = cut.percentiles(waits, 99)
    return TypicalBlock(
        ratio_interval(slowdowns[0], slowdowns[1]),
        *(ratio_interval(each[0], each[1], WAIT_OFFSET_S) for each in (means, tails, area)),
    )


def verdict_of(ours: Sequence[Panel], incumbent: Sequence[Panel], typical: TypicalBlock | None = None) -> PolicyVerdict:
    """How a policy compares with the incumbent. Raises ValueError without a panel, and for different numbers of them.

    ours, incumbent: panels of the same jobs, one for each shift. typical: the typical block of the first shift. A policy dominates only if
    it does so in every shift. It harms if a guard is above HARMFUL in any.
    """
    if not ours or len(ours) != len(incumbent):
        raise ValueError(
            f"a verdict needs panels of both policies in the same shifts, got {len(ours)} and {len(incumbent)}"
        )
    ratios = tuple(ratios_of(*pair) for pair in zip(ours, incumbent, strict=True))
    payers, intervals = _payers(ours, incumbent, ratios), () if typical is None else typical.averages
    guarded = all(each.keeps_guards for each in ratios)
    equivalent = typical is not None and typical.is_equivalent and guarded and not any(each.matters for each in ratios)
    if equivalent or all(_hardly_differ(*pair) for pair in zip(ours, incumbent, strict=True)):
        return PolicyVerdict(NO_DIFFERENCE, False, ratios, ())
    if all(each.falls for each in ratios) and guarded:
        if _may_be_chance(intervals) or not all(each.matters for each in ratios):
            return PolicyVerdict(NOT_SIGNIFICANT, False, ratios, ())
        return PolicyVerdict(DOMINATES, typical is not None and typical.is_certain, ratios, payers)
    if not any(each.has_gain for each in ratios):
        return PolicyVerdict(NOT_SIGNIFICANT if _may_be_chance(intervals) else WORSE, False, ratios, payers)
    harms = any(max(each.guards.values()) > HARMFUL for each in ratios)
    return PolicyVerdict(HARMS if harms else TRADES, False, ratios, payers)


def _may_be_chance(intervals: Sequence[RatioInterval | None]) -> bool:
    """Whether there are intervals, and all of them include 1."""
    both_ends = [(each.low, each.high) for each in intervals if each is not None]
    ends = [(low, high) for low, high in both_ends if low is not None and high is not None]
    return bool(ends) and all(low <= 1 <= high for low, high in ends)


def _ratio(ours: float, theirs: float) -> float:
    if theirs == 0:
        return 1.0 if ours == 0 else math.inf
    return ours / theirs


def _hardly_differ(ours: Panel, theirs: Panel) -> bool:
    """The exact test of "no difference". Waits get WAIT_OFFSET_S on both sides, so that seconds count for nothing where hardly
    anything queues."""
    waits = [
        (ours.wait_s, theirs.wait_s),
        (ours.p95_wait_s, theirs.p95_wait_s),
        (ours.p99_wait_s, theirs.p99_wait_s),
        (ours.area_wait_s, theirs.area_wait_s),
        (ours.wide_wait_s or 0.0, theirs.wide_wait_s or 0.0),
    ]
    pairs = [(a + WAIT_OFFSET_S, b + WAIT_OFFSET_S) for a, b in waits]
    pairs.append((ours.bounded_slowdown, theirs.bounded_slowdown))
    within = all(abs(math.log(a / b)) <= math.log1p(HARDLY) for a, b in pairs)
    return within and abs(ratios_of(ours, theirs).lost_capacity) <= HARDLY / 10


_NAMES = {
    "bounded_slowdown": ("bounded_slowdown", "bounded slowdown"),
    "wait": ("wait_s", "mean wait"),
    "p95_wait": ("p95_wait_s", "95th percentile of waits"),
    "p99_wait": ("p99_wait_s", "99th percentile of waits"),
    "area_wait": ("area_wait_s", "wait weighted by work"),
    "wide_wait": ("wide_wait_s", "wait of wide jobs"),
}


def _payers(ours: Sequence[Panel], incumbent: Sequence[Panel], ratios: Sequence[Ratios]) -> tuple[str, ...]:
    """What grows by more than a policy that dominates may let it grow, in the shift where it grows most. So whatever neither dominates
    nor makes no difference has at least one."""
    payers: list[tuple[float, str]] = []
    for name, (field, words) in _NAMES.items():
        must_fall = name in ("bounded_slowdown", "wait")
        grown = [(ratio, k) for k, each in enumerate(ratios) if (ratio := getattr(each, name)) is not None]
        if not grown:
            continue
        ratio, k = max(grown)
        if ratio > MOST_OF_A_GUARD or (must_fall and ratio >= 1):
            payers.append((ratio, f"{words} {_amounts(getattr(ours[k], field), getattr(incumbent[k], field), field)}"))
    lost = max(each.lost_capacity for each in ratios)
    if lost > MOST_LOST:
        payers.append((1 + lost, f"{lost:.1%} more of the capacity lost"))
    return tuple(text for _, text in sorted(payers, reverse=True))


def _amounts(ours: float, theirs: float, field: str) -> str:
    """Such as "5.0 h instead of 4.2 h", with as many decimals as tell the two apart."""
    if ours == theirs:
        return "unchanged"
    divisor, unit = (3600, " h") if field.endswith("_s") else (1, "")
    for decimals in range(1, 6):
        texts = [f"{x / divisor:,.{decimals}f}{unit}" for x in (ours, theirs)]
        if texts[0] != texts[1]:
            break
    return " instead of ".join(texts)
