"""Tests of models/judging: fidelity, judge."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from models.judging.fidelity import (
    GRADES,
    LETTER_RULES,
    NO_REACTION,
    WAIT_FIGURES,
    WITHIN,
    Reacting,
    capped,
    letter_of,
    promise_of,
    reacting_text,
    times_off,
)
from models.judging.intervals import block_edges, ratio_interval
from models.judging.judge import Judgement, block_intervals, corrected_for_many, judge, takes_over
from models.judging.panel import Replayed, WhoPays, scored_after
from models.judging.verdict import DOMINATES, NO_DIFFERENCE, PolicyVerdict
from simulator.engine.replay import replay
from simulator.metrics.metrics import bounded_slowdown
from tests.simulator.busy import busy_jobs

# grades: Letters of figures.


def test_each_letter_asks_for_less_and_promises_less_than_the_one_before() -> None:
    assert tuple(WITHIN) == GRADES and tuple(LETTER_RULES) == WAIT_FIGURES and WITHIN["D"] is None
    assert list(WITHIN.values())[:3] == sorted(filter(None, WITHIN.values()))
    for rules in LETTER_RULES.values():
        for name, order in (("off", 1), ("distance", 1), ("rank", -1)):
            values = [order * getattr(rules[letter], name) for letter in GRADES[:3]]
            assert values == sorted(values), name


@pytest.mark.parametrize("figure", WAIT_FIGURES)
@pytest.mark.parametrize("letter", GRADES[:3])
def test_a_letter_is_given_up_to_its_thresholds_and_no_further(figure: str, letter: str) -> None:
    rule = LETTER_RULES[figure][letter]
    replayed = 3540 * rule.off + 59 * (rule.off - 1)
    best = letter_of(figure, (3540, replayed), rule.rank, rule.distance)
    assert best <= letter and letter_of(figure, (3540, 3540), 1.0, 0.0) == "A"
    for worse in ((replayed + 90, rule.rank), (replayed, rule.rank - 0.01)):
        asked = letter_of(figure, (3540, worse[0]), worse[1], rule.distance)
        assert asked > letter or LETTER_RULES[figure][asked] == rule


def test_how_far_off_figures_are() -> None:
    assert times_off(60, 180) == times_off(180, 60) == 2.0


def test_promises_in_words() -> None:
    in_words = "predicted changes of the 95th percentile of wait are within 30 % of the true ones in 9 of 10 cases"
    for reacting in (NO_REACTION, Reacting(0.2), Reacting(None, 0.01)):
        assert promise_of("B", "p95", reacting) == f"if users submit at the log's times, {in_words}"
    assert promise_of("B", "mean", Reacting(0.09)).startswith("if users submit at the log's times, ")
    for reacting in (Reacting(0.1), Reacting(None, 0.001)):
        assert promise_of("B", "mean", reacting).startswith("if users keep their pace, ")
    assert "within a factor of 2 " in promise_of("C", "mean", NO_REACTION)
    assert "no promise" in promise_of("D", "mean", NO_REACTION)


@pytest.mark.parametrize(
    ("reacting", "best"),
    [
        (NO_REACTION, "AAA"),
        (Reacting(0.009), "AAA"),
        (Reacting(0.01), "ABB"),
        (Reacting(0.02), "BBB"),
        (Reacting(0.03), "BCB"),
        (Reacting(0.1), "BCC"),
        (Reacting(0.3), "BDC"),
        (Reacting(0.5), "CDC"),
        (Reacting(0.6), "CDD"),
        (Reacting(1.0), "CDD"),
        (Reacting(0.0, 0.0009), "AAA"),
        (Reacting(None, 0.001), "CDD"),
        (Reacting(0.5, 0.001), "CDD"),
    ],
)
def test_a_log_whose_users_react_has_no_better_letter(reacting: Reacting, best: str) -> None:
    for figure, letter in zip(WAIT_FIGURES, best, strict=True):
        assert [capped(each, figure, reacting) for each in GRADES] == [max(each, letter) for each in GRADES]
    said = reacting_text("B", reacting)
    mean, median, p95 = best
    bounds = f"so letters are at best {mean} for the mean, {median} for the median, {p95} for the 95th percentile"
    assert said.endswith(bounds) if best != "AAA" else said == ""
    assert reacting_text("D", reacting) == ""


def test_why_letters_are_capped_in_words() -> None:
    assert reacting_text("C", Reacting(0.24, 0.004)).startswith(
        "24 % of the jobs come, and not by chance, within 32 minutes of an own end and 0.4 % of the jobs were given up after an hour "
    )
    assert reacting_text("C", Reacting(0.24, 0.0, is_short=True)).startswith(
        "24 % of the jobs come, by chance or not, within 32 minutes of an own end, so "
    )


# judge: Replays side by side.

PROCS = 32


def replayed(policy: str, seed: int = 1, jobs: int = 800) -> Replayed:
    busy = busy_jobs(jobs, load=0.9, seed=seed)
    return Replayed(busy, PROCS, replay(busy, PROCS, policy), scored_after(jobs, jobs // 2))


def test_a_policy_beside_itself_makes_no_difference() -> None:
    found = judge([replayed("SAF")], [replayed("SAF")])
    assert found.verdict.word == NO_DIFFERENCE and found.panels == found.incumbents
    assert (found.wait.low, found.wait.ratio, found.wait.high) == (1.0, 1.0, 1.0)


def test_intervals_are_those_of_the_blocks_of_scored_jobs() -> None:
    ours, theirs = replayed("SJF"), replayed("FCFS")
    slowdown, wait = block_intervals(ours, theirs).averages
    edges = 400 + block_edges(400, 16)
    means = []
    for each in (ours, theirs):
        waits = each.schedule.start - each.jobs.submit
        of_job = bounded_slowdown(waits, each.jobs.runtime)
        means.append([[x[a:b].mean() for a, b in pairwise(edges)] for x in (of_job, waits)])
    (slow, long), (their_slow, their_long) = np.array(means)
    for found, expected in (
        (slowdown, ratio_interval(slow, their_slow)),
        (wait, ratio_interval(long, their_long, 60.0)),
    ):
        assert (found.ratio, found.effective_size) == pytest.approx((expected.ratio, expected.effective_size))
        assert (found.blocks, found.why_none) == (expected.blocks, expected.why_none)


def test_every_shift_has_its_panel() -> None:
    ours, theirs = ([replayed(policy, seed) for seed in (1, 2, 3)] for policy in ("SJF", "FCFS"))
    found = judge(ours, theirs)
    assert [panel.wait_s for panel in found.panels] == [each.panel().wait_s for each in ours]
    assert len(found.verdict.ratios) == 3


def test_other_jobs_are_an_error() -> None:
    ours = replayed("SJF")
    for other in (replayed("FCFS", seed=2), replace(ours, scored=scored_after(800, 300))):
        with pytest.raises(ValueError, match="same jobs"):
            judge([ours], [other])


def judgement(word: str, slowdown_high: float, wait_high: float) -> Judgement:
    base = judge([replayed("SJF")], [replayed("FCFS")])
    return replace(
        base,
        bounded_slowdown=replace(base.bounded_slowdown, high=slowdown_high),
        wait=replace(base.wait, high=wait_high),
        verdict=replace(base.verdict, word=word),
    )


@pytest.mark.parametrize(
    ("word", "highs", "taken", "with_trades"),
    [
        ("dominates", (0.9, 1.1), True, True),
        ("dominates", (1.1, 0.9), True, True),
        ("dominates", (1.0, 1.0), False, True),
        ("trades", (0.9, 0.9), False, True),
        ("harms", (0.9, 0.9), False, False),
        ("worse", (0.9, 0.9), False, False),
        (NO_DIFFERENCE, (0.9, 0.9), False, False),
    ],
)
def test_who_takes_over(word: str, highs: tuple[float, float], taken: bool, with_trades: bool) -> None:
    assert takes_over(judgement(word, *highs)) == taken
    assert takes_over(judgement(word, *highs), accept_trade=True) == with_trades


NOBODY = WhoPays(0.0, 0.0, 0, 0, 0, "", 1.0, 0)


def dominating(slowdown: np.ndarray, wait: np.ndarray) -> Judgement:
    """Of a policy that dominates, with these log ratios of its blocks."""
    intervals = [ratio_interval(np.exp(each), np.ones(len(each))) for each in (slowdown, wait)]
    is_certain = all(each.is_certain_below_one for each in intervals)
    return Judgement((), (), *intervals, PolicyVerdict(DOMINATES, is_certain, (), ()), NOBODY)


def test_one_policy_alone_is_certain_by_its_intervals() -> None:
    noise = np.random.default_rng(4).normal(-0.6, 1, size=(200, 2, 16))
    alone = [dominating(*row) for row in noise]
    assert [corrected_for_many([each])[0] for each in alone] == alone
    assert 20 < sum(each.verdict.is_certain for each in alone) < 180
    assert corrected_for_many([]) == []


def test_of_many_policies_without_merit_hardly_any_is_certain() -> None:
    """Ten policies of which each is better in slowdown, and not in wait: one in five tables has one that is certain alone."""
    noise = np.random.default_rng(5).normal(size=(400, 10, 16))
    tables = [[dominating(np.full(16, -1.0) + 0.1 * row, row) for row in table] for table in noise]
    alone = np.mean([any(each.verdict.is_certain for each in table) for table in tables])
    together = np.mean([any(each.verdict.is_certain for each in corrected_for_many(table)) for table in tables])
    assert alone > 0.12 and together < 0.04


def test_a_clear_gain_stays_certain_among_many() -> None:
    noise = np.random.default_rng(6).normal(size=(12, 16))
    clear, others = dominating(noise[0] / 10 - 1, noise[0] / 10 - 1), [dominating(row, row) for row in noise[1:]]
    assert [each.verdict.is_certain for each in corrected_for_many([clear, *others])] == [True] + [False] * 11
