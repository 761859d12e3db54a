"""Policies on whole replays of a source, beside FCFS with EASY."""

from __future__ import annotations

from dataclasses import replace

import pytest

from assets.common.trace import Trace, load_trace
from assets.policies.verdicts import (
    BOUNDED_KEY,
    INCUMBENT,
    LIVE_SHIFTS,
    JudgedRule,
    best_of,
    chance_cloud,
    judge_rules,
    rivals_with,
)
from models.judging.judge import beside_cloud, judge
from models.judging.panel import Replayed, scored_after
from models.judging.verdict import NO_DIFFERENCE
from simulator.engine.replay import replay
from tests.simulator.busy import random_weights
from tests.tiny import busy_log, warehouse_of


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    return load_trace(warehouse_of(tmp_path_factory.mktemp("judged"), busy_log(900)), "mine")


def test_rules_are_judged_on_the_whole_log_after_the_cut(trace: Trace) -> None:
    found = judge_rules(trace, [JudgedRule("short", "SJF"), JudgedRule("nobody", backfill="none")], 450).judgements
    jobs, scored, cloud = trace.jobs(), scored_after(900, 450), chance_cloud(trace, 450)
    for name, policy, backfill in (("short", "SJF", "easy"), ("nobody", "FCFS", "none")):
        ours, theirs = (
            Replayed(jobs, trace.cluster_procs, replay(jobs, trace.cluster_procs, *rule), scored)
            for rule in ((policy, backfill), ("FCFS", "easy"))
        )
        assert found[name] == beside_cloud(judge([ours], [theirs]), cloud)


def test_the_incumbent_beside_itself_makes_no_difference(trace: Trace) -> None:
    assert judge_rules(trace, [INCUMBENT], 450).judgements["FCFS"].verdict.word == NO_DIFFERENCE


def test_live_estimates_are_judged_from_several_starts(trace: Trace) -> None:
    judgement = judge_rules(trace, [BOUNDED_KEY, JudgedRule("SAF", "SAF")], 450).judgements
    assert len(judgement["bounded-key"].panels) == sum(shift < 450 for shift in LIVE_SHIFTS) == 3
    assert len(judgement["SAF"].panels) == 1
    assert len(judge_rules(trace, [BOUNDED_KEY], 600).judgements["bounded-key"].panels) == 4


def test_a_network_is_judged_by_its_weights(trace: Trace) -> None:
    jobs, procs, weights = trace.jobs(), trace.cluster_procs, random_weights()
    found = judge_rules(trace, [JudgedRule("net", "learned", weights=weights)], 450).judgements["net"]
    schedule = replay(jobs, procs, "learned", "easy", weights)
    assert found.panels == (Replayed(jobs, procs, schedule, scored_after(900, 450)).panel(),)
    assert found.panels != found.incumbents


def test_rivals_have_the_same_run_times() -> None:
    rivals = rivals_with("predicted:p80")
    assert {rule.estimates for rule in rivals if rule is not BOUNDED_KEY} == {"predicted:p80"}
    assert rivals[-1] is BOUNDED_KEY


@pytest.mark.parametrize(
    ("rule", "options"),
    [
        (JudgedRule("SAF", "SAF"), "--policy SAF"),
        (BOUNDED_KEY, "--policy bounded-key --estimates live --reserve-by requested --admit-by requested"),
        (JudgedRule("x", "formula:a - b", "easy-sjbf"), '--policy "formula:a - b" --backfill easy-sjbf'),
    ],
)
def test_options_of_the_replay(rule: JudgedRule, options: str) -> None:
    assert rule.options == options


def test_the_best_is_one_that_dominates(trace: Trace) -> None:
    judged = judge_rules(trace, [JudgedRule("none", backfill="none"), INCUMBENT], 450).judgements
    assert best_of(judged) is None
    verdict = judged["FCFS"].verdict
    ratios = replace(verdict.ratios[0], bounded_slowdown=0.5, wait=0.9)
    for name, slowdown in (("good", 0.9), ("better", 0.5)):
        ratio = replace(ratios, bounded_slowdown=slowdown)
        judged[name] = replace(judged["FCFS"], verdict=replace(verdict, word="dominates", ratios=(ratio,)))
    assert best_of(judged) == "better"
