"""Replays in which jobs wait for few switches are the oracle's; who waits for nothing starts as in the plain replay."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from simulator.engine.replay import NeverStarts, OrderReplayer, replay
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs
from simulator.jobs.schedule import Placement, Schedule
from simulator.topology.placement import place_schedule
from simulator.topology.switches import Switches, SwitchReplayer, least_leaves, parse_switches
from simulator.topology.tree import regular_tree
from simulator.topology.units import Units, node_units
from tests.random_size import size
from tests.simulator.busy import PROCS, busy_jobs
from tests.simulator.oracle_placing_cases import random_placing_case
from tests.simulator.oracle_switches import oracle_switches
from tests.simulator.topology.test_placement import as_lists, units_of_case

CASES = size(1500, 20_000)
UNITS = node_units(regular_tree((4, 2, PROCS // 8)))


def replayed(
    jobs: Jobs, switches: Switches, *order: str, units: Units = UNITS, cluster: int | Cluster = PROCS
) -> tuple[Schedule, Placement]:
    """order: policy, backfilling rule and correction, as far as they are not the usual ones."""
    outcome = SwitchReplayer(OrderReplayer(*order), units, switches).replay(jobs, Cluster.of(cluster))
    assert outcome.placement is not None
    return outcome.schedule, outcome.placement


def test_the_oracle_puts_off_the_same() -> None:
    put_off = 0
    for seed in range(CASES):
        case = random_placing_case(Random(10_000 + seed))
        jobs, cluster = case.replayed.as_jobs(), case.replayed.as_cluster()
        rules = case.policy, case.backfill, case.correction
        switches = Switches(case.switches.leaves, case.switches.wait)
        try:
            schedule, placement = replayed(jobs, switches, *rules, units=units_of_case(case), cluster=cluster)
        except NeverStarts:
            continue
        expected = oracle_switches(case.machine, case.replayed, case.switches, *rules)
        if expected.run.ambiguous_order:
            continue
        assert schedule.start.tolist() == expected.run.start, f"case {seed}"
        assert schedule.backfilled.tolist() == expected.run.backfilled, f"case {seed}"
        assert as_lists(placement) == expected.units, f"case {seed}"
        put_off += len(expected.put_off) > 0
    assert put_off > CASES // 5


@pytest.mark.parametrize("policy", ["FCFS", "SAF", "WFP3", "tetris", "fairshare", "formula:wait/procs"])
@pytest.mark.parametrize("backfill", ["none", "any", "easy", "easy-sjbf"])
def test_who_waits_for_nothing_starts_as_in_the_plain_replay(policy: str, backfill: str) -> None:
    jobs = busy_jobs(600, cancelled_share=0.1)
    plain = replay(jobs, PROCS, policy, backfill)
    placed = place_schedule(jobs, PROCS, plain, UNITS, "tree")
    for switches in (Switches(PROCS, 100_000), Switches(1, 0)):
        schedule, placement = replayed(jobs, switches, policy, backfill)
        assert schedule.start.tolist() == plain.start.tolist()
        assert schedule.backfilled.tolist() == plain.backfilled.tolist()
        if policy == "FCFS" and backfill != "easy-sjbf":  # others start jobs of one second in another order
            assert as_lists(placement) == as_lists(placed)
            assert placement.idle.tolist() == placed.idle.tolist()
            assert placement.broken.tolist() == placed.broken.tolist()


def test_waiting_buys_compactness() -> None:
    jobs = busy_jobs(2000)
    rows = [replayed(jobs, Switches(1, wait)) for wait in (0, 600, 7200)]
    small = (least_leaves(UNITS, jobs.procs) == 1) & (jobs.procs > 1)
    shares = [float((placement.leaves[small] == 1).mean()) for _, placement in rows]
    assert shares == sorted(shares) and shares[2] > shares[0] + 0.05


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1@2h", (1, 7200)), (" 2 @ 600s", (2, 600)), ("3@10m", (3, 600)), ("1@1d", (1, 86400)), ("1@5", (1, 5))],
)
def test_switches_in_words(text: str, expected: tuple[int, int]) -> None:
    assert parse_switches(text) == expected


@pytest.mark.parametrize("text", ["", "1", "@1h", "0@1h", "1@", "1@h", "1@1w", "one@1h", "1@-5"])
def test_words_that_are_no_switches(text: str) -> None:
    with pytest.raises(ValueError, match="1@2h"):
        parse_switches(text)


def test_what_cannot_wait_for_switches() -> None:
    jobs = busy_jobs(50)
    with pytest.raises(ValueError, match="leave --switches out"):
        replayed(jobs, Switches(1, 600), "FCFS", "conservative")
    with pytest.raises(ValueError, match="unknown policy"):
        replayed(jobs, Switches(1, 600), "nonsense")


def test_an_empty_log() -> None:
    schedule, placement = replayed(busy_jobs(10).window(0, 0), Switches(1, 600))
    assert len(schedule.start) == len(placement.size) == 0


def test_least_leaves() -> None:
    assert least_leaves(UNITS, np.array([1, 4, 5, 8, 9, PROCS])).tolist() == [1, 1, 2, 2, 3, PROCS // 4]
