"""Placing rules at identical starts, on generated jobs."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.engine.replay import replay
from simulator.jobs.jobs import Jobs, jobs_from_log
from simulator.topology.placement import place_schedule
from simulator.topology.tree import regular_tree
from simulator.topology.units import units_of
from studies.placing.placing_rules import RULES, Placer, PlacingRule, line_of

TREE = regular_tree((4, 3, 2))


def some_jobs(count: int = 300) -> Jobs:
    rng = np.random.default_rng(2)
    runtime = rng.integers(10, 2000, count)
    submit = np.cumsum(rng.integers(0, 300, count))
    return jobs_from_log(submit, runtime, rng.integers(1, 13, count), runtime * rng.integers(1, 4, count))


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_every_rule_places_all_jobs_of_a_schedule(rule: PlacingRule) -> None:
    """`place_schedule` refuses nodes that are not idle."""
    jobs = some_jobs()
    schedule = replay(jobs, 24, "FCFS", "easy")
    units = units_of(TREE, 24, 1, "whole")
    placement = place_schedule(jobs, 24, schedule, units, solver=Placer(TREE, jobs, schedule, rule))
    assert placement.size.tolist() == jobs.procs.tolist()
    compact = place_schedule(jobs, 24, schedule, units, "random")
    assert placement.hop_cost.mean() < compact.hop_cost.mean()


def test_the_cheapest_set_and_what_it_leaves() -> None:
    """Two nodes fit any leaf; those of the broken leaf break nothing, and pairs of idle nodes say so."""
    jobs = jobs_from_log(np.zeros(1, np.int64), np.array([100]), np.array([2]), np.array([100]))
    schedule = replay(jobs, 24, "FCFS", "easy")
    idle = np.r_[0:4, 6:8]
    assert [nodes.tolist() for nodes in Placer(TREE, jobs, schedule, PlacingRule((0.1, 0.0)))(idle, np.array([2]))] == [
        [6, 7]
    ]


def test_ends_are_read_from_requested_times() -> None:
    """A long job runs in the first leaf, a short one in the second. A long one goes beside the long one."""
    requested = np.array([5000, 200, 5000])
    jobs = jobs_from_log(np.zeros(3, np.int64), np.array([90, 90, 90]), np.array([2, 2, 1]), requested)
    schedule = replay(jobs, 24, "FCFS", "easy")
    for rule, leaf in ((PlacingRule((0.0, 0.0), late=1.0), 0), (PlacingRule((0.0, 0.0), apart=1.0), 0)):
        placer = Placer(TREE, jobs, schedule, rule)
        placer(np.r_[0:2], np.array([2]))
        placer(np.r_[4:6], np.array([2]))
        assert TREE.switch[0, placer(np.r_[2:4, 6:8], np.array([1]))[0][0]] == leaf


def test_a_line_counts_the_blocks_below_tree() -> None:
    jobs = some_jobs(160)
    schedule = replay(jobs, 24, "FCFS", "easy")
    placed = place_schedule(jobs, 24, schedule, units_of(TREE, 24, 1, "whole"), "tree")
    usual = placed.hop_cost.copy()
    usual[:10] += 1.0
    cells = line_of("log", slice(0, 160), usual, usual / 2, {"tree": placed})
    assert cells[1] == "160" and cells[3] == "-50.0%" and cells[4].endswith("(1)")
