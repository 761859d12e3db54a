"""What jobs held of their nodes, by what they asked for and by what the nodes are for."""

from __future__ import annotations

import polars as pl
import pytest

from tests.traces.pbs.pbs_goldens import each_golden, golden_folder, records
from traces.cluster.nodes import Node
from traces.pbs.holdings import HeldNode, held_nodes, host_slots, pbs_nodes_held

NODES = {
    node.name: node
    for node in (
        Node("n1", 16, 65536, {"": 2}),
        Node("n2", 16, 65536),
        Node("v0", 8, 1024, host="big"),
        Node("v1", 8, 1024, host="big"),
        Node("x1", 4, 512, sharing="force_excl"),
        Node("x2", 4, 512, sharing="default_excl"),
        Node("x3", 4, 512, sharing="ignore_excl"),
    )
}


def held(exec_vnode: str, place: str | None = None) -> dict[str, int]:
    attributes = {"exec_vnode": exec_vnode} | ({"Resource_List.place": place} if place else {})
    return {part.node: part.cpus for part in held_nodes(attributes, NODES)}


def test_a_job_with_nodes_for_itself_holds_all_of_them() -> None:
    asked = {"exec_vnode": "(n1:ncpus=4:mem=2097152kb:ngpus=1+n2:ncpus=2)+(n1:ncpus=4)"}
    assert held_nodes(asked, NODES) == (HeldNode("n1", 8, 8, 2 << 20, 1), HeldNode("n2", 2, 2, 0, 0))
    alone = held_nodes(asked | {"Resource_List.place": "scatter:excl"}, NODES)
    assert alone == (HeldNode("n1", 8, 16, 64 << 20, 2), HeldNode("n2", 2, 16, 64 << 20, 0))


def test_nodes_have_a_word_in_it() -> None:
    assert held("(x1:ncpus=1)+(x2:ncpus=1)+(x3:ncpus=1)") == {"x1": 4, "x2": 4, "x3": 1}
    assert held("(x1:ncpus=1)+(x2:ncpus=1)+(x3:ncpus=1)", "pack:shared") == {"x1": 4, "x2": 1, "x3": 1}
    assert held("(x1:ncpus=1)+(x2:ncpus=1)+(x3:ncpus=1)", "pack:excl") == {"x1": 4, "x2": 4, "x3": 1}
    assert held("(v0:ncpus=2)", "exclhost") == {"v0": 8, "v1": 8}
    assert held("(v0:ncpus=2)+(unknown:ncpus=3)", "excl") == {"v0": 8, "unknown": 3}


def test_torque_writes_slots() -> None:
    assert host_slots("n1/0*4+n2/0-3,7+n2/8+n3") == {"n1": 4, "n2": 6, "n3": 1}
    assert [part.cpus for part in held_nodes({"exec_host": "n1/1+n1/0+n2/0"}, NODES)] == [2, 1]
    assert held_nodes({}, NODES) == ()
    for bad in ("/3", "n1/a-b"):
        with pytest.raises(ValueError, match="exec_host: expected"):
            host_slots(bad)


@pytest.mark.thorough
@each_golden
def test_what_recorded_jobs_held_equals_what_the_server_wrote(scenario: str) -> None:
    nodes = {f"n{k:02}": Node(f"n{k:02}", 16, 65536, {"": 2} if k < 8 else {}) for k in range(32)}
    started = records(golden_folder(scenario), "S")
    for job, attributes in started.items():
        parts = held_nodes(attributes, nodes)
        if "[]" not in job:
            assert sum(part.cpus for part in parts) == int(attributes["resource_assigned.ncpus"]), job
            assert sum(part.gpus for part in parts) == int(attributes.get("resource_assigned.ngpus", 0)), job
            assert sum(part.asked_cpus for part in parts) == int(attributes["Resource_List.ncpus"]), job


@pytest.mark.thorough
def test_jobs_with_nodes_for_themselves_held_half_as_much_again() -> None:
    ended = records(golden_folder("P6"), "E")
    nodes = {f"n{k:02}": Node(f"n{k:02}", 16, 65536) for k in range(32)}
    of_jobs = [
        (held_nodes(attributes, nodes), int(attributes["end"]) - int(attributes["start"]))
        for attributes in ended.values()
    ]
    asked = sum(part.asked_cpus * seconds for parts, seconds in of_jobs for part in parts)
    held_in_all = sum(part.cpus * seconds for parts, seconds in of_jobs for part in parts)
    assert (held_in_all, asked) == (17839, 15135)


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        (
            "(n1:ncpus=4:mem=2gb:ngpus=1+n2:ncpus=4:mem=512kb)+(n1:ncpus=1)",
            {"n1": (5, 1, 2 << 20), "n2": (4, 0, 512)},
        ),
        ("(c-0.site:ncpus=16:host=n1)", {"c-0.site": (16, 0, None)}),
        ("n1/0*16+n2/0-3+n2/7", {"n1": (16, None, None), "n2": (5, None, None)}),
        ("n1/0+n1/1+n2/0", {"n1": (2, None, None), "n2": (1, None, None)}),
        ("n1", {"n1": (1, None, None)}),
        ("n1/0+ +n2", {}),
        ("", {}),
    ],
)
def test_lists_are_summed_by_node(text: str, nodes: dict[str, tuple[int | None, ...]]) -> None:
    rows = pbs_nodes_held(pl.Series([None, text], dtype=pl.Utf8))
    assert {row[1]: row[2:] for row in rows.rows()} == nodes
    assert set(rows["place"]) <= {1}
