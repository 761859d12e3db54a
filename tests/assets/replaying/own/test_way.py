"""Replays under the scheduler of a source's cluster, whichever it is."""

from __future__ import annotations

from pathlib import Path

import pytest

import tracehouse
from assets.common.storage import open_warehouse
from assets.common.trace import load_trace
from assets.replay.fidelity import fidelity_of
from assets.replay.runs import USUAL_RUNS, ReplayRunsConfig, RunConfig, wanted_runs
from assets.replaying.own.way import ORDERS_THAT_CHANGE, number_of_own_runs
from assets.replaying.running.at_load import load_remark
from assets.replaying.running.settings import REQUEST_LABELS, RunSettings
from tests.assets.replaying.own.homes import BEHIND, CLUSTER, LARGE, MANY, PBS_CLUSTER, own_home
from tests.pipelines.command_line import succeed

SCHEDULERS = [("slurm", "Slurm", CLUSTER, "slurm 22.05.8"), ("pbs", "PBS", PBS_CLUSTER, "pbs 23.06")]


@pytest.mark.parametrize(("name", "title", "cluster", "version"), SCHEDULERS)
def test_a_source_is_replayed_under_its_own_scheduler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, title: str, cluster: str, version: str
) -> None:
    own_home(tmp_path / "home", BEHIND, monkeypatch, cluster)

    own, on_processors = tracehouse.replay("mine"), tracehouse.replay("mine", "FCFS", procs=8, cluster="")
    named = tracehouse.replay("mine", cluster="two")

    assert own.policy == named.policy == name and on_processors.policy == "FCFS"
    assert (named.replayed.schedule.start == own.replayed.schedule.start).all()
    assert (on_processors.replayed.schedule.start == on_processors.replayed.jobs.submit).all()
    waits = own.replayed.schedule.start - own.replayed.jobs.submit
    assert (waits[:2] <= 35).all() and (waits[2:] >= 500).all()
    about = own.summary[name]
    assert about["scheduler"] == version and about["runs"] == len(about["mean_waits_s"]) == 5
    assert len(set(about["mean_waits_s"])) > 1
    assert f"replayed: {version} of the cluster two" in str(own) and f"{title} is not deterministic" in str(own)
    with pytest.raises(ValueError, match="leave --backfill out"):
        tracehouse.replay("mine", name, backfill="conservative")
    with pytest.raises(ValueError, match=f"live estimates under {title} go with its own order"):
        tracehouse.replay("mine", f"{name}:SAF", estimates="live")
    with pytest.raises(ValueError, match="leave --warm-start out"):
        tracehouse.replay("mine", name, estimates="live", warm_start=True)


@pytest.mark.parametrize(("name", "title", "cluster", "version"), SCHEDULERS)
def test_its_nodes_come_and_go_with_the_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, title: str, cluster: str, version: str
) -> None:
    own_home(tmp_path / "home", MANY, monkeypatch, cluster)

    today, more = tracehouse.replay("mine"), tracehouse.replay("mine", procs="+50%")

    assert more.policy == name and more.replayed.cluster.procs == 12
    assert more.metrics["average_wait_s"] < today.metrics["average_wait_s"]
    assert "+ 1 node, +50 % of the CPUs: n3 as n2" in str(more) and "node:" not in str(today)
    by_nodes = [tracehouse.replay("mine", nodes=text).replayed.cluster.procs for text in ("+1", "3", "-50%")]
    assert by_nodes == [12, 12, 4] and tracehouse.replay("mine", name, procs=13).replayed.cluster.procs == 12

    scenarios = {
        "more": {"procs": "+50%"},
        "nodes": {"nodes": 3},
        "order": {"policy": "SAF", "nodes": "+1"},
        "live": {"estimates": "live"},
    }
    answer = tracehouse.what_if(scenarios | {"too little": {"procs": "+10%"}}, "mine")
    assert "too little: +10% is less than half a processor or node: the cluster stays as it is" in str(answer)
    rows = {row["scenario"]: row for row in answer.scenarios.iter_rows(named=True)}
    assert [rows[each]["procs"] for each in ("base", "more", "nodes", "order")] == [8, 12, 12, 12]
    assert rows["base"]["average_wait_h"] * 3600 == pytest.approx(today.metrics["average_wait_s"])
    assert {rows[each]["verdict"] for each in ("more", "nodes")} <= {"dominates", "dominates, certain"}
    assert rows["order"]["policy"] == f"{name}:SAF" and rows["order"]["verdict"] is not None
    assert f"order: {name}:SAF, an order in the place of {title}'s own, on its nodes" in str(answer)
    assert str(answer).count("\n  + 1 node, +50 % of the CPUs: n3 as n2") == 3
    assert rows["live"]["estimates"] == "live:mean" and rows["live"]["average_wait_h"] > 0
    assert "live:mean times" in succeed("what-if", "mine", "--set", "estimates=live")
    assert "live:mean times" in succeed("what-if", "mine", "--set", "estimates=live", "--cluster", "")


