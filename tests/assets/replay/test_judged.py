"""The verdict on a saved run: that of the replays themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assets.common.trace import load_trace
from assets.replay.compare import compare_runs
from models.judging.judge import judge
from models.judging.panel import Replayed, scored_after
from simulator.engine.replay import replay
from tests.assets.replay.test_replay_runs import materialize
from tests.tiny import busy_log, warehouse_of
from warehouse import Warehouse

RUNS: list[dict[str, Any]] = [
    {"name": "fcfs"},
    {"name": "saf", "policy": "SAF"},
    {"name": "live", "policy": "bounded-key", "estimates": "live", "reserve_by": "requested", "admit_by": "requested"},
    {"name": "part", "window": "0:100"},
    {"name": "part-saf", "policy": "SAF", "window": "0:100"},
    {"name": "broken", "outages": [{"start": 0, "end": 5000, "procs": 2}]},
    {"name": "bigger", "procs": 32},
]


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    warehouse = warehouse_of(tmp_path_factory.mktemp("busy"), busy_log())
    materialize(warehouse, RUNS)
    return warehouse


def test_a_stored_run_is_judged_as_its_replay(busy: Warehouse) -> None:
    trace = load_trace(busy, "mine")
    jobs, scored = trace.jobs(), scored_after(400, 200)
    replays = [Replayed(jobs, 16, replay(jobs, 16, policy), scored) for policy in ("SAF", "FCFS")]
    expected = judge(replays[:1], replays[1:])
    verdict = compare_runs(busy, "mine", "fcfs", "saf")["verdict"]
    assert (verdict["word"], verdict["scored_jobs"]) == (expected.verdict.word, 200)
    assert verdict["payers"] == list(expected.verdict.payers)
    for name in ("bounded_slowdown", "wait_s", "p99_wait_s", "max_wait_s", "area_wait_s", "wide_wait_s"):
        a, b = getattr(expected.incumbents[0], name), getattr(expected.panels[0], name)
        assert verdict["panel"][name] == pytest.approx({"a": a, "b": b, "ratio": b / a})
    lost = expected.panels[0].lost_capacity - expected.incumbents[0].lost_capacity
    assert verdict["panel"]["lost_capacity"]["difference"] == pytest.approx(lost)
    assert verdict["typical_block"]["wait_s"]["ratio"] == pytest.approx(expected.wait.ratio)


@pytest.mark.parametrize(
    ("runs", "why"),
    [(("part", "part-saf"), "a window begins on an empty cluster"), (("fcfs", "broken"), "there are outages")],
)
def test_what_gets_no_verdict(busy: Warehouse, runs: tuple[str, str], why: str) -> None:
    verdict = compare_runs(busy, "mine", *runs)["verdict"]
    assert list(verdict) == ["why_none"] and verdict["why_none"].startswith(why)


def test_one_start_makes_nothing_certain_where_estimates_are_live(busy: Warehouse) -> None:
    assert compare_runs(busy, "mine", "fcfs", "live")["verdict"]["is_certain"] is False


def test_wide_jobs_are_the_same_on_a_larger_cluster(busy: Warehouse) -> None:
    """Jobs wider than a quarter of the incumbent's 16 processors."""
    panels = [compare_runs(busy, "mine", *runs)["verdict"]["panel"] for runs in (("fcfs", "saf"), ("fcfs", "bigger"))]
    assert panels[0]["wide_wait_s"]["a"] == panels[1]["wide_wait_s"]["a"]
    assert panels[1]["wide_wait_s"]["b"] < panels[1]["wide_wait_s"]["a"]


def test_a_log_of_one_job_gets_no_verdict(tmp_path: Path) -> None:
    warehouse = warehouse_of(tmp_path, busy_log(1))
    materialize(warehouse, RUNS[:2])
    assert compare_runs(warehouse, "mine", "fcfs", "saf")["verdict"] == {"why_none": "there are too few jobs"}
