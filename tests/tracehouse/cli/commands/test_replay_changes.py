"""Tests of tracehouse/cli/commands: place, replay_changes, replay_nodes, what_if."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import tracehouse
from assets.replaying.configuring.configuration import edited_cluster
from assets.replaying.scenarios import results
from assets.replaying.scenarios.scenario_file import read_scenarios, scenarios_of
from models.allocation.methods import PLACE_METHODS
from models.allocation.neural.repair_policy import repair_to_bytes
from models.allocation.window import Window
from simulator.topology.tree import hop_cost, regular_tree
from tests.assets.replaying.scenarios.examples import busy_home
from tests.models.allocation.neural.slow_repairing import small_policy
from tests.pipelines.command_line import call, fail, succeed, told_of
from tracehouse.cli.commands.place import METHOD_WORDS
from tracehouse.cli.main import main
from tracehouse.scenarios import merged_part
from traces.catalogue.catalogue import read_catalogue
from traces.catalogue.clusters import bundled_cluster
from traces.catalogue.places import PROJECT

# place: `tracehouse place`: one window from a file or from standard input, its nodes as a table or as JSON.

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


# replay_changes: `tracehouse replay` of other clusters and other jobs.


@pytest.fixture(scope="module")
def queued(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A source of 400 jobs on 16 processors, by turns in the queues 1 and 2, and every tenth in 7. A replay of what is loaded takes a third
    of the time of one that reads a log."""
    with pytest.MonkeyPatch.context() as patch:
        busy_home(patch, tmp_path_factory.mktemp("queued"), header="")
        yield "mine"


def test_a_queue_is_left_out(queued: str) -> None:
    said = told_of(queued, "--without-queue", "7")
    assert (said["jobs"], said["jobs_of_queues_left_out"], said["without_queue"]) == (360, 40, ["7"])
    assert said["average_wait_s"] < told_of(queued)["average_wait_s"]
    both = told_of(queued, "--without-queue", "7", "--without-queue", "1", "--queue", "2")
    assert both["jobs"] == both["scored_jobs"] == 200
    text = succeed("replay", queued, "--without-queue", "7")
    assert "without_queue" in text and "jobs_of_queues_left_out" in text
    assert "jobs_of_queues_left_out" not in succeed("replay", queued)


def test_python_leaves_the_same_queues_out(queued: str) -> None:
    said = told_of(queued, "--without-queue", "7", "--round-walltimes", "2h")["average_wait_s"]
    file = Path(os.environ["TRACEHOUSE_HOME"]).with_name("mine.swf")
    for log in (queued, file, tracehouse.load_log(file)):
        assert tracehouse.replay(log, without_queue="7", round_walltimes="2h").metrics["average_wait_s"] == said
        assert tracehouse.replay(log, without_queue=["7"], round_walltimes="2h").metrics["average_wait_s"] == said


def test_a_queue_that_is_none(queued: str) -> None:
    said = fail("replay", queued, "--without-queue", "long")
    assert "without_queue 'long': mine has no job of this queue: the queues are " in said
    assert "are not saved" in fail("replay", "birch", "--without-queue", "1", "--save", "x")


def test_requests_are_rounded(queued: str) -> None:
    said = told_of(queued, "--round-walltimes", "12h")
    assert said["round_walltimes"] == "12h" and said["average_wait_s"] != told_of(queued)["average_wait_s"]
    assert told_of(queued, "--round-walltimes", "1s")["average_wait_s"] == told_of(queued)["average_wait_s"]
    assert "round_walltimes 'long': expected a length of time" in fail("replay", queued, "--round-walltimes", "long")
    said = told_of(queued, "--walltime-factor", "50")
    assert said["walltime_factor"] == 50 and said["average_wait_s"] != told_of(queued)["average_wait_s"]
    run = tracehouse.replay(queued, walltime_factor=50)
    assert run.metrics["average_wait_s"] == said["average_wait_s"] and "walltime_factor" in str(run)
    assert "walltime_factor 0.0: expected a number above 0" in fail("replay", queued, "--walltime-factor", "0")


