"""The campaign of faults finds one that is planted, and finds nothing where there is none."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from benchmarks.faults.damage import damage_part
from benchmarks.faults.results import Result, compare_tables
from benchmarks.faults.workers import Worker


def test_rows_that_differ_are_lost_doubled_or_wrong() -> None:
    ours = {"a": Counter(["1", "2", "2", "3"]), "b": Counter(["1"])}
    undisturbed = {"a": Counter(["1", "2", "4", "5"]), "b": Counter(["1"])}
    difference = compare_tables(ours, undisturbed)
    assert (difference.lost, difference.doubled, difference.wrong, difference.where) == (2, 1, 1, {"a"})
    assert not compare_tables(ours, ours)
    assert compare_tables({}, undisturbed).lost == 5


@pytest.mark.parametrize("plant", ["dropped line", ""])
def test_a_planted_fault_is_found_and_nothing_else(tmp_path: Path, plant: str) -> None:
    result = Result("damage")
    damage_part(result, tmp_path, 1, 0.02, plant, formats=("swf",))
    assert bool(result.findings) == bool(plant), result.findings
    assert result.lines[-1].startswith("| all | 134 |")


def test_a_worker_tells_how_a_command_has_ended(tmp_path: Path) -> None:
    with Worker(tmp_path / "home") as worker:
        ended = worker.command("health", "nothing-of-this-name")
        assert ended.code == 1 and "Error: " in ended.printed and not ended.was_killed
        killed = worker.command("sources", kill_after=0.0)
        assert killed.was_killed
