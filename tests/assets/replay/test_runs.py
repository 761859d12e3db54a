"""Tests of assets/replay: placement, runs."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import dagster as dg
import polars as pl
import pytest

import sql
from assets.common.checks import broken_rows
from assets.common.trace import load_trace
from assets.replay.placement import (
    ASSUMED_TREE,
    PlacementConfig,
    ReplayPlacementConfig,
    replay_placement,
    settings_of_placement,
)
from assets.replay.runs import OutageConfig, replay_runs
from simulator.engine.replay import replay
from simulator.jobs.cluster import Cluster
from simulator.metrics.metrics import METRICS, SEMANTICS, metrics
from tests.tiny import busy_log, swf_line, warehouse_of
from traces.catalogue.sources import Source
from warehouse import Warehouse

# runs: Saved rows are those of the same replay without a warehouse, and a rerun changes none.

TABLES = ("replay.runs", "replay.run_jobs", "replay.run_series")
DEFAULTS = {"fcfs": ("FCFS", "none"), "fcfs-easy": ("FCFS", "easy"), "fcfs-conservative": ("FCFS", "conservative"),
            "saf-easy": ("SAF", "easy")}  # fmt: skip


def materialize(warehouse: Warehouse, runs: list[dict[str, Any]] | None = None) -> dg.ExecuteInProcessResult:
    with dg.DagsterInstance.ephemeral() as instance, pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRACEHOUSE_HOME", str(warehouse.door.folder))
        instance.add_dynamic_partitions("sources", ["mine"])
        config = {"ops": {"replay__runs": {"config": {"runs": runs}}}} if runs is not None else None
        return dg.materialize(
            [replay_runs],
            partition_key="mine",
            resources={"warehouse": warehouse},
            instance=instance,
            run_config=config,
        )


def tables(warehouse: Warehouse) -> dict[str, pl.DataFrame]:
    with warehouse.read() as connection:
        return {name: connection.sql(f"FROM {name} ORDER BY ALL").pl() for name in TABLES}


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """A source with the default runs."""
    warehouse = warehouse_of(tmp_path_factory.mktemp("busy"), busy_log())
    done = materialize(warehouse)
    (event,) = done.get_asset_materialization_events()
    shown = event.materialization.metadata
    assert set(shown) >= {"dagster/row_count", "runs", "usage", "waits"}
    assert shown["usage"].value.startswith("![plot](data:image/png")  # type: ignore[union-attr]
    return warehouse


def test_default_runs_are_what_the_simulator_gives(busy: Warehouse) -> None:
    found, trace = tables(busy), load_trace(busy, "mine")
    assert found["replay.runs"]["run"].to_list() == sorted(DEFAULTS)
    jobs = trace.jobs()
    for run, (policy, backfill) in DEFAULTS.items():
        row = found["replay.runs"].row(by_predicate=pl.col("run") == run, named=True)
        schedule = replay(jobs, 16, policy, backfill)
        assert {name: row[name] for name in METRICS} == pytest.approx(metrics(jobs, schedule, 16), rel=1e-12)
        assert (row["policy"], row["backfill"], row["estimates"], row["rules"]) == (
            policy,
            backfill,
            "requested",
            "standard",
        )
        assert (row["jobs"], row["procs"], row["procs_from"], row["semantics"]) == (400, 16, "header", SEMANTICS)
        assert row["hindsight_least_average_wait_s"] <= row["average_wait_s"]
        assert row["outages"] is row["window_first"] is row["trimmed_metrics"] is row["policy_sha256"] is None
        kept = found["replay.run_jobs"].filter(pl.col("run") == run).sort("job_index")
        assert kept["wait_s"].to_list() == (schedule.start - jobs.submit).tolist()
        assert kept["backfilled"].to_list() == schedule.backfilled.tolist()
        since = (kept["start_time"] - trace.clock_zero).dt.total_seconds()
        assert since.to_list() == schedule.start.tolist()
        assert (kept["end_time"] - kept["start_time"]).dt.total_seconds().to_list() == jobs.runtime.tolist()
    assert found["replay.runs"]["trace_sha256"].n_unique() == 1
    assert metrics(jobs, replay(jobs, 16), 16)["average_wait_s"] > 300, "the log is one in which jobs queue"


def test_series_add_up_to_the_schedule(busy: Warehouse) -> None:
    found = tables(busy)
    for run in DEFAULTS:
        series = found["replay.run_series"].filter(pl.col("run") == run).sort("time")
        jobs = found["replay.run_jobs"].filter(pl.col("run") == run)
        step = series["step_s"].to_numpy()
        assert set(step) == {3600}
        assert (series["time"].diff().drop_nulls().dt.total_seconds() == 3600).all()
        runtime = (jobs["end_time"] - jobs["start_time"]).dt.total_seconds().to_numpy()
        procs, wait = jobs["procs"].to_numpy(), jobs["wait_s"].to_numpy()
        assert series["procs_in_use"].to_numpy() @ step == pytest.approx(procs @ runtime, rel=1e-12)
        assert series["jobs_waiting"].to_numpy() @ step == pytest.approx(wait.sum(), rel=1e-12)
        assert series["procs_waiting"].to_numpy() @ step == pytest.approx(wait @ procs, rel=1e-12)
        assert series["procs_in_use"].max() <= 16  # type: ignore[operator]


def test_a_rerun_changes_no_row_and_others_stay(busy: Warehouse, tmp_path: Path) -> None:
    before = tables(busy)
    materialize(busy)
    after = tables(busy)
    assert all(before[name].equals(after[name]) for name in TABLES)
    mine = {
        "name": "mine", "policy": "wfp3", "window": "100:200", "warm_start": True, "trim": 0.1, "procs": 20,
        "estimates": "actual", "correction": "doubling", "backfill": "selective", "drop_wider": True, "cancelled": True,
        "outages": [{"start": 400_000, "procs": 3}, {"start": 500_000, "end": 600_000, "procs": 1, "announced": 450_000}],
    }  # fmt: skip
    for _ in range(2):
        materialize(busy, [mine])
        assert {
            name: rows.filter(pl.col("run") != "mine") for name, rows in tables(busy).items()
        }.keys() == before.keys()
        for name, rows in tables(busy).items():
            assert rows.filter(pl.col("run") != "mine").equals(before[name])
    row = tables(busy)["replay.runs"].row(by_predicate=pl.col("run") == "mine", named=True)
    expected = {
        "policy": "WFP3", "backfill": "selective:threshold=2", "window_first": 100, "window_jobs": 200, "jobs": 200,
        "warm_start": True, "trim_share": 0.1, "procs": 20, "procs_from": "command line", "drop_wider": True,
        "cancelled": True, "correction": "doubling", "estimates": "actual",
    }  # fmt: skip
    assert {name: row[name] for name in expected} == expected
    assert json.loads(row["outages"])[0] == {"start": 400_000, "end": None, "procs": 3, "announced": None}
    assert set(json.loads(row["trimmed_metrics"])) == set(METRICS)
    assert tables(busy)["replay.run_jobs"].filter(pl.col("run") == "mine").height == 200
    assert broken_rows(busy, "checks.runs_never_oversubscribe", "mine") == []
    materialize(busy, [{"name": "mine"}])  # under the same name: whatever it was is gone
    assert tables(busy)["replay.run_jobs"].filter(pl.col("run") == "mine").height == 400


def test_warm_start_and_trim_are_those_of_the_simulator(tmp_path: Path) -> None:
    log = "; MaxProcs: 4\n" + "".join([
        swf_line(1, 0, 0, 1000, 3, 2000),
        swf_line(2, 500, 0, 100, 2, 100),
        swf_line(3, 510, 0, 100, 1, 100),
    ])  # fmt: skip
    warehouse = warehouse_of(tmp_path, log)
    materialize(warehouse, [{"name": "warm", "warm_start": True, "window": "1:2"}, {"name": "cold", "window": "1:2"}])
    rows = {row["run"]: row for row in tables(warehouse)["replay.runs"].to_dicts()}
    waits = {
        run: tables(warehouse)["replay.run_jobs"].filter(pl.col("run") == run).sort("job_index")["wait_s"].to_list()
        for run in rows
    }
    assert waits == {"warm": [500, 0], "cold": [0, 0]}  # three of four processors are held until 1000
    assert (rows["warm"]["running_jobs"], rows["cold"]["running_jobs"]) == (1, 0)
    assert rows["warm"]["waiting_jobs"] >= rows["cold"]["waiting_jobs"] == 0
    series = tables(warehouse)["replay.run_series"].filter(pl.col("run") == "warm")
    # 500..1000 held by the job of the warm start, and from its own start on: the first step begins at 480
    assert series["procs_in_use"].to_numpy() @ series["step_s"].to_numpy() == 3 * 1000 + 2 * 100 + 100 - 3 * 480
    cluster = Cluster(4, load_trace(warehouse, "mine").running_at(load_trace(warehouse, "mine").rows, 500))
    jobs = load_trace(warehouse, "mine").jobs().window(1, 2)
    assert rows["warm"]["utilisation"] == metrics(jobs, replay(jobs, cluster), cluster)["utilisation"]


def test_cancelled_jobs_have_no_start(tmp_path: Path) -> None:
    log = "; MaxProcs: 4\n" + "".join([
        swf_line(1, 0, 0, 1000, 4, 1000),
        swf_line(2, 10, 90, 0, 2, 300, status=5),  # leaves at 100
        swf_line(3, 20, 980, 50, 1, 100),
        swf_line(4, 30, 5000, 0, 2, 300, status=5),  # would leave at 5030, but starts at 1000
    ])  # fmt: skip
    warehouse = warehouse_of(tmp_path, log)
    materialize(warehouse, [{"name": "with", "cancelled": True}, {"name": "without"}])
    rows = tables(warehouse)["replay.run_jobs"].filter(pl.col("run") == "with").sort("job_index")
    assert rows["wait_s"].to_list() == [0, None, 980, 970]
    assert rows["start_time"].null_count() == rows["end_time"].null_count() == 1
    kept = {row["run"]: row for row in tables(warehouse)["replay.runs"].to_dicts()}
    assert (kept["with"]["jobs"], kept["with"]["cancelled_jobs"], kept["with"]["jobs_cancelled"]) == (4, 2, 1.0)
    assert (kept["without"]["jobs"], kept["without"]["jobs_left_out"]) == (2, 2)
    assert kept["with"]["trace_sha256"] != kept["without"]["trace_sha256"]
    series = tables(warehouse)["replay.run_series"].filter(pl.col("run") == "with")
    assert series["jobs_waiting"].to_numpy() @ series["step_s"].to_numpy() == 90 + 980 + 970


def test_a_plug_in_is_stored_without_its_folder(
    busy: Warehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEHOUSE_PLUGINS", str(tmp_path))  # which a run of the UI may take plug-ins from
    code = "def widest(procs):\n    return -procs\n"
    (tmp_path / "mine.py").write_text(code)
    materialize(busy, [{"name": "plug-in", "policy": f"{tmp_path / 'mine.py'}:widest"}])
    row = tables(busy)["replay.runs"].row(by_predicate=pl.col("run") == "plug-in", named=True)
    assert (row["policy"], row["policy_sha256"]) == ("mine.py:widest", hashlib.sha256(code.encode()).hexdigest())
    assert not any(str(tmp_path) in str(value) for value in row.values())


@pytest.mark.parametrize(
    ("runs", "says"),
    [
        ([{"name": "a b"}], "bad name of a run"),
        ([{"name": "a"}, {"name": "a"}], "two runs have the same name"),
        ([{"name": "a", "policy": "LIFO"}], "unknown policy 'LIFO'"),
        ([{"name": "a", "policy": "learned"}], "train one with `tracehouse run mine`"),
        ([{"name": "a", "estimates": "predicted"}], "no predicted run times yet"),
        ([{"name": "a", "window": "390:20"}], "the trace has 400 jobs to replay"),
        ([{"name": "a", "procs": 8}], "needs 16 processors, the cluster has 8"),
        ([{"name": "a", "outages": [{"start": 0, "procs": 16}]}], "can never start"),
    ],
    ids=str,
)
def test_faults_end_in_a_message_and_change_nothing(busy: Warehouse, runs: list[dict[str, Any]], says: str) -> None:
    before = tables(busy)
    with pytest.raises(dg.Failure) as caught:
        materialize(busy, runs)
    assert says in str(caught.value)
    assert all(rows.equals(before[name]) for name, rows in tables(busy).items())


def test_the_check_finds_what_cannot_be(tmp_path: Path) -> None:
    warehouse = warehouse_of(tmp_path, busy_log(40))
    materialize(warehouse, [{"name": "a"}, {"name": "b"}])
    assert broken_rows(warehouse, "checks.runs_never_oversubscribe", "mine") == []
    with warehouse.write() as connection:
        connection.execute("UPDATE replay.run_jobs SET wait_s = -1 WHERE run = 'a' AND job_index = 3")
    (broken,) = broken_rows(warehouse, "checks.runs_never_oversubscribe", "mine")
    assert (broken["run"], broken["shortest_wait_s"]) == ("a", -1)
    with warehouse.write() as connection:
        connection.execute("UPDATE replay.run_jobs SET procs = 17 WHERE run = 'b' AND job_index = 3")
    assert [row["run"] for row in broken_rows(warehouse, "checks.runs_never_oversubscribe", "mine")] == ["a", "b"]
    with warehouse.write() as connection:
        connection.execute(
            "UPDATE replay.run_jobs SET end_time = end_time + INTERVAL 1 SECOND WHERE run = 'b' AND job_index = 3"
        )
    suspended = [row["run"] for row in broken_rows(warehouse, "checks.runs_never_oversubscribe", "mine")]
    assert suspended == ["a"], "a job that was suspended holds no processors for a while"


# placement: Saved placements of a source: rows that agree with the replay, replaced by name, and checked.

KEYS = ("source", "placement", "job_index")


@pytest.fixture
def warehouse_of_replay_placement(tmp_path: Path) -> Warehouse:
    return warehouse_of(tmp_path, busy_log(120))


def save(warehouse: Warehouse, **settings) -> dg.MaterializeResult:
    config = ReplayPlacementConfig(placements=[PlacementConfig(**settings)]) if settings else ReplayPlacementConfig()
    return replay_placement(dg.build_asset_context(partition_key="mine"), config, warehouse)


def rows_of(warehouse: Warehouse, table: str) -> pl.DataFrame:
    with warehouse.read() as connection:
        return connection.sql(f"FROM {table} ORDER BY ALL").pl()


def test_defaults_compare_first_fit_with_the_tree(warehouse_of_replay_placement: Warehouse) -> None:
    result = save(warehouse_of_replay_placement)
    rows = rows_of(warehouse_of_replay_placement, "replay.placements")
    assert rows["placement"].to_list() == ["first-fit", "tree"] and set(rows["topology"]) == {ASSUMED_TREE}
    assert rows["average_wait_s"].n_unique() == 1, "placing moves no start"
    assert result.metadata is not None and {"placements", "first-fit", "tree"} <= set(result.metadata)


def test_rows_are_those_of_the_jobs(warehouse_of_replay_placement: Warehouse) -> None:
    save(warehouse_of_replay_placement, name="mine", topology="4x2x8", policy="SJF")
    row, jobs = (
        rows_of(warehouse_of_replay_placement, "replay.placements").row(0, named=True),
        rows_of(warehouse_of_replay_placement, "replay.placed_jobs"),
    )
    assert row["jobs"] == jobs.height == 120 and row["policy"] == "SJF"
    assert row["average_hop_cost"] == pytest.approx(jobs["hop_cost"].mean())
    assert row["average_wait_s"] == pytest.approx(jobs["wait_s"].mean())
    assert row["average_leaves"] == pytest.approx(jobs["leaves"].mean())
    assert jobs["nodes"].str.contains(r"^n(\d|\[)").all()


def test_jobs_that_never_ran_have_a_row_without_nodes(tmp_path: Path) -> None:
    log = "; MaxProcs: 4\n" + "".join([
        swf_line(1, 0, 0, 1000, 4, 1000),
        swf_line(2, 10, 90, 0, 2, 300, status=5),  # leaves at 100
        swf_line(3, 20, 980, 50, 1, 100),
    ])  # fmt: skip
    warehouse = warehouse_of(tmp_path, log)
    result = save(warehouse, name="all", topology="2x2", cancelled=True)
    rows = rows_of(warehouse, "replay.placed_jobs").sort("job_index")
    assert rows["wait_s"].to_list() == [0, None, 980] and rows["nodes"].to_list() == ["n[0-3]", None, "n0"]
    assert all(value is None for name, value in rows.row(1, named=True).items() if name not in KEYS)
    assert rows_of(warehouse, "replay.placements")["jobs"].to_list() == [rows.height] and result.metadata


def test_settings_without_a_column_of_their_own_are_kept(warehouse_of_replay_placement: Warehouse) -> None:
    outage = OutageConfig(start=0, end=100, procs=4)
    save(warehouse_of_replay_placement, name="plain", topology="4x2x8")
    save(
        warehouse_of_replay_placement,
        name="other",
        topology="4x2x8",
        reserve_by="requested",
        correction="doubling",
        outages=[outage],
    )
    save(warehouse_of_replay_placement, name="together", topology="4x2x8", place="looking-ahead", period=600, guard=50)
    rows = rows_of(warehouse_of_replay_placement, "replay.placements").sort("placement")
    assert json.loads(rows["other_settings"][2]) == {"guard": 50}
    rows = rows[:2]
    other, plain = (json.loads(text) for text in rows["other_settings"])
    assert plain == {} and rows["hops"].to_list() == ["2,4,6"] * 2
    assert other == {
        "reserve_by": "requested", "correction": "doubling", "outages": [{"start": 0, "end": 100, "procs": 4}],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("change", "impossible"),
    [
        ("nodes = NULL", True), ("leaves = 9", True), ("pods = NULL", True), ("wait_s = -1", True), ("hop_cost = -1", True),
        ("start_time = NULL", True), ("wait_s = wait_s + 1", False),
    ],
)  # fmt: skip
def test_impossible_jobs_are_noticed(warehouse_of_replay_placement: Warehouse, change: str, impossible: bool) -> None:
    save(warehouse_of_replay_placement, name="mine", topology="4x2x8")
    with warehouse_of_replay_placement.write() as connection:
        connection.execute(f"UPDATE replay.placed_jobs SET {change} WHERE job_index = 5")
        bad = connection.execute(sql.load("checks.placed_jobs_are_possible"), {"source": "mine"}).fetchall()
    assert len(bad) == impossible


def test_a_name_is_replaced_and_others_stay(warehouse_of_replay_placement: Warehouse) -> None:
    save(warehouse_of_replay_placement)
    save(warehouse_of_replay_placement, name="tree", topology="4x2x8", switches="1@1h")
    rows = rows_of(warehouse_of_replay_placement, "replay.placements")
    assert rows["placement"].to_list() == ["first-fit", "tree"]
    assert rows["switches"].to_list() == [None, "1@1h"] and rows["topology"].to_list() == [ASSUMED_TREE, "4x2x8"]
    assert rows_of(warehouse_of_replay_placement, "replay.placed_jobs").height == 240


def test_two_of_one_name_are_refused(warehouse_of_replay_placement: Warehouse) -> None:
    config = ReplayPlacementConfig(placements=[PlacementConfig(name="a"), PlacementConfig(name="a", place="first")])
    with pytest.raises(dg.Failure, match="same name"):
        replay_placement(dg.build_asset_context(partition_key="mine"), config, warehouse_of_replay_placement)


def test_settings_of_the_launchpad_are_checked() -> None:
    settings, nodes = settings_of_placement(PlacementConfig(name="a", policy="SAF", place="first", period=30), None)
    assert (settings.policy, nodes.place, nodes.period) == ("SAF", "first", 30)
    with pytest.raises(ValueError, match="unknown place"):
        settings_of_placement(PlacementConfig(name="a", place="nowhere"), None)


def test_the_tree_is_that_of_the_launchpad_or_of_the_catalogue() -> None:
    source = Source("mine", "swf", Path("log"), topology="2x4x2", procs_per_node=2)
    trees = [
        settings_of_placement(PlacementConfig(name="a", topology=given), entry)[1].topology
        for given, entry in (("4x4", source), (None, source), (None, None))
    ]
    assert trees == ["4x4", "2x4x2", ASSUMED_TREE]
    assert settings_of_placement(PlacementConfig(name="a"), source)[1].procs_per_node == 2