def test_nodes_are_a_number_of_processors(queued: str) -> None:
    wanted = told_of(queued, "--procs", "20")["average_wait_s"]
    for options in (["--nodes", "+1"], ["--nodes", "5"], ["--nodes", "+25%"]):
        said = told_of(queued, *options, "--procs-per-node", "4")
        assert (said["procs"], said["average_wait_s"]) == (20, wanted)
    assert told_of(queued, "--nodes", "-1", "--procs-per-node", "4", "--drop-wider")["procs"] == 12
    assert "leave the 19 such job(s) out with --drop-wider" in fail("replay", queued, "--procs", "-4")


def test_the_header_says_what_a_node_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    busy_home(monkeypatch, tmp_path)
    assert told_of("mine", "--nodes", "+1")["procs"] == 20


def test_nodes_that_nobody_knows(queued: str) -> None:
    said = fail("replay", queued, "--nodes", "-1")
    assert said.startswith("nodes '-1': it is not known how many processors a node has: give procs_per_node")
    assert "leave one of them out" in fail("replay", queued, "--nodes", "-1", "--procs", "4")
    said = fail("replay", queued, "--nodes", "half")
    assert (
        "nodes 'half': expected a number such as 300" in said
        and ". Or give shared or whole, for jobs that are placed" in said
    )


def test_fewer_nodes_below_switches(queued: str) -> None:
    options = ("--topology", "4x2", "--procs-per-node", "4")
    said = told_of(queued, *options, "--nodes", "+1")
    assert said["procs"] == 20 and said["placement"]["nodes"] == "shared" and said["placement"]["tree_nodes"] == 5
    assert told_of(queued, *options, "--nodes", "WHOLE")["placement"]["nodes"] == "whole"


def test_a_period_is_one_of_the_log_under_another_load(queued: str) -> None:
    usual, dense = (told_of(queued, "--period", "2026-01", "--load", load) for load in ("1", "+50%"))
    assert usual["scored_jobs"] == dense["scored_jobs"] < usual["jobs"] + 1
    early = told_of(queued, "--to", "1000000", "--load", "+50%")
    assert early["scored_jobs"] == told_of(queued, "--to", "1000000")["scored_jobs"]


def test_queues_own_processors(queued: str) -> None:
    said = told_of(queued, "--partition", "7=16", "--procs", "32")
    assert (said["jobs"], said["partitions"], said["procs"]) == (400, {"7": 16}, 32)
    assert said["average_wait_s"] > told_of(queued, "--procs", "32")["average_wait_s"]
    ours = tracehouse.replay(queued, partitions={"7": 16}, procs=32)
    assert ours.metrics["average_wait_s"] == said["average_wait_s"]
    assert told_of(queued, "--partition", "7=16", "--without-queue", "7", "--procs", "32")["jobs"] == 360
    text = succeed("replay", queued, "--partition", "7=16", "--partition", "1=16", "--procs", "48")
    assert "partitions" in text and "7=16, 1=16" in text


def test_wrong_partitions(queued: str) -> None:
    assert "partition 'gpu': expected a queue and the processors that it owns, such as gpu=64" in fail(
        "replay", queued, "--partition", "gpu"
    )
    assert "no job is of queue 'gpu': the queues are " in fail("replay", queued, "--partition", "gpu=4")
    wide = fail("replay", queued, "--partition", "7=4")
    assert "its partition has " in wide and "correct the partitions, or leave the " in wide
    assert told_of(queued, "--partition", "7=4", "--drop-wider")["jobs"] < 400
    assert "--warm-start cannot be combined with partitions" in fail(
        "replay", queued, "--partition", "7=4", "--warm-start"
    )
    assert "are not saved" in fail("replay", "birch", "--partition", "1=4", "--save", "x")
    assert "partitions cannot be combined with nodes" in fail(
        "replay", queued, "--partition", "7=4", "--drop-wider", "--topology", "4x2x2"
    )


# replay_nodes: `tracehouse replay` on the nodes of a tree of switches.


