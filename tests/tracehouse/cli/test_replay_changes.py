"""`tracehouse replay` of other clusters and other jobs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import tracehouse
from tests.assets.replay.scenarios.examples import busy_home
from tests.pipelines.command_line import fail, succeed, told_of


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
    assert "are not saved" in fail("replay", "lublin-256", "--without-queue", "1", "--save", "x")


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
    assert "are not saved" in fail("replay", "lublin-256", "--partition", "1=4", "--save", "x")
    assert "partitions cannot be combined with nodes" in fail(
        "replay", queued, "--partition", "7=4", "--drop-wider", "--topology", "4x2x2"
    )
