"""`tracehouse replay` on the nodes of a tree of switches."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from tests.pipelines.command_line import call, fail, succeed, told_of


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
