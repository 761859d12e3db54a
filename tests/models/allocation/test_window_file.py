"""Window files: what is read, and a message with the remedy for each fault."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from models.allocation.window_file import read_window, window_of_json

TREE = {"nodes_per_leaf": 2, "leaves_per_pod": 3, "pods": 2}
GOOD = {"tree": TREE, "idle": [0, 1, 5], "jobs": [2, 1]}
TOPOLOGY = "SwitchName=s0 Nodes=n[1-3]\nSwitchName=s1 Nodes=n[4-5]\nSwitchName=top Switches=s[0-1]\n"


def test_a_tree_as_an_object(tmp_path: Path) -> None:
    (tmp_path / "w.json").write_text(json.dumps(GOOD | {"idle": [5, 0, 1.0]}))
    window = read_window(tmp_path / "w.json")
    assert window.idle.tolist() == [0, 1, 5] and window.sizes.tolist() == [2, 1] and not window.integer
    assert window.tree.hops.tolist() == [2, 4, 6]
    assert [window.tree.switches(level) for level in range(3)] == [6, 2, 1] and window.tree.nodes == 12


def test_hops_may_be_given() -> None:
    document = GOOD | {"tree": TREE | {"hops": [0, 7, 7]}}
    assert window_of_json(json.dumps(document).encode(), "w", Path()).tree.hops.tolist() == [0, 7, 7]


def test_a_tree_as_a_text_and_no_jobs() -> None:
    window = window_of_json(b'\xef\xbb\xbf{"tree": "16x8x4", "idle": [], "jobs": []}', "w", Path())
    assert window.tree.nodes == 512 and len(window.sizes) == 0


def test_a_topology_lies_beside_the_window_and_has_names(tmp_path: Path) -> None:
    (tmp_path / "topology.conf").write_text(TOPOLOGY)
    (tmp_path / "w.json").write_text('{"tree": "topology.conf", "idle": ["n5", "n[1-2]"], "jobs": [3]}')
    window = read_window(tmp_path / "w.json")
    assert [window.tree.name_of(node) for node in window.idle] == ["n1", "n2", "n5"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"^w:1:1: not JSON \(Expecting value\): expected a window such as .* Correct it there$"),
        (b'{"tree": "4x2",\n "idle": [0 1]}', r"^w:2:13: not JSON \(Expecting ',' delimiter\)"),
        (b'{"tree": "4x2",\n "idle": [0, \xff]}', r"^w:2: byte 0xff is no UTF-8 text: .* Save it as UTF-8"),
        (b"[" * 100_000, r"^w: brackets within brackets without end"),
        (b'{"jobs": [NaN]}', r"^w: NaN is no number of JSON: expected a whole number"),
        (b'{"jobs": [' + b"9" * 5000 + b"]}", r"^w: .*4300 digits"),
        (b'{"jobs": [1], "jobs": [2]}', r'^w: the key "jobs" comes 2 times: expected it once'),
        (b"[1, 2]", r'^w: the window is \[1, 2\]: expected an object with "tree", "idle", "jobs"'),
    ],
)
def test_what_is_no_window(content: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        window_of_json(content, "w", Path())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"job": [1]}, r'unknown key "job" of the window: .* Did you mean "jobs"\?'),
        ({"zzz": [1]}, r'unknown key "zzz" of the window: expected "tree", "idle", "jobs"\. Take it out'),
        ({"jobs": [2, 2]}, r'"jobs" need 4 nodes together: expected at most 3, as many as are idle\. Take jobs out'),
        ({"jobs": [1, 13]}, r'"jobs": job 2 needs 13 nodes: expected at most 12, as many as the tree has\. Make it'),
        ({"jobs": [0]}, r'the size of job 1 in "jobs" is 0: expected a whole number from 1 on\. Correct it'),
        ({"jobs": [1, -2]}, r"the size of job 2 .* is -2: expected"),
        ({"jobs": [1.5]}, r"the size of job 1 .* is 1.5: expected"),
        ({"jobs": [True]}, r"the size of job 1 .* is true: expected"),
        ({"jobs": ["2"]}, r'the size of job 1 .* is "2": expected'),
        ({"jobs": [None]}, r"the size of job 1 .* is null: expected"),
        ({"jobs": [10**30]}, r"job 1 needs 1000000000000000000000000000000 nodes: expected at most 12"),
        ({"jobs": [1e999]}, r"Infinity is no number of JSON"),
        ({"jobs": 2}, r'"jobs" is 2: expected a list of sizes'),
        ({"idle": [0, 5, 1, 5]}, r'"idle": node 5 comes twice: expected different nodes\. Take one out'),
        ({"idle": [0, 12]}, r'"idle": node 12 is not in the tree: expected 0 to 11\. Take it out'),
        ({"idle": [-1]}, r'"idle": node -1 is not in the tree: expected 0 to 11'),
        ({"idle": ["n1"]}, r'number 1 of "idle" is "n1": expected a whole number\.'),
        ({"idle": [0, False]}, r'number 2 of "idle" is false: expected'),
        ({"idle": {"0": 1}}, r'"idle" is {"0": 1}: expected a list of numbers of nodes'),
        ({"tree": 7}, r'"tree" is 7: expected a text such as "16x8x4"'),
        ({"tree": "4x0"}, r"every level of a tree needs at least 1 switch or node, got \(4, 0\)"),
        ({"tree": "4x"}, r"cannot read the tree '4x': write nodes per leaf x leaves per pod x pods"),
        ({"tree": "2000x2000"}, r'"tree" has more than 1,000,000 nodes'),
        (
            {"tree": "x.conf"},
            r'"tree" is "x.conf", and there is no such file in .*: expected a text such as "16x8x4", or',
        ),
        ({"tree": "n" * 5000}, r'"tree" is "n{56}\.\.\., and there is no such file'),
        ({"tree": TREE | {"pods": 0}}, r'"pods" is 0: expected a whole number from 1 on'),
        ({"tree": TREE | {"pods": 10**20}}, r'"tree" has more than 1,000,000 nodes'),
        ({"tree": TREE | {"pod": 2}}, r'unknown key "pod" of the tree: .* Did you mean "pods"\?'),
        ({"tree": {"pods": 2}}, r'the tree has no "nodes_per_leaf": expected'),
        (
            {"tree": TREE | {"hops": [2, 4]}},
            r'"hops" is \[2, 4\]: expected 3 numbers, one a level, such as \[2, 4, 6\]',
        ),
        ({"tree": TREE | {"hops": 2}}, r'"hops" is 2: expected 3 numbers'),
        ({"tree": TREE | {"hops": [2, 6, 4]}}, r'"hops" is \[2, 6, 4\]: expected numbers that do not decrease'),
        ({"tree": TREE | {"hops": [2, 4, 5.5]}}, r'number 3 of "hops" is 5.5: expected a whole number from 0 to'),
        ({"tree": TREE | {"hops": [-1, 4, 6]}}, r'number 1 of "hops" is -1: expected'),
        ({"tree": TREE | {"hops": [2, 4, True]}}, r'number 3 of "hops" is true: expected'),
    ],
)
def test_faults(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message) as error:
        window_of_json(json.dumps(GOOD | changes).encode(), "my.json", tmp_path)
    assert str(error.value).startswith("my.json: ")


@pytest.mark.parametrize("key", GOOD)
def test_every_key_is_needed(key: str) -> None:
    document = {name: value for name, value in GOOD.items() if name != key}
    with pytest.raises(ValueError, match=f'^w: the window has no "{key}": expected "tree", "idle", "jobs"'):
        window_of_json(json.dumps(document).encode(), "w", Path())


@pytest.mark.parametrize(
    ("idle", "message"),
    [
        (["n1", "n9"], r'"idle": node "n9" is not in the tree: expected names such as "n\d"\. Correct it'),
        ([1], r'number 1 of "idle" is 1: expected the name of a node in quotation marks, such as "n1"'),
        (["n[1-2]", "n2"], r'"idle": node n2 comes twice'),
        (["n[1-"], r'number 1 of "idle": unclosed bracket'),
        ("n1", r'"idle" is "n1": expected a list of names of nodes'),
    ],
)
def test_faults_of_names(idle: Any, message: str, tmp_path: Path) -> None:
    (tmp_path / "topology.conf").write_text(TOPOLOGY)
    with pytest.raises(ValueError, match=message):
        window_of_json(json.dumps({"tree": "topology.conf", "idle": idle, "jobs": [1]}).encode(), "w", tmp_path)


def test_a_fault_of_the_topology_has_its_line(tmp_path: Path) -> None:
    (tmp_path / "topology.conf").write_text(TOPOLOGY.replace("Nodes=n[4-5]", "Node=n4"))
    with pytest.raises(ValueError, match=r"^w: .*topology\.conf:2: unknown key Node="):
        window_of_json(b'{"tree": "topology.conf", "idle": [], "jobs": []}', "w", tmp_path)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"none\.json: no such file\. Correct the path, or write"):
        read_window(tmp_path / "none.json")
    with pytest.raises(ValueError, match="is a folder"):
        read_window(tmp_path)
