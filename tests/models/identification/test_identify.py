"""Blind: the rule of a hidden cluster is found, and a cluster without rules has none."""

from __future__ import annotations

import pytest

from models.identification.identify import identify_rules
from models.identification.rules import CYCLE, RUNNING_JOBS, IdentifiedRule
from tests.models.identification.hidden import PROCS, hidden_log
from traces.cluster.accounts import Limit
from traces.cluster.description import ClusterDescription
from traces.cluster.nodes import Node


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
