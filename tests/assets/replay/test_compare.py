"""Comparisons: paired differences by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assets.replay.compare import compare_runs
from simulator.metrics.metrics import METRICS
from tests.assets.replay.test_replay_runs import materialize
from tests.tiny import busy_log, swf_line, warehouse_of
from warehouse import Warehouse

RUNS: list[dict[str, Any]] = [
    {"name": "a"},
    {"name": "b", "policy": "SAF"},
    {"name": "bigger", "procs": 32},
    {"name": "part", "window": "0:100"},
    {"name": "other-part", "window": "1:100"},
    {"name": "wide", "procs": 8, "drop_wider": True},
]


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    warehouse = warehouse_of(tmp_path_factory.mktemp("busy"), busy_log())
    materialize(warehouse, RUNS)
    return warehouse


def test_a_comparison_agrees_with_the_saved_rows(busy: Warehouse) -> None:
    found = compare_runs(busy, "mine", "a", "b")
    with busy.read() as connection:
        rows = {row["run"]: row for row in connection.sql("FROM replay.runs").pl().to_dicts()}
    assert list(found["metrics"]) == list(METRICS)
    for name in METRICS:
        told = found["metrics"][name]
        assert (told["a"], told["b"]) == (rows["a"][name], rows["b"][name])
        assert told["difference"] == rows["b"][name] - rows["a"][name]
    assert found["settings"] == {"policy": ["FCFS", "SAF"]}
    assert (found["jobs"], found["paired_jobs"]) == (400, 400)
    total = found["paired"][0]
    assert (total["jobs_of"], total["jobs"]) == ("all", 400)
    for name in ("average_wait_s", "average_turnaround_s", "average_bounded_slowdown"):
        assert total[name]["difference"] == pytest.approx(found["metrics"][name]["difference"], rel=1e-9)
    assert sum(group["jobs"] for group in found["paired"][1:]) == 400
    assert [group["jobs_of"] for group in found["paired"][1:]] == ["serial", "medium", "large"]  # 1/16 is one processor
    for group in found["paired"]:
        assert group["better_share"] + group["equal_share"] + group["worse_share"] == pytest.approx(1)


def test_a_run_compared_with_itself_differs_in_nothing(busy: Warehouse) -> None:
    found = compare_runs(busy, "mine", "a", "a")
    assert all(row["difference"] == 0 for row in found["metrics"].values())
    assert found["paired"][0]["equal_share"] == 1
    assert found["verdict"]["word"] == "no difference"


def test_another_cluster_is_a_question_worth_asking(busy: Warehouse) -> None:
    found = compare_runs(busy, "mine", "a", "bigger")
    assert found["settings"] == {"procs": [16, 32]}
    assert found["metrics"]["average_wait_s"]["difference"] < 0
    assert found["paired"][0]["worse_share"] == 0
    assert found["verdict"]["word"] == "dominates"


def test_what_cannot_be_compared(busy: Warehouse, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no saved run 'c'\. It has a, b, bigger, other-part, part, wide"):
        compare_runs(busy, "mine", "a", "c")
    with pytest.raises(ValueError, match="'a' and 'part' replay different jobs, the whole trace and window 0:100"):
        compare_runs(busy, "mine", "a", "part")
    with pytest.raises(ValueError, match="window 1:100 and window 0:100: save one of them again"):
        compare_runs(busy, "mine", "other-part", "part")
    with pytest.raises(
        ValueError, match=r"not run over the same jobs .*their settings differ in drop_wider .*procs \(16, 8\)"
    ):
        compare_runs(busy, "mine", "a", "wide")
    with pytest.raises(ValueError, match="'other' has no saved runs yet: `tracehouse run other`"):
        compare_runs(busy, "other", "a", "b")


def test_a_log_or_rules_that_changed_in_between_are_noticed(tmp_path: Path) -> None:
    warehouse = warehouse_of(tmp_path, busy_log(50))
    materialize(warehouse, [{"name": "a"}, {"name": "b"}])
    with warehouse.write() as connection:
        connection.execute("UPDATE replay.runs SET semantics = 1 WHERE run = 'b'")
    with pytest.raises(ValueError, match=r"different rules \(semantics 5 and 1\)"):
        compare_runs(warehouse, "mine", "a", "b")
    warehouse = warehouse_of(tmp_path, busy_log(50, seed=1))
    materialize(warehouse, [{"name": "b"}])
    with pytest.raises(ValueError, match="what was left out of it, has changed between them"):
        compare_runs(warehouse, "mine", "a", "b")


def test_pairs_by_hand(tmp_path: Path) -> None:
    """FCFS: J1 0..100, J2 100..200, J3 200..210; SJF: J3 100..110, J2 110..210. Four processors, all wanted by each."""
    log = "; MaxProcs: 4\n" + "".join([
        swf_line(1, 0, 0, 100, 4, 100), swf_line(2, 10, 0, 100, 4, 100), swf_line(3, 20, 0, 10, 4, 10),
    ])  # fmt: skip
    warehouse = warehouse_of(tmp_path, log)
    materialize(warehouse, [{"name": "a"}, {"name": "b", "policy": "SJF"}])
    (everything, large) = compare_runs(warehouse, "mine", "a", "b")["paired"]
    assert everything["average_wait_s"] == {"a": 90, "b": 60, "difference": -30}
    slow = everything["average_bounded_slowdown"]
    assert (slow["a"], slow["b"]) == pytest.approx(((1 + 1.9 + 19) / 3, (1 + 2.0 + 9) / 3))
    assert [everything[f"{how}_share"] for how in ("better", "equal", "worse")] == pytest.approx([1 / 3] * 3)
    assert large | {"jobs_of": "all"} == everything


def test_jobs_that_started_in_one_run_only_are_in_no_pair(tmp_path: Path) -> None:
    log = "; MaxProcs: 4\n" + "".join([
        swf_line(1, 0, 0, 100, 4, 100), swf_line(2, 10, 0, 100, 4, 100), swf_line(3, 20, 130, 0, 4, 10, status=5),
    ])  # fmt: skip
    warehouse = warehouse_of(tmp_path, log)
    materialize(warehouse, [{"name": "a", "cancelled": True}, {"name": "b", "policy": "SJF", "cancelled": True}])
    found = compare_runs(warehouse, "mine", "a", "b")
    assert (found["jobs"], found["paired_jobs"]) == (3, 2)  # J3 leaves the queue at 150, or starts at 100
    assert found["paired"][0]["average_wait_s"]["difference"] == 5  # J2 starts at 110 rather than at 100
    assert found["metrics"]["average_wait_s"] == {"a": 45, "b": 60, "difference": 15}
