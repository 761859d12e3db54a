"""Tables of real logs on nodes, on generated jobs: what each row says, and the logs that all benchmarks of nodes share."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.logs import REAL_LOGS
from simulator.engine.replay import replay
from simulator.jobs.jobs import Jobs, jobs_from_log
from simulator.topology.tree import parse_tree
from studies.placing import placements
from studies.placing.placements import COLUMNS, LOGS, RULES, PlacedLog, placed_by_rules, row_of, table_of

LOG = PlacedLog("none", 24, "4x3x2")


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
    placed = placed_by_rules(LOG, jobs, ("first", "tree"), ("1@1h",))
    assert list(placed) == ["first", "tree", "tree, 1@1h"]
    plain = replay(jobs, LOG.procs).start.tolist()
    assert [schedule.start.tolist() == plain for _, schedule, _ in placed.values()] == [True, True, False]
    costs = [placement.hop_cost.mean() for *_, placement in placed.values()]
    assert costs[0] > costs[1] > costs[2]


def test_a_table_has_a_row_for_each_rule_and_one_for_jobs_alone() -> None:
    heading, _, *rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in table_of(LOG, some_jobs()).splitlines()
    ]
    assert heading == ["rule", *COLUMNS, "hop cost by tree's"] and all(len(row) == len(heading) for row in rows)
    assert [row[0] for row in rows] == [*RULES, "tree, 1@1h", "tree, 1@4h", "each job alone"]
    by_rule = {row[0]: row for row in rows}
    assert by_rule["tree"][-1] == "" and float(by_rule["random"][-1].split()[0]) > 1
    assert float(by_rule["each job alone"][1]) <= min(float(row[1]) for row in rows)


def test_the_cells_of_a_row_are_those_of_its_jobs() -> None:
    jobs = some_jobs()
    placed = placed_by_rules(LOG, jobs, ("first", "tree"), ())
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
