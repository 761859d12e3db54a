"""Tests of assets/replaying: compare, compare_paced, compare_placements."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import polars as pl
import pytest

import tracehouse
from assets.common.storage import open_warehouse
from assets.common.trace import load_trace
from assets.replay.placement import (
    PlacementConfig,
    ReplayPlacementConfig,
    replay_placement,
)
from assets.replaying.compare import compare_runs, verdict_of_runs
from assets.replaying.compare_placements import compare_placements, saved_placements
from assets.replaying.scenarios import paced
from assets.replaying.scenarios.paced import depends_words
from models.judging.judge import judge
from models.judging.panel import Replayed, scored_after
from models.judging.verdict import DEPENDS
from simulator.engine.replay import replay
from simulator.metrics.metrics import METRICS
from tests.assets.replay.test_runs import materialize
from tests.assets.replaying.scenarios.examples import busy_home
from tests.tiny import busy_log, swf_line, warehouse_of
from tracehouse.text.replay_text import compare_text
from warehouse import Warehouse

# compare: Comparisons: paired differences by hand.

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


# compare_paced: Two runs once more, with users who keep their pace.


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        busy_home(patch, tmp_path_factory.mktemp("paced"))
        materialize(open_warehouse(), RUNS[:3])
        yield patch


@pytest.fixture
def followed(home: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    with home.context() as patch:
        patch.setattr(paced, "LEAST_REACTING", 0.0)
        yield patch


def test_a_comparison_has_its_change_where_users_keep_their_pace(followed: pytest.MonkeyPatch) -> None:
    found = compare_runs(open_warehouse(), "mine", "a", "bigger")
    verdict = found["verdict"]
    runs = [tracehouse.replay("mine", "FCFS", "easy", procs=procs, users="keep pace").replayed for procs in (16, 32)]
    before, after = (float((run.schedule.start - run.jobs.submit)[200:].mean()) for run in runs)
    assert verdict["pace_change_share"] == pytest.approx(after / before - 1)
    assert verdict["panel"]["wait_s"]["pace_ratio"] == pytest.approx(after / before)
    panel = compare_runs(open_warehouse(), "mine", "a", "b")["verdict"]["panel"]
    assert any(row["pace_ratio"] != pytest.approx(row["ratio"]) for row in panel.values() if "ratio" in row)
    assert verdict["word"] == verdict["times_verdict"].partition(",")[0] == verdict["pace_verdict"].partition(",")[0]
    text = compare_text(found)
    assert "keep pace: B / A where who submitted soon after an end" in text and " keep pace  95 % interval" in text
    runs_now = [tracehouse.replay("mine", "FCFS", "easy", procs=procs) for procs in (16, 32)]
    assert tracehouse.compare(*runs_now).verdict == verdict


def test_a_comparison_that_turns_round_depends_on_users(followed: pytest.MonkeyPatch) -> None:
    followed.setattr(paced, "turns_round", lambda word, other: True)
    found = compare_runs(open_warehouse(), "mine", "a", "b")
    assert found["verdict"]["word"] == DEPENDS and not found["verdict"]["is_certain"]
    words = depends_words(found["verdict"]["times_verdict"], found["verdict"]["pace_verdict"])
    assert f"it depends on users: {words}" in " ".join(compare_text(found).split())


def test_where_few_follow_runs_are_compared_once(home: pytest.MonkeyPatch) -> None:
    verdict = compare_runs(open_warehouse(), "mine", "a", "b")["verdict"]
    assert not {"pace_verdict", "not_paced_because", "times_verdict"} & verdict.keys()


@pytest.mark.parametrize(
    ("change", "back", "why"),
    [
        (
            "UPDATE replay.runs SET policy_sha256 = 'x' WHERE run = 'b'",
            "UPDATE replay.runs SET policy_sha256 = NULL WHERE run = 'b'",
            "the policy of run 'b' is no longer what it was: save the run again",
        ),
        (
            "UPDATE replay.run_jobs SET procs = procs + 1 WHERE run = 'a'",
            "UPDATE replay.run_jobs SET procs = procs - 1 WHERE run = 'a'",
            "the log has changed since the runs were saved: save them again",
        ),
    ],
)
def test_runs_that_cannot_be_made_again_say_why(followed: pytest.MonkeyPatch, change: str, back: str, why: str) -> None:
    with open_warehouse().write() as connection:
        connection.execute(change)
    found = compare_runs(open_warehouse(), "mine", "a", "b")
    with open_warehouse().write() as connection:
        connection.execute(back)
    assert found["verdict"]["not_paced_because"] == why and "pace_verdict" not in found["verdict"]
    assert f"not with users who keep their pace: {why}" in compare_text(found)


# compare_placements: Two saved placements side by side, and what cannot be compared.


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    made = warehouse_of(tmp_path_factory.mktemp("busy"), busy_log(400))
    placements = [
        PlacementConfig(name="first", topology="4x2x8", place="first"),
        PlacementConfig(name="tree", topology="4x2x8"),
        PlacementConfig(name="patient", topology="4x2x8", switches="1@2h"),
        PlacementConfig(name="part", topology="4x2x8", window="0:100"),
        PlacementConfig(name="by-request", topology="4x2x8", reserve_by="requested"),
    ]
    replay_placement(dg.build_asset_context(partition_key="mine"), ReplayPlacementConfig(placements=placements), made)
    return made


def test_what_another_rule_changes(warehouse: Warehouse) -> None:
    compared = compare_placements(warehouse, "mine", "first", "tree")
    assert compared["settings"] == {"place": ["first", "tree"]} and compared["paired_jobs"] == 400
    metrics, paired = compared["metrics"], compared["paired"]
    assert metrics["average_wait_s"]["difference"] == 0 and paired["wait_s"]["equal_share"] == 1
    assert metrics["average_hop_cost"]["difference"] == pytest.approx(paired["hop_cost"]["b"] - paired["hop_cost"]["a"])
    assert metrics["average_hop_cost"]["difference"] < 0
    assert sum(paired["hop_cost"][f"{word}_share"] for word in ("lower", "equal", "higher")) == pytest.approx(1)
    assert compared["typical_block"]["hop_cost"]["ratio"] < 1 and compared["typical_block"]["wait_s"]["ratio"] == 1


def test_patience_is_paid_in_waits(warehouse: Warehouse) -> None:
    compared = compare_placements(warehouse, "mine", "tree", "patient")
    assert compared["settings"] == {"switches": [None, "1@2h"]}
    assert compared["metrics"]["one_leaf_share"]["difference"] >= 0
    assert compared["paired"]["wait_s"]["equal_share"] < 1


def test_what_cannot_be_compared_of_compare_placements(warehouse: Warehouse) -> None:
    assert saved_placements(warehouse, "mine") == ["by-request", "first", "part", "patient", "tree"]
    with pytest.raises(ValueError, match="no saved placement 'none'; it has by-request, first"):
        compare_placements(warehouse, "mine", "first", "none")
    with pytest.raises(ValueError, match="not made of the same jobs"):
        compare_placements(warehouse, "mine", "first", "part")


def test_other_settings_that_differ_are_shown(warehouse: Warehouse) -> None:
    compared = compare_placements(warehouse, "mine", "tree", "by-request")
    assert compared["settings"] == {"other_settings": ["{}", '{"reserve_by": "requested"}']}


@pytest.fixture
def with_cancelled(tmp_path: Path) -> Warehouse:
    """J3 leaves the queue at 150, or starts at 100."""
    log = "; MaxProcs: 4\n" + "".join([
        swf_line(1, 0, 0, 100, 4, 100), swf_line(2, 10, 0, 100, 4, 100), swf_line(3, 20, 130, 0, 4, 10, status=5),
        swf_line(4, 30, 0, 100, 2, 100),
    ])  # fmt: skip
    made = warehouse_of(tmp_path, log)
    placements = [
        PlacementConfig(name="fcfs", topology="2x2", cancelled=True),
        PlacementConfig(name="sjf", topology="2x2", cancelled=True, policy="SJF"),
    ]
    replay_placement(dg.build_asset_context(partition_key="mine"), ReplayPlacementConfig(placements=placements), made)
    return made


def test_jobs_are_paired_by_their_place_whatever_their_index(with_cancelled: Warehouse) -> None:
    before = compare_placements(with_cancelled, "mine", "fcfs", "sjf")
    assert before["paired_jobs"] == 3
    with with_cancelled.write() as connection:  # as if an earlier log had been ingested in between
        connection.execute("UPDATE replay.placed_jobs SET job_index = job_index + 7 WHERE placement = 'sjf'")
    assert compare_placements(with_cancelled, "mine", "fcfs", "sjf") == before


def test_a_placement_that_lacks_jobs_is_refused(with_cancelled: Warehouse) -> None:
    with with_cancelled.write() as connection:  # as version 6 of the tables kept it
        connection.execute("DELETE FROM replay.placed_jobs WHERE start_time IS NULL")
    with pytest.raises(ValueError, match=r"'fcfs' was saved by an earlier tracehouse.*save it again"):
        compare_placements(with_cancelled, "mine", "fcfs", "sjf")


# judged: The verdict on a saved run: that of the replays themselves.

JUDGED_RUNS: list[dict[str, Any]] = [
    {"name": "fcfs"},
    {"name": "saf", "policy": "SAF"},
    {"name": "live", "policy": "bounded-key", "estimates": "live", "reserve_by": "requested", "admit_by": "requested"},
    {"name": "part", "window": "0:100"},
    {"name": "part-saf", "policy": "SAF", "window": "0:100"},
    {"name": "broken", "outages": [{"start": 0, "end": 5000, "procs": 2}]},
    {"name": "bigger", "procs": 32},
]


@pytest.fixture(scope="module")
def busy_of_judged(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    warehouse = warehouse_of(tmp_path_factory.mktemp("busy_of_judged"), busy_log())
    materialize(warehouse, JUDGED_RUNS)
    return warehouse


def test_a_stored_run_is_judged_as_its_replay(busy_of_judged: Warehouse) -> None:
    trace = load_trace(busy_of_judged, "mine")
    jobs, scored = trace.jobs(), scored_after(400, 200)
    replays = [Replayed(jobs, 16, replay(jobs, 16, policy), scored) for policy in ("SAF", "FCFS")]
    expected = judge(replays[:1], replays[1:])
    verdict = compare_runs(busy_of_judged, "mine", "fcfs", "saf")["verdict"]
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
def test_what_gets_no_verdict(busy_of_judged: Warehouse, runs: tuple[str, str], why: str) -> None:
    verdict = compare_runs(busy_of_judged, "mine", *runs)["verdict"]
    assert list(verdict) == ["why_none"] and verdict["why_none"].startswith(why)


@pytest.mark.parametrize("policies", [("slurm", "SAF"), ("FCFS", "slurm:SAF")])
def test_a_row_of_processors_has_no_verdict_beside_the_own_scheduler(policies: tuple[str, str]) -> None:
    a, b = ({"window_first": None, "policy": policy} for policy in policies)
    why = verdict_of_runs(a, b, pl.DataFrame())["why_none"]
    assert (
        why.startswith("one run has the nodes, limits and shares of the cluster's own Slurm") and "slurm:POLICY" in why
    )


def test_one_start_makes_nothing_certain_where_estimates_are_live(busy_of_judged: Warehouse) -> None:
    assert compare_runs(busy_of_judged, "mine", "fcfs", "live")["verdict"]["is_certain"] is False


def test_wide_jobs_are_the_same_on_a_larger_cluster(busy_of_judged: Warehouse) -> None:
    """Jobs wider than a quarter of the incumbent's 16 processors."""
    panels = [
        compare_runs(busy_of_judged, "mine", *runs)["verdict"]["panel"]
        for runs in (("fcfs", "saf"), ("fcfs", "bigger"))
    ]
    assert panels[0]["wide_wait_s"]["a"] == panels[1]["wide_wait_s"]["a"]
    assert panels[1]["wide_wait_s"]["b"] < panels[1]["wide_wait_s"]["a"]


def test_a_log_of_one_job_gets_no_verdict(tmp_path: Path) -> None:
    warehouse = warehouse_of(tmp_path, busy_log(1))
    materialize(warehouse, JUDGED_RUNS[:2])
    assert compare_runs(warehouse, "mine", "fcfs", "saf")["verdict"] == {"why_none": "there are too few jobs"}
