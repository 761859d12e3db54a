"""A whole configuration as one cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.traces.pbs.configuration.configurations import MAUI, PBSNODES, QMGR, SCHED_CONFIG, said, write_configuration
from tests.traces.pbs.pbs_goldens import each_golden, golden_folder
from traces.cluster.remarks import ConfigurationError
from traces.pbs.configuration.folder import is_pbs_configuration, read_pbs_cluster


def test_a_folder_is_a_cluster_with_remarks(tmp_path: Path) -> None:
    paths = write_configuration(
        tmp_path, qmgr__txt=QMGR, pbsnodes__txt=PBSNODES, sched_config=SCHED_CONFIG, README="hello"
    )
    assert is_pbs_configuration(paths) and not is_pbs_configuration(paths[3:])
    described = read_pbs_cluster(paths, "mine", "Europe/Berlin")
    cluster = described.description
    assert [(node.name, node.cpus, node.weight) for node in cluster.nodes] == [("n1", 16, 1), ("n2", 32, 2)]
    assert [partition.name for partition in cluster.partitions] == ["short", "big"]
    assert (cluster.scheduler.name, cluster.scheduler.version) == ("pbs", "23.06.06")
    assert cluster.scheduler.values["job_sort_formula"] == "eligible_time - ncpus"
    assert cluster.licences == {"matlab": 12}
    assert len(cluster.limits) == 6
    remarks = described.remarks
    assert said(remarks, "unknown").keys() == {"colour_of_jobs"}
    assert {"load_balancing", "node_fail_requeue", "route_destinations", "resources"} <= said(
        remarks, "not modelled"
    ).keys()
    assert {"print sched", "resource_group"} <= said(remarks, "assumed").keys()
    lines = QMGR.count("\nset ") + SCHED_CONFIG.count("\n")
    named = [
        remark
        for remark in remarks
        if remark.file in ("qmgr.txt", "sched_config") and remark.line and remark.kind != "assumed"
    ]
    assert len({(remark.file, remark.line) for remark in named}) >= lines - 4  # += and the types of resources


def test_torque_with_maui(tmp_path: Path) -> None:
    queues = "create queue short\nset queue short enabled = True\nset queue short started = True\nset server keep_completed = 300\n"
    paths = write_configuration(tmp_path, qmgr__txt=queues, nodes="n1 np=8\nn2 np=8\n", maui__cfg=MAUI)
    cluster = read_pbs_cluster(paths, "mine").description
    assert (cluster.scheduler.name, cluster.num_cpus) == ("maui", 16)
    assert (cluster.partitions[0].factor, cluster.reservations[0].nodes) == (100, ("n1",))
    assert {limit.counts for limit in cluster.limits} == {"outstanding", "waiting_eligible", "running"}


def test_nodes_are_in_the_order_of_node_sort_key(tmp_path: Path) -> None:
    for words, weights, kind in (
        ("ncpus HIGH", [2, 1], "modelled"), ("ncpus HIGH unused", [1, 1], "not modelled"), ("sort_priority LOW", [2, 1], "modelled"),
    ):  # fmt: skip
        config = f'node_sort_key: "{words}" ALL\n'
        paths = write_configuration(tmp_path, pbsnodes__txt=PBSNODES, sched_config=config)
        described = read_pbs_cluster(paths, "mine")
        assert [node.weight for node in described.description.nodes] == weights
        assert "node_sort_key" in said(described.remarks, kind)


def test_hours(tmp_path: Path) -> None:
    paths = write_configuration(
        tmp_path,
        qmgr__txt=QMGR.replace("short", "np_short"),
        pbsnodes__txt=PBSNODES,
        holidays="weekday 0600 1730\n1 Jan 1 none all New Year\n",
        dedicated_time="12/24/2026 08:00 12/24/2026 20:00\n",
    )
    described = read_pbs_cluster(paths, "mine")
    assert [gate.partition for gate in described.description.gates] == ["np_short"]
    assert described.description.reservations[0].flags == ("dedicated",)
    assert "1" in said(described.remarks, "not modelled")


def test_faults(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigurationError, match=r"pbsnodes.txt: expected a file with the nodes, found none. Run `pbsnodes -av"
    ):
        read_pbs_cluster(write_configuration(tmp_path, qmgr__txt=QMGR), "mine")
    with pytest.raises(
        ConfigurationError, match=r"mine: expected files that fit together, but cluster mine has node n1 twice"
    ):
        read_pbs_cluster(write_configuration(tmp_path, pbsnodes__txt=PBSNODES + PBSNODES), "mine")


@each_golden
def test_recorded_configurations_are_read_without_a_guess(scenario: str) -> None:
    described = read_pbs_cluster(golden_folder(scenario).iterdir(), scenario)
    cluster, remarks = described.description, described.remarks
    assert (len(cluster.nodes), cluster.num_cpus, {node.memory_mib for node in cluster.nodes}) == (32, 512, {65536})
    assert [node.name for node in cluster.nodes if node.num_gpus == 2] == [f"n{k:02}" for k in range(8)]
    assert {part.name: part.tier for part in cluster.partitions} == {
        "workq": 0,
        "high": 100,
        "normal": 50,
        "low": 10,
        "express": 200,
    }
    assert said(remarks, "unknown") == {}
    assert list(said(remarks, "not modelled")) == ["node_fail_requeue"]
    assert set(said(remarks, "assumed").values()) == {"the node has no processors and is left out"}
    values = cluster.scheduler.values
    assert values["strict_ordering"] is (scenario != "P2")
    assert values.get("job_sort_formula") == (
        "eligible_time - min(walltime*sqrt(ncpus), 720)" if scenario == "P3" else None
    )
    limits = {(limit.owner_name, limit.each, limit.resource, limit.bound) for limit in cluster.limits}
    assert limits == (
        {("normal", "user", "jobs", 4), ("low", "all", "cpu", 128), ("", "user", "cpu", 256)}
        if scenario == "P5"
        else set()
    )
    assert [(member.user, member.account, member.shares) for member in cluster.members] == (
        [("u1", "grpA", 50), ("u2", "grpA", 50), ("u3", "grpB", 50), ("u4", "grpB", 25), ("u5", "grpB", 25)]
        if scenario == "P4"
        else []
    )