@pytest.mark.parametrize(("name", "title", "cluster", "version"), SCHEDULERS)
def test_another_load_says_what_stays_at_its_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, title: str, cluster: str, version: str
) -> None:
    closed = '[[reservations]]\nname = "maint"\nbegin_s = 1704160000\nend_s = 1704163600\n'
    for text, said in ((cluster, ""), (cluster + closed, "not squeezed like the submissions: reservations")):
        own_home(tmp_path / f"home{len(said)}", BEHIND, monkeypatch, text)
        trace, busier = load_trace(open_warehouse(), "mine", labels=REQUEST_LABELS), RunSettings(policy=name, load=1.2)
        assert load_remark(trace, busier) == said
        assert load_remark(trace, busier.model_copy(update={"load": 1.0})) == ""


def test_a_size_in_the_base_is_what_others_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_home(tmp_path / "home", MANY, monkeypatch)
    scenarios = {
        "one more": {"nodes": "+1"},
        "memory": {"edits": ["node.n[1-2].RealMemory=2000"]},
        "row": {"cluster": ""},
    }
    answer = tracehouse.what_if(scenarios, "mine", base={"nodes": "+1"})
    rows = {row["scenario"]: row for row in answer.scenarios.iter_rows(named=True)}
    assert [rows[each]["procs"] for each in ("base", *scenarios)] == [12, 16, 12, 12]
    assert "base: slurm, 12 processors (+ 1 node, +50 % of the CPUs: n3 as n2)" in str(answer)
    assert rows["row"]["policy"] == "FCFS" and rows["row"]["verdict"] is None


@pytest.mark.parametrize(("name", "title", "cluster", "version"), SCHEDULERS)
def test_an_order_takes_the_place_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, title: str, cluster: str, version: str
) -> None:
    own_home(tmp_path / "home", [*BEHIND[:3], (30, 1000, 1100, LARGE)], monkeypatch, cluster)

    first_come = tracehouse.replay("mine", f"{name}:FCFS").replayed.schedule.start
    last_come = tracehouse.replay("mine", f"{name}:LCFS").replayed.schedule.start

    assert first_come[2] <= first_come[3]
    assert last_come[3] <= last_come[2]
    if name in ORDERS_THAT_CHANGE:
        in_order = tracehouse.replay("mine", f"{name}:formula:wait").replayed.schedule.start
        assert (in_order == first_come).all() and "formula:wait in place of its own order" in str(
            tracehouse.replay("mine", f"{name}:formula:wait")
        )
        return
    with pytest.raises(ValueError, match=f"{title}'s nodes an order must be known at submission"):
        tracehouse.replay("mine", f"{name}:WFP3")


