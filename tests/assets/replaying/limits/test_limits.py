"""Tests of assets/replaying/limits: holds, rules_picture, unhonoured."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pytest

from assets.replaying.limits.holds import follows_shares, job_limits, missing_processors, share_tree, start_gates
from assets.replaying.limits.rules_picture import rules_figure
from assets.replaying.limits.unhonoured import honoured_rules, unhonoured_rules
from assets.replaying.limits.way import named_cluster
from models.identification.identify import Identification
from models.identification.rules import BOUNDARY, HOURS, ORDER, Bound, Edge, IdentifiedRule
from models.identification.rules import RUNNING_JOBS as RUNNING_JOBS_OF_RULES_PICTURE
from models.judging.fidelity import agreement_of
from simulator.jobs.cluster import FOREVER
from simulator.limits.rules import BOUNDLESS, OUTSTANDING, RUNNING_JOBS, RUNNING_PROCS
from tests.models.identification.hidden import PROCS, hidden_log
from tests.traces.cluster.clusters import CLUSTER as RICH
from traces.cluster.accounts import Account, AccountUser, Limit
from traces.cluster.description import (
    Absence,
    AdvanceReservation,
    ClusterDescription,
    Gate,
    Node,
    Partition,
    SchedulerSettings,
)

# holds: Limits, gates, reservations and absences of a description as arrays of a replay.

ROWS = pl.DataFrame(
    {
        "user_name": ["bob", "ann", "bob", None, "cyd"],
        "group_name": ["g", "h", "g", "g", None],
        "account": ["physics", "optics", "optics", "biology", None],
        "queue": ["batch", "gpu", "batch", "batch", None],
        "qos": ["high", None, "low", "high", None],
        "procs": [1, 2, 4, 8, 16],
    }
)
CLUSTER = ClusterDescription(
    "mine",
    (Node("n1", 8), Node("n2", 8, absences=(Absence(1000, None), Absence(5, 5)))),
    (Partition("batch"), Partition("gpu", qos="low")),
    (Account("physics"), Account("optics", "physics"), Account("biology")),
)
BERLIN = "Europe/Berlin"


def limits_of(*limits: Limit) -> list[tuple[int, Any, list[int]]]:
    made = job_limits(
        ClusterDescription("mine", CLUSTER.nodes, CLUSTER.partitions, CLUSTER.accounts, limits=limits), ROWS
    )
    return [(limit.counts, np.asarray(limit.bound).tolist(), limit.key.tolist()) for limit in made]


@pytest.mark.parametrize(
    ("limit", "key"),
    [
        (Limit("cluster", "", "running", "user", "jobs", 5), [1, 0, 1, -1, 2]),
        (Limit("cluster", "", "running", "group", "jobs", 5), [0, 1, 0, 0, -1]),
        (Limit("cluster", "", "running", "all", "jobs", 5), [0, 0, 0, 0, 0]),
        (Limit("partition", "batch", "running", "user", "jobs", 5), [1, -1, 1, -1, -1]),
        (Limit("qos", "low", "running", "all", "jobs", 5), [-1, 0, 0, -1, -1]),
        (Limit("account", "physics", "running", "all", "jobs", 5), [0, 0, 0, -1, -1]),
        (Limit("user", "optics/bob", "running", "all", "jobs", 5), [-1, -1, 0, -1, -1]),
    ],
)
def test_whom_a_limit_is_about(limit: Limit, key: list[int]) -> None:
    ((counts, _, keys),) = limits_of(limit)
    assert counts == RUNNING_JOBS and keys == key


def test_a_limit_of_one_name_replaces_that_of_everybody() -> None:
    plain = Limit("cluster", "", "running", "user", "cpu", 64)
    assert limits_of(plain, Limit("cluster", "", "running", "user", "cpu", 8, who="ann"), plain) == [
        (RUNNING_PROCS, [8, 64, 64], [1, 0, 1, -1, 2])
    ]
    only = Limit("cluster", "", "outstanding", "user", "cpu", 8, who="ann")
    assert limits_of(only) == [(OUTSTANDING, [8, BOUNDLESS, BOUNDLESS], [-1, 0, -1, -1, -1])]


def test_limits_begin_and_end() -> None:
    timed = (
        Limit("cluster", "", "running", "user", "jobs", 5, "ann", end_s=150),
        Limit("cluster", "", "running", "user", "jobs", 3, "ann", begin_s=120, end_s=200),
        Limit("cluster", "", "running", "user", "jobs", 9),
    )
    (limit,) = job_limits(ClusterDescription("mine", CLUSTER.nodes, limits=timed), ROWS, zero_s=100)
    assert np.asarray(limit.bound).tolist() == [5, 9, 9]
    assert limit.changes.tolist() == [[20, 0, 3], [50, 0, 3], [100, 0, BOUNDLESS]]


def test_other_limits_are_left_out() -> None:
    others = (
        Limit("cluster", "", "running", "user", "mem", 5),
        Limit("cluster", "", "submitted", "user", "jobs", 5),
        Limit("cluster", "", "running", "project", "jobs", 5),
        Limit("cluster", "", "running", "user", "jobs", 5, is_soft=True),
        Limit("cluster", "", "running", "user", "jobs", 5, who="nobody"),
    )
    assert limits_of(*others) == []


def second(*parts: int) -> int:
    return int(datetime(*parts, tzinfo=ZoneInfo(BERLIN)).timestamp())  # type: ignore[arg-type]


def test_gates_follow_the_wall_clock() -> None:
    zero_s = second(2026, 3, 28, 0)  # a Saturday; summer time begins on Sunday
    gates = (
        Gate((0,), 420, 1080, over_time_s=100, timezone=BERLIN),
        Gate((5, 6), 1320, 1320, partition="gpu", timezone=BERLIN),
    )
    limit = np.array([100, 101, 5, 500, 500])
    day, night = start_gates(gates, ROWS, limit, zero_s, (0, 86_400))
    assert day.stops.tolist() == [False, True, False, True, True]
    monday = [second(2026, 3, 30, hour) - zero_s for hour in (7, 18)]
    assert day.changes[day.changes > 0][:2].tolist() == monday
    assert night.stops.tolist() == [False, True, False, False, False]
    weekend = [second(2026, 3, 28, 22) - zero_s, second(2026, 3, 30, 22) - zero_s]
    assert night.changes[night.changes > 0][:2].tolist() == weekend


def test_reservations_and_absences_take_processors() -> None:
    daily = AdvanceReservation(
        "daily", second(2026, 3, 2, 6), second(2026, 3, 2, 7), cpus=3, repeats="weekday", timezone=BERLIN
    )
    whole = AdvanceReservation("whole", second(2026, 3, 6, 0), second(2026, 3, 6, 1), announced_s=second(2026, 3, 5, 0))
    theirs = AdvanceReservation("theirs", second(2026, 3, 6, 0), second(2026, 3, 6, 1), users=("ann",))
    node = AdvanceReservation("node", second(2026, 3, 7, 0), second(2026, 3, 7, 1), nodes=("n1",))
    cluster = ClusterDescription("mine", CLUSTER.nodes[:1], reservations=(daily, whole, theirs, node))
    zero_s = second(2026, 3, 6, 0)
    outages = missing_processors(cluster, 12, 3600, zero_s, (0, 4 * 86_400))
    rows = list(zip(*(getattr(outages, name).tolist() for name in ("start", "end", "procs", "announced")), strict=True))
    day, hour = 86_400, 3600
    assert rows == [
        (0, hour, 12, -2 * hour),
        (6 * hour, 7 * hour, 3, 4 * hour),
        (day, day + hour, 8, day - 2 * hour),
        (3 * day + 6 * hour, 3 * day + 7 * hour, 3, 3 * day + 4 * hour),
    ]


def test_an_absence_is_not_known_before() -> None:
    outages = missing_processors(CLUSTER, 16, 10, 900, (0, 10))
    assert (outages.start.tolist(), outages.end.tolist(), outages.announced.tolist()) == ([100], [FOREVER], [100])


# named: The cluster that a replay names.


def test_names_are_those_of_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "clusters").mkdir()
    limit = 'owner = "user"\nowner_name = "ann"\ncounts = "running"\neach = "all"\nresource = "jobs"\nbound = 5\n'
    (tmp_path / "clusters" / "mine.toml").write_text(
        f'name = "mine"\n[[nodes]]\nnames = "n1"\ncores = 4\n[[limits]]\n{limit}'
    )
    (tmp_path / "sources.local.toml").write_text(
        '[sources.log]\nformat = "pbs"\npath = "a.log"\npseudonyms = ["user"]\n[sources.swf]\nformat = "swf"\npath = "a.swf"\n'
    )
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    monkeypatch.setenv("TRACEHOUSE_SOURCES", "")
    assert named_cluster("mine", "other").limits[0].owner_name == "ann"
    assert named_cluster("mine", "log").limits[0].owner_name.startswith("user-")
    kept = named_cluster("mine", "swf").limits[0].owner_name
    assert kept == "ann", "an SWF log has numbers for names and keeps them: adopted limits of its users held nobody"
    with pytest.raises(ValueError, match="unknown cluster 'theirs', the home has mine"):
        named_cluster("theirs", "other")


# shares: Shares of a description as a tree above the jobs.

NODES = (Node("all", 8),)
SHARES_ROWS = pl.DataFrame(
    {
        "account": ["optics", "physics", None, "chemistry", "optics", None],
        "user_name": ["ann", "bob", "ann", "cyd", None, None],
    }
)


def test_accounts_stand_above_their_users() -> None:
    cluster = ClusterDescription(
        "mine",
        NODES,
        accounts=(Account("physics", shares=3), Account("optics", "physics", 0)),
        members=(AccountUser("ann", "optics", 5, is_default=True), AccountUser("bob", "physics", -1)),
    )
    tree = share_tree(cluster, SHARES_ROWS)
    physics, optics, ann, bob, chemistry, cyd = range(6)
    assert tree.path.tolist() == [
        [physics, optics, ann],
        [physics, bob, -1],
        [physics, optics, ann],
        [chemistry, cyd, -1],
        [physics, optics, -1],
        [-1, -1, -1],
    ]
    assert tree.shares.tolist() == [3, 1e-9, 5, 1, 1, 1]


def test_without_accounts_users_have_equal_shares() -> None:
    tree = share_tree(ClusterDescription("mine", NODES), SHARES_ROWS)
    assert tree.path.tolist() == [[0], [1], [0], [2], [-1], [-1]] and tree.shares.tolist() == [1, 1, 1]


def test_which_policy_follows_shares() -> None:
    assert follows_shares("FairShare:half_life_days=3") and not follows_shares("FCFS")


# unhonoured: What the first lines of a replay under limits say.

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


# rules_picture: A picture has a panel for each rule that can be drawn, and the waits.


def test_a_panel_for_each_rule() -> None:
    rule = IdentifiedRule(RUNNING_JOBS_OF_RULES_PICTURE, "user", 3)
    log = hidden_log(rule, count=600)
    rules = (
        rule,
        IdentifiedRule(
            RUNNING_JOBS_OF_RULES_PICTURE, "user", bounds=(Bound("user-1", 0, 3), Bound("user-1", 86_400, None))
        ),
        IdentifiedRule(HOURS, "all", gate=Gate((0,), 480, 1080, over_time_s=3600)),
        IdentifiedRule(BOUNDARY, "all", edges=(Edge((0,), 480, "UTC"),)),
        IdentifiedRule(ORDER, "all", word="SJF"),
    )
    same = agreement_of(log.wait, log.wait, log.jobs.runtime)
    identification = Identification(PROCS, rules, (), (), 1, 1, same, same)
    assert len(rules_figure(log, identification, "mine").axes) == 5
    assert len(rules_figure(log, replace(identification, rules=()), "mine").axes) == 1
