"""Tests of studies/placing: hop_sensitivity, looking_ahead, placements, placing_rules."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.logs import REAL_LOGS
from simulator.engine.replay import replay
from simulator.jobs.jobs import Jobs, jobs_from_log
from simulator.topology.choosing import units_of
from simulator.topology.closed_loop import published_jobs
from simulator.topology.placement import place_schedule
from simulator.topology.tree import parse_tree, regular_tree
from studies.placing import placements
from studies.placing.hop_sensitivity import GROWTHS, extra_hops, saved_share, sensitivity_rows, yearly_node_hours
from studies.placing.looking_ahead import GUARDS, rows_of_log
from studies.placing.placements import COLUMNS, LOGS, RULES, PlacedLog, placed_by_rules, row_of, table_of
from studies.placing.placing_rules import RULES as RULES_OF_PLACING
from studies.placing.placing_rules import Placer, PlacingRule, line_of

# hop_sensitivity: Node-hours that compact jobs save under a stated growth of run times.

LOG = PlacedLog("none.swf", 64, "4x4x4")


@pytest.fixture(scope="module")
def jobs() -> Jobs:
    work = published_jobs(200, 1, sizes=(1, 40))
    return Jobs(work.arrival, work.runtime, work.size, work.runtime, work.runtime)


def test_what_is_saved_is_the_difference_of_what_is_lost(jobs: Jobs) -> None:
    """1,000 node-hours become 1,010 with one extra hop and 1,005 with half of one, at 1 % a hop."""
    assert saved_share(0.5, 1.0, 0.01) == pytest.approx(5 / 1010)
    assert saved_share(2.0, 1.0, 0.01) < 0 == saved_share(1.0, 1.0, 0.05)
    (first, other, alone) = sensitivity_rows("log", {"first": 1.0, "other": 0.5, "each job alone": 0.0}, 1000.0)
    assert first == ["log", "first", "1.000", *[""] * len(GROWTHS)]
    assert other[4] == "5 (0.50 %)" and alone[4] == "10 (0.99 %)" and alone[6] == "50 (4.76 %)"


def test_extra_hops_of_every_rule(jobs: Jobs) -> None:
    extra = extra_hops(LOG, jobs)
    assert extra["random"] > extra["first"] > extra["tree"] > extra["each job alone"] == 0
    assert {"tree, 1@1h", "tree, 1@4h"} <= extra.keys()


def test_node_hours_of_a_year() -> None:
    submit, runtime, procs = np.array([0, 31_557_600 // 2]), np.array([3600, 7200]), np.array([2, 4])
    jobs = Jobs(submit, runtime, procs, runtime, runtime)
    assert yearly_node_hours(LOG, jobs) == pytest.approx(20)  # 10 of them in half a year
    assert yearly_node_hours(PlacedLog("none.swf", 64, "4x4x4", 2), jobs) == pytest.approx(10)


# looking_ahead: Jobs and nodes chosen together beside EASY with best fit, at a small scale.


def test_a_row_for_easy_and_one_for_each_guard() -> None:
    work = published_jobs(80, 1, sizes=(1, 40))
    jobs = Jobs(work.arrival, work.runtime, work.size, work.runtime, work.runtime)
    rows = rows_of_log("small", PlacedLog("none.swf", 64, "2x4x4", 2), jobs)
    assert [row[1] for row in rows] == ["EASY, tree", *(f"looking ahead, guard {guard:,}" for guard in GUARDS)]
    waits = [float(row[4].replace(",", "")) for row in rows]
    assert waits[1] != waits[0] and min(waits) > 0


# placements: Tables of real logs on nodes, on generated jobs: what each row says, and the logs that all benchmarks
# of nodes share.

PLACEMENTS_LOG = PlacedLog("none", 24, "4x3x2")


def some_jobs(count: int = 320) -> Jobs:
    rng = np.random.default_rng(3)
    runtime = rng.integers(10, 2000, count)
    submit = np.cumsum(rng.integers(0, 250, count))
    return jobs_from_log(submit, runtime, rng.integers(1, 13, count), runtime * rng.integers(1, 4, count))


@pytest.mark.parametrize("log", LOGS.values(), ids=LOGS)
def test_every_tree_has_the_nodes_of_its_log(log: PlacedLog) -> None:
    assert log.procs == REAL_LOGS[log.file]
    assert parse_tree(log.tree).nodes >= log.procs // log.procs_per_node


def test_rules_move_no_start_and_patience_does() -> None:
    jobs = some_jobs()
    placed = placed_by_rules(PLACEMENTS_LOG, jobs, ("first", "tree"), ("1@1h",))
    assert list(placed) == ["first", "tree", "tree, 1@1h"]
    plain = replay(jobs, PLACEMENTS_LOG.procs).start.tolist()
    assert [schedule.start.tolist() == plain for _, schedule, _ in placed.values()] == [True, True, False]
    costs = [placement.hop_cost.mean() for *_, placement in placed.values()]
    assert costs[0] > costs[1] > costs[2]


def test_a_table_has_a_row_for_each_rule_and_one_for_jobs_alone() -> None:
    heading, _, *rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in table_of(PLACEMENTS_LOG, some_jobs()).splitlines()
    ]
    assert heading == ["rule", *COLUMNS, "hop cost by tree's"] and all(len(row) == len(heading) for row in rows)
    assert [row[0] for row in rows] == [*RULES, "tree, 1@1h", "tree, 1@4h", "each job alone"]
    by_rule = {row[0]: row for row in rows}
    assert by_rule["tree"][-1] == "" and float(by_rule["random"][-1].split()[0]) > 1
    assert float(by_rule["each job alone"][1]) <= min(float(row[1]) for row in rows)


def test_the_cells_of_a_row_are_those_of_its_jobs() -> None:
    jobs = some_jobs()
    placed = placed_by_rules(PLACEMENTS_LOG, jobs, ("first", "tree"), ())
    incumbent = placed["tree"][2]
    ground, schedule, placement = placed["first"]
    cells = row_of("first", jobs, ground, schedule, placement, incumbent)
    wait = schedule.start - jobs.submit
    assert cells[1] == f"{placement.hop_cost.mean():.2f}"
    assert cells[4] == f"{(placement.leaves[placement.size > 1] == 1).mean():.3f}"
    assert cells[7:10] == (f"{wait.mean():,.0f}", f"{np.percentile(wait, 99):,.0f}", f"{wait.max() / 3600:,.1f}")
    blocks = [np.array_split(p.hop_cost, 16) for p in (placement, incumbent)]
    ratios = [(ours.mean() + 0.1) / (theirs.mean() + 0.1) for ours, theirs in zip(*blocks, strict=True)]
    assert cells[-1].startswith(f"{np.exp(np.mean(np.log(ratios))):.3f} (")
    assert row_of("tree", jobs, ground, schedule, incumbent, incumbent)[-1] == ""


def test_the_least_time_leaves_out_the_first_call(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 5.0, 10.0, 12.0, 20.0, 23.0])
    monkeypatch.setattr(placements.time, "process_time", lambda: next(clock))
    calls: list[int] = []
    assert placements._least_time(lambda: calls.append(1)) == 2.0 and len(calls) == 1 + placements.TIMES


# placing_rules: Placing rules at identical starts, on generated jobs.

TREE = regular_tree((4, 3, 2))


def some_jobs_of_placing_rules(count: int = 300) -> Jobs:
    rng = np.random.default_rng(2)
    runtime = rng.integers(10, 2000, count)
    submit = np.cumsum(rng.integers(0, 300, count))
    return jobs_from_log(submit, runtime, rng.integers(1, 13, count), runtime * rng.integers(1, 4, count))


@pytest.mark.parametrize("rule", RULES_OF_PLACING.values(), ids=RULES_OF_PLACING)
def test_every_rule_places_all_jobs_of_a_schedule(rule: PlacingRule) -> None:
    """`place_schedule` refuses nodes that are not idle."""
    jobs = some_jobs_of_placing_rules()
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
    jobs = some_jobs_of_placing_rules(160)
    schedule = replay(jobs, 24, "FCFS", "easy")
    placed = place_schedule(jobs, 24, schedule, units_of(TREE, 24, 1, "whole"), "tree")
    usual = placed.hop_cost.copy()
    usual[:10] += 1.0
    cells = line_of("log", slice(0, 160), usual, usual / 2, {"tree": placed})
    assert cells[1] == "160" and cells[3] == "-50.0%" and cells[4].endswith("(1)")
