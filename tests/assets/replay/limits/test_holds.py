"""Limits, gates, reservations and absences of a description as arrays of a replay."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pytest

from assets.replay.limits.holds import job_limits, missing_processors, start_gates
from simulator.jobs.cluster import FOREVER
from simulator.limits.rules import BOUNDLESS, OUTSTANDING, RUNNING_JOBS, RUNNING_PROCS
from traces.cluster.accounts import Account, Limit
from traces.cluster.description import ClusterDescription
from traces.cluster.nodes import Absence, Node, Partition
from traces.cluster.reservations import AdvanceReservation, Gate

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
