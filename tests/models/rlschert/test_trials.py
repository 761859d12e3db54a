"""Trials of trained schedulers beside the heuristics, and their comparison."""

from __future__ import annotations

import numpy as np
import pytest

from models.rlschert.cluster import Setting, run_heuristic_on
from models.rlschert.trials import Trials, compare_schedulers
from simulator.published.rlschert_view import HEURISTICS
from tests.models.rlschert.tiny_plan import PLAN


def test_every_scheduler_is_tried_in_every_group(groups: list[Trials]) -> None:
    assert [(group.experiment, group.part) for group in groups] == [
        ("main", "training"),
        ("main", "test"),
        ("load", "test"),
        ("resources", "test"),
        ("predictable", "test"),
        ("mixed", "test"),
        ("completion", "test"),
    ]
    assert all(
        len(group.outcomes) == 2 * len(HEURISTICS) + 4 * (1 if group.experiment == "completion" else 2)
        for group in groups
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
    assert {rival for _, rival in pairs[4:]} <= {("SAF", "none")}
    slowdowns = [
        outcome.slowdowns() for key, outcome in groups[1].outcomes.items() if key[:2] == ("RLSchert", "learned")
    ]
    assert comparisons[0].cost == pytest.approx(np.mean(slowdowns))
    for one in comparisons:
        assert one.low is not None and one.high is not None and one.low <= one.difference <= one.high
