"""Our reader of slurm.conf against one that was written from its man page alone, on made folders."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.shared import size
from tests.traces.slurm.configuration.plain_slurm_conf import PlainCluster, read_plainly, write_folder
from traces.slurm.configuration.folder import read_slurm_cluster

NO_MEMORY = 1
"""What Slurm has where no line says RealMemory. A description has 0 there, which does not count."""


def ours(folder: Path) -> PlainCluster:
    cluster = read_slurm_cluster(sorted(folder.iterdir()), "").description
    nodes = {
        node.name: {
            "cpus": node.cpus,
            "memory": node.memory_mib or NO_MEMORY,
            "weight": node.weight,
            "gpus": dict(node.gpus),
        }
        for node in cluster.nodes
    }
    partitions = {
        part.name: {"nodes": sorted(cluster.nodes_of(part)), "is_default": part.is_default}
        for part in cluster.partitions
    }
    return PlainCluster(nodes, partitions)


@pytest.mark.parametrize("seed", range(size(60, 600)))
def test_both_readers_agree(tmp_path: Path, seed: int) -> None:
    plain, own = read_plainly(write_folder(tmp_path, seed)), ours(tmp_path)
    text = (tmp_path / "slurm.conf").read_text()
    assert list(own.nodes) == list(plain.nodes), text
    for name, node in plain.nodes.items():
        assert own.nodes[name] == node, (name, text)
    assert own.partitions == plain.partitions, text


def test_the_folders_have_what_readers_trip_over(tmp_path: Path) -> None:
    texts = []
    for seed in range(60):
        (folder := tmp_path / str(seed)).mkdir()
        write_folder(folder, seed)
        texts.append("\n".join(path.read_text() for path in sorted(folder.iterdir())))
    for pattern in (
        *(
            r"(?i)^include nodes",
            r"Include part",
            r'"cred_expire=1200","ttl',
            r"(?i)nodename=DEFAULT",
            r"(?i)partitionname=DEFAULT",
        ),
        *(
            r"\\\n",
            r"NODENAME=",
            r"# CPUs",
            r"NodeSet=",
            r"\]n\[",
            r"gpu:\w+:2,gpu:",
            r"\(S:",
            r"SocketsPerBoard",
            r"Procs=",
        ),
        *(r"(?s)(?i)default=yes.*default=yes", r"Nodes=ALL", r"Weight="),
    ):
        assert sum(re.search(pattern, text, re.MULTILINE) is not None for text in texts) >= 3, pattern


def test_the_plain_reader_is_right_of_a_folder_by_hand(tmp_path: Path) -> None:
    (tmp_path / "nodes.conf").write_text(
        "NodeName=r[1-2]n[01-02] cpus=8 \\\n  Gres=gpu:a100:2(S:0),gpu:1,nic:3 # eight\n"
    )
    (tmp_path / "slurm.conf").write_text(
        'AuthInfo="a=1","b=2"\nNODENAME=DEFAULT Sockets=2 CoresPerSocket=4 ThreadsPerCore=2 Weight=5 RealMemory=900\n'
        'NodeName=x Reason="#1 \\#2"\ninclude nodes.conf\nPartitionName=DEFAULT Nodes=ALL\nPartitionName=a Default=YES\n'
        "PartitionName=b Nodes=x Default=yes\n"
    )
    plain = read_plainly(tmp_path / "slurm.conf")
    usual = {"memory": 900, "weight": 5}
    assert plain.nodes["x"] == {"cpus": 16, "gpus": {}, **usual}
    assert plain.nodes["r2n01"] == {"cpus": 8, "gpus": {"a100": 2, "": 1}, **usual} and len(plain.nodes) == 5
    assert plain.partitions == {
        "a": {"nodes": ["r1n01", "r1n02", "r2n01", "r2n02", "x"], "is_default": False},
        "b": {"nodes": ["x"], "is_default": True},
    }
