"""A whole configuration as one cluster, and those of the recorded runs and of real centres."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.shared import shared_file
from tests.traces.slurm.configuration.slurm_configurations import (
    NODES_CONF,
    RESERVATIONS,
    SLURM_CONF,
    kinds_of,
    recorded_runs,
    text_file,
    written,
)  # fmt: skip
from traces.cluster.description import ClusterDescription
from traces.cluster.notes import ConfigurationError, DescribedCluster, Notes
from traces.cluster.toml_reading import parse_cluster_toml
from traces.cluster.toml_writing import cluster_toml
from traces.slurm.configuration.accounts.commands import read_sacctmgr_commands
from traces.slurm.configuration.accounts.tree import shared_cluster
from traces.slurm.configuration.folder import is_slurm_configuration, read_slurm_cluster

CENTRES = {  # nodes, CPUs, GPUs, partitions
    "boron-slurm.conf": (10, 320, 0, 1),
    "epcc-cirrus-slurm.conf": (407, 14880, 152, 11),
    "harvard-odyssey-2014-slurm.conf": (955, 42324, 0, 50),
    "sussex-pal-gpu-slurm.conf": (4, 212, 13, 5),
    "ubhpc-slurm.conf": (217, 7968, 20, 2),
    "vega-gsi-example-slurm.conf": (8, 264, 0, 3),
}


def written_and_read(described: DescribedCluster) -> ClusterDescription:
    return parse_cluster_toml(cluster_toml(described), "cluster.toml").description


def test_a_folder_of_slurm_is_a_cluster(tmp_path: Path) -> None:
    paths = written(tmp_path)
    assert is_slurm_configuration(paths)
    described = read_slurm_cluster(paths, "", "Europe/Berlin")
    cluster = described.description
    assert (cluster.name, cluster.num_cpus, [node.name for node in cluster.nodes][-3:]) == (
        "small",
        192,
        ["g1", "g2", "f1"],
    )
    assert [(part.name, cluster.nodes_of(part)) for part in cluster.partitions][:2] == [
        ("batch", ("n01", "n02", "n03", "n04")),
        ("gpu", ("g1", "g2", "f1")),
    ]
    assert (cluster.nodes[4].gpus, len(cluster.switches), len(cluster.reservations)) == ({"a100": 2}, 3, 2)
    assert (len(cluster.accounts), len(cluster.members), len(cluster.qualities), len(cluster.limits)) == (2, 3, 2, 12)
    assert kinds_of(described.remarks, "unknown").keys() == {"ColourOfJobs", "Colour"}
    assert written_and_read(described) == cluster
    lines = {(remark.file, remark.line) for remark in described.remarks}
    for name, text in (("slurm.conf", SLURM_CONF), ("nodes.conf", NODES_CONF), ("reservations.txt", RESERVATIONS)):
        for number, line in enumerate(text.splitlines(), 1):
            if "=" in line and not line.startswith("#"):
                assert (name, number) in lines, line


def test_files_that_are_missing_are_named(tmp_path: Path) -> None:
    conf = SLURM_CONF + "TopologyPlugin=topology/tree\n"
    without = dict.fromkeys(("sacctmgr.dump", "qos.txt", "topology.conf", "gres.conf", "reservations.txt"))
    paths = [path for path in written(tmp_path, {**without, "slurm.conf": conf}) if path.name == "slurm.conf"]
    described = read_slurm_cluster(paths, "mine")  # the included file is found next to it
    assert len(described.description.nodes) == 7
    assert {"accounts", "switches"} <= kinds_of(described.remarks, "assumed").keys()
    only_dump = read_slurm_cluster(written(tmp_path, {"qos.txt": None}), "mine")
    assert "QOS" in kinds_of(only_dump.remarks, "assumed")


def test_a_folder_without_nodes(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"expected a file with the nodes, found none. Copy slurm.conf"):
        read_slurm_cluster(written(tmp_path, {"slurm.conf": None, "nodes.conf": None}), "mine")
    with pytest.raises(ConfigurationError, match=r"slurm.conf:16: expected the file nodes.conf"):
        read_slurm_cluster(written(tmp_path, {"nodes.conf": None}), "mine")


def test_recorded_runs() -> None:
    """Nodes and partitions as the scenario asked for, accounts and limits as after its commands."""
    runs = 0
    for name, paths in recorded_runs():
        described = read_slurm_cluster(paths, name)
        cluster, runs = described.description, runs + 1
        scenario = json.loads(gzip.decompress(next(p for p in paths if p.name == "scenario.json.gz").read_bytes()))
        expected = [
            (node["cores"], node["mem"], node.get("gpus", 0))
            for node in scenario["nodes"]
            for _ in range(node["count"])
        ]
        assert [(node.cpus, node.memory_mib, node.num_gpus) for node in cluster.nodes] == expected
        assert [f"PartitionName={part.name}" for part in cluster.partitions] == [
            x.split()[0] for x in scenario["partitions"]
        ]
        commands = "modify cluster x set qos=normal\n" + "\n".join(scenario["sacctmgr"])
        asked = shared_cluster(read_sacctmgr_commands(text_file("commands", commands), Notes()), Notes())
        assert set(cluster.accounts) == set(asked.accounts), name
        assert {replace(x, is_default=True) for x in cluster.members} == {
            replace(x, is_default=True) for x in asked.members
        }
        assert {replace(x, source="") for x in cluster.limits} == {replace(x, source="") for x in asked.limits}
        assert set(cluster.qualities) == set(asked.qualities)
        assert not kinds_of(described.remarks, "unknown") and not kinds_of(described.remarks, "assumed")
        assert cluster.scheduler.version == "22.05.8" and written_and_read(described) == cluster
    assert runs == 15


@pytest.mark.parametrize(
    ("folder", "sizes"), [("ub-micro/v3/etc", (10, 120, 2, 7)), ("ub-hpc-week/etc", (217, 7968, 20, 106))]
)
def test_clusters_of_buffalo(folder: str, sizes: tuple[int, ...]) -> None:
    described = read_slurm_cluster(list(shared_file("traces", "clusters", *folder.split("/")).iterdir()), "")
    cluster = described.description
    gpus = sum(node.num_gpus for node in cluster.nodes)
    assert (len(cluster.nodes), cluster.num_cpus, gpus, len(cluster.members)) == sizes
    assert not kinds_of(described.remarks, "unknown")
    assert kinds_of(described.remarks, "not modelled").keys() <= {"AllowQOS"}
    assert written_and_read(described) == cluster


@pytest.mark.parametrize("name", CENTRES)
def test_configurations_of_centres(name: str) -> None:
    described = read_slurm_cluster([shared_file("traces", "clusters", "slurm-confs", name)], "")
    cluster = described.description
    gpus = sum(node.num_gpus for node in cluster.nodes)
    assert (len(cluster.nodes), cluster.num_cpus, gpus, len(cluster.partitions)) == CENTRES[name]
    assert not kinds_of(described.remarks, "unknown")
    assert written_and_read(described) == cluster


def test_a_template_is_no_configuration() -> None:
    path = shared_file("traces", "clusters", "slurm-confs", "epcc-archer2-slurm-template.conf")
    with pytest.raises(
        ConfigurationError,
        match=r"epcc-archer2-slurm-template.conf:4: expected a configuration, but this is a template",
    ):
        read_slurm_cluster([path], "archer2")


# Files as Slurm reads them, and as the tools of clusters lay them out.

BELOW = {
    "slurm.conf": 'ClusterName=Tux\nAuthInfo="cred_expire=1200","ttl=1500"\n'
    "include sub/%c_nodes.conf\nInclude /opt/slurm/etc/sub/parts.conf\n",
    "gres.conf": "include more_gres.conf\n",
    "more_gres.conf": "include /opt/slurm/etc/sub/gres.conf\n",
    "sub/tux_nodes.conf": "NodeName=n[1-4] CPUs=4 RealMemory=1000 Gres=gpu:2\n",
    "sub/parts.conf": (
        "PartitionName=a Nodes=n[1-2] Default=YES MaxTime=60 DefaultTime=120\nPartitionName=b Nodes=n[3-4] Default=YES\n"
    ),
    "sub/gres.conf": "NodeName=n[1-4] Name=gpu Type=a100 File=/dev/nvidia[0-1]\n",
}  # fmt: skip


def test_files_that_are_included_lie_below_the_folder(tmp_path: Path) -> None:
    """Also by an absolute path of the site, and by the cluster's name; a folder of before has the same files side by side."""
    (tmp_path / "sub").mkdir()
    for name, text in BELOW.items():
        (tmp_path / name).write_text(text)
    described = read_slurm_cluster([path for path in tmp_path.iterdir() if path.is_file()], "")
    cluster = described.description
    assert [(node.cpus, node.gpus) for node in cluster.nodes] == [(4, {"a100": 2})] * 4
    assert [(part.name, part.is_default, part.default_time_s) for part in cluster.partitions] == [
        ("a", False, None),
        ("b", True, None),
    ]
    effects = {
        f"{remark.where} {remark.key}": remark.effect for remark in described.remarks if remark.kind == "no effect"
    }
    assert effects["sub/parts.conf:1 Default"] == "b is the default partition, since it comes later"
    assert effects["sub/parts.conf:1 DefaultTime"] == "it is over MaxTime of a, and Slurm drops it"
    assert not any("not read" in effect for effect in effects.values())
    flat = tmp_path / "flat"
    flat.mkdir()
    for name, text in BELOW.items():
        if name != "sub/gres.conf":
            (flat / Path(name).name).write_text(text.replace("sub/gres.conf", "below_gres.conf"))
    (flat / "below_gres.conf").write_text(BELOW["sub/gres.conf"])
    described = read_slurm_cluster(list(flat.iterdir()), "")
    assert described.description == cluster
    assert not any("not read" in remark.effect for remark in described.remarks)


@pytest.mark.parametrize(
    ("case", "sizes"),
    [
        ("slurm-conf-include-below", (35, 780, 90, 3)),
        ("slurm-conf-quoted-list", (4, 16, 0, 1)),
        ("two-default-partitions", (4, 16, 0, 6)),
    ],
)
def test_configurations_of_the_cases(case: str, sizes: tuple[int, ...]) -> None:
    folder = shared_file("cases", "logs-and-configurations", case)
    described = read_slurm_cluster([path for path in folder.iterdir() if path.suffix == ".conf"], "")
    cluster = described.description
    gpus = sum(node.num_gpus for node in cluster.nodes)
    assert (len(cluster.nodes), cluster.num_cpus, gpus, len(cluster.partitions)) == sizes
    assert not any("not read" in remark.effect for remark in described.remarks)
    if case == "two-default-partitions":
        assert [part.name for part in cluster.partitions if part.is_default] == ["b"]
        assert cluster.partitions[0].default_time_s is None
