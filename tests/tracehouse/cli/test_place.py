"""`tracehouse place`: one window from a file or from standard input, its nodes as a table or as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from models.allocation.methods import PLACE_METHODS
from models.allocation.neural.repair_policy import repair_to_bytes
from models.allocation.window import Window
from simulator.topology.hops import hop_cost
from simulator.topology.tree import regular_tree
from tests.models.allocation.neural.slow_repairing import small_policy
from tests.pipelines.command_line import fail, succeed
from tracehouse.cli.main import main
from tracehouse.cli.place import METHOD_WORDS

WINDOW: dict[str, Any] = {
    "tree": {"nodes_per_leaf": 4, "leaves_per_pod": 2, "pods": 2},
    "idle": [12, 3, 1, 2, 5, 6, 8, 9],
    "jobs": [2, 4],
}
TOPOLOGY = "SwitchName=s0 Nodes=n[1-3]\nSwitchName=s1 Nodes=n[4-6]\nSwitchName=top Switches=s[0-1]\n"


@pytest.fixture
def window(tmp_path: Path) -> Path:
    """The file of WINDOW."""
    path = tmp_path / "window.json"
    path.write_text(json.dumps(WINDOW))
    return path


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    """The file of a network that nobody has trained."""
    path = tmp_path / "policy.json"
    path.write_bytes(repair_to_bytes(small_policy("FCN-1", "paper", 20), {}))
    return path


def test_the_methods_of_the_help_are_all() -> None:
    assert "|".join(PLACE_METHODS) == METHOD_WORDS


@pytest.mark.parametrize("method", PLACE_METHODS)
def test_json_is_the_allocation(method: str, window: Path, policy: Path) -> None:
    extra = ["--policy", policy] if method == "nsa" else []
    placed = json.loads(succeed("place", window, "--method", method, "--json", "--seed", "3", *extra))
    assert list(placed) == ["method", "cost", "bound", "gap", "proven", "seconds", "nodes"]
    assert placed["method"] == method
    assert [len(nodes) for nodes in placed["nodes"]] == WINDOW["jobs"]
    taken = [node for nodes in placed["nodes"] for node in nodes]
    assert set(taken) <= set(WINDOW["idle"]) and len(set(taken)) == len(taken)
    tree = regular_tree((4, 2, 2))
    assert placed["cost"] == pytest.approx(sum(hop_cost(tree, np.array(nodes)) for nodes in placed["nodes"]))
    assert 0.0 < placed["bound"] <= placed["cost"] and placed["seconds"] >= 0.0
    assert placed["gap"] == pytest.approx(1 - placed["bound"] / placed["cost"])


def test_a_window_from_standard_input_has_the_same_nodes(window: Path) -> None:
    of_file = json.loads(succeed("place", window, "--method", "free", "--json"))
    result = CliRunner().invoke(main, ["place", "-", "--method", "free", "--json"], input=window.read_bytes())
    assert result.exit_code == 0
    assert json.loads(result.stdout)["nodes"] == of_file["nodes"]


def test_the_table_has_a_line_for_each_job(window: Path) -> None:
    """The pair fits the second leaf exactly. The job of four fills the first one, and takes the single node."""
    lines = succeed("place", window, "--method", "tree").splitlines()
    assert lines[0].split() == ["job", "size", "cost", "leaves", "nodes"]
    assert lines[1].split() == ["1", "2", "2.00", "1", "5-6"]
    assert lines[2].split() == ["2", "4", f"{2 * (3 * 2 + 3 * 6) / 4:.2f}", "2", "1-3,12"]
    assert lines[3].startswith("tree: cost 14.00, bound 11.00, gap 21.43%, ") and lines[3].endswith(" s")


def test_what_is_proven_is_said(window: Path) -> None:
    assert succeed("place", window, "--method", "scas").endswith(" s (the least cost of consecutive nodes, proven)\n")
    assert succeed("place", window, "--method", "free").endswith(" s (the least cost of all placements, proven)\n")


def test_names_of_a_topology(tmp_path: Path) -> None:
    (tmp_path / "topology.conf").write_text(TOPOLOGY)
    path = tmp_path / "window.json"
    path.write_text('{"tree": "topology.conf", "idle": ["n6", "n[2-5]"], "jobs": [3, 2]}')
    placed = json.loads(succeed("place", path, "--method", "scas", "--json"))
    assert placed["nodes"] == [["n4", "n5", "n6"], ["n2", "n3"]]
    assert "n[4-6]" in succeed("place", path, "--method", "scas")


def test_no_jobs_cost_nothing(window: Path) -> None:
    window.write_text(json.dumps(WINDOW | {"jobs": []}))
    placed = json.loads(succeed("place", window, "--method", "free", "--json"))
    assert (placed["cost"], placed["bound"], placed["gap"], placed["nodes"]) == (0.0, 0.0, 0.0, [])
    assert succeed("place", window, "--method", "dcas").startswith("dcas: cost 0.00, bound 0.00, gap 0.00%, ")


def test_a_policy_is_for_one_method(window: Path, policy: Path) -> None:
    text = fail("place", window, "--method", "nsa")
    assert "needs --policy FILE" in text and "`python -m papers.neural_annealing.study --tree paper" in text
    assert "--policy is for the method nsa, and scas uses" in fail(
        "place", window, "--method", "scas", "--policy", policy
    )
    missing = fail("place", window, "--method", "nsa", "--policy", policy.with_name("none.json"))
    assert "none.json: no such file; train a repair network first" in missing
    assert "not a repair network" in fail("place", window, "--method", "nsa", "--policy", window)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--method", "best"], "unknown method 'best'; expected one of scas, dcas, free, anneal, nsa, tree"),
        (["--method", "scas", "--seconds", "0"], "the limit is 0.0 seconds: expected a number above 0"),
        (["--method", "scas", "--seconds", "nan"], "the limit is nan seconds"),
        (["--method", "scas", "--seed", "-1"], "Invalid value for '--seed'"),
        ([], "Missing option '--method'"),
    ],
)
def test_bad_options(window: Path, arguments: list[str], message: str) -> None:
    assert message in fail("place", window, *arguments)


def test_faults_of_the_window_have_file_and_place(window: Path) -> None:
    window.write_text('{"tree": "4x2",\n "idle": [0 1]}')
    assert fail("place", window, "--method", "tree").startswith(f"{window}:2:13: not JSON (Expecting ',' delimiter)")
    window.write_text(json.dumps(WINDOW | {"jobs": [9]}))
    assert fail("place", window, "--method", "tree").startswith(f'{window}: "jobs" need 9 nodes together: expected at')
    result = CliRunner().invoke(main, ["place", "-", "--method", "tree"], input="{}")
    assert result.exit_code == 1 and 'Error: standard input: the window has no "tree"' in result.stderr
    assert "no such file" in fail("place", window.with_name("none.json"), "--method", "tree")


def test_costs_are_those_of_the_paper() -> None:
    """Equation 1: three nodes of one leaf have six ordered pairs with 2 hops each, over three nodes."""
    assert Window(regular_tree((10, 10, 10)), np.arange(3), np.array([3])).cost_of([np.arange(3)]) == 4.0
