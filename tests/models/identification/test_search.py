"""The search takes what explains the log, and says of the rest why not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from models.identification.rules import BOUNDARY, HOURS, ORDER, RUNNING_JOBS, Bound, Edge, Evidence, IdentifiedRule
from models.identification.search import (
    Fit,
    RuleSearch,
    as_rejected,
    is_better,
    neighbours_of,
    objection_to,
    rule_slot,
)
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
    own = replace(TRUE, bounds=tuple(Bound(name, 0, 3) for name in ("ann", "bob", "eve", "joe")))
    assert objection_to(base, Fit((), early), own) == "the waits fit no better"  # it was read from the first half


def test_slots_and_neighbours() -> None:
    gate = IdentifiedRule(HOURS, "all", gate=Gate((0,), 30, 600))
    assert rule_slot(TRUE) == rule_slot(FALSE) != rule_slot(gate)
    begins = {near.gate.begin_minute for near in neighbours_of(gate) if near.gate is not None}
    assert begins == {30, 0, 60, 90, 1410} and not list(neighbours_of(TRUE))
    closed = Edge((1,), 60, "UTC", 120)
    near = [rule.edges[0] for rule in neighbours_of(IdentifiedRule(BOUNDARY, "all", edges=(closed,)))]
    assert [edge.minute for edge in near] == [90, 120]
    assert {edge.minute + edge.minutes for edge in near} == {180}  # a later begin leaves the end where it was


def test_an_order_must_win_clearly_and_what_explains_much_may_rest_on_two_parts() -> None:
    base, order = Fit((), np.ones(100)), IdentifiedRule(ORDER, "all", word="SJF")
    little = Fit((order,), np.full(100, 0.95))
    assert objection_to(base, little, order) and not objection_to(base, little, TRUE)
    assert not is_better(base, little) and is_better(base, replace(little, errors=np.full(100, 0.85)))
    twice = np.ones(100) - np.where(np.arange(100) < 20, 0.9, 0.0)
    assert not objection_to(base, Fit((), twice - 0.03), TRUE)
    assert objection_to(base, Fit((), twice + np.where(np.arange(100) >= 70, 0.3, 0.0)), TRUE)


def test_of_scopes_that_fit_alike_the_one_that_more_holders_keep_is_taken() -> None:
    log = hidden_log(TRUE)
    holders = log.holders["user"]
    log = replace(log, holders={**log.holders, "account": holders})  # each user has an account of its own
    account, user = (
        replace(TRUE, scope=scope, evidence=Evidence(kept=kept)) for scope, kept in (("account", 1), ("user", 9))
    )
    search = RuleSearch(log, PROCS, 100, lambda share, step: None)
    assert search.run([account, user]) == (user,)
    fewer = replace(user, evidence=Evidence())
    assert RuleSearch(log, PROCS, 100, lambda share, step: None).run([account, fewer]) == (account,)
