"""Tests of models/identification: replaying, identify, search.

Blind: the rule of a hidden cluster is found, and a cluster without rules has none.

Rules go into a cluster file and come back.

Replays under rules hold what the rules say.

The search takes what explains the log, and says of the rest why not.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from models.identification.identify import identify_rules
from models.identification.logged_jobs import HolderLevels
from models.identification.replaying import RuledCluster, declared_rules, described_rules
from models.identification.rules import (
    BACKFILL,
    BOUNDARY,
    CYCLE,
    HOURS,
    ORDER,
    OUTSTANDING_CPU,
    RUNNING_CPU,
    RUNNING_JOBS,
    SIZE,
    Bound,
    Edge,
    Evidence,
    IdentifiedRule,
)
from models.identification.search import (
    Fit,
    RuleSearch,
    as_rejected,
    is_better,
    neighbours_of,
    objection_to,
    rule_slot,
)
from tests.models.identification.hidden import DAY_S, PROCS, ZERO_S, hidden_log
from traces.cluster.accounts import FOUND, Limit
from traces.cluster.description import ClusterDescription, Gate, Node


def test_a_limit_of_users_is_found_and_graded() -> None:
    steps: list[float] = []
    log = hidden_log(IdentifiedRule(RUNNING_JOBS, "user", 3))
    result = identify_rules(log, PROCS, advance=lambda share, step: steps.append(share))
    (rule,) = result.rules
    assert (rule.kind, rule.scope, rule.value) == (RUNNING_JOBS, "user", 3)
    assert rule.sentence.startswith("Each user has at most 3 running jobs: seen for 1")
    assert (
        result.after.rank_correlation is not None and result.after.rank_correlation > 0.99 and result.after.grade == "A"
    )
    assert result.before.grade != "A" and result.beside is None
    assert result.replays <= result.budget and result.rejected and steps == sorted(steps)
    assert (result.policy, result.backfill) == ("FCFS", "easy")
    declared = ClusterDescription(
        "mine", (Node("n", PROCS),), limits=(Limit("cluster", "", "running", "user", "jobs", 3),)
    )
    under_it = identify_rules(log, PROCS, declared, budget=60)
    assert under_it.rules == () and len(under_it.declared) == 1 and under_it.before.grade == "A"


def test_the_cycle_of_a_scheduler_is_found_beside_a_limit() -> None:
    log = hidden_log(IdentifiedRule(RUNNING_JOBS, "user", 3), IdentifiedRule(CYCLE, "all", 121))
    assert {(rule.kind, rule.value) for rule in identify_rules(log, PROCS, budget=200).rules} == {
        (RUNNING_JOBS, 3),
        (CYCLE, 121),
    }


def test_a_cluster_without_rules_has_none() -> None:
    assert identify_rules(hidden_log(days=25), PROCS, budget=150).rules == ()


@pytest.mark.parametrize(("procs", "count", "message"), [(PROCS, 100, "rules need 200"), (2, 400, "give --procs")])
def test_a_log_that_shows_nothing_is_refused(procs: int, count: int, message: str) -> None:
    log = hidden_log(count=400)
    with pytest.raises(ValueError, match=message):
        identify_rules(log.first(count), procs)


# --- descriptions


GATE = Gate((0,), 420, 1080, over_time_s=100)


def test_found_rules_say_so_and_when_they_hold() -> None:
    rules = [
        IdentifiedRule(RUNNING_JOBS, "user", 10),
        IdentifiedRule(
            OUTSTANDING_CPU, "user", bounds=(Bound("ann", 0, 50), Bound("ann", 90, None), Bound("bob", 90, 7))
        ),
        IdentifiedRule(RUNNING_CPU, "queue", bounds=(Bound("gpu", 0, 8),)),
        IdentifiedRule(RUNNING_CPU, "user", 16, bounds=(Bound("ann", 0, 32),)),
        IdentifiedRule(HOURS, "all", gate=GATE),
        IdentifiedRule(BOUNDARY, "all", edges=(Edge((0, 1, 2, 3, 4), 480, "Europe/Berlin"),)),
        IdentifiedRule(ORDER, "all", word="SJF"),
        IdentifiedRule(ORDER, "all", word="queues:short,long"),
        IdentifiedRule(CYCLE, "all", 121),
    ]
    described = described_rules(rules, ZERO_S, 86_400)
    assert described.limits[0] == Limit("cluster", "", "running", "user", "jobs", 10, origin=FOUND)
    timed = [(limit.who, limit.bound, limit.begin_s, limit.end_s) for limit in described.limits[1:3]]
    assert timed == [("ann", 50, ZERO_S, ZERO_S + 90), ("bob", 7, ZERO_S + 90, None)]
    assert (described.limits[3].owner, described.limits[3].owner_name, described.limits[3].begin_s) == (
        "partition",
        "gpu",
        None,
    )
    assert described.limits[4:] == (
        Limit("cluster", "", "running", "user", "cpu", 16, origin=FOUND),
        Limit("cluster", "", "running", "user", "cpu", 32, who="ann", origin=FOUND),
    )
    assert described.gates[0].origin == FOUND and described.gates[0].over_time_s == 100
    (boundary,) = described.reservations
    assert (boundary.begin_s - ZERO_S) % 86_400 == 7 * 3600 and boundary.repeats == "weekday"
    assert described.order == {"policy": "SJF", "cycle_s": 121} and [rule.kind for rule in described.left_out] == [
        ORDER
    ]


def test_declared_limits_and_gates_are_taken() -> None:
    limits = (
        Limit("cluster", "", "running", "user", "jobs", 10),
        Limit("partition", "long", "running", "all", "cpu", 32),
        Limit("user", "user-3", "outstanding", "all", "cpu", 99),
        Limit("cluster", "", "running", "user", "jobs", 5, who="nobody"),
        Limit("cluster", "", "running", "user", "mem", 5),
        Limit("qos", "high", "running", "all", "jobs", 5),
    )
    log = hidden_log(count=400)
    cluster = ClusterDescription("mine", (Node("n", 64),), limits=limits, gates=(GATE,))
    rules = declared_rules(cluster, log)
    assert [(rule.kind, rule.scope, rule.value, rule.holder, rule.queue) for rule in rules] == [
        (RUNNING_JOBS, "user", 10, "", ""),
        (RUNNING_CPU, "all", 32, "", "long"),
        (OUTSTANDING_CPU, "user", 99, "user-3", ""),
        (HOURS, "all", 0, "", ""),
    ]
    assert {rule.origin for rule in rules} == {"declared"}


# --- replaying


def test_bounds_of_one_queue_and_of_one_holder_hold_for_these_alone() -> None:
    log = hidden_log(
        IdentifiedRule(RUNNING_JOBS, "user", 1, "user-1"), IdentifiedRule(RUNNING_CPU, "all", 4, queue="long")
    )
    user, queue = log.holders["user"].number, log.holders["queue"].number
    levels = HolderLevels(log, user).at(user, log.start)
    assert levels[RUNNING_JOBS][user == 1].max() == 1 < levels[RUNNING_JOBS][user == 2].max()
    long = HolderLevels(log, np.where(queue == 1, 0, -1))
    assert long.at(np.zeros(len(queue), dtype=np.int64), log.start)[RUNNING_CPU].max() == 4


def test_a_bound_changes_and_sizes_and_boundaries_take_processors() -> None:
    change = 30 * DAY_S
    bounds = tuple(
        Bound(f"user-{number}", since, value) for number in range(12) for since, value in ((0, 1), (change, 4))
    )
    log = hidden_log(IdentifiedRule(RUNNING_JOBS, "user", bounds=bounds))
    user = log.holders["user"].number
    count = HolderLevels(log, user).at(user, log.start)[RUNNING_JOBS]
    assert count[log.start < change].max() == 1 and count[log.start > change].max() == 4
    small = IdentifiedRule(SIZE, "all", bounds=(Bound("", 0, 8), Bound("", change, PROCS)))
    edge = IdentifiedRule(BOUNDARY, "all", edges=(Edge((0, 1, 2, 3, 4, 5, 6), 720, "UTC"),))
    log = hidden_log(small, edge)
    everybody = np.zeros(len(user), dtype=np.int64)
    used = HolderLevels(log, everybody).at(everybody, log.start)[RUNNING_CPU]
    assert used[log.start < change].max() <= 8 < used.max()
    noon = -(-(log.start + ZERO_S - 43_200) // DAY_S) * DAY_S + 43_200 - ZERO_S
    assert not ((log.start < noon) & (log.start + log.jobs.limit > noon) & (log.start + log.jobs.runtime > noon)).any()


def test_the_order_and_backfilling_are_in_words_and_a_job_that_never_starts_gives_nothing() -> None:
    log = hidden_log(count=400)
    words = (
        IdentifiedRule(ORDER, "all", word="fairshare:half_life_days=7"),
        IdentifiedRule(BACKFILL, "all", word="none"),
    )
    cluster = RuledCluster(PROCS, words)
    assert (cluster.order, cluster.backfill) == ("fairshare:half_life_days=7", "none")
    assert cluster.waits(log) is not None
    assert RuledCluster(PROCS, (IdentifiedRule(RUNNING_CPU, "all", 0),)).waits(log) is None


def test_a_scheduler_that_looks_once_a_cycle_starts_jobs_then_alone() -> None:
    log = hidden_log(IdentifiedRule(CYCLE, "all", 121))
    assert not (log.start % 121).any() and (log.wait >= 0).all()
    assert 0 < np.median(log.wait) < np.median(hidden_log(IdentifiedRule(CYCLE, "all", 600)).wait)


def test_who_is_excepted_has_another_bound() -> None:
    bounds = (Bound("user-1", 0, 5), Bound("user-2", 0, 1))
    log = hidden_log(IdentifiedRule(RUNNING_JOBS, "user", 2, bounds=bounds))
    user = log.holders["user"].number
    levels = HolderLevels(log, user).at(user, log.start)[RUNNING_JOBS]
    assert [levels[user == number].max() for number in range(4)] == [2, 5, 1, 2]


# --- search


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