def test_jobs_are_placed_on_nodes(log: Path, tmp_path: Path) -> None:
    said = told_of(log, "--topology", "4x2x2", "--procs-per-node", "1", "--placement", tmp_path / "nodes.csv")
    placement = said["placement"]
    assert (placement["tree_nodes"], placement["place"], placement["procs_per_node"]) == (16, "tree", 1)
    rows = list(csv.DictReader((tmp_path / "nodes.csv").open()))
    costs = [float(row["hop_cost"]) for row in rows]
    assert len(rows) == said["jobs"] and np.mean(costs) == pytest.approx(placement["metrics"]["average_hop_cost"])
    text = succeed("replay", log, "--topology", "4x2x2", "--place", "contiguous", "--plots", tmp_path / "plots")
    assert "on 16 nodes of 1 processor, shared, placed by contiguous" in text and "scattered_jobs" in text
    assert (tmp_path / "plots" / "nodes.png").exists()
    assert (
        told_of(log)["average_wait_s"]
        == said["average_wait_s"]
        < told_of(log, "--topology", "4x2x2", "--every", "600")["average_wait_s"]
    )


def test_jobs_and_nodes_are_chosen_together(log: Path) -> None:
    options = ("--topology", "4x2x2", "--place", "looking-ahead", "--every", "600")
    guards = [told_of(log, *options, "--guard", guard)["average_wait_s"] for guard in ("1", "100000")]
    assert guards[0] > guards[1] > 0
    assert "looking-ahead decides all starts" in call("replay", log, *options).stderr


def test_a_place_needs_a_tree_that_fits(log: Path) -> None:
    assert "--switches needs the tree of switches: give --topology" in fail("replay", log, "--switches", "1@1h")
    assert "give a tree of 16 nodes or more" in fail("replay", log, "--topology", "2x4")
    assert "16x8x4" in fail("replay", log, "--topology", "four")


def test_a_tree_of_the_catalogue(catalogue: Path, log: Path) -> None:
    entry = f'[sources.mine]\nformat = "swf"\npath = "{log}"\n'
    catalogue.write_text(f'{entry}topology = "2x4x2" # of its documentation\n')
    placed = told_of("mine", "--place", "first")["placement"]
    assert (placed["topology"], placed["place"], placed["procs_per_node"]) == ("2x4x2", "first", 1)
    assert told_of("mine", "--topology", "4x4")["placement"]["topology"] == "4x4"
    assert "placement" not in told_of("mine")
    catalogue.write_text(f'{entry}topology = "4x4"\nprocs_per_node = 2\n')
    assert told_of("mine", "--place", "tree")["placement"]["tree_nodes"] == 8
    assert told_of("mine", "--procs-per-node", "1")["placement"]["tree_nodes"] == 16


def test_a_bad_tree_of_the_catalogue_names_it(catalogue: Path, log: Path) -> None:
    entry = f'[sources.mine]\nformat = "swf"\npath = "{log}"\n'
    catalogue.write_text(entry)
    assert "`topology` of the source in the catalogue" in fail("replay", "mine", "--place", "tree")
    for tree, fault in (
        ("2x2", "give a tree of 16 nodes or more"),
        ("0x4", "at least 1 switch or node"),
        ("none.conf", "no such file"),
    ):
        catalogue.write_text(f'{entry}topology = "{tree}"\n')
        message = fail("replay", "mine", "--place", "tree")
        assert f"{catalogue}:1: [sources.mine] topology = " in message and fault in message
        assert "or give another tree" in message


# what_if: `tracehouse what-if`, as its users meet it.


def test_scenarios_are_answered(busy: Path) -> None:
    text = succeed("what-if", "s.toml")
    assert text.startswith("base: FCFS, backfilling easy, requested times, 16 processors: ")
    assert "\nmine: all 400 jobs, where `tracehouse run` and `compare` judge the later half\n" in text
    for line in ("log  ", "base  ", "a quarter more processors  ", "without queue 7  ", "waits  "):
        assert f"\n{line}" in text
    assert "whose waits change most" in text
    assert succeed("what-if", "s.toml", "--source", "mine.swf").splitlines()[1].startswith("mine.swf: all 400 jobs, ")


