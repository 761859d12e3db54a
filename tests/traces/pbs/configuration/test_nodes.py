"""Nodes of pbsnodes, as text, as JSON and as Torque has them."""

import json

import pytest

from tests.traces.pbs.configuration.configurations import PBSNODES, QMGR, file_of, said, state_of
from traces.cluster.nodes import Absence, Node
from traces.cluster.notes import Notes
from traces.cluster.remarks import ConfigurationError
from traces.pbs.configuration.nodes import ListedNode, read_nodes, read_torque_nodes
from traces.pbs.configuration.qmgr import ServerState

EXPECTED = (
    ListedNode(
        Node("n1", 16, 65536, {"": 2}, ("nodetype=thin",), resources={"scratch": 1 << 30}),
        "",
        5,
    ),
    ListedNode(
        Node(
            "n2",
            32,
            128767,
            features=("nodetype=fat", "nodetype=new"),
            absences=(Absence(1795673647, None, "drain"),),
            host="box",
            sharing="force_excl",
        )
    ),
)


def test_text_and_json_are_alike() -> None:
    state, notes = state_of(QMGR)
    assert read_nodes(file_of("pbsnodes.txt", PBSNODES), state, "Europe/Berlin", notes) == EXPECTED
    document: dict = {"timestamp": 1, "nodes": {}}
    for block in PBSNODES.strip().split("\n\n"):
        name, *lines = block.splitlines()
        values = document["nodes"].setdefault(name, {})
        for line in lines:
            key, _, value = line.strip().partition(" = ")
            base, _, resource = key.partition(".")
            if resource:
                values.setdefault(base, {})[resource] = int(value) if value.isdigit() else value
            else:
                values[key] = value
    as_json = file_of("pbsnodes.json", json.dumps(document))
    assert read_nodes(as_json, state, "Europe/Berlin", Notes()) == EXPECTED


def test_torque_prints_slots_and_properties() -> None:
    text = "t1\n     state = free\n     np = 8\n     properties = fast,ib\n     gpus = 2\n     status = ncpus=8,physmem=16777216kb,x=1\n"
    node = read_nodes(file_of("pbsnodes", text), ServerState(), "UTC", Notes())[0].node
    assert node == Node("t1", 8, 16384, {"": 2}, ("fast", "ib"))
    notes = Notes()
    listed = read_torque_nodes(file_of("nodes", "t1 np=8 gpus=2 fast\nt2 fast colour=red\n"), notes)
    assert [part.node for part in listed] == [
        Node("t1", 8, gpus={"": 2}, features=("fast",)),
        Node("t2", 1, features=("fast",)),
    ]
    assert set(said(notes.remarks, "unknown")) == {"colour"}


def test_a_node_without_processors_is_left_out_with_a_remark() -> None:
    notes = Notes()
    text = f"head\n     state = free\n     resources_available.ncpus = 0\n\n{PBSNODES}"
    assert len(read_nodes(file_of("pbsnodes", text), ServerState(), "UTC", notes)) == 2
    assert said(notes.remarks, "assumed") == {"head": "the node has no processors and is left out"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (PBSNODES.replace("= 16", "= many"), r"f:8: expected a whole number from 0 as resources_available.ncpus, found 'many'"),
        (PBSNODES.replace("force_excl", "mine"), r"f:21: expected one of default_shared, .* as sharing, found 'mine'"),
        (PBSNODES.replace("= free", "= happy"), r"f:4: expected states of down, .*found 'happy'"),
        (PBSNODES.replace("64gb", "lots"), r"f:7: expected a size such as 64gb as resources_available.mem, found 'lots'"),
        ("Error: no server\n", r"f:1: expected the name of a node, found 'Error: no server'"),
        ("n1\n    free\n", r"f:2: expected an attribute such as `state = free` below a node, found 'free'"),
        ("", r"f: expected nodes with processors. Write the output of `pbsnodes -av`"),
        ('{"nodes": ', r"f:1: expected a JSON document of pbsnodes"),
    ],
)  # fmt: skip
def test_faults_have_file_line_and_remedy(text: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        read_nodes(file_of("f", text), ServerState(), "UTC", Notes())