@pytest.mark.parametrize(("name", "title", "cluster", "version"), SCHEDULERS)
def test_it_is_the_base_and_a_scenario_within_its_spread_is_no_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, title: str, cluster: str, version: str
) -> None:
    own_home(tmp_path / "home", BEHIND, monkeypatch, cluster + "[licences]\nmatlab = 2\n")

    answer = tracehouse.what_if(
        {"in order": {"policy": f"{name}:FCFS"}, "processors": {"policy": "FCFS", "cluster": ""}}, "mine"
    )

    base, in_order, processors = (
        answer.scenarios.filter(scenario=each).row(0, named=True) for each in ("base", "in order", "processors")
    )
    assert base["policy"] == name and in_order["verdict"] in ("no difference", "no significant difference")
    assert f"the {title} that the cluster two describes" in answer.results.base_words
    assert processors["verdict"] is None and f"give {name}:POLICY" in str(answer)
    assert any("matlab" in rule for rule in answer.summary["trust"])
    assert "matlab" in str(answer).split("\n\n")[0]
    assert "matlab" in str(tracehouse.replay("mine")).split("settings")[0]


@pytest.mark.parametrize(("name", "title", "cluster", "version"), SCHEDULERS)
def test_fidelity_grades_its_replay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, title: str, cluster: str, version: str
) -> None:
    own_home(tmp_path / "home", MANY, monkeypatch, cluster)

    result = fidelity_of(open_warehouse(), load_trace(open_warehouse(), "mine", labels=REQUEST_LABELS))

    assert [each.policy for each in result.ranked] == [name]
    assert result.ranked[0].error < 0.1
    assert result.rows[0]["rank_correlation"] > 0.9


def test_it_is_among_the_usual_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_home(tmp_path / "home", BEHIND, monkeypatch, PBS_CLUSTER)
    usual = ReplayRunsConfig(**{"runs": USUAL_RUNS})
    assert [*wanted_runs(usual, open_warehouse(), "mine")] == [*(run["name"] for run in USUAL_RUNS), "pbs"]
    assert [*wanted_runs(ReplayRunsConfig(runs=[RunConfig(name="mine")]), open_warehouse(), "mine")] == ["mine"]


def test_a_long_log_gets_fewer_runs() -> None:
    assert [number_of_own_runs(jobs) for jobs in (10, 50_000, 1_000_000)] == [5, 2, 1]


def test_edits_of_the_configuration_are_scenarios(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_home(tmp_path, MANY, monkeypatch)
    answer = tracehouse.what_if(
        {
            "memory": {"edits": ["node.n[1-2].RealMemory=2000"]},
            "nodes": {"edits": ["NodeName=n[3-4] CPUs=4 RealMemory=1000"]},
            "unread": {"edits": ["bf_max_job_user=0"]},
            "typo": {"edits": ["node.n[1-2].RealMemor=1"]},
            "order": {"policy": "FCFS", "edits": ["PriorityWeightAge=1"], "cluster": ""},
        },
        "mine",
    )
    rows = {row["scenario"]: row for row in answer.scenarios.iter_rows(named=True)}
    assert rows["memory"]["average_wait_h"] < rows["base"]["average_wait_h"]
    assert (rows["base"]["procs"], rows["nodes"]["procs"]) == (8, 16)
    assert "did you mean 'realmemory'?" in rows["typo"]["failed_because"]
    assert "only a cluster's own scheduler" in rows["order"]["failed_because"]
    text = str(answer)
    assert "  ~ node n[1-2]: memory_mib: 1000 -> 2000" in text
    assert "not in the replay of unread: bf_max_job_user=0" in text
    groups = answer.groups.filter(scenario="memory")
    assert {"account", "user", "size"} <= set(groups["grouped_by"])
    assert groups["within_spread"].to_list() == [False] * groups.height
    assert answer.summary["changed_lines"]["nodes"] == ("+ node n[3-4]: cores 4, memory_mib 1000, cpus 4",)


def test_edits_on_the_command_line_are_one_scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_home(tmp_path, MANY, monkeypatch)
    said = succeed("what-if", "mine", "--set", "node.n[1-2].RealMemory=2000")
    assert "changed: slurm, its configuration edited" in said
    new = tmp_path / "slurm.conf.new"
    new.write_text(
        "ClusterName=two\nNodeName=n[1-2] CPUs=4 RealMemory=2000\nPartitionName=main Nodes=ALL Default=YES\n"
    )
    assert "~ node n[1-2]: memory_mib: 1000 -> 2000" in succeed("what-if", "mine", "--change", str(new))
