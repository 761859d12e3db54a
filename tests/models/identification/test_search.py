"""The search takes what explains the log, and says of the rest why not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from models.identification.rules import HOURS, ORDER, RUNNING_JOBS, Bound, IdentifiedRule
from models.identification.search import Fit, RuleSearch, as_rejected, neighbours_of, objection_to, slot_of
from tests.models.identification.hidden import PROCS, hidden_log
from traces.cluster.reservations import Gate

TRUE, FALSE = (IdentifiedRule(RUNNING_JOBS, "user", bound) for bound in (3, 6))


def searched(budget: int, *candidates: IdentifiedRule) -> tuple[RuleSearch, tuple[IdentifiedRule, ...]]:
    search = RuleSearch(hidden_log(TRUE), PROCS, budget, lambda share, step: None)
    return search, search.run(candidates)


def test_the_rule_that_made_the_log_is_taken() -> None:
    order = IdentifiedRule(ORDER, "all", word="SJF")
    search, rules = searched(100, FALSE, TRUE, order)
    assert rules == (TRUE,) and search.replays < 20
    because = {each.rule: each.because for each in as_rejected(search.rejected)}
    assert set(because) == {FALSE, order}


def test_the_budget_is_kept() -> None:
    search, rules = searched(2, FALSE, TRUE)
    assert search.replays == 2 and rules == () and "the budget of replays was spent" in search.rejected.values()


def test_a_rule_must_help_enough_everywhere_and_never_strand_a_job() -> None:
    errors = np.ones(100)
    base = Fit((), errors)
    assert objection_to(base, Fit((), errors - 0.01), TRUE).startswith("the error of the waits falls by 0.010")
    assert objection_to(base, Fit((), errors), TRUE) == "the waits fit no better"
    once = errors - np.where(np.arange(100) < 10, 0.9, 0.0)
    assert objection_to(base, Fit((), once), TRUE) == "it helps in 1 of 10 parts of the log only"
    assert objection_to(base, Fit((), None), TRUE) == "under it some jobs never start"
    assert objection_to(base, Fit((), errors - 0.5), TRUE) == ""
    early = errors - np.where(np.arange(100) < 50, 0.5, 0.0)
    own = replace(TRUE, bounds=(Bound("ann", 0, 3), Bound("bob", 0, 4)))
    assert objection_to(base, Fit((), early), own) == "the waits fit no better"  # it was read from the first half


def test_slots_and_neighbours() -> None:
    gate = IdentifiedRule(HOURS, "all", gate=Gate((0,), 30, 600))
    assert slot_of(TRUE) == slot_of(FALSE) != slot_of(gate)
    begins = {near.gate.begin_minute for near in neighbours_of(gate) if near.gate is not None}
    assert begins == {30, 0, 60, 90, 1410} and not list(neighbours_of(TRUE))
