"""gres.conf gives GPUs their types; the line of nodes says how many there are."""

from __future__ import annotations

import pytest

from tests.traces.slurm.configuration.slurm_configurations import kinds_of, text_file
from traces.cluster.nodes import Node
from traces.cluster.notes import Notes
from traces.cluster.remarks import ConfigurationError
from traces.slurm.configuration.gres import GresLines, read_gres_conf


def read(text: str, notes: Notes | None = None) -> GresLines:
    return read_gres_conf(text_file("gres.conf", text), lambda path: None, notes or Notes())


def test_types_of_gpus() -> None:
    notes = Notes()
    gres = read(
        "AutoDetect=nvml\nNodeName=g[1-2] Name=gpu Type=a File=/dev/nvidia[0-1] Cores=0-3\n"
        "NodeName=g1 Name=gpu Type=b Count=1\nNodeName=g1 Name=mps Count=200\n",
        notes,
    )
    assert gres.refine(Node("g1", 1, gpus={"": 3}), notes).gpus == {"a": 2, "b": 1}
    assert gres.refine(Node("g2", 1, gpus={"": 4}), notes).gpus == {"": 4}
    assert gres.refine(Node("n1", 1), notes).gpus == {}
    assert kinds_of(notes.remarks, "assumed")["Name"] == "g2 has 4 GPUs, as its line of nodes says, and not 2"
    assert "AutoDetect" in kinds_of(notes.remarks, "assumed") and "Cores" in kinds_of(notes.remarks, "not modelled")


def test_lines_without_nodes_hold_for_all() -> None:
    assert read("Name=gpu Type=a Count=2\n").refine(Node("g1", 1, gpus={"": 2}), Notes()).gpus == {"a": 2}


def test_bad_lines() -> None:
    for text, expected in (("Name=gpu Count=x", "a number such as 4"), ("Name=gpu File=/dev/n[2-1]", "files such as")):
        with pytest.raises(ConfigurationError, match=f"gres.conf:1: expected {expected}"):
            read(text)
