"""Scores of the RLScheduler rules by hand."""

from __future__ import annotations

import math

import pytest

from papers.rlscheduler.scores import (
    CHANGING_BASES,
    GIVEN_SCORES,
    KERNEL_NETWORK,
    POLICIES,
    policy_number,
    policy_score,
    takes_true_wait,
)

# A wait of 432 s, submitted at 100 s, estimate 1,000 s, 16 of 64 processors.
EXPECTED = {
    "FCFS": 100,
    "LCFS": -100,
    "SJF": 1000,
    "LJF": -1000,
    "smallest": 16,
    "largest": -16,
    "SAF": 16_000,
    "F1": 3 * 16 + 870 * 2,
    "F2": math.sqrt(1000) * 16 + 25600 * 2,
    "F3": 16_000 + 6860000 * 2,
    "F4": 1000 * 4 + 530000 * 2,
    "WFP3": -(0.432**3) * 16,
    "UNICEP": -0.108,
    "inspector-SEXP": 89.5,
    "inspector-LEXP": -89.5,
    "inspector-multifactor": -(10 + 750),
}


def test_scores_by_hand() -> None:
    assert list(EXPECTED) == [*POLICIES, *CHANGING_BASES]
    for name, score in EXPECTED.items():
        assert policy_score(policy_number(name), 432, 100, 1000, 16, 64.0) == pytest.approx(score, rel=1e-12), name
    assert policy_score(policy_number("F3"), 0, 0, 10, 2, 64.0) == 20 - 6860000  # log10 counts it 0.1 s
    assert policy_score(GIVEN_SCORES, 432, 100, 1000, 16, 64.0) == 0.0


def test_numbers_are_each_policys_own() -> None:
    numbers = [policy_number(name) for name in EXPECTED]
    assert len({*numbers, GIVEN_SCORES, KERNEL_NETWORK}) == len(EXPECTED) + 2
    assert policy_number("SEXP") is None


def test_who_takes_the_true_wait() -> None:
    for wait_bug, expected in ((True, ["multifactor"]), (False, ["WFP3", "UNICEP", "SEXP", "LEXP", "multifactor"])):
        names = [name for name in EXPECTED if takes_true_wait(policy_number(name) or 0, wait_bug)]
        assert [name.removeprefix("inspector-") for name in names] == expected
