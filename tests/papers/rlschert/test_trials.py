"""Trials of trained schedulers beside the heuristics, and their comparison."""

from __future__ import annotations

import numpy as np
import pytest

from papers.rlschert.cluster import Setting, run_heuristic_on
from papers.rlschert.tables import make_tables
from papers.rlschert.trials import STOPPED_HEURISTICS, Trials, compare_schedulers, try_everything
from papers.rlschert.view import HEURISTICS, WHOLE_QUEUE_HEURISTICS
from tests.papers.rlschert.tiny_plan import PLAN, tiny_plan


def test_every_scheduler_is_tried_in_every_group(groups: list[Trials]) -> None:
    assert [(group.experiment, group.part) for group in groups] == [
        ("main", "training"),
        ("main", "test"),
        ("load", "test"),
        ("resources", "test"),
        ("preemption", "test"),
        ("predictable", "test"),
        ("mixed", "test"),
        ("completion", "test"),
    ]
    heuristics = 2 * len(HEURISTICS + WHOLE_QUEUE_HEURISTICS) + len(STOPPED_HEURISTICS)
    assert all(
        len(group.outcomes) == heuristics + 5 * (1 if group.experiment == "completion" else 2) for group in groups
    )


def test_a_group_holds_the_sequences_that_it_says(groups: list[Trials]) -> None:
    by_name = {(group.experiment, group.part): group for group in groups}
    saf = by_name["main", "test"].outcomes["SAF", "none", 1]
    assert np.array_equal(saf.finish, run_heuristic_on(PLAN.test(), Setting(with_remaining=False), "SAF").finish)
    assert np.array_equal(
        by_name["resources", "test"].outcomes["SAF", "none", 1].sequences.length, saf.sequences.length
    )
    seen = by_name["main", "training"].outcomes["SAF", "none", 1].sequences
    assert np.array_equal(seen.length, PLAN.pool().length)


def test_each_step_of_the_ladder_is_compared(groups: list[Trials]) -> None:
    comparisons = compare_schedulers(groups[1])
    pairs = [(one.scheduler, one.rival) for one in comparisons]
    assert pairs[:3] == [
        (("RLSchert", "learned"), ("RLSchert", "rule")),
        (("RLSchert", "rule"), ("RLSchert", "none")),
        (("RLSchert", "none"), ("DeepRM", "none")),
    ]
    assert pairs[3][0] == ("DeepRM", "none") and pairs[3][1][0] in HEURISTICS
    assert pairs[3][1][1] in ("none", "rule")
    whole, stopped = ("SJF, whole queue", "none"), ("SJF, whole queue", "stopping")
    assert {rival for _, rival in pairs[4:8]} <= {("SAF", "none")}
    assert {(("RLSchert", "learned"), whole), (("RLSchert", "learned"), stopped), (stopped, whole)} <= set(pairs)
    slowdowns = [
        outcome.slowdowns() for key, outcome in groups[1].outcomes.items() if key[:2] == ("RLSchert", "learned")
    ]
    assert comparisons[0].cost == pytest.approx(np.mean(slowdowns))
    for one in comparisons:
        assert one.low is not None and one.high is not None and one.low <= one.difference <= one.high


def test_rivals_of_the_whole_queue_and_of_the_stopping_rule(groups: list[Trials]) -> None:
    by_name = {(group.experiment, group.part): group.outcomes for group in groups}
    main, costly = by_name["main", "test"], by_name["preemption", "test"]
    setting = Setting(stop_within=5, preemption_cost=2)
    expected = run_heuristic_on(PLAN.test(), setting, "SJF, whole queue")
    assert np.array_equal(costly["SJF, whole queue", "stopping", 1].finish, expected.finish)
    for name in ("SJF", "SJF, whole queue"):  # who kills nothing pays nothing
        assert np.array_equal(main[name, "none", 1].finish, costly[name, "none", 1].finish)


def test_heuristics_alone_where_there_is_no_seed() -> None:
    plan = tiny_plan(seeds=())
    alone = list(try_everything(plan, []))
    pairs = [(one.scheduler, one.rival) for one in compare_schedulers(alone[1])]
    assert (("SJF, whole queue", "stopping"), ("SJF, whole queue", "none")) in pairs
    tables = make_tables(plan, [], alone)
    assert tables.curves.height == 0 and tables.curves.filter(experiment="main").height == 0
    assert set(tables.results["seed"]) == {1}
