"""Tests of assets/replaying/own: clusters, unmodelled."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import tracehouse
from assets.common.storage import open_warehouse
from assets.replaying import site as deciding
from assets.replaying.own.clusters import in_clock, own_cluster_of, policy_on
from assets.replaying.own.unmodelled import unmodelled_rules
from assets.replaying.scenarios.base_configuration import BaseConfiguration, base_configuration
from assets.replaying.scenarios.planning import plan_scenarios
from assets.replaying.site import site_of
from tests.assets.replaying.own.homes import BEHIND, CLUSTER, PBS_CLUSTER, own_home
from tests.assets.replaying.scenarios.examples import scenarios_of, write_grade
from tests.simulator.busy import SITE
from traces.catalogue.catalogue import load_catalogue
from traces.catalogue.clusters import load_cluster
from traces.cluster.description import Absence, SchedulerSettings

# clusters: Which cluster replays a log under its own scheduler.


def test_times_of_a_description_are_of_the_logs_clock() -> None:
    away = (Absence(1000, 1600), Absence(2000, None, "drain"))
    moved = in_clock(replace(SITE, nodes=(replace(SITE.nodes[0], absences=away), *SITE.nodes[1:])), 900)
    assert moved.nodes[0].absences == (Absence(100, 700), Absence(1100, None, "drain"))


@pytest.mark.parametrize(("cluster", "scheduler"), [(CLUSTER, "slurm"), (PBS_CLUSTER, "pbs")])
def test_a_source_has_the_scheduler_of_its_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cluster: str, scheduler: str
) -> None:
    own_home(tmp_path / "home", BEHIND, monkeypatch, cluster)

    described = own_cluster_of(load_catalogue().source("mine"))

    assert described is not None and (described.scheduler.name, described.num_cpus) == (scheduler, 8)
    site, unknown = site_of("mine"), site_of("none of the catalogue")
    assert (site.own_cluster, site.scheduler.settings) == (described, {"policy": scheduler})
    assert not unknown.is_described
    row = "These replays have a row of processors, without the nodes, limits and order of the cluster two."
    assert site.row_words == row and unknown.row_words == ""


def test_a_source_without_such_a_cluster_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_home(tmp_path / "home", BEHIND, monkeypatch)
    with pytest.raises(ValueError, match="'mine' has no cluster of PBS"):
        tracehouse.replay("mine", "pbs")
    with pytest.raises(ValueError, match="'birch' has no cluster of Slurm"):
        tracehouse.replay("birch", "slurm")
    with pytest.raises(ValueError, match="cluster 'two' has the scheduler slurm"):
        tracehouse.replay("mine", "pbs", cluster="two")


LIMITED = CLUSTER.replace('name = "slurm"\nversion = "22.05.8"', 'name = "none"') + (
    '[[limits]]\nowner = "cluster"\nowner_name = ""\ncounts = "running"\neach = "user"\nresource = "jobs"\nbound = 1\n'
)


def test_limits_of_a_source_without_such_a_scheduler_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_home(tmp_path / "home", BEHIND, monkeypatch, LIMITED)
    usual = site_of("mine").scheduler
    assert usual.settings == {"policy": "FCFS", "backfill": "easy", "cluster": "two"}

    held, free = tracehouse.replay("mine"), tracehouse.replay("mine", "FCFS", procs=8, cluster="")

    assert held.policy == "FCFS" and held.summary["limits"]["honoured"] == ["1 limit (running jobs by user)"]
    start = held.replayed.schedule.start - held.replayed.jobs.submit[0]
    assert start.tolist() == [0, 600, 1190, 1490]  # one job at a time
    assert "1 limit (running jobs by user): --cluster two has them" in str(free)
    assert (free.replayed.schedule.start == free.replayed.jobs.submit).all()
    answer = tracehouse.what_if({"free": {"cluster": ""}, "SAF": {"policy": "SAF"}}, "mine")
    rows = {row["scenario"]: row for row in answer.scenarios.to_dicts()}
    assert "under the limits of the cluster two" in answer.summary["base"]
    assert rows["free"]["average_wait_h"] == 0 < rows["SAF"]["average_wait_h"]


@pytest.mark.parametrize(
    ("part", "other", "fault"),
    [("main", "other", "has no queue 'main'"), ("n[1-2]", "n1", "has 4 CPUs, and a job 5")],
)
def test_the_pipeline_goes_on_without_a_cluster_that_is_not_the_logs(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    part: str,
    other: str,
    fault: str,
) -> None:
    own_home(tmp_path / "home", BEHIND, monkeypatch, CLUSTER)
    assert site_of("mine").own_cluster is not None
    deciding._warn_once.cache_clear()
    (tmp_path / "home" / "clusters" / "two.toml").write_text(CLUSTER.replace(part, other))
    with open_warehouse().write() as connection:
        connection.execute("UPDATE core.jobs SET procs = 5")

    site = site_of("mine")
    assert not site.is_described and (site.scheduler.policy, site.scheduler.backfill) == ("FCFS", "easy")

    assert fault in capsys.readouterr().err


def test_a_named_cluster_brings_its_scheduler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_home(tmp_path / "home", BEHIND, monkeypatch, LIMITED)
    (tmp_path / "home" / "clusters" / "pbs.toml").write_text(PBS_CLUSTER)

    answer = tracehouse.what_if(
        {"without it": {"cluster": "two"}, "in order": {"policy": "pbs:FCFS"}}, "mine", cluster="pbs"
    )

    rows = {row["scenario"]: row for row in answer.scenarios.to_dicts()}
    assert rows["base"]["policy"] == "pbs" and rows["without it"]["policy"] == "FCFS"
    assert "the PBS that the cluster two describes" in answer.summary["base"]
    assert any(text.startswith("not in the replay of without it: nodes, memory") for text in answer.summary["trust"])
    assert [policy_on(load_cluster(name).description, "pbs") for name in ("pbs", "two")] == ["pbs", "FCFS"]
    assert policy_on(load_cluster("two").description, "SAF") == "SAF"


@pytest.mark.parametrize(
    ("policy", "grade", "has_figures"), [("FCFS", "A", True), ("pbs:SAF", "A", True), ("FCFS", "D", False)]
)
def test_a_grade_of_the_own_scheduler_is_not_that_of_an_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, policy: str, grade: str, has_figures: bool
) -> None:
    own_home(tmp_path / "home", BEHIND, monkeypatch, PBS_CLUSTER)

    def planned(base: dict[str, str]) -> BaseConfiguration:
        asked = {"base": base, "scenarios": {"SAF": {"policy": "SAF"}}}
        return plan_scenarios(scenarios_of(asked), "mine").configuration

    assert planned({"policy": policy}).trust[0] == "no grade: `tracehouse run mine` gives it one"
    write_grade(grade, "pbs", procs=8)
    of_order, of_own = planned({"policy": policy}), planned({})
    said = f"no grade: that of the source, {grade}, is of its own PBS, and an order in its place has none"
    assert of_order.trust[0] == said == base_configuration("mine").graded_as("searched:balanced").trust[0]
    assert of_order.has_figures is has_figures and of_own.trust[0].startswith(f"grade {grade}: ")
    if policy == "FCFS" and has_figures:
        answer = tracehouse.what_if({"SAF": {"policy": "SAF"}}, "mine", base={"policy": policy}).summary
        assert "an order in the place of the cluster's own PBS, with policy from [base]" in answer["base"]


# unmodelled: Rules of a cluster that no replay under its own scheduler has.


def test_the_scheduler_says_which_rules_are_in_the_replay() -> None:
    cluster = replace(SITE, scheduler=SchedulerSettings("pbs", "23.06", {"round_robin": True}))
    assert "round_robin=True: queues would take turns" in unmodelled_rules(cluster)
    assert unmodelled_rules(replace(SITE, licences={"matlab": 2})) == [
        "licences matlab: jobs would wait for them, but the log does not say which"
    ]


def test_jobs_beyond_the_bounds_of_their_partition_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All request an hour. An edit that bounds them let them run, and said nothing."""
    own_home(tmp_path / "home", BEHIND, monkeypatch, CLUSTER)

    answer = tracehouse.what_if({"shorter": {"edits": ["partition.main.MaxTime=30"]}}, "mine")

    beyond = "MaxTime of the partition main: 4 jobs ask for more, and would not start"
    assert f"not in the replay of shorter: {beyond}" in answer.summary["trust"]
    assert beyond not in str(tracehouse.replay("mine"))
