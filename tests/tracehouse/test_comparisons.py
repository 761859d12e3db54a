"""Comparisons from Python are those of saved runs."""

from __future__ import annotations

from pathlib import Path

import pytest

import tracehouse
from tracehouse.text.replay_text import compare_text


def test_two_replays_are_compared_as_if_they_had_been_saved(trained: Path) -> None:
    saved = tracehouse.compare("fcfs-easy", "saf-easy", source="lublin-256")
    log = tracehouse.load_log("lublin-256")
    fresh = tracehouse.compare(tracehouse.replay(log, "FCFS"), tracehouse.replay(log, "SAF"))
    names = {"run_a": "fcfs-easy", "run_b": "saf-easy"}
    assert fresh.summary | names == saved.summary
    assert str(saved) == compare_text(saved.summary)
    assert saved.settings == {"policy": ("FCFS", "SAF")}


def test_tables_of_a_comparison(log: Path) -> None:
    loaded = tracehouse.load_log(log)
    comparison = tracehouse.compare(tracehouse.replay(loaded), tracehouse.replay(loaded, procs=32))
    wait = comparison.metrics.row(0, named=True)
    assert wait["metric"] == "average_wait_s"
    assert wait["difference"] == wait["b"] - wait["a"] < 0
    assert comparison.verdict["word"] == "dominates"
    assert repr(comparison) == f"Comparison(400 jobs, average wait {wait['difference']:+,.0f} s, dominates)"
    everyone = comparison.paired.filter(jobs_of="all")
    assert everyone["metric"].to_list() == ["average_wait_s", "average_turnaround_s", "average_bounded_slowdown"]
    assert everyone["worse_share"].to_list() == [0, 0, 0]
    assert comparison.paired.filter(metric="average_wait_s")["jobs"].to_list()[0] == 400


def test_what_cannot_be_compared(log: Path) -> None:
    loaded = tracehouse.load_log(log)
    whole, part = tracehouse.replay(loaded), tracehouse.replay(loaded, window=(0, 100))
    with pytest.raises(ValueError, match="replay different jobs, the whole trace and window 0:100"):
        tracehouse.compare(whole, part)
    with pytest.raises(ValueError, match=r"save the other with run\.save"):
        tracehouse.compare(whole, "fcfs")
    with pytest.raises(ValueError, match="give the source of the saved runs"):
        tracehouse.compare("fcfs", "fcfs-easy")
