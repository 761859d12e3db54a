"""Rules go into a cluster file and come back."""

from __future__ import annotations

from models.identification.descriptions import declared_rules, described_rules
from models.identification.rules import (
    BOUNDARY,
    HOURS,
    ORDER,
    OUTSTANDING_CPU,
    RUNNING_CPU,
    RUNNING_JOBS,
    Bound,
    Edge,
    IdentifiedRule,
)
from tests.models.identification.hidden import ZERO_S, hidden_log
from traces.cluster.accounts import FOUND, Limit
from traces.cluster.description import ClusterDescription
from traces.cluster.nodes import Node
from traces.cluster.reservations import Gate

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
    assert [rule.kind for rule in described.left_out] == [ORDER]


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