def test_json_is_one_object(busy: Path) -> None:
    said = json.loads(succeed("what-if", "s.toml", "--json"))
    assert [row["scenario"] for row in said["scenarios"]] == [
        "log",
        "base",
        "a quarter more processors",
        "without queue 7",
    ]
    assert said["source"] == "mine" and said["grade"] is None and said["remarks"]
    assert {row["grouped_by"] for row in said["groups"]} == {"user", "size", "queue"}


def test_results_are_written(busy: Path) -> None:
    done = call("what-if", "s.toml", "--out", "out", "--html", "page.html")
    assert done.exit_code == 0
    assert done.stderr.splitlines()[-4:] == [
        "wrote out/scenarios.csv",
        "wrote out/groups.csv",
        "wrote out/jobs.csv",
        "wrote page.html",
    ]
    assert pl.read_csv("out/jobs.csv").height == 400 + 360
    assert Path("page.html").read_text().startswith("<!doctype html>")
    succeed("what-if", "s.toml", "--out", "out", "--format", "parquet")
    assert pl.read_parquet("out/scenarios.parquet").height == 4


def test_the_command_line_says_what_is_scored(busy: Path) -> None:
    Path("part.toml").write_text('period = "2026-01"\nqueue = "1"\n' + Path("s.toml").read_text())
    in_file = json.loads(succeed("what-if", "part.toml", "--json"))
    given = json.loads(succeed("what-if", "part.toml", "--to", "600000", "--json"))
    assert "queue 1" in in_file["scored"] and "the month 2026-01" in in_file["scored"]
    assert "queue 1" in given["scored"] and "month" not in given["scored"]
    file = scenarios_of({"period": "2026-01", "scenarios": {"x": {"procs": 1}}})
    assert merged_part(file, {}).period == "2026-01"
    assert merged_part(file, {"user": "3"}).model_dump(exclude_none=True) == {"period": "2026-01", "user": "3"}
    assert merged_part(file, {"begin": "5"}).model_dump(exclude_none=True) == {"begin": "5"}


def test_what_is_wrong_is_said_before_the_work(busy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        pytest.fail("the work began")

    monkeypatch.setattr(results, "replay_run", never)
    Path("file").write_text("")
    Path("folder").mkdir()
    for options, said in (
        (["--out", "file"], "file: is a file, give a folder"),
        (["--out", "file/out"], "file/out: cannot be written (Not a directory), give another place"),
        (["--html", "folder"], "folder: is a folder, give the name of a file in it"),
        (["--html", "gone/page.html"], "gone: no such folder, make it or give another file"),
    ):
        assert said in fail("what-if", "s.toml", *options)
    assert fail("what-if", "gone.toml").startswith(
        "gone.toml: no such file of scenarios; write one that has [scenarios."
    )
    assert fail("what-if", "folder").startswith("folder: is a folder; give the TOML file with the scenarios")
    assert "mine is a source: say what changes with --set KEY=VALUE or --change FILE, or" in fail("what-if", "mine")
    Path("none.toml").write_text('source = "mine"\n')
    assert fail("what-if", "none.toml").startswith("none.toml: no scenario; write one such as [scenarios.")
    assert "unknown source 'mime'; did you mean 'mine'" in fail("what-if", "s.toml", "--source", "mime")
    assert "last-month, a month such as 2026-03" in fail("what-if", "s.toml", "--period", "summer")
    Path("s.toml").write_text('[scenarios.x]\nwithout_queue = "long"\n')
    assert fail("what-if", "s.toml", "-s", "mine") == (
        "s.toml:1: scenario 'x': without_queue 'long': mine has no job of this queue: the queues are 2, 1, 7\n"
    )
    assert fail("what-if", "s.toml").startswith("s.toml: no source: give --source NAME, or write source")


def test_the_bundled_questions_are_of_a_bundled_cluster() -> None:
    questions = read_scenarios(PROJECT / "scenarios.toml")
    cluster = bundled_cluster(str(questions.source)).description
    assert questions.source in read_catalogue(PROJECT / "sources.toml").sources
    for changes in questions.scenarios.values():
        assert "policy" in changes or edited_cluster(cluster, changes["edits"]) != cluster
