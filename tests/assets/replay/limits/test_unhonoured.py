"""What the first lines of a replay under limits say."""

from __future__ import annotations

import pytest

from assets.replay.limits.unhonoured import honoured_rules, unhonoured_rules
from tests.traces.cluster.clusters import CLUSTER as RICH
from traces.cluster.accounts import Limit
from traces.cluster.description import ClusterDescription, SchedulerSettings
from traces.cluster.nodes import Node, Partition
from traces.cluster.reservations import AdvanceReservation, Gate

PLAIN = (Node("all", 64),)


def test_a_row_of_processors_with_limits_leaves_nothing_out() -> None:
    limits = (Limit("cluster", "", "running", "user", "jobs", 5), Limit("cluster", "", "outstanding", "user", "cpu", 5))
    cluster = ClusterDescription(
        "mine", PLAIN, limits=limits, gates=(Gate((0,), 0, 60),), reservations=(AdvanceReservation("r", 0, 9),)
    )
    assert unhonoured_rules(cluster, "FCFS") == []
    assert honoured_rules(cluster, "FCFS") == [
        "1 limit (running jobs by user)",
        "1 limit (outstanding cpu by user)",
        "1 gate",
        "1 reservation",
    ]


@pytest.mark.parametrize(
    ("cluster", "rule"),
    [
        (
            ClusterDescription("mine", PLAIN, scheduler=SchedulerSettings("pbs", "23", {"backfill_depth": 5})),
            "the scheduler pbs and its 1 setting: the order and the backfilling of this replay decide",
        ),
        (
            ClusterDescription("mine", (Node("n1", 4, 1000, {"a100": 1}),)),
            "nodes, memory, GPUs: any free processors serve a job",
        ),
        (
            ClusterDescription("mine", PLAIN, (Partition("long", tier=2, max_time_s=9),)),
            "partition long: longest time, priority",
        ),
        (
            ClusterDescription(
                "mine", PLAIN, limits=(Limit("qos", "q", "running", "user", "mem", 5, is_soft=True),) * 2
            ),
            "2 limits (soft running mem by user of a QOS): jobs over it would wait or be refused",
        ),
        (
            ClusterDescription("mine", PLAIN, reservations=(AdvanceReservation("r", 0, 9, users=("ann",)),)),
            "reservation r: nodes would be kept for its jobs",
        ),
        (ClusterDescription("mine", PLAIN, licences={"matlab": 1}), "licences matlab: jobs would wait for them"),
    ],
)
def test_each_rule_is_named(cluster: ClusterDescription, rule: str) -> None:
    assert unhonoured_rules(cluster, "FCFS") == [rule]


def test_a_cluster_with_something_in_each_part() -> None:
    rules = "\n".join(unhonoured_rules(RICH, "FCFS"))
    for part in (
        "scheduler slurm",
        "memory, GPUs",
        "partition batch: 2 of 6 nodes",
        "shares of 1 account",
        "1 QOS",
        "gpu:a100",
        "matlab",
    ):
        assert part in rules
    assert honoured_rules(RICH, "FCFS") == ["1 gate", "1 reservation", "absences of 2 nodes"]


def test_fairshare_follows_shares() -> None:
    assert "shares of 1 account and 3 users" in honoured_rules(RICH, "fairshare:half_life_days=2")
    assert not any(rule.startswith("shares") for rule in unhonoured_rules(RICH, "fairshare"))
